#include "profile/proc_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::profile {
namespace {

TEST(ProcText, CpuCountsEverythingButIdleAndWaitingAsBusy) {
  const auto ticks = parse_cpu(
      "cpu  100 10 50 800 40 5 5 1 7 0\n"
      "cpu0 50 5 25 400 20 3 2 0 4 0\n"
      "cpu1 50 5 25 400 20 2 3 1 3 0\n"
      "intr 12345 0 9\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(ticks->busy, 100 + 10 + 50 + 5 + 5 + 1);
  EXPECT_EQ(ticks->total, 171 + 800 + 40);
  EXPECT_EQ(ticks->cores, 2);
}

TEST(ProcText, AProcessMayHaveParenthesesInItsName) {
  const std::string text = "4711 (a) R 1 (b c) S 1 4711 4711 0 -1 4194304 100 0 0 0 250 17 3 4 20 0 1 0 99 1 1\n";
  EXPECT_EQ(*parse_process_ticks(text), 267);
  EXPECT_EQ(*parse_process_id(text), 4711);
}

TEST(ProcText, ResidentMemoryIsInBytes) {
  EXPECT_EQ(*parse_resident("Name:\tx\nVmSize:\t 9 kB\nVmRSS:\t    1024 kB\n"), mebibytes(1));
  EXPECT_FALSE(parse_resident("Name:\tkthreadd\n"));
}

TEST(ProcText, InterfacesHaveBothDirections) {
  const auto interfaces = parse_interfaces(
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls\n"
      "    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0\n"
      "  eth0:1000000      10    0    0    0     0          0         0 20000000      20    0    0    0     0\n");
  ASSERT_TRUE(interfaces);
  EXPECT_EQ(interfaces->size(), 2U);
  EXPECT_EQ(interfaces->at("eth0"), (Traffic{1e6, 2e7}));
}

TEST(ProcText, DisksCountOnce) {
  const auto disks = parse_disks(
      "   8       0 sda 10 0 100 5 20 0 200 7 0 1 1\n"
      "   8       1 sda1 10 0 100 5 20 0 200 7 0 1 1\n"
      " 259       0 nvme0n1 10 0 1 5 20 0 2 7 0 1 1\n"
      " 259       1 nvme0n1p1 10 0 1 5 20 0 2 7 0 1 1\n"
      "   7       0 loop0 1 0 50 0 0 0 0 0 0 0 0\n"
      " 253       0 dm-0 10 0 100 5 20 0 200 7 0 1 1\n");
  ASSERT_TRUE(disks);
  EXPECT_EQ(*disks, (Traffic{101 * 512.0, 202 * 512.0}));
}

TEST(ProcText, ProcessDiskIsWhatReachedIt) {
  EXPECT_EQ(*parse_process_disk("rchar: 9\nwchar: 9\nread_bytes: 4096\nwrite_bytes: 512\n"), (Traffic{4096, 512}));
}

TEST(ProcText, ErrorsNameTheField) {
  EXPECT_NE(parse_cpu("cpu 1 2 3 x 5 6 7 8\ncpu0\n").error().message().find("\"x\""), std::string::npos);
  EXPECT_NE(parse_interfaces("\n\neth0: 1 2\n").error().message().find("transmitted"), std::string::npos);
  EXPECT_NE(parse_process_ticks("1 (x) R 1").error().message().find("utime"), std::string::npos);
  EXPECT_FALSE(parse_process_ticks("1 x R 1"));
  EXPECT_FALSE(parse_process_disk("read_bytes: -1\nwrite_bytes: 0\n"));
  EXPECT_FALSE(parse_disks("8 0 sda 1 2 99999999999999999999999 1 1 1 1\n"));
  EXPECT_FALSE(parse_process_id("0"));
}

// Pieces of the real files, cut and joined anyhow.
rc::Gen<std::string> hostile_text() {
  const auto piece = rc::gen::element<std::string>("cpu ", "cpu0 ", "1 ", "-1 ", "18446744073709551616 ", "\n", ")",
                                                   "(", ":", "eth0:", "VmRSS:", "read_bytes:", "write_bytes:", " ",
                                                   "\t", "sda ", "sda1 ", std::string(1, '\0'), "\xff", "kB");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), [](const std::vector<std::string>& pieces) {
    std::string text;
    for (const std::string& one : pieces) text += one;
    return text;
  });
}

template <class T>
void expect_value_or_reason(const Result<T>& result) {
  if (!result) RC_ASSERT(!result.error().message().empty());
}

RC_GTEST_PROP(ProcText, AnyTextGivesAValueOrAReason, ()) {
  const std::string text = *rc::gen::oneOf(hostile_text(), rc::gen::arbitrary<std::string>());
  expect_value_or_reason(parse_cpu(text));
  expect_value_or_reason(parse_process_ticks(text));
  expect_value_or_reason(parse_process_id(text));
  expect_value_or_reason(parse_resident(text));
  expect_value_or_reason(parse_interfaces(text));
  expect_value_or_reason(parse_process_disk(text));
  expect_value_or_reason(parse_disks(text));
}

}  // namespace
}  // namespace orrery::profile
