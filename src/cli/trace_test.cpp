#include "cli/command_test.h"

namespace orrery::cli {
namespace {

// Two steps of one operator each on the host: 40 and 20 us, 10 us apart from the next.
constexpr std::string_view kTrace = R"([
  {"ph": "X", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 50},
  {"ph": "X", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 40},
  {"ph": "X", "name": "ProfilerStep#2", "pid": 1, "tid": 1, "ts": 50, "dur": 30},
  {"ph": "X", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 50, "dur": 20}])";

class TraceCommandTest : public CommandTest {
 protected:
  void SetUp() override { write("a.json", kTrace); }
};

TEST_F(TraceCommandTest, ShowIsTheMeanOfTheIterations) {
  const auto rows = json_of("trace show a.json");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["kind"], "mm");
  EXPECT_NEAR(rows[0]["execution_s"], 30e-6, 1e-12);
  EXPECT_NEAR(rows[0]["gap_s"], 10e-6, 1e-12);
  EXPECT_NEAR(json_of("trace show a.json --iteration 2")[0]["execution_s"], 20e-6, 1e-12);
  EXPECT_EQ(call("trace show a.json --iteration 3").errors, "orrery trace show: --iteration 3: the trace has 2\n");
}

TEST_F(TraceCommandTest, EveryFormSaysTheSame) {
  const auto expected = json_of("trace summary a.json --columns iteration,span_ns,busy_ns,idle_ns");
  EXPECT_EQ(expected[0]["idle_ns"], 10'000);
  for (const std::string line : {"trace convert a.json b.json", "trace convert a.json c.trace.json",
                                 "trace convert c.trace.json d.json", "trace convert a.json e.pftrace"}) {
    EXPECT_EQ(call(line).exit_code, kDone) << line;
  }
  for (const std::string path : {"b.json", "c.trace.json", "d.json"}) {
    EXPECT_EQ(json_of("trace summary " + path + " --columns iteration,span_ns,busy_ns,idle_ns"), expected) << path;
  }
  EXPECT_EQ(call("trace convert a.json f.txt").exit_code, kBadInput);
}

TEST_F(TraceCommandTest, CompareGivesTheRatio) {
  write("b.json", R"([{"ph": "X", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 60}])");
  const auto rows = json_of("trace compare a.json b.json");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_NEAR(rows[0]["ratio"], 2, 1e-9);  // 60 against the mean of 40 and 20
  EXPECT_NEAR(rows[2]["execution_a_s"], 40e-6, 1e-12);
  EXPECT_NEAR(rows[2]["ratio"], 1.5, 1e-9);
}

TEST_F(TraceCommandTest, MistakesNameTheFile) {
  write("cut.json", kTrace.substr(0, 100));
  EXPECT_EQ(call("trace show cut.json").errors.substr(0, 36), "orrery trace show: cut.json: byte 10");
  write("empty.json", "[]");
  EXPECT_EQ(call("trace summary empty.json").errors,
            "orrery trace summary: empty.json: the trace has neither work of a device nor operators\n");
}

TEST_F(TraceCommandTest, BurstsOfASeries) {
  write("gpu.csv", "t,u\n0,90\n1,10\n2,90\n3,90\n4,10\n5,90\n");
  const auto rows = json_of("bursts gpu.csv --time t --value u --whole --iteration 3");
  EXPECT_EQ(rows[0]["pattern"], "BIB");
  EXPECT_EQ(rows[0]["cycle_s"], 3);
  EXPECT_EQ(rows[0]["cycles_per_iteration"], 1);
  EXPECT_EQ(call("bursts gpu.csv --time x").exit_code, kBadInput);
}

}  // namespace
}  // namespace orrery::cli
