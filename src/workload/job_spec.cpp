#include "workload/job_spec.h"

#include <bit>
#include <fmt/format.h>

#include "base/check.h"
#include "workload/training_options.h"

namespace orrery::workload {

namespace {

constexpr double kNameBytesMax = 200;
constexpr double kPathBytesMax = 4096;
constexpr double kSamplesMax = 1e15;

OptionRecord device_option() {
  return text_option("device", "", "name of the device, as `orrery devices` lists it; any device without it")
      .bounds(1, kNameBytesMax);
}

OptionRecord count_option() {
  return optional_integer("count", "number of devices; without it what parallelism needs")
      .bounds(1, kJobDevicesMax)
      .or_fields({integer_option("min", 1, "at least").bounds(1, kJobDevicesMax),
                  optional_integer("max", "at most").bounds(1, kJobDevicesMax).required()});
}

OptionRecord train_option() {
  return group_option(
      "train",
      {optional_integer("batch", "global batch: samples per step of all replicas together").bounds(1, 1 << 24),
       optimizer_option(), precision_option(), optional_integer("steps", "steps to train").bounds(1, kSamplesMax),
       optional_number("epochs", "passes over the data, instead of steps").bounds(1e-6, 1e9),
       optional_integer("dataset_size", "samples of one epoch").bounds(1, kSamplesMax)},
      "how it is trained");
}

OptionRecord resources_option() {
  OptionRecord needed_device = device_option().required();
  needed_device.help = "name of the device";
  return group_option(
      "resources",
      {device_option(), count_option(),
       group_option("any_of", {std::move(needed_device), count_option()}, "alternatives, instead of device and count")
           .list(kJobAlternativesMax)},
      "what it runs on");
}

OptionRecord parallelism_option() {
  std::vector<OptionRecord> fields = {
      optional_integer("data", "replicas; without it as many as the devices allow").bounds(1, kJobDevicesMax)};
  for (OptionRecord& record : parallelism_options()) fields.push_back(std::move(record));
  return group_option("parallelism", std::move(fields), "how it is spread over the devices");
}

bool divides_batch(const JobSpec& job, std::int64_t replicas) {
  return !job.batch || *job.batch % (replicas * job.parallelism.microbatches) == 0;
}

bool fits(const JobSpec& job, std::int64_t replicas) {
  return (!job.replicas || *job.replicas == replicas) && divides_batch(job, replicas);
}

// All of them, in order.
std::vector<int> fitting_counts(const JobSpec& job, DeviceCount count) {
  const std::int64_t each = devices_per_replica(job);
  std::vector<int> counts;
  for (std::int64_t replicas = (count.min + each - 1) / each; replicas * each <= count.max; ++replicas) {
    if (fits(job, replicas)) counts.push_back(static_cast<int>(replicas * each));
  }
  return counts;
}

}  // namespace

const std::vector<OptionRecord>& job_options() {
  static const std::vector<OptionRecord> kOptions = {
      text_option("job", "", "name of the job").bounds(1, kNameBytesMax).required(),
      text_option("model", "", "model of the zoo, or a model file; a path is relative to the job file")
          .bounds(1, kPathBytesMax),
      text_option("command", "", "program and arguments to run").bounds(0, kPathBytesMax).list(kJobCommandMax),
      train_option(),
      resources_option(),
      parallelism_option(),
      flag_option("elastic", "the number of devices may change within count while the job runs"),
      optional_duration("deadline", "finish this long after submission").bounds(1, 86400 * 3650.),
      optional_number("budget", "spend at most").in("USD").bounds(0.01, 1e12),
      integer_option("priority", 0, "higher goes first").bounds(-1000, 1000),
  };
  return kOptions;
}

std::int64_t devices_per_replica(const JobSpec& job) {
  return std::int64_t{job.parallelism.tensor} * job.parallelism.pipeline;
}

std::optional<Misfit> misfit(const JobSpec& job, int devices) {
  const Parallelism& p = job.parallelism;
  const std::int64_t each = devices_per_replica(job);
  if (devices % each != 0) {
    return Misfit{fmt::format("{} is not a multiple of tensor {} × pipeline {}", devices, p.tensor, p.pipeline)};
  }
  const std::int64_t replicas = devices / each;
  if (job.replicas && *job.replicas != replicas) {
    return Misfit{
        fmt::format("{} is not data {} × tensor {} × pipeline {}", devices, *job.replicas, p.tensor, p.pipeline)};
  }
  if (divides_batch(job, replicas)) return std::nullopt;
  return Misfit{fmt::format("the global batch {} does not divide into {} replicas{}", *job.batch, replicas,
                            p.microbatches > 1 ? fmt::format(" × {} micro-batches", p.microbatches) : ""),
                true};
}

std::optional<std::int64_t> replica_batch(const JobSpec& job, int devices) {
  if (!job.batch) return std::nullopt;
  ORRERY_CHECK(!misfit(job, devices));
  return *job.batch / (devices / devices_per_replica(job));
}

std::vector<int> counts_to_try(const JobSpec& job, DeviceCount count) {
  const auto fitting = fitting_counts(job, count);
  std::vector<int> counts;
  for (const int n : fitting) {
    if (counts.empty() || (n % counts.front() == 0 && std::has_single_bit(static_cast<unsigned>(n / counts.front()))))
      counts.push_back(n);
  }
  if (!fitting.empty() && counts.back() != fitting.back()) counts.push_back(fitting.back());
  return counts;
}

}  // namespace orrery::workload
