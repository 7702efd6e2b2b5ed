#pragma once
// A training job as its owner describes it: what is trained or run, how long, on what, until when, for how much.
//
// JobSpec is a value. Devices and models are names here: modules that know them look them up. job_file.h reads and
// writes it as YAML; docs/reference/formats/job.md describes the file.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/precision.h"
#include "base/units.h"
#include "workload/training_run.h"

namespace orrery::workload {

inline constexpr int kJobDevicesMax = 1 << 20;
inline constexpr std::size_t kJobAlternativesMax = 64;
inline constexpr std::size_t kJobCommandMax = 4096;

// How many devices a job may be given.
struct DeviceCount {
  int min = 1;
  int max = 1;

  bool is_range() const { return min != max; }
  bool operator==(const DeviceCount&) const = default;
};

// Devices of one kind; any kind if it has no name.
struct DeviceRequest {
  std::string device;
  DeviceCount count;

  bool operator==(const DeviceRequest&) const = default;
};

struct JobSpec {
  std::string name;
  std::string model;                 // of the zoo or a file; empty: only the command is known
  std::vector<std::string> command;  // program and arguments; empty: only the model is known

  std::optional<std::int64_t> batch;  // samples per step of all replicas together
  Optimizer optimizer = Optimizer::kMomentum;
  std::optional<Precision> precision;  // nothing: what the device is best at
  // At most one of steps and epochs; epochs come with the dataset's size.
  std::optional<std::int64_t> steps;
  std::optional<double> epochs;
  std::optional<std::int64_t> dataset_size;

  std::vector<DeviceRequest> resources = {{}};  // alternatives, at least one
  std::optional<int> replicas;                  // nothing: as many as the devices allow
  Parallelism parallelism;                      // its `data` is 1: see replicas
  bool elastic = false;                         // the number of devices may change while it runs

  std::optional<Seconds> deadline;  // from submission
  std::optional<Dollars> budget;
  int priority = 0;  // higher goes first

  bool operator==(const JobSpec&) const = default;
};

// The fields of a job file: parsing, the JSON Schema and the documents are made from them.
const std::vector<OptionRecord>& job_options();

// Devices that one replica is spread over.
std::int64_t devices_per_replica(const JobSpec& job);

// Why the job cannot run on this many devices.
struct Misfit {
  std::string message;
  bool of_batch = false;  // the batch does not divide; otherwise the parallelism
};
std::optional<Misfit> misfit(const JobSpec& job, int devices);
// Samples per step of one replica, if the job states its batch. Precondition: the job fits this many devices.
std::optional<std::int64_t> replica_batch(const JobSpec& job, int devices);
// Numbers of devices to look at: of those in the range that the job fits the smallest, its doublings and the largest.
std::vector<int> counts_to_try(const JobSpec& job, DeviceCount count);

}  // namespace orrery::workload
