#include "elastic/host/log_forwarder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

namespace orrery::elastic {
namespace {

// What is written to standard output while `work` runs.
template <class Work>
std::string output_of(Work work) {
  std::fflush(stdout);
  const env::FileDescriptor file(::memfd_create("output", 0)), before(::dup(STDOUT_FILENO));
  ::dup2(file.get(), STDOUT_FILENO);
  work();
  ::dup2(before.get(), STDOUT_FILENO);
  std::string text(1 << 20, '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

void print(const env::FileDescriptor& to, std::string_view text) {
  ASSERT_EQ(::write(to.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(LogForwarder, LinesComeOutWholeWithTheNameOfTheProcess) {
  const std::string text = output_of([] {
    auto log_forwarder = LogForwarder::start();
    ASSERT_TRUE(log_forwarder);
    auto a = (*log_forwarder)->add("[1] "), b = (*log_forwarder)->add("[2] ");
    ASSERT_TRUE(a && b);
    print(a->output, "half ");
    print(b->output, "whole\n\n");
    print(a->output, "a line\nrest");
    *a = {};
    *b = {};
  });
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (std::vector<std::string>{"[1] half a line", "[1] rest", "[2] ", "[2] whole"}));
}

TEST(LogForwarder, EndlessLinesAreCut) {
  const std::string text = output_of([] {
    auto log_forwarder = LogForwarder::start();
    ASSERT_TRUE(log_forwarder);
    auto ends = (*log_forwarder)->add("> ");
    ASSERT_TRUE(ends);
    for (int i = 0; i < 100; ++i) print(ends->output, std::string(1000, 'x'));
    *ends = {};
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), 100'000);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

}  // namespace
}  // namespace orrery::elastic
