#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <numeric>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/distributed_options.h"
#include "env/terminal.h"
#include "predict/jobs/job_utilisation_model.h"
#include "predict/measured/counted_times.h"
#include "service/predictors.h"

namespace orrery::cli {

namespace {

using profile::Resource;

constexpr std::string_view kUnits[profile::kResources] = {"B", "cores", "B/s", "B/s"};

Result<profile::Job> job_of(const std::string& model, const OptionValues& options) {
  profile::Job job{.model = model, .batch = options.integer("batch")};
  const bool is_ring = options.text("form") == "allreduce";
  job.form = is_ring ? profile::DistributedForm::kAllReduce : profile::DistributedForm::kParameterServer;
  job.is_async = !is_ring && options.text("mode") == "async";
  job.servers = is_ring ? 0 : static_cast<int>(options.integer("servers"));
  job.workers = static_cast<int>(options.integer("workers"));
  if (is_ring && job.workers < 2) return Error::invalid("--workers: a ring has two or more");
  ORRERY_TRY(job.rate, parse_rate(options.text("rate")));
  return job;
}

std::string amount_text(Resource resource, double value) {
  switch (resource) {
    case Resource::kMemory:
      return format_bytes(Bytes(value));
    case Resource::kProcessor:
      return fmt::format("{:.2f} cores", value);
    case Resource::kReceive:
    case Resource::kTransmit:
      break;
  }
  return format_bytes(Bytes(value)) + "/s";
}

// The step's time is by formulas: no metric that follows from it is more certain than they are.
void widen(predict::PredictedUtilisation& use) {
  for (auto& metrics : use) {
    for (auto& [value, interval] : metrics) {
      interval.low = std::min(interval.low, value * predict::kFormulaLow);
      interval.high = std::max(interval.high, value * predict::kFormulaHigh);
    }
  }
}

Status run_distributed_predict(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const profile::Job job, job_of(arguments.words[0], options));
  ORRERY_TRY(const workload::TrainingRun run, distributed_run(context.env, arguments.words[0], options));
  ORRERY_TRY(const predict::JobUtilisationModel model,
             service::job_utilisation_model(context.env, options.text("predictor")));
  ORRERY_TRY(const predict::MeasuredModel steps, service::steps_of_machine(model.machine));
  const hardware::Device* processor = hardware::find_device_or_null(steps.machine.device);
  if (processor == nullptr) return Error::invalid(fmt::format("unknown device {}", quote(steps.machine.device)));
  const predict::CountedTimes times = predict::counted_times(steps.steps, run, *processor);
  const double step_s = std::accumulate(times.seconds.begin(), times.seconds.end(), 0.0);
  predict::PredictedUtilisation use = model.predict(predict::facts_of(job, run, step_s));
  if (!times.in_domain()) widen(use);

  Table table({{"resource", "resource"},
               {"burst_s", "burst", CellFormat::kSeconds},
               {"burst_low_s", "from", CellFormat::kSeconds},
               {"burst_high_s", "to", CellFormat::kSeconds},
               {"idle_s", "idle", CellFormat::kSeconds},
               {"idle_low_s", "from", CellFormat::kSeconds},
               {"idle_high_s", "to", CellFormat::kSeconds},
               {"amount_text", "in a burst"},
               {"amount_low_text", "from"},
               {"amount_high_text", "to"},
               {"busy", "busy", CellFormat::kPercent},
               {"burst_bytes", "bytes of a burst", CellFormat::kBytes},
               {"amount", "amount", CellFormat::kNumber, false},
               {"amount_low", "amount from", CellFormat::kNumber, false},
               {"amount_high", "amount to", CellFormat::kNumber, false},
               {"unit", "unit", CellFormat::kText, false},
               {"in_domain", "in domain", CellFormat::kText, false}});
  for (std::size_t r = 0; r < profile::kResources; ++r) {
    const auto resource = static_cast<Resource>(r);
    const auto& [burst, idle, amount] = use[r];
    const bool alternates = burst.value > 0 && idle.value > 0;
    const bool is_network = resource == Resource::kReceive || resource == Resource::kTransmit;
    const auto seconds = [&](double value) { return alternates ? Cell(value) : Cell(); };
    table.add({std::string(to_string(resource)), seconds(burst.value), seconds(burst.interval.low),
               seconds(burst.interval.high), seconds(idle.value), seconds(idle.interval.low),
               seconds(idle.interval.high), amount_text(resource, amount.value),
               amount_text(resource, amount.interval.low), amount_text(resource, amount.interval.high),
               alternates ? burst.value / (burst.value + idle.value) : 1.0,
               is_network ? Cell(burst.value * amount.value) : Cell(), amount.value, amount.interval.low,
               amount.interval.high, std::string(kUnits[r]), times.in_domain()});
  }
  ORRERY_TRY_VOID(context.print_table(table, options));
  if (!times.in_domain()) {
    context.env.terminal.write_error(
        "the model has operators unlike those that were measured: intervals are at least those of formulas\n");
  }
  if (options.flag("json") || options.flag("csv")) return {};
  context.print(
      fmt::format("\nA worker on {}, learned from {} measured jobs; metrics of jobs left out were off by "
                  "{:.0f} % on average, and four of five are inside the intervals.\n",
                  model.machine, model.jobs, 100 * model.error));
  return {};
}

}  // namespace

Command distributed_predict_command() {
  constexpr std::string_view kKept[] = {"form", "servers", "workers", "mode", "batch"};
  std::vector<OptionRecord> options = distributed_options();
  std::erase_if(options, [&](const OptionRecord& record) {
    return std::find(std::begin(kKept), std::end(kKept), record.name) == std::end(kKept);
  });
  return {"distributed predict",
          "MODEL",
          1,
          1,
          "predict the memory, processor and network utilisation of a worker of a data-parallel job",
          join(join(std::move(options),
                    {text_option("rate", "100MB/s", "rate of each process's link, in each direction").in("RATE"),
                     text_option("predictor", "auto",
                                 "auto (what was learned from the jobs that ship), or a file that "
                                 "`orrery fit` made of a set of jobs")
                         .in("MODEL")}),
               table_options()),
          {"orrery distributed predict resnet18 --batch 8 --workers 2 --rate 50MB/s",
           "orrery distributed predict mobilenet_v2 --form allreduce --workers 2 --json"},
          run_distributed_predict};
}

}  // namespace orrery::cli
