// A policy that is saved, made anew and restored after every event makes the same decisions, also if jobs that have ended
// are forgotten; bytes that are not its own of that moment are refused, and it goes on from the view alone.
// tests/policy_processes_test.py does the same with a new process for every event.
//
// ORRERY_RESTART_RUNS random simulations of each policy, 40 unless it is set.

#include <cstdlib>
#include <fmt/format.h>

#include "simulate/restart_cases.h"
#include "simulate/test_scenario.h"

namespace orrery::simulate {
namespace {

constexpr std::uint64_t kDefaultRuns = 40;
constexpr std::ptrdiff_t kStateBytesMax = 4096;  // and 200 for each live job

using Carry = std::function<std::string(std::string)>;

std::uint64_t wanted_runs() {
  const char* const wanted = std::getenv("ORRERY_RESTART_RUNS");
  return wanted == nullptr ? kDefaultRuns : std::strtoull(wanted, nullptr, 10);
}

std::string unchanged(std::string bytes) {
  return bytes;
}

// What a policy refuses to do is taken out of the scenario.
std::optional<RunResult> run_with(Scenario scenario, const std::string& policy, const Carry& carry) {
  scenario.setup.engine.check_invariants = false;
  scenario.setup.engine.restart_policy = carry;
  auto result = run_scenario(scenario, policy);
  if (!result && result.error().code() == ErrorCode::kInvalidArgument && scenario.setup.placement == "best-fit") {
    scenario.setup.placement = "consolidated";
    result = run_scenario(scenario, policy);
  }
  if (!result && result.error().code() == ErrorCode::kInvalidArgument) return std::nullopt;
  EXPECT_TRUE(result.has_value()) << scenario.what << ": " << result.error().to_string();
  return result ? std::optional(std::move(*result)) : std::nullopt;
}

void expect_all_end(const RunResult& result, const std::string& what) {
  for (const JobIndex job : result.jobs.indices()) {
    const bool too_large = std::binary_search(result.too_large.begin(), result.too_large.end(), job);
    EXPECT_TRUE(too_large || result.jobs[job].end_ns != kNever) << what << ": job " << job.value();
  }
}

void expect_same_decisions(const Scenario& scenario, const std::string& policy, const std::string& what) {
  const auto whole = run_with(scenario, policy, nullptr);
  if (!whole) return;
  const auto restarted = run_with(scenario, policy, unchanged);
  ASSERT_TRUE(restarted) << what << scenario.what;
  EXPECT_EQ(restarted->states_refused, 0) << what << scenario.what;
  EXPECT_EQ(restarted->decision_hash, whole->decision_hash) << what << scenario.what;
  EXPECT_EQ(restarted->decisions, whole->decisions) << what << scenario.what;
  Scenario forgetful = scenario;
  forgetful.setup.engine.forget_ended = true;
  const auto forgetting = run_with(forgetful, policy, unchanged);
  ASSERT_TRUE(forgetting) << what << scenario.what;
  EXPECT_EQ(forgetting->decision_hash, whole->decision_hash) << what << scenario.what;
  EXPECT_LE(restarted->state_bytes, kStateBytesMax) << what << scenario.what << " " << restarted->state_jobs << " jobs";
}

Scenario as_scenario(RestartCase played) {
  return {.job_trace = std::move(played.job_trace), .setup = std::move(played.setup)};
}

class PolicyRestart : public ::testing::TestWithParam<std::string> {};

TEST_P(PolicyRestart, AfterEveryEventChangesNoDecision) {
  expect_same_decisions(as_scenario(crowded_cluster()), GetParam(), "crowded");
  expect_same_decisions(as_scenario(failing_types()), GetParam(), "types");
  expect_same_decisions(as_scenario(elastic_jobs()), GetParam(), "elastic");
  for (std::uint64_t seed = 1; seed <= wanted_runs(); ++seed) {
    expect_same_decisions(scenario_of(seed, seed % 3 == 0), GetParam(), fmt::format("seed {}", seed));
  }
}

// Every kind of damage in turn.
std::string damaged(std::string bytes, const std::string& earlier, Random& random) {
  const std::string whole = bytes;
  const auto place = static_cast<std::size_t>(random.below(bytes.size()));
  switch (random.below(6)) {
    case 0:
      bytes[place] = static_cast<char>(bytes[place] ^ 1 << random.below(8));
      break;
    case 1:
      bytes.resize(place);
      break;
    case 2:
      bytes.erase(place, 1 + random.below(16));
      break;
    case 3:
      bytes.insert(place, bytes.substr(place, 1 + random.below(16)));
      break;
    case 4:
      bytes = std::string(bytes.size(), static_cast<char>(random.below(256)));
      break;
    default:
      bytes = earlier;
  }
  return bytes == whole ? "" : bytes;
}

TEST_P(PolicyRestart, RefusesDamageAndGoesOnFromTheView) {
  int damages = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= wanted_runs(); ++seed) {
    Random random(seed);
    std::string earlier;
    const auto carry = [&](const std::string& bytes) {
      const bool breaks = random.uniform() < 0.2;
      std::string result = breaks ? damaged(bytes, earlier, random) : bytes;
      earlier = bytes;
      damages += breaks ? 1 : 0;
      return result;
    };
    const int before = damages;
    const Scenario scenario = scenario_of(seed, seed % 3 == 0);
    const auto result = run_with(scenario, GetParam(), carry);
    if (!result) {
      damages = before;
      continue;
    }
    refused += result->states_refused;
    expect_all_end(*result, fmt::format("seed {}{}", seed, scenario.what));
  }
  EXPECT_EQ(refused, damages);
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, PolicyRestart, ::testing::ValuesIn(names_of_policies()), test_name);

}  // namespace
}  // namespace orrery::simulate
