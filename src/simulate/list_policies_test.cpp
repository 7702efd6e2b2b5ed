// The incremental list policies against the rules of the published simulator, written down without any cleverness: one
// list of all jobs, sorted and walked at every event. Few distinct numbers, so that ties are everywhere.

#include "schedule/policies/list_policies.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "base/random.h"
#include "schedule/policies/las.h"
#include "simulate/engine.h"

namespace orrery::simulate {
namespace {

struct Plain {
  int submit, length, gpus;
  int done = 0, end = -1;
  bool running = false;
  std::size_t queue = 0;
};

std::vector<Plain> random_jobs(std::uint64_t seed) {
  Random random(seed);
  std::vector<Plain> jobs;
  int submit = 0;
  for (int j = 0; j < 40; ++j) {
    submit += static_cast<int>(random.below(4));
    jobs.push_back({submit, 1 + static_cast<int>(random.below(12)), 1 << random.below(3)});
  }
  return jobs;
}

// Moves time to `next` and ends finished jobs; returns whether any are left.
void pass_time(std::vector<Plain>& jobs, std::vector<int>& list, int now, int next) {
  for (const int j : list) {
    if (jobs[static_cast<std::size_t>(j)].running) jobs[static_cast<std::size_t>(j)].done += next - now;
  }
  std::erase_if(list, [&](int j) {
    Plain& job = jobs[static_cast<std::size_t>(j)];
    if (!job.running || job.done < job.length) return false;
    job.end = next;
    return true;
  });
}

std::vector<int> shortest_first(std::vector<Plain> jobs, int gpus, bool by_service) {
  std::vector<int> list;
  std::size_t arrived = 0;
  int now = 0;
  while (true) {
    int next = 1 << 30;
    if (arrived < jobs.size()) next = jobs[arrived].submit;
    for (const int j : list) {
      const Plain& job = jobs[static_cast<std::size_t>(j)];
      if (job.running) next = std::min(next, now + job.length - job.done);
    }
    if (next == 1 << 30) break;
    pass_time(jobs, list, now, next);
    now = next;
    for (; arrived < jobs.size() && jobs[arrived].submit <= now; ++arrived) list.push_back(static_cast<int>(arrived));
    std::stable_sort(list.begin(), list.end(), [&](int a, int b) {
      const Plain &x = jobs[static_cast<std::size_t>(a)], &y = jobs[static_cast<std::size_t>(b)];
      const int left_x = x.length - x.done, left_y = y.length - y.done;
      return by_service ? left_x * x.gpus < left_y * y.gpus : left_x < left_y;
    });
    int room = gpus;
    for (const int j : list) {
      Plain& job = jobs[static_cast<std::size_t>(j)];
      job.running = job.gpus <= room;
      if (job.running) room -= job.gpus;
    }
  }
  std::vector<int> ends;
  for (const Plain& job : jobs) ends.push_back(job.end);
  return ends;
}

std::vector<int> least_service_first(std::vector<Plain> jobs, int gpus, const std::vector<int>& limits) {
  std::vector<std::vector<int>> queues(limits.size() + 1);
  std::vector<int> list;  // in order of arrival
  std::size_t arrived = 0;
  int now = 0;
  while (true) {
    int next = 1 << 30;
    if (arrived < jobs.size()) next = jobs[arrived].submit;
    for (const int j : list) {
      const Plain& job = jobs[static_cast<std::size_t>(j)];
      if (!job.running) continue;
      next = std::min(next, now + job.length - job.done);
      if (job.queue >= limits.size()) continue;
      const int left = limits[job.queue] - job.done;
      next = std::min(next, now + std::max(0, (left + job.gpus - 1) / job.gpus));
    }
    if (next == 1 << 30) break;
    pass_time(jobs, list, now, next);
    now = next;
    for (auto& queue : queues) std::erase_if(queue, [&](int j) { return jobs[static_cast<std::size_t>(j)].end >= 0; });
    for (; arrived < jobs.size() && jobs[arrived].submit <= now; ++arrived) {
      list.push_back(static_cast<int>(arrived));
      queues[0].push_back(static_cast<int>(arrived));
    }
    for (const int j : list) {
      Plain& job = jobs[static_cast<std::size_t>(j)];
      if (!job.running || job.queue >= limits.size() || job.done * job.gpus < limits[job.queue]) continue;
      std::erase(queues[job.queue], j);
      queues[++job.queue].push_back(j);
    }
    int room = gpus;
    for (auto& queue : queues) {
      for (const int j : queue) {
        Plain& job = jobs[static_cast<std::size_t>(j)];
        job.running = job.gpus <= room;
        if (job.running) room -= job.gpus;
      }
      std::stable_partition(queue.begin(), queue.end(),
                            [&](int j) { return jobs[static_cast<std::size_t>(j)].running; });
    }
  }
  std::vector<int> ends;
  for (const Plain& job : jobs) ends.push_back(job.end);
  return ends;
}

std::vector<int> simulated(const std::vector<Plain>& jobs, int gpus, std::unique_ptr<schedule::Policy> policy) {
  JobTrace job_trace;
  job_trace.tenants = {""};
  for (const Plain& job : jobs) {
    TraceJob& added = job_trace.jobs.emplace_back();
    added.facts.submit_ns = job.submit * schedule::kSecondNs;
    added.facts.work_ns = job.length * schedule::kSecondNs;
    added.facts.gpus = job.gpus;
  }
  const auto run = simulate(
      job_trace, {{.gpus = gpus}}, CurveSpeed({}),
      [&](const schedule::ClusterView&) -> Result<std::unique_ptr<schedule::Policy>> { return std::move(policy); });
  EXPECT_TRUE(run.has_value());
  std::vector<int> ends;
  for (const JobOutcome& outcome : run->jobs) ends.push_back(static_cast<int>(outcome.end_ns / schedule::kSecondNs));
  return ends;
}

TEST(ListPolicies, ShortestFirstIsAStableSortAtEveryEvent) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::vector<Plain> jobs = random_jobs(seed);
    const int gpus = 4 + static_cast<int>(seed % 5);
    ASSERT_EQ(simulated(jobs, gpus, schedule::make_srtf(schedule::make_most_free_placer())),
              shortest_first(jobs, gpus, false))
        << "srtf, seed " << seed;
    ASSERT_EQ(simulated(jobs, gpus, schedule::make_srsf(schedule::make_most_free_placer())),
              shortest_first(jobs, gpus, true))
        << "srsf, seed " << seed;
  }
}

TEST(ListPolicies, LeastServiceFirstIsAWalkOfTheQueues) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::vector<Plain> jobs = random_jobs(seed);
    const int gpus = 4 + static_cast<int>(seed % 5);
    const schedule::LasOptions options{.limits_gpu_s = {5, 12}, .jumps_of_simulator = true};
    ASSERT_EQ(simulated(jobs, gpus, schedule::make_las(options, schedule::make_most_free_placer())),
              least_service_first(jobs, gpus, {5, 12}))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace orrery::simulate
