#include "cli/command_test.h"

namespace orrery::cli {
namespace {

class PlanHorizonTest : public CommandTest {
 protected:
  PlanHorizonTest() {
    write("prices.csv",
          "provider,instance_type,accelerator,count,price_usd_h,spot_usd_h\nacme,one,V100,1,3,1\nacme,four,V100,4,11,"
          "4\n");
    write("a.yaml",
          "job: a\nmodel: resnet18\ntrain: {batch: 64, steps: 200000}\n"
          "resources: {device: V100, count: {min: 1, max: 4}}\ndeadline: 8h\n");
    write("wide.yaml",
          "job: wide\nmodel: resnet18\ntrain: {batch: 64, steps: 200000}\nresources: {device: V100, count: 8}\n");
    write("jobs.yaml", "jobs:\n- {file: a.yaml, late_usd_per_h: 50, copies: 2}\n- {file: a.yaml, submit: 1h}\n");
  }
  static constexpr const char* kPlan = " --catalog prices.csv --nodes 2 --horizon 24h --heuristic";

  std::string errors_of(const std::string& list, const std::string& more = "") {
    write("l.yaml", list);
    return call("plan l.yaml" + (kPlan + (" --scenarios 0" + more))).errors;
  }
};

TEST_F(PlanHorizonTest, CostsAddUpAndStayWithinTheBound) {
  const auto plan = json_of(std::string("plan jobs.yaml --scenarios 3") + kPlan);
  double periods = 0, tardiness = 0;
  for (const auto& one : plan["periods"]) periods += one["usd"].get<double>();
  for (const auto& one : plan["jobs"]) tardiness += one["tardiness_usd"].get<double>();
  EXPECT_EQ(plan["jobs"].size(), 3U);
  EXPECT_NEAR(periods, plan["machines_usd"].get<double>(), 0.005);
  EXPECT_NEAR(periods, plan["rent_usd"].get<double>(), 0.005);
  EXPECT_NEAR(tardiness, plan["tardiness_usd"].get<double>(), 0.005);
  EXPECT_NEAR(periods + tardiness, plan["objective_usd"].get<double>(), 0.005);
  EXPECT_LE(plan["bound_usd"].get<double>(), plan["objective_usd"].get<double>());
  EXPECT_LE(plan["objective_usd"].get<double>(), plan["greedy_usd"].get<double>());
  EXPECT_EQ(plan["outlook"]["scenarios"], 3);
  EXPECT_LE(plan["outlook"]["total_usd"]["low"].get<double>(), plan["outlook"]["total_usd"]["high"].get<double>());
  EXPECT_GT(plan["kwh"].get<double>(), 0);
}

TEST_F(PlanHorizonTest, PrintsPeriodsJobsAndScenarios) {
  const Outcome text = call(std::string("plan jobs.yaml --scenarios 2 --seed 5 --certainty 0.6") + kPlan);
  ASSERT_EQ(text.exit_code, kDone) << text.errors;
  for (const char* words :
       {"given back", "a-2 ×", "in 2 scenarios (seed 5)", "probability of 0.6", "no schedule is cheaper"})
    EXPECT_NE(text.output.find(words), std::string::npos) << words << "\n" << text.output;
  EXPECT_EQ(call(std::string("plan jobs.yaml --scenarios 0 --gantt g.svg") + kPlan).exit_code, kDone);
  EXPECT_NE(sim_.files.read("g.svg", mebibytes(1)).value().find("a-1"), std::string::npos);
  const auto rows = json_of(std::string("plan jobs.yaml --scenarios 0 --explain a-1") + kPlan);
  EXPECT_GE(rows.size(), 3U);
}

TEST_F(PlanHorizonTest, MoreCertaintyCountsLongerTimes) {
  const auto end_of = [&](const char* certainty) {
    const auto plan = json_of(std::string("plan jobs.yaml --scenarios 0 --certainty ") + certainty + kPlan);
    double sum = 0;
    for (const auto& job : plan["jobs"]) {
      EXPECT_GE(job["chance"].get<double>(), parse_number(certainty).value() - 1e-6);
      sum += job["end_s"].get<double>() - job["start_s"].get<double>();
    }
    return sum;
  };
  EXPECT_LT(end_of("0.5"), end_of("0.6"));
}

TEST_F(PlanHorizonTest, EnergyAndCarbonAreOtherCosts) {
  write("e.yaml",
        "jobs: [{file: a.yaml}]\nenergy: {usd_per_kwh: [9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,0,0,0,0,0,0,0,0], "
        "gco2_per_kwh: 100, "
        "usd_per_tco2: 1000}\n");
  write("free.yaml",
        "job: a\nmodel: resnet18\ntrain: {batch: 64, steps: 20000}\nresources: {device: V100, count: 1}\n");
  write("f.yaml",
        "jobs: [{file: free.yaml}]\nenergy: {usd_per_kwh: [9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,0,0,0,0,0,0,0,0]}\n");
  const auto waits = json_of(std::string("plan f.yaml --scenarios 0 --cost energy") + kPlan);
  EXPECT_GE(waits["jobs"][0]["start_s"].get<double>(), 16 * 3600);
  EXPECT_NEAR(waits["objective_usd"].get<double>(), 0, 1e-9);
  const auto carbon = json_of(std::string("plan e.yaml --scenarios 0 --cost carbon") + kPlan);
  EXPECT_NEAR(carbon["machines_usd"].get<double>() + carbon["busy_usd"].get<double>(), carbon["kgco2"].get<double>(),
              1e-6);
  EXPECT_NEAR(carbon["kgco2"].get<double>(), carbon["kwh"].get<double>() / 10, 1e-6);
}

TEST_F(PlanHorizonTest, JobsTakeSeveralMachinesWhenOneIsTooSmall) {
  write("w.yaml", "jobs: [{file: wide.yaml}]\n");
  const auto plan = json_of(std::string("plan w.yaml --scenarios 0") + kPlan);
  EXPECT_EQ(plan["jobs"][0]["where"], "2 machines: acme four");
  EXPECT_EQ(plan["periods"][0]["machines"], 2);
  EXPECT_NE(call("plan w.yaml --catalog prices.csv --nodes 1 --horizon 24h").errors.find("has 8 V100 in one"),
            std::string::npos);
  EXPECT_NE(call("plan w.yaml --catalog prices.csv --heuristic").errors.find("has 8 V100 in one"), std::string::npos);
}

TEST_F(PlanHorizonTest, ForecastsComeByChance) {
  write("f.yaml", "forecast: [{file: a.yaml, per_h: 0.3, until: 12h}]\n");
  const auto plan = json_of(std::string("plan f.yaml --scenarios 20") + kPlan);
  EXPECT_EQ(plan["objective_usd"], 0);
  EXPECT_NEAR(plan["outlook"]["forecast"][0]["mean"].get<double>(), 3.6, 1.5);
  EXPECT_LE(plan["outlook"]["bound_usd"].get<double>(), plan["outlook"]["total_usd"]["mean"].get<double>());
  EXPECT_FALSE(plan["outlook"]["machines"].empty());
}

TEST_F(PlanHorizonTest, LimitsAreKept) {
  write("q.yaml", "jobs: [{file: a.yaml, copies: 3}]\nlimits: {vm_types: [{match: four, max_nodes: 0}]}\n");
  for (const char* more : {"", " --scenarios 0 --horizon 40h"}) {
    const auto plan = json_of(std::string("plan q.yaml --catalog prices.csv --nodes 3 --heuristic") + more);
    EXPECT_EQ(plan.dump().find("acme four"), std::string::npos);
  }
  write("g.yaml", "jobs: [{file: a.yaml, copies: 3}]\nlimits: {quotas: [{match: V100, max_gpus: 1}]}\n");
  const auto one = json_of("plan g.yaml --catalog prices.csv --nodes 3 --heuristic");
  EXPECT_EQ(one["machines_most"], 1);
  write("r.yaml", "jobs: [{file: a.yaml, running: {vm: four, gpus: 2}}, {file: a.yaml}]\n");
  const auto held = json_of(std::string("plan r.yaml --scenarios 0") + kPlan);
  int on_four = 0;
  for (const auto& job : held["jobs"])
    on_four += job["where"] == "2 × acme four" && job["start_s"].get<double>() == 0 ? 1 : 0;
  EXPECT_GE(on_four, 1);
  write("s.yaml", "jobs: [{file: a.yaml}]\nspot: {interruptions_per_h: 0.5, save_every: 10m}\n");
  const auto spot = json_of(std::string("plan s.yaml --scenarios 0 --spot") + kPlan);
  const auto demand = json_of(std::string("plan jobs.yaml --scenarios 0 --spot") + kPlan);
  EXPECT_GT(spot["jobs"][0]["end_s"].get<double>(), 0);
  EXPECT_GT(demand["jobs"][0]["end_s"].get<double>(), 0);
}

TEST_F(PlanHorizonTest, SaysWhatIsInTheWay) {
  const auto says = [&](const std::string& list, const std::string& more, std::string_view words) {
    const std::string errors = errors_of(list, more);
    EXPECT_NE(errors.find(words), std::string::npos) << errors;
  };
  const std::string a = "jobs: [{file: a.yaml, copies: 3}]\n";
  says(a + "limits: {budget_usd: 1}\n", "", "budget_usd: ");
  says(a, " --certainty 0.999 --period 4h", "machines at once would do, 2 are allowed");
  says("jobs: [{file: a.yaml, submit: 5h}]\n", " --certainty 0.999 --period 12h", "too late");
  says(a + "limits: {quotas: [{match: T4, max_gpus: 1}]}\n", "", "l.yaml:2: match: no VM type");
  says(a + "limits: {quotas: [{match: V100, max_gpus: 0}]}\n", "", "limits: they leave no VM type");
  says(a + "spot: {}\n", "", "give --spot");
  says("jobs: [{file: a.yaml, running: {vm: nine}}]\n", "", "running: no VM type with \"nine\" in its name");
  says("forecast: [{file: a.yaml, per_h: 1}]\n", " --horizon 1h", "none that comes");
  EXPECT_NE(
      call("plan jobs.yaml --catalog prices.csv --horizon 1d --period 1s").errors.find("make --period 87s or longer"),
      std::string::npos);
  write("l.yaml", a + "limits: {budget_usd: 1}\n");
  EXPECT_NE(call("plan l.yaml --catalog prices.csv").errors.find("give --horizon"), std::string::npos);
}

}  // namespace
}  // namespace orrery::cli
