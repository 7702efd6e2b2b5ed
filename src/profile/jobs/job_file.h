#pragma once
// A data set of measured data-parallel jobs in one file: what a worker used of four resources;
// docs/reference/formats/jobs_dataset.md.
//
// Lines of JSON, gzipped: a header, then one line per job. Times are those of a quiet core (speed_probe.h): what the
// core was slower than that is taken off the computing part of a step, and nothing else.

#include <array>
#include <string_view>
#include <vector>

#include "profile/jobs/job.h"
#include "profile/speed_probe.h"

namespace orrery::profile {

inline constexpr int kJobsVersion = 1;
inline constexpr Bytes kJobsMax = gigabytes(0.25);  // unpacked

// Driple's description of a resource: how long a burst lasts, how long it idles, how much of it a burst uses. With one
// level only, both durations are 0 and the amount is that level.
struct ResourceUtilisation {
  Seconds burst, idle;
  double amount = 0;  // B resident, cores, B/s, B/s
};

// Driple's resources in Driple's order, for a machine without GPUs: B resident stand for a GPU's memory traffic, cores
// for its computing.
enum class Resource { kMemory, kProcessor, kReceive, kTransmit };
inline constexpr std::size_t kResources = 4;
std::string_view to_string(Resource resource);  // "memory", "cpu", "receive", "transmit"

struct MeasuredJob {
  Job job;
  Seconds step{}, compute{};  // medians of the first worker
  double slowness = 1;        // of the core, already taken off
  std::array<ResourceUtilisation, kResources> use{};

  const ResourceUtilisation& of(Resource resource) const { return use[static_cast<std::size_t>(resource)]; }
};

struct JobsHeader {
  std::string machine, library;
  std::uint64_t seed = 0;
  CoreReading quiet{};

  bool is_same_bench(const JobsHeader& other) const;
};

struct JobSet {
  JobsHeader header;
  std::vector<MeasuredJob> jobs;
};

// What the processes reported and what was sampled of them. Fails if something was not sampled, like the network of
// processes that have none of their own.
Result<MeasuredJob> measured_job(const Job& job, const LaunchReport& report, double slowness);

std::string header_line(const JobsHeader& header);
std::string job_line(const MeasuredJob& job);
// A last line without its end was being written when the builder died; it is left out if `may_be_cut`.
Result<JobSet> parse_jobs(std::string_view lines, bool may_be_cut);
// Whether a file claims to be one, whatever is wrong with it.
bool is_job_set(env::Files& files, const std::string& path);
Result<JobSet> read_jobs(env::Files& files, const std::string& path);

}  // namespace orrery::profile
