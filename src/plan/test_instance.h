#pragma once
// Small synthetic instances for tests, by seed, and their text.

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "plan/instance.h"

namespace orrery::plan {

struct Synthetic {
  int nodes = 2;
  int jobs = 4;
  int gpus_max = 3;
};

inline nlohmann::json synthetic_json(std::uint64_t seed, const Synthetic& size) {
  Random random(seed);
  nlohmann::json types = nlohmann::json::array();
  for (int i = 0; i < 3; ++i) {
    nlohmann::json type = {{"name", "vm" + std::to_string(i)},
                           {"gpu", i == 2 ? "B" : "A"},
                           {"gpus", 1 + random.below(static_cast<std::uint64_t>(size.gpus_max))},
                           {"price_usd_h", random.uniform(0.5, 4)},
                           {"max_nodes", nullptr}};
    if (i == 1) type["max_nodes"] = 1;
    types.push_back(std::move(type));
  }
  nlohmann::json jobs = nlohmann::json::array();
  for (int i = 0; i < size.jobs; ++i) {
    nlohmann::json times = nlohmann::json::object();
    for (const char* gpu : {"A", "B"}) {
      if (*gpu == 'B' && random.below(3) == 0) continue;
      const double work = random.uniform(100, 3000);
      for (int gpus = 1; gpus <= size.gpus_max; ++gpus)
        times[gpu].push_back(50 + work / gpus * random.uniform(0.9, 1.1));
    }
    jobs.push_back({{"id", "J" + std::to_string(i)},
                    {"submit_s", 0},
                    {"due_s", random.uniform(200, 4000)},
                    {"weight_usd_s", random.uniform(0.001, 0.01)},
                    {"times_s", std::move(times)}});
  }
  return {{"nodes", size.nodes}, {"now_s", 100},          {"horizon_s", 300},  {"rho", 5},
          {"kappa", 0.05},       {"wait_fraction", 0.25}, {"vm_types", types}, {"jobs", jobs}};
}

// With a quota, a budget, a spot type, memory limits, a job that runs and one that is pinned.
inline nlohmann::json limited_json(std::uint64_t seed, const Synthetic& size) {
  nlohmann::json json = synthetic_json(seed, size);
  Random random = Random(seed).split("limits");
  auto& types = json["vm_types"];
  auto& jobs = json["jobs"];
  types[2]["spot"] = {{"interruptions_per_h", random.uniform(0, 2)}, {"save_every_s", 600}, {"restart_s", 60}};
  types[0]["memory_gib"] = 16;
  for (auto& job : jobs) {
    if (random.below(3) == 0) job["memory_gib"] = {24, 12};
    job["switch_s"] = random.uniform(0, 100);
  }
  jobs[0]["memory_gib"] = 1;
  jobs[0]["running"] = {{"vm", "vm0"}, {"gpus", 1}, {"pinned_on", "here"}};
  jobs[1]["memory_gib"] = 1;
  jobs[1]["running"] = {{"vm", "vm1"}, {"gpus", 1}};
  const int kept = types[0]["gpus"].get<int>();
  json["quotas"] = {{{"name", "A"}, {"vm_types", {"vm0", "vm1"}}, {"max_gpus", kept + random.below(3)}}};
  const double pinned_usd = types[0]["price_usd_h"].get<double>() / 3600 * 3400;  // at most
  json["budget_usd"] = pinned_usd + random.uniform(0, 2);
  return json;
}

// With jobs that can, or must, run on several machines.
inline Instance several(std::uint64_t seed, bool limits) {
  const Synthetic size{.nodes = 3, .jobs = 3, .gpus_max = 2};
  nlohmann::json json = limits ? limited_json(seed, size) : synthetic_json(seed, size);
  Random random = Random(seed).split("several");
  json["budget_usd"] = limits ? nlohmann::json(json["budget_usd"].get<double>() + 5) : nlohmann::json();
  for (int i = 1; i < size.jobs; ++i) {
    auto& job = json["jobs"][static_cast<std::size_t>(i)];
    const double time = random.uniform(100, 1500);
    job["machines_s"] = {{"vm0", {time, 0.7 * time}}, {"vm2", {1.1 * time}}};
    job["weight_usd_s"] = random.uniform(0.005, 0.05);
    if (i == 2) job.erase("times_s");
  }
  return read_instance(json.dump(), "synthetic").value();
}

inline Instance limited(std::uint64_t seed, const Synthetic& size = {}) {
  auto instance = read_instance(limited_json(seed, size).dump(), "synthetic");
  return instance.value();
}

inline Instance synthetic(std::uint64_t seed, const Synthetic& size = {}) {
  auto instance = read_instance(synthetic_json(seed, size).dump(), "synthetic");
  return instance.value();
}

}  // namespace orrery::plan
