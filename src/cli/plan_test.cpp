#include "cli/command_test.h"

namespace orrery::cli {
namespace {

// One node; an urgent job that needs all of it and one that can wait.
constexpr std::string_view kInstance =
    R"({"instance": {"nodes": 1, "now_s": 0, "horizon_s": 100, "rho": 10, "kappa": 0.1,
  "wait_fraction": 0.25, "vm_types": [{"name": "two", "gpu": "K80", "gpus": 2, "price_usd_h": 3.6, "max_nodes": null}],
  "jobs": [{"id": "slow", "submit_s": 0, "due_s": 90000, "weight_usd_s": 0.001, "times_s": {"K80": [4000]}},
           {"id": "soon", "submit_s": 0, "due_s": 600, "weight_usd_s": 1, "times_s": {"K80": [1000, 600]}}]}})";

class PlanTest : public CommandTest {
 protected:
  PlanTest() { write("i.json", kInstance); }
};

TEST_F(PlanTest, PrintsCostBoundAndPlan) {
  for (const char* objective : {"wait", "rho"}) {
    const auto answer = json_of(std::string("plan --instance i.json --objective ") + objective);
    // soon on both GPUs: 0.001 · 600; slow waits: 0.001 · 1/2 · 4000 + 0.001 · 0.1 · 100.
    EXPECT_NEAR(answer["objective_usd"].get<double>(), 0.6 + 2.01, 1e-9);
    EXPECT_LE(answer["bound_usd"].get<double>(), answer["objective_usd"].get<double>());
    EXPECT_GE(answer["gap"].get<double>(), 0);
    EXPECT_TRUE(answer["seconds"].is_number());
    EXPECT_EQ(answer["plan"].dump(),
              R"({"nodes":[{"jobs":[{"gpus":2,"id":"soon"}],"vm":"two"}],"postponed":["slow"]})");
    EXPECT_NEAR(answer["rental_usd"].get<double>() + answer["idle_usd"].get<double>() +
                    answer["tardiness_usd"].get<double>() + answer["postponed_usd"].get<double>(),
                answer["objective_usd"].get<double>(), 1e-12);
  }
  const Outcome text = call("plan --instance i.json");
  EXPECT_EQ(text.exit_code, kDone);
  EXPECT_NE(text.output.find("waiting: slow"), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("soon × 2"), std::string::npos) << text.output;
}

TEST_F(PlanTest, ExplainsAJob) {
  const auto rows = json_of("plan --instance i.json --explain soon");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1]["choice"], "2 × two");
  EXPECT_EQ(rows[1]["chosen"], "yes");
  EXPECT_NEAR(rows[0]["tardiness_usd"].get<double>(), 400, 1e-9);
  EXPECT_EQ(rows[2]["choice"], "waits");
  EXPECT_EQ(call("plan --instance i.json --explain son").errors,
            "orrery plan: --explain: no job \"son\"; did you mean \"soon\"?\n");
}

// Two jobs of one file on machines of synthetic prices.
class PlanJobsTest : public CommandTest {
 protected:
  PlanJobsTest() {
    write("prices.csv",
          "provider,instance_type,accelerator,count,price_usd_h\nacme,one,V100,1,3\nacme,four,V100,4,11\n");
    write("a.yaml",
          "job: a\nmodel: resnet18\ntrain: {batch: 64, steps: 200000}\nresources: {device: V100, count: {min: 1, max: "
          "4}}\n"
          "deadline: 5h\n");
    write("jobs.yaml", "jobs:\n- {file: a.yaml, late_usd_per_h: 50, copies: 2}\n- {file: a.yaml, submit: 1h}\n");
  }
};

TEST_F(PlanJobsTest, CostsAddUpToTheCent) {
  const auto plan = json_of("plan jobs.yaml --catalog prices.csv --nodes 2 --heuristic");
  double machines = 0, shares = 0, tardiness = 0;
  for (const auto& one : plan["machines"]) machines += one["usd"].get<double>();
  for (const auto& one : plan["jobs"]) {
    shares += one["rental_usd"].get<double>();
    tardiness += one["tardiness_usd"].get<double>();
  }
  EXPECT_EQ(plan["jobs"].size(), 3U);
  EXPECT_NEAR(machines, plan["rental_usd"].get<double>(), 0.005);
  EXPECT_NEAR(shares + plan["idle_usd"].get<double>(), plan["rental_usd"].get<double>(), 0.005);
  EXPECT_NEAR(tardiness, plan["tardiness_usd"].get<double>(), 0.005);
  EXPECT_NEAR(machines + tardiness, plan["objective_usd"].get<double>(), 0.005);
  EXPECT_LE(plan["bound_usd"].get<double>(), plan["objective_usd"].get<double>());
  EXPECT_LE(plan["machines_most"].get<int>(), 2);
}

TEST_F(PlanJobsTest, DrawsAndExplains) {
  const Outcome text = call("plan jobs.yaml --catalog prices.csv --nodes 2 --heuristic --gantt g.svg");
  ASSERT_EQ(text.exit_code, kDone) << text.errors;
  EXPECT_NE(text.output.find("a-2"), std::string::npos) << text.output;
  EXPECT_TRUE(sim_.files.exists("g.svg"));
  const auto rows = json_of("plan jobs.yaml --catalog prices.csv --nodes 2 --heuristic --explain a-1");
  ASSERT_FALSE(rows.empty());
  double held = 0;
  for (const auto& row : rows)
    if (row["held_s"].is_number()) held += row["held_s"].get<double>();
  EXPECT_GT(held, 0);
  EXPECT_NE(call("plan jobs.yaml --catalog prices.csv --heuristic --explain a-9").errors.find("no job \"a-9\""),
            std::string::npos);
}

TEST_F(PlanJobsTest, MistakesNameTheirLine) {
  write("none.yaml", "jobs:\n- file: missing.yaml\n");
  EXPECT_NE(call("plan none.yaml --catalog prices.csv").errors.find("none.yaml:2"), std::string::npos);
  write("big.yaml", "job: big\nmodel: resnet18\ntrain: {batch: 64, steps: 10}\nresources: {device: T4, count: 1}\n");
  write("list.yaml", "jobs:\n- file: a.yaml\n- file: big.yaml\n");
  EXPECT_NE(call("plan list.yaml --catalog prices.csv")
                .errors.find("list.yaml:3: big.yaml: big: no machine that is offered has 1 T4 in one"),
            std::string::npos);
  EXPECT_EQ(call("plan jobs.yaml --instance i.json").exit_code, kBadInput);
}

TEST_F(PlanTest, WrongInput) {
  EXPECT_EQ(call("plan").exit_code, kBadInput);
  EXPECT_EQ(call("plan --instance none.json").exit_code, kBadInput);
  EXPECT_EQ(call("plan --instance i.json --objective best").exit_code, kBadInput);
  write("bad.json", R"({"nodes": 0})");
  const Outcome bad = call("plan --instance bad.json");
  EXPECT_EQ(bad.exit_code, kBadInput);
  EXPECT_NE(bad.errors.find("bad.json: instance.nodes: 0 is out of range"), std::string::npos) << bad.errors;
}

}  // namespace
}  // namespace orrery::cli
