#include "profile/distributed/report.h"

#include <cmath>
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

// A reading every 10 ms of a link that starts to send `bytes` at 25 MB/s every second, at 0.3 s.
trace::ResourceSeries square_wave(int seconds, double bytes, double phase_s) {
  trace::ResourceSeries series{"transmit", "B/s", {}, {}};
  constexpr double kRate = 25e6, kPeriod = 0.01;
  const auto sent = [&](double time) {
    const double second = std::floor(time - phase_s);
    return second < 0 ? 0 : second * bytes + std::min(bytes, (time - phase_s - second) * kRate);
  };
  for (int i = 0; i < seconds * 100; ++i) {
    const double time = i * kPeriod;
    series.times.push_back(Seconds(time));
    series.values.push_back((sent(time + kPeriod) - sent(time)) / kPeriod);
  }
  return series;
}

TEST(NetworkBursts, HoldWhatWasSent) {
  for (const double phase : {0.3, 0.303, 0.307}) {
    const auto bursts = network_bursts(square_wave(6, 10.1e6, phase), Seconds(0), Seconds(6));
    ASSERT_TRUE(bursts);
    EXPECT_EQ(bursts->pattern, trace::BurstPattern::kAlternating);
    EXPECT_EQ(bursts->count, 6U);
    EXPECT_NEAR(bursts->bytes.value(), 10.1e6, 10.1e6 * 1e-6);
    EXPECT_NEAR(bursts->duration.value(), 10.1 / 25, 0.021);
  }
}

TEST(NetworkBursts, APauseDoesNotEndABurst) {
  trace::ResourceSeries series = square_wave(4, 10e6, 0.3);
  series.values[145] = series.values[146] = 0;
  const auto bursts = network_bursts(series, Seconds(0), Seconds(4));
  ASSERT_TRUE(bursts);
  EXPECT_EQ(bursts->count, 4U);
  EXPECT_NEAR(bursts->bytes.value(), 10e6, 1);
}

TEST(NetworkBursts, AStallThatBreaksOneBurstDoesNotShrinkTheOthers) {
  trace::ResourceSeries series = square_wave(5, 10e6, 0.3);
  for (std::size_t i = 140; i < 162; ++i) series.values[i] = 0;
  const auto bursts = network_bursts(series, Seconds(0), Seconds(5));
  ASSERT_TRUE(bursts);
  EXPECT_EQ(bursts->count, 6U);
  EXPECT_NEAR(bursts->bytes.value(), 10e6, 1);
}

// Half of the burst at a third of the rate: other senders share the link.
TEST(NetworkBursts, AShareOfTheLinkIsPartOfTheBurst) {
  trace::ResourceSeries series = square_wave(4, 10e6, 0.3);
  double sent = 0;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    if (i % 100 < 50) series.values[i] /= 3;
    sent += series.values[i] * 0.01;
  }
  const auto bursts = network_bursts(series, Seconds(0), Seconds(4));
  ASSERT_TRUE(bursts);
  EXPECT_EQ(bursts->count, 4U);
  EXPECT_NEAR(bursts->bytes.value(), sent / 4, 10);
}

TEST(NetworkBursts, ACutOffBurstDoesNotCount) {
  const auto bursts = network_bursts(square_wave(4, 10e6, 0.3), Seconds(0.5), Seconds(3.5));
  ASSERT_TRUE(bursts);
  EXPECT_EQ(bursts->count, 2U);
  EXPECT_NEAR(bursts->bytes.value(), 10e6, 10);
}

TEST(NetworkBursts, ASilentLinkHasNone) {
  const auto bursts = network_bursts(square_wave(2, 0, 0), Seconds(0), Seconds(2));
  ASSERT_TRUE(bursts);
  EXPECT_EQ(bursts->pattern, trace::BurstPattern::kIdle);
  EXPECT_EQ(bursts->count, 0U);
}

}  // namespace
}  // namespace orrery::profile
