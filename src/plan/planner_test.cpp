#include "plan/planner.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

#include "env/sim_env.h"
#include "plan/checker.h"
#include "plan/greedy.h"
#include "plan/improve.h"
#include "plan/lagrangian.h"
#include "plan/relink.h"
#include "plan/test_instance.h"

namespace orrery::plan {
namespace {

constexpr Objective kAll[] = {Objective::kWait, Objective::kRho, Objective::kFirstEnd};

// The cost of the cheapest plan, by trying every one.
class BruteForce {
 public:
  BruteForce(const Instance& instance, Objective objective) : instance_(instance), objective_(objective) { place(0); }

  long double least_nano() const { return least_; }

 private:
  void place(std::size_t job) {
    if (job == instance_.jobs.size()) {
      const auto cost = check_plan(instance_, objective_, plan_);
      if (cost) least_ = std::min(least_, *cost);
      return;
    }
    place(job + 1);
    spread(job);
    for (std::size_t n = 0; n < plan_.nodes.size(); ++n) put(job, n);
    if (plan_.nodes.size() == static_cast<std::size_t>(instance_.nodes)) return;
    for (std::size_t vm = 0; vm < instance_.vm_types.size(); ++vm) {
      plan_.nodes.push_back({vm});
      put(job, plan_.nodes.size() - 1);
      plan_.nodes.pop_back();
    }
  }
  void spread(std::size_t job) {
    for (std::size_t vm = 0; vm < instance_.vm_types.size(); ++vm) {
      const VmType& type = instance_.vm_types[vm];
      const auto found = instance_.jobs[job].machines_s.find(type.name);
      if (found == instance_.jobs[job].machines_s.end()) continue;
      for (std::size_t machines = 2; machines < found->second.size() + 2; ++machines) {
        const std::size_t before = plan_.nodes.size();
        plan_.nodes.insert(plan_.nodes.end(), machines, Node{vm, {{job, type.gpus}}});
        place(job + 1);
        plan_.nodes.resize(before);
      }
    }
  }
  void put(std::size_t job, std::size_t n) {
    const VmType& type = instance_.vm_types[plan_.nodes[n].vm];
    for (int gpus = 1; gpus <= type.gpus - plan_.nodes[n].used_gpus(); ++gpus) {
      if (!time_s(instance_.jobs[job], type, gpus)) continue;
      plan_.nodes[n].jobs.push_back({job, gpus});
      place(job + 1);
      plan_.nodes[n].jobs.pop_back();
    }
  }

  const Instance& instance_;
  Objective objective_;
  Plan plan_;
  long double least_ = std::numeric_limits<long double>::max();
};

// A currency of a millionth: the same plan, a million times as expensive, and as certain.
TEST(Planner, WeightsAndPricesMayBeLarge) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    nlohmann::json text = synthetic_json(seed, {});
    const auto small = read_instance(text.dump(), "f");
    ASSERT_TRUE(small.has_value()) << small.error().to_string();
    for (auto& job : text["jobs"]) job["weight_usd_s"] = 1e6 * job["weight_usd_s"].get<double>();
    const auto large = read_instance(text.dump(), "f");
    ASSERT_TRUE(large.has_value()) << large.error().to_string();
    for (const Objective objective : {Objective::kWait, Objective::kRho, Objective::kFirstEnd}) {
      const auto report = make_plan(*large, objective, {}, env::make_real_env());
      ASSERT_TRUE(report.has_value()) << report.error().to_string();
      EXPECT_TRUE(report->proven) << report->note << " seed " << seed;
      const double least = static_cast<double>(BruteForce(*large, objective).least_nano()) / 1e9;
      EXPECT_NEAR(report->objective_usd, least, 1e-7 + 1e-12 * least);
    }
  }
}

TEST(Planner, NothingToDoOrNothingToDoItOnIsAnEmptyPlan) {
  for (const Objective objective : {Objective::kWait, Objective::kRho, Objective::kFirstEnd}) {
    nlohmann::json text = synthetic_json(1, {});
    for (auto& type : text["vm_types"]) type["max_nodes"] = 0;
    auto instance = read_instance(text.dump(), "f");
    ASSERT_TRUE(instance.has_value()) << instance.error().to_string();
    auto report = make_plan(*instance, objective, {}, env::make_real_env());
    ASSERT_TRUE(report.has_value()) << report.error().to_string();
    EXPECT_TRUE(report->plan.nodes.empty());
    EXPECT_TRUE(report->proven) << report->note;
    text["jobs"] = nlohmann::json::array();
    instance = read_instance(text.dump(), "f");
    ASSERT_TRUE(instance.has_value()) << instance.error().to_string();
    report = make_plan(*instance, objective, {}, env::make_real_env());
    ASSERT_TRUE(report.has_value()) << report.error().to_string();
    EXPECT_TRUE(report->plan.nodes.empty() && report->proven);
    EXPECT_EQ(report->objective_usd, 0);
  }
}

TEST(Planner, FindsWhatTryingEveryPlanFinds) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const Instance instance = synthetic(seed);
    for (const Objective objective : kAll) {
      const auto report = make_plan(instance, objective, {}, env::make_real_env());
      ASSERT_TRUE(report) << report.error().to_string();
      EXPECT_TRUE(report->proven) << seed << " " << to_string(objective) << " " << report->note;
      EXPECT_NEAR(report->objective_usd, static_cast<double>(BruteForce(instance, objective).least_nano()) / 1e9, 1e-7)
          << seed << " " << to_string(objective);
    }
  }
}

TEST(Planner, GivesJobsSeveralMachinesWhereThatIsCheapest) {
  int spread = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Instance instance = several(seed, seed % 2 == 0);
    for (const Objective objective : {Objective::kWait, Objective::kRho}) {
      const auto report = make_plan(instance, objective, {}, env::make_real_env());
      ASSERT_TRUE(report) << seed << " " << report.error().to_string();
      const double least = static_cast<double>(BruteForce(instance, objective).least_nano()) / 1e9;
      EXPECT_TRUE(report->proven) << seed << " " << to_string(objective) << " " << report->note;
      EXPECT_NEAR(report->objective_usd, least, 1e-7) << seed << " " << to_string(objective);
      EXPECT_LE(report->objective_usd, report->greedy_usd);
      const std::vector<int> machines = machines_by_job(instance, report->plan);
      spread += *std::max_element(machines.begin(), machines.end()) > 1 ? 1 : 0;
      const auto quick = make_plan(instance, objective, {.heuristic_only = true}, env::make_real_env());
      ASSERT_TRUE(quick) << seed;
      EXPECT_LE(quick->bound_usd, least + 1e-7) << seed;
      EXPECT_GE(quick->objective_usd, least - 1e-7) << seed;
    }
  }
  EXPECT_GE(spread, 5);
  EXPECT_FALSE(make_plan(several(1, false), Objective::kFirstEnd, {}, env::make_real_env()));
}

TEST(Planner, KeepsLimitsAndFindsWhatTryingEveryPlanFinds) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const Instance instance = limited(seed);
    for (const Objective objective : {Objective::kWait, Objective::kRho}) {
      const auto report = make_plan(instance, objective, {}, env::make_real_env());
      ASSERT_TRUE(report) << seed << " " << report.error().to_string();
      const double least = static_cast<double>(BruteForce(instance, objective).least_nano()) / 1e9;
      EXPECT_TRUE(report->proven) << seed << " " << to_string(objective) << " " << report->note;
      EXPECT_NEAR(report->objective_usd, least, 1e-7) << seed << " " << to_string(objective);
      const auto quick = make_plan(instance, objective, {.heuristic_only = true}, env::make_real_env());
      ASSERT_TRUE(quick) << seed << " " << quick.error().to_string();
      EXPECT_LE(quick->bound_usd, least + 1e-7) << seed;
      EXPECT_GE(quick->objective_usd, least - 1e-7) << seed;
      EXPECT_LE(quick->objective_usd, quick->greedy_usd + 1e-12) << seed;
    }
  }
}

TEST(Planner, LimitsHoldInLargerCases) {
  for (std::uint64_t seed = 3; seed <= 8; ++seed) {
    const Instance instance = limited(seed, {.nodes = 6, .jobs = 30, .gpus_max = 6});
    for (const Objective objective : {Objective::kWait, Objective::kRho}) {
      const auto report = make_plan(instance, objective, {.heuristic_only = true}, env::make_real_env());
      ASSERT_TRUE(report) << seed << " " << report.error().to_string();  // the checker has agreed
      const auto exact = make_plan(instance, objective, {.limit = Seconds(1)}, env::make_real_env());
      ASSERT_TRUE(exact) << seed << " " << exact.error().to_string();
      EXPECT_LE(report->bound_usd, exact->objective_usd + 1e-7) << seed;
      EXPECT_LE(exact->objective_usd, report->objective_usd + 1e-9) << seed;
    }
  }
}

TEST(Planner, OrderOfJobsAndTypesChangesNothingUnderLimits) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    nlohmann::json json = limited_json(seed, {.nodes = 3, .jobs = 8, .gpus_max = 4});
    const auto text = [&] { return read_instance(json.dump(), "synthetic").value(); };
    const Instance before = text();
    std::reverse(json["jobs"].begin(), json["jobs"].end());
    std::reverse(json["vm_types"].begin(), json["vm_types"].end());
    std::reverse(json["quotas"][0]["vm_types"].begin(), json["quotas"][0]["vm_types"].end());
    const Instance after = text();
    for (const bool quick : {false, true}) {
      const PlannerOptions how{.heuristic_only = quick};
      const auto one = make_plan(before, Objective::kWait, how, env::make_real_env());
      const auto other = make_plan(after, Objective::kWait, how, env::make_real_env());
      ASSERT_TRUE(one && other);
      EXPECT_DOUBLE_EQ(one->objective_usd, other->objective_usd) << seed;
      EXPECT_EQ(one->plan, other->plan) << seed;
    }
  }
}

TEST(Planner, FirstEndSaysThatItKnowsNoLimits) {
  const auto report = make_plan(limited(1), Objective::kFirstEnd, {}, env::make_real_env());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kInvalidArgument);
}

TEST(Planner, HeuristicsKeepTheirBoundAndNeverLoseToGreedy) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Instance instance = synthetic(seed, {.nodes = 3, .jobs = 5, .gpus_max = 2});
    for (const Objective objective : {Objective::kWait, Objective::kRho}) {
      const auto report = make_plan(instance, objective, {.heuristic_only = true}, env::make_real_env());
      ASSERT_TRUE(report) << report.error().to_string();
      const double least = static_cast<double>(BruteForce(instance, objective).least_nano()) / 1e9;
      EXPECT_LE(report->bound_usd, least + 1e-7) << seed;
      EXPECT_GE(report->objective_usd, least - 1e-7) << seed;
      EXPECT_LE(report->objective_usd, report->greedy_usd + 1e-12) << seed;
    }
  }
}

TEST(Planner, ImprovingNeverCostsMoreAndKeepsTheRules) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Instance instance = synthetic(seed, {.nodes = 8, .jobs = 40, .gpus_max = 8});
    for (const Objective objective : {Objective::kWait, Objective::kRho}) {
      const LinearCosts costs = linear_costs(instance, objective);
      const Plan greedy = greedy_plan(instance);
      ASSERT_TRUE(check_plan(instance, objective, greedy));
      for (const std::int64_t budget : {std::int64_t{50}, std::int64_t{1'000'000}}) {
        const Plan better = improve(costs, greedy, budget);
        const auto checked = check_plan(instance, objective, better);
        ASSERT_TRUE(checked) << checked.error().to_string();
        EXPECT_LE(*checked, *check_plan(instance, objective, greedy));
      }
      const Lagrangian dual = lagrangian_bound(costs, total_usd(costs, greedy), 100);
      for (const Plan& made : {rounded_plan(costs, dual, Loss::kOfFirst), rounded_plan(costs, dual, Loss::kOfAll),
                               priced_plan(costs, dual)}) {
        ASSERT_TRUE(check_plan(instance, objective, made));
        EXPECT_LE(dual.bound_usd, total_usd(costs, made) * (1 + 1e-12));
      }
    }
  }
}

TEST(Relinking, KeepsTheLimitsAndIsNeverWorseThanWhatItKnows) {
  double before = 0, after = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Instance instance = limited(seed, {.nodes = 5, .jobs = 20, .gpus_max = 4});
    for (const Objective objective : {Objective::kWait, Objective::kRho}) {
      const LinearCosts costs = linear_costs(instance, objective);
      const Plan greedy = within_budget(costs, greedy_plan(instance));
      const Plan improved = improve(costs, greedy, 1'000'000);
      const Plan found = relinked_plan(costs, improved, {.tries = 30});
      const auto checked = check_plan(instance, objective, found);
      ASSERT_TRUE(checked) << seed << " " << checked.error().to_string();
      EXPECT_LE(total_usd(costs, found), total_usd(costs, improved) + 1e-9) << seed;
      EXPECT_EQ(found, relinked_plan(costs, improved, {.tries = 30})) << seed;
      before += total_usd(costs, improved);
      after += total_usd(costs, found);
    }
  }
  EXPECT_LT(after, 0.99 * before);
}

TEST(Relinking, StaysWithinTheNodesAndQuotasOnTheWay) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Instance instance = limited(seed, {.nodes = 4, .jobs = 15, .gpus_max = 4});
    instance.budget_usd = std::numeric_limits<double>::infinity();  // may be broken on the way
    const LinearCosts costs = linear_costs(instance, Objective::kWait);
    Random random(seed);
    const Plan from = random_greedy_plan(instance, {.configurations = 0.5}, random);
    const Plan to = random_greedy_plan(instance, {.configurations = 0.5}, random);
    const Plan between = best_between(costs, from, to, 0.3, random);
    for (const Plan& plan : {from, to, between}) {
      const auto checked = check_plan(instance, Objective::kWait, plan);
      ASSERT_TRUE(checked) << seed << " " << checked.error().to_string();
    }
  }
}

TEST(RandomGreedy, DrawsDifferentPlansUnlessNothingIsLeftToChance) {
  const Instance instance = synthetic(3, {.nodes = 8, .jobs = 40, .gpus_max = 4});
  Random random(1);
  int different = 0;
  for (int i = 0; i < 10; ++i) {
    const Plan plan = random_greedy_plan(instance, {}, random);
    ASSERT_TRUE(check_plan(instance, Objective::kWait, plan));
    different += plan == greedy_plan(instance) ? 0 : 1;
  }
  EXPECT_GT(different, 5);
  // swap −0.5 or 0.5 decides every pair: lighter jobs first leaves nothing to the draw.
  EXPECT_EQ(random_greedy_plan(instance, {0.5, 0, 0}, random), random_greedy_plan(instance, {0.5, 0, 0}, random));
}

// Where a second costs a dollar, costs are so large that sums of doubles differ by more than 1e-10 each time.
TEST(Planner, ImprovingEndsWhereCostsAreLarge) {
  Instance instance = synthetic(7, {.nodes = 4, .jobs = 30, .gpus_max = 8});
  for (VmType& type : instance.vm_types) type.price_usd_h = 0;
  for (Job& job : instance.jobs) {
    job.weight_usd_s = 1;
    job.due_s = -1e6;
  }
  const LinearCosts costs = linear_costs(instance, Objective::kWait);
  const Plan once = improve(costs, greedy_plan(instance), 3'000'000);
  EXPECT_EQ(total_usd(costs, improve(costs, once, 20'000'000)), total_usd(costs, once));
}

// Four jobs for every GPU there can be, each waiting at a high price: the choice of running jobs decides the cost.
TEST(Planner, PricesDecideWhichJobsRunInACrowdedCluster) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Instance instance = synthetic(seed, {.nodes = 20, .jobs = 240, .gpus_max = 4});
    instance.rho = 100;
    const LinearCosts costs = linear_costs(instance, Objective::kRho);
    const Plan greedy = greedy_plan(instance);
    const Lagrangian dual = lagrangian_bound(costs, total_usd(costs, greedy), 2000);
    const double priced = total_usd(costs, improve(costs, priced_plan(costs, dual), 10'000'000));
    EXPECT_LE(priced - dual.bound_usd, 0.2 * (total_usd(costs, greedy) - dual.bound_usd)) << seed;
  }
}

TEST(Planner, TheOrderOfTheFileChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const nlohmann::json text = synthetic_json(seed, {.nodes = 4, .jobs = 14, .gpus_max = 4});
    nlohmann::json turned = text;
    std::reverse(turned["jobs"].begin(), turned["jobs"].end());
    std::rotate(turned["vm_types"].begin(), turned["vm_types"].begin() + 1, turned["vm_types"].end());
    const Instance one = read_instance(text.dump(), "a").value(), other = read_instance(turned.dump(), "b").value();
    for (const bool heuristic : {true, false}) {
      const PlannerOptions options{.heuristic_only = heuristic};
      const auto first = make_plan(one, Objective::kWait, options, env::make_real_env());
      const auto second = make_plan(other, Objective::kWait, options, env::make_real_env());
      ASSERT_TRUE(first && second);
      EXPECT_EQ(first->plan, second->plan);
      EXPECT_EQ(first->objective_usd, second->objective_usd);
      EXPECT_EQ(first->bound_usd, second->bound_usd);
    }
  }
}

// An instance that needs the solver for its proof.
Instance hard() {
  for (std::uint64_t seed = 1;; ++seed) {
    Instance instance = synthetic(seed, {.nodes = 4, .jobs = 14, .gpus_max = 4});
    const auto report = make_plan(instance, Objective::kWait, {.heuristic_only = true}, env::make_real_env());
    if (report && report->gap > 1e-3) return instance;
  }
}

TEST(Planner, WithoutASolverThereIsAPlanItsBoundAndTheReason) {
  const Instance instance = hard();
  env::SimEnv sim;
  ASSERT_TRUE(sim.files.make_directory("/tmp"));
  const auto missing = make_plan(instance, Objective::kWait, {}, sim.env());
  ASSERT_TRUE(missing) << missing.error().to_string();
  EXPECT_FALSE(missing->proven);
  EXPECT_TRUE(missing->note.starts_with("cbc: no program")) << missing->note;
  EXPECT_GT(missing->bound_usd, 0);
  EXPECT_LT(missing->bound_usd, missing->objective_usd);

  sim.processes.add_program("cbc", [](const env::ProcessSpec&) { return env::SimRun{.duration = Seconds(1e9)}; });
  const auto late = make_plan(instance, Objective::kWait, {.limit = Seconds(5)}, sim.env());
  ASSERT_TRUE(late);
  EXPECT_EQ(late->note, "cbc: no answer within 5.00 s");
  EXPECT_EQ(late->plan, missing->plan);
  EXPECT_NEAR(late->time.value(), 5, 1e-3);
}

TEST(Planner, JobsThatMustRunButCannotAreAnError) {
  nlohmann::json text = synthetic_json(1, {.nodes = 4, .jobs = 4, .gpus_max = 1});
  for (auto& type : text["vm_types"]) type["max_nodes"] = 1;
  text["nodes"] = 4;
  const Instance instance = read_instance(text.dump(), "f").value();
  const auto report = make_plan(instance, Objective::kFirstEnd, {}, env::make_real_env());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kInfeasible);
  EXPECT_TRUE(report.error().message().starts_with("first_end wants at least 4 jobs to run"))
      << report.error().message();
}

}  // namespace
}  // namespace orrery::plan
