#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <mutex>
#include <optional>

#include "base/parallel.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/job_traces.h"
#include "cli/simulate_setup.h"
#include "simulate/summary.h"

namespace orrery::cli {

namespace {

using simulate::Summary;

// "policy=srtf", or several options that change together: "mtbf=24h+checkpoint=30m".
struct Change {
  std::string text;
  OptionValues options;
};

// A cluster that has it, its policy, and how jobs fare on average over the seeds.
struct Variant {
  Change change;
  ClusterChoice cluster;
  SimulationSetup setups;
  std::vector<Summary> summaries{};  // by seed
  std::optional<Error> failure{};    // of the first seed that has no metrics
};

Result<Change> make_change(const OptionValues& now, const std::string& text) {
  Change change{text, now};
  for (const std::string& part : split(text, '+')) {
    const auto at = part.find('=');
    if (at == std::string::npos || at == 0) {
      return Error::invalid(fmt::format("{} is no change; a change is OPTION=VALUE, such as policy=srtf", quote(part)));
    }
    const std::string name = part.substr(0, at);
    const bool is_known = name == "cluster" || name == "policy" ||
                          std::ranges::any_of(setup_options(), [&](const auto& record) { return record.name == name; });
    if (!is_known) {
      std::vector<std::string> names = {"cluster", "policy"};
      for (const OptionRecord& record : setup_options()) names.push_back(record.name);
      return Error::invalid(
          fmt::format("{}: there is no such option to change{}", quote(part), did_you_mean(name, names)));
    }
    ORRERY_TRY_VOID(change.options.set(name, part.substr(at + 1)));
  }
  return change;
}

// The first questions of an operator: an eighth more machines, other policies, worse predictions, failures.
std::vector<std::string> usual_questions(const OptionValues& options) {
  std::vector<std::string> changes;
  const std::vector<std::string> size = split(options.text("cluster"), 'x');
  const auto machines = parse_number(size[0]);
  if (size.size() == 2 && machines && *machines >= 1) {
    const double more = *machines + std::max(1.0, std::round(*machines / 8));
    changes.push_back(fmt::format("cluster={:.0f}x{}", more, size[1]));
  }
  for (const char* const policy : {"first-fit", "las", "srtf"}) {
    if (options.text("policy") != policy) changes.push_back(fmt::format("policy={}", policy));
  }
  changes.emplace_back("prediction-error=0.5");
  changes.emplace_back("mtbf=30d+checkpoint=1h");
  return changes;
}

void run_variants(Context& context, const simulate::JobTrace& job_trace, const OptionValues& options,
                  std::vector<Variant>& variants) {
  const auto seeds = static_cast<std::size_t>(options.integer("seeds"));
  const auto first = static_cast<std::uint64_t>(options.integer("seed"));
  Progress progress("simulating", static_cast<std::int64_t>(variants.size() * seeds),
                    progress_options(context.env, "runs"));
  std::mutex reporting;
  std::vector<Status> done(variants.size() * seeds);
  for (Variant& variant : variants) variant.summaries.resize(seeds);
  run_parallel(done.size(), static_cast<int>(options.integer("threads")), [&](std::size_t i) {
    Variant& variant = variants[i / seeds];
    const OptionValues& how = variant.change.options;
    auto run = simulate::run_policy(job_trace, variant.setups.with_seed(first + i % seeds), how.text("policy"));
    if (run) {
      variant.summaries[i % seeds] =
          simulate::summarise(job_trace, *run, variant.cluster.gpus, how.number("gpu-price"));
    } else {
      done[i] = std::move(run).error().with_context(variant.change.text);
    }
    const std::lock_guard lock(reporting);
    progress.advance(1);
  });
  progress.finish();
  for (std::size_t i = 0; i < done.size(); ++i) {
    std::optional<Error>& failure = variants[i / seeds].failure;
    if (!done[i] && !failure) failure = std::move(done[i]).error();
  }
}

// Takes out changes that have no metrics, which does not affect the others; the error names them.
Status without_failed(std::vector<Variant>& variants) {
  std::vector<std::string> texts;
  std::optional<ErrorCode> code;
  for (const Variant& variant : variants) {
    if (!variant.failure) continue;
    texts.push_back(variant.failure->to_string());
    if (!code) code = variant.failure->code();
  }
  if (!code) return {};
  const std::size_t all = variants.size();
  std::erase_if(variants, [](const Variant& variant) { return variant.failure.has_value(); });
  return Error(*code,
               fmt::format("{} of {} changes have no metrics:\n  {}", texts.size(), all, fmt::join(texts, "\n  ")));
}

double mean_of(const Variant& variant, double Summary::*figure) {
  double sum = 0;
  for (const Summary& summary : variant.summaries) sum += summary.*figure;
  return sum / static_cast<double>(variant.summaries.size());
}

std::int64_t left_over(const Variant& variant) {
  std::int64_t sum = 0;
  for (const Summary& summary : variant.summaries) sum += summary.unfinished + summary.too_large;
  return sum / static_cast<std::int64_t>(variant.summaries.size());
}

Table table_of(const std::vector<Variant>& variants, bool has_price) {
  std::vector<Column> columns = {{"change", "change"},
                                 {"gpus", "GPUs", CellFormat::kInteger},
                                 {"mean_s", "mean completion", CellFormat::kSeconds},
                                 {"mean_change", "change", CellFormat::kPercent},
                                 {"saved_s_per_gpu", "saved per added GPU", CellFormat::kSeconds},
                                 {"p99_s", "p99", CellFormat::kSeconds},
                                 {"queueing_s", "queueing", CellFormat::kSeconds},
                                 {"utilisation", "used", CellFormat::kPercent},
                                 {"slowdown_p99", "slowdown p99", CellFormat::kNumber},
                                 {"left_over", "jobs left", CellFormat::kInteger}};
  if (has_price) columns.push_back({"cost_usd", "cost", CellFormat::kDollars});
  Table table(columns);
  const Variant& now = variants.front();
  const double mean_now = mean_of(now, &Summary::mean_s);
  for (const Variant& variant : variants) {
    const double mean = mean_of(variant, &Summary::mean_s);
    const int added = variant.cluster.gpus - now.cluster.gpus;
    std::vector<Cell> cells = {variant.change.text,
                               std::int64_t{variant.cluster.gpus},
                               mean,
                               &variant == &now || mean_now == 0 ? Cell() : Cell(mean / mean_now - 1),
                               added > 0 ? Cell((mean_now - mean) / added) : Cell(),
                               mean_of(variant, &Summary::p99_s),
                               mean_of(variant, &Summary::queueing_s),
                               mean_of(variant, &Summary::utilisation),
                               mean_of(variant, &Summary::slowdown_p99),
                               left_over(variant)};
    if (has_price) cells.emplace_back(mean_of(variant, &Summary::cost));
    table.add(std::move(cells));
  }
  return table;
}

Status run_whatif(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const simulate::JobTraceFile file, load_job_trace(context, arguments.words[0], options));
  std::vector<std::string> texts(arguments.words.begin() + 1, arguments.words.end());
  if (texts.empty()) texts = usual_questions(options);
  std::vector<Change> changes = {{"as it is", options}};
  for (const std::string& text : texts) {
    ORRERY_TRY(Change change, make_change(options, text));
    changes.push_back(std::move(change));
  }
  std::vector<Variant> variants;
  bool has_price = false;
  for (Change& change : changes) {
    Status known = simulate::check_policies({change.options.text("policy")});
    if (!known) return std::move(known).error().with_context(change.text);
    auto cluster = load_cluster(context, change.options.text("cluster"));
    if (!cluster) return std::move(cluster).error().with_context(change.text);
    auto setups = load_setup(context, change.options, *cluster, file.job_trace);
    if (!setups) return std::move(setups).error().with_context(change.text);
    has_price = has_price || change.options.number("gpu-price") > 0 || change.options.has("prices");
    variants.push_back({std::move(change), std::move(*cluster), std::move(*setups)});
  }
  run_variants(context, file.job_trace, options, variants);
  if (variants.front().failure) return *variants.front().failure;
  const Status failure = without_failed(variants);
  if (for_people(options)) {
    context.print(fmt::format("{} jobs of {} ({}) on {} under {}\n\n",
                              format_whole(static_cast<double>(file.job_trace.jobs.size())), file.job_trace.name,
                              file.format, variants.front().cluster.text, options.text("policy")));
  }
  ORRERY_TRY_VOID(context.print_table(table_of(variants, has_price), options));
  if (const std::string text = problems_text(file, 5); for_people(options) && !text.empty()) context.print("\n" + text);
  return failure;
}

}  // namespace

Command simulate_whatif_command() {
  return {"simulate whatif",
          "TRACE [CHANGE…]",
          1,
          100,
          "show what more GPUs, another policy, worse predictions or failures would do to the jobs of a trace",
          join(join({text_option("cluster", "32x8",
                                 "the present cluster: MACHINESxGPUS, TYPE=MACHINESxGPUS,…, or a cluster file")
                         .in("CLUSTER"),
                     text_option("policy", "fifo", "the present policy; `orrery simulate --help` lists all policies")
                         .in("NAME"),
                     integer_option("threads", 2, "simulations to run in parallel").bounds(1, 256),
                     integer_option("seed", 1, "seed of prediction errors, failures and stragglers").bounds(0, 1e15),
                     integer_option("seeds", 1, "average over this many seeds, starting at --seed").bounds(1, 1e4)},
                    join(setup_options(), job_trace_options())),
               table_options()),
          {"orrery simulate whatif jobs.csv --cluster 32x8 --policy fifo",
           "orrery simulate whatif jobs.csv --cluster 32x8 cluster=40x8 policy=srtf mtbf=30d+checkpoint=1h --seeds 5"},
          run_whatif};
}

}  // namespace orrery::cli
