#pragma once
// Where readers put jobs: checks each, counts what is wrong.

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "simulate/readers/reader.h"

namespace orrery::simulate {

// In our own forms, before the name of a type of device.
inline constexpr std::string_view kTypedDuration = "duration_s.";

// How long a job runs on one type of device.
struct TypedDuration {
  std::string device;
  double seconds = 0;
};

// A job as rows give it; times in seconds. Fields that are not set are not known.
struct RawJob {
  std::string id{};
  std::string model{};
  std::string tenant{};
  double submit_s = 0;
  double duration_s = 0;  // on the type where it is fastest, if types are given
  double batch = 0, steps = 0;
  double time_limit_s = 0;  // 0: none
  std::vector<TypedDuration> typed{};
  double gpus = 1;
  double gpus_max = 0;
  double priority = 0;
  double deadline_s = -1;  // below 0: none
  double cpus = 0, memory = 0;
  double gpu_utilisation = 1, gpu_memory_share = 1;
  double executed_s = 0;
  QueueState state = QueueState::kNotSaid;
  schedule::StageTimes stages{};

  // The duration becomes that on the fastest type.
  void add_typed(std::string device, double seconds) {
    duration_s = typed.empty() ? seconds : std::min(duration_s, seconds);
    typed.push_back({std::move(device), seconds});
  }
};

class JobSink {
 public:
  JobSink(JobTraceFile& file, const std::string& name, const ReadOptions& options)
      : file_(file), name_(name), strict_(options.strict), queue_(options.queue) {}

  // Whether a queue is read, and not a trace.
  bool is_queue() const { return queue_; }
  // A row that is a job, if nothing is wrong with it. An error only if reading is strict.
  Status add(std::size_t line, const RawJob& job);
  Status skip(std::size_t line, std::string what);
  // The job of this line has a speed that was not in the table and was predicted.
  void predicted(std::size_t line, std::string what);
  // A row that is no job for us, and nothing wrong.
  void ignore() {
    ++file_.rows;
    ++file_.not_jobs;
  }

 private:
  std::int32_t tenant_of(const std::string& name);
  schedule::SharedStages stages_of(const schedule::StageTimes& stages);
  std::int32_t class_of(const std::vector<TypedDuration>& typed, double fastest_s);

  JobTraceFile& file_;
  std::string name_;
  bool strict_, queue_;
  std::unordered_set<std::string> ids_;
  std::unordered_map<std::string, std::int32_t> tenants_;
  std::map<schedule::StageTimes, schedule::SharedStages> stages_;
  std::map<std::vector<double>, std::int32_t> classes_;  // speeds by device, without zeros at the end
};

}  // namespace orrery::simulate
