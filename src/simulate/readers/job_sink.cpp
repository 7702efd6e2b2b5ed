#include "simulate/readers/job_sink.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::simulate {

namespace {

constexpr double kGpusMax = 1 << 20;
constexpr double kStageSecondsMax = 1e6;
constexpr double kSamplesMax = 1 << 30, kStepsMax = 1e15;
constexpr std::size_t kIdBytesMax = 200, kDevicesMax = 1000;

std::string stages_fault(const schedule::StageTimes& stages) {
  for (const double time_s :
       {stages.load_s, stages.storage_s, stages.processors_s, stages.gpu_s, stages.network_s, stages.iteration_s}) {
    if (!(time_s >= 0 && time_s <= kStageSecondsMax)) {
      return fmt::format("stages: expected seconds from 0 to {:g} instead of {:g}", kStageSecondsMax, time_s);
    }
  }
  if (schedule::is_known(stages) == (schedule::sum_s(stages) > 0)) return {};
  return "stages: expected the time of an iteration and of what it is made of, or neither";
}

// What is wrong with a job; empty if nothing is.
std::string fault_of(const RawJob& job, bool may_lack_length) {
  const auto out_of_range = [](std::string_view field, double value, std::string_view expected) {
    return fmt::format("{}: expected {} instead of {:g}", field, expected, value);
  };
  if (job.id.empty() || job.id.size() > kIdBytesMax || !is_printable(job.id)) return "id: missing or not printable";
  if (!is_printable(job.model) || !is_printable(job.tenant)) return "model or tenant: not printable";
  if (!(std::abs(job.submit_s) <= schedule::kSecondsMax)) return out_of_range("submit", job.submit_s, "seconds");
  if (!(job.duration_s >= 0)) return out_of_range("duration", job.duration_s, "a time that does not go backwards");
  if (job.duration_s == 0 && !may_lack_length) return "duration: the job has no length";
  if (job.duration_s > schedule::kSecondsMax) return out_of_range("duration", job.duration_s, "at most 146 years");
  for (const TypedDuration& typed : job.typed) {
    if (typed.device.empty() || !is_printable(typed.device)) return "type of device: missing or not printable";
    if (!(typed.seconds > 0 && typed.seconds <= schedule::kSecondsMax)) {
      return out_of_range("duration on " + typed.device, typed.seconds, "a time above 0, at most 146 years");
    }
  }
  if (!(job.gpus >= 1 && job.gpus <= kGpusMax) || job.gpus != std::floor(job.gpus)) {
    return out_of_range("gpus", job.gpus, "a whole number from 1 on");
  }
  if (!(job.gpus_max >= 0 && job.gpus_max <= kGpusMax))
    return out_of_range("gpus_max", job.gpus_max, "a number of GPUs");
  if (!std::isfinite(job.priority) || std::abs(job.priority) > 1e12)
    return out_of_range("priority", job.priority, "a number");
  if (!(job.deadline_s <= schedule::kSecondsMax)) return out_of_range("deadline", job.deadline_s, "seconds");
  if (!(job.cpus >= 0) || !(job.memory >= 0)) return "cpus or memory: negative";
  if (!(job.gpu_utilisation > 0 && job.gpu_utilisation <= 1)) {
    return out_of_range("gpu_utilisation", job.gpu_utilisation, "above 0, at most 1");
  }
  if (!(job.gpu_memory_share > 0 && job.gpu_memory_share <= 1)) {
    return out_of_range("gpu_memory_share", job.gpu_memory_share, "above 0, at most 1");
  }
  if (!(job.batch >= 0 && job.batch <= kSamplesMax) || job.batch != std::floor(job.batch)) {
    return out_of_range("batch", job.batch, "a whole number of samples");
  }
  if (!(job.steps >= 0 && job.steps <= kStepsMax)) return out_of_range("steps", job.steps, "a number of steps");
  if (!(job.time_limit_s >= 0)) return out_of_range("time_limit", job.time_limit_s, "seconds");
  if (!(job.executed_s >= 0 && job.executed_s <= schedule::kSecondsMax)) {
    return out_of_range("executed", job.executed_s, "seconds");
  }
  return stages_fault(job.stages);
}

}  // namespace

Status JobSink::add(std::size_t line, const RawJob& job) {
  if (queue_ && job.state == QueueState::kEnded) {
    ignore();
    ++file_.ended;
    return {};
  }
  if (!queue_ && job.state == QueueState::kWaits) {
    return skip(line, "state: it has not run yet; `orrery simulate estimate` says when it will");
  }
  const bool may_lack_length = queue_ && job.state != QueueState::kNotSaid;
  if (std::string fault = fault_of(job, may_lack_length); !fault.empty()) return skip(line, std::move(fault));
  if (job.typed.size() + file_.job_trace.devices.size() > kDevicesMax) {
    return skip(line, fmt::format("more than {} types of devices", kDevicesMax));
  }
  if (!ids_.insert(job.id).second) return skip(line, fmt::format("id: {} was there before", quote(job.id)));
  auto& jobs = file_.job_trace.jobs;
  if (jobs.size() == kTraceJobsMax) {
    return Error::invalid(fmt::format("{}:{}: more than {} jobs", name_, line, kTraceJobsMax));
  }
  ++file_.rows;
  const TimeNs submit_ns = schedule::from_seconds(job.submit_s);
  if (!jobs.empty() && submit_ns < jobs.back().facts.submit_ns) file_.out_of_order = true;
  TraceJob& added = jobs.emplace_back();
  added.id = job.id;
  added.model = job.model;
  added.batch = job.batch;
  added.steps = job.steps;
  const bool is_limited = job.time_limit_s > 0 && job.time_limit_s <= schedule::kSecondsMax;
  if (is_limited) added.time_limit_ns = schedule::from_seconds(job.time_limit_s);
  added.facts.submit_ns = submit_ns;
  added.facts.work_ns = job.duration_s > 0 ? std::max<TimeNs>(1, schedule::from_seconds(job.duration_s)) : 0;
  added.facts.gpus = static_cast<std::int32_t>(job.gpus);
  added.facts.gpus_max = static_cast<std::int32_t>(job.gpus_max);
  added.facts.priority = job.priority;
  added.facts.deadline_ns = job.deadline_s < 0 ? kNever : schedule::from_seconds(job.deadline_s);
  added.facts.cpus = job.cpus;
  added.facts.memory = job.memory;
  added.facts.gpu_utilisation = job.gpu_utilisation;
  added.facts.gpu_memory_share = job.gpu_memory_share;
  added.facts.stages = stages_of(job.stages);
  added.facts.tenant = tenant_of(job.tenant);
  added.executed_ns = schedule::from_seconds(job.executed_s);
  added.state = job.state;
  if (!job.typed.empty()) added.facts.speed_class = class_of(job.typed, job.duration_s);
  return {};
}

Status JobSink::skip(std::size_t line, std::string what) {
  if (strict_) return Error::invalid(fmt::format("{}:{}: {}", name_, line, what));
  ++file_.rows;
  ++file_.skipped;
  if (file_.problems.size() < kProblemsMax) file_.problems.push_back({line, std::move(what)});
  return {};
}

void JobSink::predicted(std::size_t line, std::string what) {
  ++file_.predicted;
  if (file_.predictions.size() < kProblemsMax) file_.predictions.push_back({line, std::move(what)});
}

std::int32_t JobSink::class_of(const std::vector<TypedDuration>& typed, double fastest_s) {
  JobTrace& job_trace = file_.job_trace;
  std::vector<double> speeds;
  for (const TypedDuration& on : typed) {
    const auto found = std::find(job_trace.devices.begin(), job_trace.devices.end(), on.device);
    const auto place = static_cast<std::size_t>(found - job_trace.devices.begin());
    if (found == job_trace.devices.end()) job_trace.devices.push_back(on.device);
    if (speeds.size() <= place) speeds.resize(place + 1, 0);
    speeds[place] = fastest_s / on.seconds;
  }
  if (job_trace.speeds.empty()) job_trace.speeds.emplace_back();  // that of jobs that run anywhere alike
  const auto added = classes_.emplace(speeds, static_cast<std::int32_t>(job_trace.speeds.size()));
  if (added.second) job_trace.speeds.push_back(std::move(speeds));
  return added.first->second;
}

schedule::SharedStages JobSink::stages_of(const schedule::StageTimes& stages) {
  if (!schedule::is_known(stages)) return nullptr;
  schedule::SharedStages& known = stages_[stages];
  if (known == nullptr) known = schedule::shared_stages(stages);
  return known;
}

std::int32_t JobSink::tenant_of(const std::string& name) {
  const auto added = tenants_.emplace(name, static_cast<std::int32_t>(tenants_.size()));
  if (added.second) file_.job_trace.tenants.push_back(name);
  return added.first->second;
}

}  // namespace orrery::simulate
