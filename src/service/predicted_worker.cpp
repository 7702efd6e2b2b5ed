#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "base/text.h"
#include "predict/measured/counted_times.h"
#include "service/predictors.h"
#include "service/profile_workers.h"

namespace orrery::service {

using profile::Resource;

namespace {

constexpr std::string_view kUnits[profile::kResources] = {"B", "cores", "B/s", "B/s"};

constexpr BytesPerSecond kUsualRate(100e6);  // of a link, where none is given

Result<profile::Job> job_of(const WorkersQuestion& question, const FieldNames& names) {
  profile::Job job{.model = question.trained.model, .batch = question.trained.batch};
  job.form = *question.exchange.form;
  const bool is_ring = job.form == profile::DistributedForm::kAllReduce;
  job.is_async = !is_ring && *question.exchange.mode == profile::UpdateMode::kAsync;
  job.servers = is_ring ? 0 : *question.exchange.servers;
  job.workers = question.workers;
  job.rate = question.rate.value_or(kUsualRate);
  if (is_ring && job.workers < 2) return names.error("workers", "a ring has two or more");
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

}  // namespace

Result<PredictedWorker> predict_worker(env::Env env, const WorkersQuestion& question, const std::string& predictor,
                                       const FieldNames& names) {
  ORRERY_TRY(const profile::Job job, job_of(question, names));
  ORRERY_TRY(const workload::TrainingRun run, trained_run(env, question.trained, workload::Optimizer::kSgd));
  ORRERY_TRY(const predict::JobUtilisationModel model, job_utilisation_model(env, predictor));
  ORRERY_TRY(const predict::MeasuredModel steps, steps_of_machine(model.machine));
  const hardware::Device* processor = hardware::find_device_or_null(steps.machine.device);
  if (processor == nullptr) return Error::invalid(fmt::format("unknown device {}", quote(steps.machine.device)));
  const predict::CountedTimes times = predict::counted_times(steps.steps, run, *processor);
  const double step_s = std::accumulate(times.seconds.begin(), times.seconds.end(), 0.0);
  PredictedWorker worker{.use = model.predict(predict::facts_of(job, run, step_s)),
                         .machine = model.machine,
                         .jobs = model.jobs,
                         .error = model.error,
                         .in_domain = times.in_domain()};
  if (!worker.in_domain) widen(worker.use);
  return worker;
}

Table worker_table(const PredictedWorker& worker) {
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
    const auto& [burst, idle, amount] = worker.use[r];
    const bool alternates = burst.value > 0 && idle.value > 0;
    const bool is_network = resource == Resource::kReceive || resource == Resource::kTransmit;
    const auto seconds = [&](double value) { return alternates ? Cell(value) : Cell(); };
    table.add({std::string(to_string(resource)), seconds(burst.value), seconds(burst.interval.low),
               seconds(burst.interval.high), seconds(idle.value), seconds(idle.interval.low),
               seconds(idle.interval.high), amount_text(resource, amount.value),
               amount_text(resource, amount.interval.low), amount_text(resource, amount.interval.high),
               alternates ? burst.value / (burst.value + idle.value) : 1.0,
               is_network ? Cell(burst.value * amount.value) : Cell(), amount.value, amount.interval.low,
               amount.interval.high, std::string(kUnits[r]), worker.in_domain});
  }
  return table;
}

std::string worker_text(const PredictedWorker& worker) {
  return fmt::format(
      "\nA worker on {}, learned from {} measured jobs; metrics of jobs left out were off by "
      "{:.0f} % on average, and four of five are inside the intervals.\n",
      worker.machine, worker.jobs, 100 * worker.error);
}

}  // namespace orrery::service
