#pragma once
// Where readers put jobs: checks each, counts what is wrong.

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "simulate/readers/reader.h"

namespace orrery::simulate {

// A job as rows give it; times in seconds. What is not set is not said.
struct RawJob {
  std::string id{};
  std::string model{};
  std::string tenant{};
  double submit_s = 0;
  double duration_s = 0;
  double gpus = 1;
  double gpus_max = 0;
  double priority = 0;
  double deadline_s = -1;  // below 0: none
  double cpus = 0, memory = 0;
  double gpu_utilisation = 1, gpu_memory_share = 1;
};

class JobSink {
 public:
  JobSink(WorkloadFile& file, const std::string& name, bool strict) : file_(file), name_(name), strict_(strict) {}

  // A row that is a job, if nothing is wrong with it. An error only if reading is strict.
  Status add(std::size_t line, const RawJob& job);
  Status skip(std::size_t line, std::string what);
  // A row that is no job for us, and nothing wrong.
  void ignore() {
    ++file_.rows;
    ++file_.not_jobs;
  }

 private:
  std::int32_t tenant_of(const std::string& name);

  WorkloadFile& file_;
  std::string name_;
  bool strict_;
  std::unordered_set<std::string> ids_;
  std::unordered_map<std::string, std::int32_t> tenants_;
};

}  // namespace orrery::simulate
