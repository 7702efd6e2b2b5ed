#include "profile/distributed/report.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::profile {
namespace {

TEST(Report, OfAWorkerComesBack) {
  const WorkerReport report{{{Seconds(1), Seconds(1.5), Seconds(2), 0.25}, {Seconds(2), Seconds(2.5), Seconds(3), 0.2}},
                            Traffic{10, 20}};
  const auto again = parse_worker_report(to_json(report));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->traffic, report.traffic);
  ASSERT_EQ(again->steps.size(), 2U);
  EXPECT_EQ(again->steps[1].computed, Seconds(2.5));
  EXPECT_EQ(again->steps[1].loss, 0.2);
  EXPECT_FALSE(parse_worker_report(to_json(WorkerReport{}))->traffic);
}

TEST(Report, OfAServerComesBack) {
  const auto again = parse_server_report(to_json(ServerReport{7, {1, 2}}));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->updates, 7);
  EXPECT_EQ(again->traffic, (Traffic{1, 2}));
}

RC_GTEST_PROP(Report, AnyTextGivesAReportOrAReason, (std::string text)) {
  for (const std::string& one : {text, "{\"steps\":[" + text + "],\"traffic\":null}"}) {
    if (const auto worker = parse_worker_report(one); !worker) RC_ASSERT(!worker.error().message().empty());
    if (const auto server = parse_server_report(one); !server) RC_ASSERT(!server.error().message().empty());
  }
}

}  // namespace
}  // namespace orrery::profile
