#include "service/simulate_whatif.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <mutex>

#include "base/parallel.h"
#include "base/text.h"

namespace orrery::service {

using simulate::Summary;

const Fields<SimulateWhatifRequest>& simulate_whatif_fields() {
  using W = SimulateWhatifRequest;
  static const auto kFields =
      Fields<W>()
          .add(&W::trace, trace_option())
          .add(&W::changes, text_option("change", "",
                                        "changes to try, each an option and its value, such as policy=srtf or "
                                        "mtbf=30d+checkpoint=1h (default: the first questions of an operator)")
                                .in("CHANGE")
                                .list(99)
                                .word())
          .add(&W::threads, integer_option("threads", 2, "simulations to run in parallel").bounds(1, 256))
          .add(&W::seed,
               integer_option("seed", 1, "seed of prediction errors, failures and stragglers").bounds(0, 1e15))
          .add(&W::seeds, integer_option("seeds", 1, "average over this many seeds, starting at --seed").bounds(1, 1e4))
          .add(&W::now, simulated_cluster_fields())
          .add(&W::read, job_trace_fields());
  return kFields;
}

namespace {

// A cluster after a change, its policy, and how jobs fare over the seeds.
struct Variant {
  std::string change;
  SimulatedCluster fields;
  ClusterChoice cluster;
  SimulationSetup setups{};
  std::vector<Summary> summaries{};  // by seed
  std::optional<Error> failure{};    // of the first seed that has no metrics
};

// A change names a field as it is, whatever the source of the request.
const FieldNames kNamesOfChanges;

Result<SimulatedCluster> changed(const SimulateWhatifRequest& request, const std::string& text) {
  SimulatedCluster fields = request.now;
  for (const std::string& part : split(text, '+')) {
    const auto at = part.find('=');
    if (at == std::string::npos || at == 0) {
      return Error::invalid(fmt::format("{} is no change; a change is OPTION=VALUE, such as policy=srtf", quote(part)));
    }
    ORRERY_TRY_VOID(simulated_cluster_fields().set(fields, part.substr(0, at), part.substr(at + 1), kNamesOfChanges));
  }
  return fields;
}

// The first questions of an operator: an eighth more machines, other policies, worse predictions, failures.
std::vector<std::string> usual_questions(const SimulatedCluster& now) {
  std::vector<std::string> changes;
  const std::vector<std::string> size = split(now.cluster, 'x');
  const auto machines = parse_number(size[0]);
  if (size.size() == 2 && machines && *machines >= 1) {
    const double more = *machines + std::max(1.0, std::round(*machines / 8));
    changes.push_back(fmt::format("cluster={:.0f}x{}", more, size[1]));
  }
  for (const char* const policy : {"first-fit", "las", "srtf"}) {
    if (now.policy != policy) changes.push_back(fmt::format("policy={}", policy));
  }
  changes.emplace_back("prediction-error=0.5");
  changes.emplace_back("mtbf=30d+checkpoint=1h");
  return changes;
}

Result<Variant> load_variant(const env::Env& env, std::string change, SimulatedCluster fields,
                             const simulate::JobTrace& job_trace, const FieldNames& names) {
  const Status known = simulate::check_policies({fields.policy});
  if (!known) return names.error("policy", known.error());
  ORRERY_TRY(ClusterChoice cluster, load_cluster(env, fields.cluster, names));
  ORRERY_TRY(SimulationSetup setups, load_setup(env, fields.setup, cluster, job_trace, names));
  return Variant{std::move(change), std::move(fields), std::move(cluster), std::move(setups)};
}

Result<std::vector<Variant>> load_variants(const env::Env& env, const SimulateWhatifRequest& request,
                                           const simulate::JobTrace& job_trace) {
  std::vector<std::pair<std::string, SimulatedCluster>> cases = {{"as it is", request.now}};
  for (const std::string& text : request.changes.empty() ? usual_questions(request.now) : request.changes) {
    auto fields = changed(request, text);
    if (!fields) return std::move(fields).error().with_context(text);
    cases.emplace_back(text, std::move(*fields));
  }
  std::vector<Variant> variants;
  for (auto& [change, fields] : cases) {
    const FieldNames& names = variants.empty() ? request.names : kNamesOfChanges;
    auto variant = load_variant(env, change, std::move(fields), job_trace, names);
    if (!variant) return std::move(variant).error().with_context(change);
    variants.push_back(std::move(*variant));
  }
  return variants;
}

void run_variants(const SimulateWhatifRequest& request, const simulate::JobTrace& job_trace, Watch& watch,
                  std::vector<Variant>& variants) {
  const auto seeds = static_cast<std::size_t>(request.seeds);
  watch.begin("simulating", static_cast<std::int64_t>(variants.size() * seeds), "runs");
  std::int64_t ended = 0;
  std::mutex reporting;
  std::vector<Status> done(variants.size() * seeds);
  for (Variant& variant : variants) variant.summaries.resize(seeds);
  run_parallel(done.size(), request.threads, [&](std::size_t i) {
    Variant& variant = variants[i / seeds];
    const SimulatedCluster& how = variant.fields;
    auto run = simulate::run_policy(job_trace, variant.setups.with_seed(request.seed + i % seeds), how.policy);
    if (run) {
      variant.summaries[i % seeds] =
          simulate::summarise(job_trace, *run, variant.cluster.gpus, how.setup.gpu_price.value());
    } else {
      done[i] = std::move(run).error().with_context(variant.change);
    }
    const std::lock_guard lock(reporting);
    watch.at(++ended);
  });
  watch.finish();
  for (std::size_t i = 0; i < done.size(); ++i) {
    std::optional<Error>& failure = variants[i / seeds].failure;
    if (!done[i] && !failure) failure = std::move(done[i]).error();
  }
}

double mean_of(const SimulateWhatifRow& row, double Summary::*metric) {
  double sum = 0;
  for (const Summary& summary : row.summaries) sum += summary.*metric;
  return sum / static_cast<double>(row.summaries.size());
}

std::int64_t left_over(const SimulateWhatifRow& row) {
  std::int64_t sum = 0;
  for (const Summary& summary : row.summaries) sum += summary.unfinished + summary.too_large;
  return sum / static_cast<std::int64_t>(row.summaries.size());
}

}  // namespace

Result<SimulateWhatifAnswer> simulate_whatif(env::Env env, const SimulateWhatifRequest& request, Watch& watch) {
  ORRERY_TRY(simulate::JobTraceFile file, load_job_trace(env, request.trace, request.read));
  ORRERY_TRY(std::vector<Variant> variants, load_variants(env, request, file.job_trace));
  run_variants(request, file.job_trace, watch, variants);
  if (variants.front().failure) return std::move(*variants.front().failure);
  SimulateWhatifAnswer answer{.file = std::move(file), .cluster = variants.front().cluster.text, .rows = {}};
  for (Variant& variant : variants) {
    const SetupFields& setup = variant.fields.setup;
    answer.has_price = answer.has_price || setup.gpu_price > DollarsPerHour(0) || !setup.prices.empty();
    // A change without metrics does not affect the others.
    if (variant.failure) {
      answer.failures.push_back(std::move(*variant.failure));
    } else {
      answer.rows.push_back({std::move(variant.change), variant.cluster.gpus, std::move(variant.summaries)});
    }
  }
  return answer;
}

Status failure_of(const SimulateWhatifAnswer& answer) {
  if (answer.failures.empty()) return {};
  std::vector<std::string> texts;
  for (const Error& failure : answer.failures) texts.push_back(failure.to_string());
  return Error(answer.failures.front().code(),
               fmt::format("{} of {} changes have no metrics:\n  {}", texts.size(),
                           answer.rows.size() + answer.failures.size(), fmt::join(texts, "\n  ")));
}

Table simulate_whatif_table(const SimulateWhatifAnswer& answer) {
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
  if (answer.has_price) columns.push_back({"cost_usd", "cost", CellFormat::kDollars});
  Table table(columns);
  const SimulateWhatifRow& now = answer.rows.front();
  const double mean_now = mean_of(now, &Summary::mean_s);
  for (const SimulateWhatifRow& row : answer.rows) {
    const double mean = mean_of(row, &Summary::mean_s);
    const int added = row.gpus - now.gpus;
    std::vector<Cell> cells = {row.change,
                               std::int64_t{row.gpus},
                               mean,
                               &row == &now || mean_now == 0 ? Cell() : Cell(mean / mean_now - 1),
                               added > 0 ? Cell((mean_now - mean) / added) : Cell(),
                               mean_of(row, &Summary::p99_s),
                               mean_of(row, &Summary::queueing_s),
                               mean_of(row, &Summary::utilisation),
                               mean_of(row, &Summary::slowdown_p99),
                               left_over(row)};
    if (answer.has_price) cells.emplace_back(mean_of(row, &Summary::cost));
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace orrery::service
