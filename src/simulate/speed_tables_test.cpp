#include "simulate/speed_tables.h"

#include "simulate/prices.h"
#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

TEST(InterferenceTable, AveragesRowsOfAPairWhicheverComesFirst) {
  const auto table = InterferenceTable::parse(
      "model1,batchsize1,speed1,model2,speed2,gpu_util\nA,32,0.8,B,0.6,90\nB,64,0.4,A,1.0,80\n", "pairs.csv");
  ASSERT_TRUE(table.has_value()) << table.error().to_string();
  EXPECT_DOUBLE_EQ(*table->speed("A", "B"), 0.9);
  EXPECT_DOUBLE_EQ(*table->speed("B", "A"), 0.5);
  EXPECT_FALSE(table->speed("A", "A").has_value());
}

TEST(InterferenceTable, DecidesWhetherGandivaKeepsAPair) {
  JobTrace job_trace = job_trace_of({job_of(0, 600, 1), job_of(0, 600, 1)});
  for (TraceJob& each : job_trace.jobs) {
    each.model = "A";
    each.facts.gpu_utilisation = 0.3;
    each.facts.gpu_memory_share = 0.4;
  }
  RunSetup setup = setup_of(1, 1);
  setup.engine.keep_log = true;
  const auto unpacks = [&](double speed) {
    const std::string csv = "model1,speed1,model2,speed2\nA," + std::to_string(speed) + ",A," + std::to_string(speed);
    auto table = InterferenceTable::parse(csv, "pairs.csv");
    EXPECT_TRUE(table.has_value());
    setup.interference = std::move(*table);
    const RunResult result = run(job_trace, setup, "gandiva");
    return std::count_if(result.log.begin(), result.log.end(), [](const LoggedDecision& entry) {
      return entry.decision.action == schedule::Action::kUnpack;
    });
  };
  // The pair is tried either way, and undone when the measured rates add up to less than taking turns.
  EXPECT_EQ(unpacks(0.9), 0);
  EXPECT_GE(unpacks(0.4), 1);
}

TEST(LocalityTable, ARowWithoutAModelHoldsForAll) {
  const auto table = LocalityTable::parse("model,gpus,machines,speed\n,4,2,0.7\nA,4,2,0.9\n", "locality.csv");
  ASSERT_TRUE(table.has_value());
  EXPECT_DOUBLE_EQ(*table->speed("A", 4, 2), 0.9);
  EXPECT_DOUBLE_EQ(*table->speed("B", 4, 2), 0.7);
  EXPECT_FALSE(table->speed("B", 4, 4).has_value());
}

TEST(Tables, SayWhichLineIsWrong) {
  EXPECT_NE(LocalityTable::parse("model,gpus,machines,speed\nA,1.5,1,1\n", "l.csv").error().message().find("l.csv:2"),
            std::string::npos);
  EXPECT_NE(InterferenceTable::parse("model1,speed1,model2,speed2\nA,1,B,1\nA,0,B,1\n", "i.csv")
                .error()
                .message()
                .find("i.csv:3"),
            std::string::npos);
}

TEST(Prices, HoldUntilTheNextOneAndStartWithTheRun) {
  const auto prices = parse_prices("timestamp,price\n2024-01-01 10:00:00,2\n2024-01-01 11:00:00,0.5\n", "p.csv");
  ASSERT_TRUE(prices.has_value()) << prices.error().to_string();
  ASSERT_EQ(prices->size(), 2u);
  EXPECT_EQ((*prices)[0].at_ns, 0);
  EXPECT_EQ((*prices)[1].at_ns, 3600 * schedule::kSecondNs);
  const std::vector<Outage> outages = outages_above(*prices, 1, 2);
  ASSERT_EQ(outages.size(), 2u);
  EXPECT_EQ(outages[1].machine, MachineIndex(1));
  EXPECT_EQ(outages[1].fails_ns, 0);
  EXPECT_EQ(outages[1].returns_ns, 3600 * schedule::kSecondNs);
  EXPECT_FALSE(parse_prices("time_s,price\n5,1\n4,1\n", "p.csv").has_value());
  EXPECT_FALSE(parse_prices("time_s,price\n5,-1\n", "p.csv").has_value());
  EXPECT_FALSE(parse_prices("time_s,price\n", "p.csv").has_value());
  EXPECT_FALSE(parse_prices("when,price\n1,1\n", "p.csv").has_value());
}

TEST(Prices, AMachineThatIsTakenBackComesBackWhenThePriceFalls) {
  RunSetup setup = setup_of(1, 1);
  setup.engine.prices = {{0, 1}, {30 * schedule::kSecondNs, 5}, {90 * schedule::kSecondNs, 1}};
  setup.engine.outages = outages_above(setup.engine.prices, 2, 1);
  const RunResult result = run(job_trace_of({job_of(0, 50, 1)}), setup, "fifo");
  EXPECT_EQ(ends_s(result), std::vector<TimeNs>{110});
  EXPECT_NEAR(result.price_usd, 50.0 / 3600, 1e-12);
}

}  // namespace
}  // namespace orrery::simulate
