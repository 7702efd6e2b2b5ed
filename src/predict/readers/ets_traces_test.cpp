#include "predict/readers/ets_traces.h"

#include <gtest/gtest.h>

#include "base/xz.h"
#include "env/sim_env.h"

namespace orrery::predict {
namespace {

constexpr const char* kIndex =
    "trace_id,gpu,model,family,batch,image_hw,overlap,span_ns\n"
    "G/a/b8_h32,G,a,fam,8,32,0,9000\n"
    "G/a/b16_h32,G,a,fam,16,32,1,19000\n";
constexpr const char* kRows =
    "#G/a/b8_h32\t2\t5000\n"
    "203\t1\t2\t100\t200\t16\t256\t8:3:32:32:64:16:16:7:7:3:3:2:2:1:1:1:4\t3000\t1000\t0\t900\n"
    "152\t2\t1\t0\t0\t4\t128\t-\t2000\t-500\t700\t100\n"
    "#G/a/b16_h32\t1\t0\n"
    "12\t3\t1\t0\t0\t4\t128\t4:8\t2000\t0\t0\t100\n";

class LaunchTraceFolder : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(sim_.env().files.make_directory("d").has_value());
    ASSERT_TRUE(sim_.env().files.write_atomically("d/" + name, content).has_value());
  }
  void SetUp() override {
    write("index.csv", kIndex);
    write("op_names.csv", "op,name\n203,conv2d\n152,relu\n");
    write("G__fam.tsv.xz", xz(kRows));
  }
  Result<LaunchTraces> read() { return read_launch_traces(sim_.env().files, "d", "G"); }

  env::SimEnv sim_;
};

TEST_F(LaunchTraceFolder, IsReadInMicroseconds) {
  const LaunchTraces all = read().value();
  ASSERT_EQ(all.traces.size(), 2u);
  const LaunchTrace& trace = all.traces[0];
  EXPECT_EQ(trace.model, "a");
  EXPECT_EQ(trace.batch, 8);
  EXPECT_DOUBLE_EQ(trace.iteration, 9);
  EXPECT_DOUBLE_EQ(trace.first_start, 5);
  EXPECT_EQ(trace.operators[0].parameters.size(), 17u);
  EXPECT_EQ(trace.operators[0].phase, workload::Phase::kForward);
  EXPECT_DOUBLE_EQ(trace.times[0].gap, 1);
  EXPECT_TRUE(trace.operators[1].parameters.empty());
  EXPECT_TRUE(all.traces[1].overlaps);
  EXPECT_EQ(all.kinds.at(203), "conv2d");
}

TEST_F(LaunchTraceFolder, TakesAnOverlapOffTheDevicesTime) {
  const LaunchTraces all = read().value();
  EXPECT_DOUBLE_EQ(all.traces[0].times[1].device, 1.5);
  EXPECT_DOUBLE_EQ(all.traces[0].times[1].gap, 0);
}

TEST_F(LaunchTraceFolder, NamesFileAndLineOfWhatItCannotRead) {
  for (const char* bad :
       {"203\t1\n", "#unknown\t1\t0\n", "x\n", "#G/a/b8_h32\t1\t0\n203\t9\t1\t0\t0\t1\t1\t-\t1\t1\t1\t1\n"}) {
    write("G__fam.tsv.xz", xz(bad));
    const auto all = read();
    ASSERT_FALSE(all.has_value()) << bad;
    EXPECT_NE(all.error().to_string().find("G__fam.tsv.xz"), std::string::npos) << bad;
    EXPECT_NE(all.error().to_string().find("line"), std::string::npos) << bad;
  }
  write("G__fam.tsv.xz", "not xz");
  EXPECT_FALSE(read().has_value());
}

TEST_F(LaunchTraceFolder, SaysWhichGpusThereAreAndWhenOneIsMissing) {
  EXPECT_EQ(gpus_of(sim_.env().files, "d").value(), std::vector<std::string>{"G"});
  EXPECT_FALSE(read_launch_traces(sim_.env().files, "d", "H").has_value());
  EXPECT_FALSE(read_launch_traces(sim_.env().files, "nowhere", "G").has_value());
}

}  // namespace
}  // namespace orrery::predict
