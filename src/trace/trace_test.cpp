#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <zlib.h>

#include "trace/analysis.h"
#include "trace/chrome_event.h"
#include "trace/chrome_reader.h"
#include "trace/trace_writers.h"

namespace orrery::trace {
namespace {

using workload::Phase;

std::string event(std::string_view category, std::string_view name, int thread, std::string_view start,
                  std::string_view duration, std::string_view arguments = "") {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})", category,
      name, thread, start, duration, arguments);
}

std::string trace_of(const std::vector<std::string>& events) {
  std::string text = R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "V100"}], "traceEvents": [)";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i > 0 ? ",\n" : "\n") + events[i];
  return text + R"(], "traceName": "a ] b"})";
}

EventLog read(const std::string& text) {
  auto log = read_chrome_trace(text);
  EXPECT_TRUE(log) << (log ? "" : log.error().to_string());
  return log ? std::move(*log) : EventLog();
}

// Two steps of 100 us on the host. Step 1 launches a convolution of two kernels (10 + 20 us, the device waits 5 us
// between them), its gradient on autograd's thread (40 us), a collective on stream 8 (30 us) that overlaps it for 20
// us, and an update (5 us). Step 2 launches one kernel at 210.
std::string two_steps() {
  return trace_of({
      event("user_annotation", "ProfilerStep#1", 1, "100", "100"),
      event("user_annotation", "ProfilerStep#2", 1, "200", "100"),
      event("cpu_op", "aten::conv2d", 1, "101", "20", R"("External id": 7, "Input Dims": [[8, 3], [], [4]])"),
      event("cpu_op", "aten::convolution", 1, "102", "18"),
      event("cuda_runtime", "cudaLaunchKernel", 1, "103", "2", R"("correlation": 1)"),
      event("cuda_runtime", "cudaLaunchKernel", 1, "113", "2", R"("correlation": 2)"),
      event("cpu_op", "autograd::engine::evaluate_function: ConvBackward0", 2, "125", "20"),
      event("cpu_op", "ConvBackward0", 2, "126", "18"),
      event("cuda_runtime", "cudaLaunchKernel", 2, "127", "2", R"("correlation": 3)"),
      event("cuda_runtime", "cudaLaunchKernel", 2, "147", "2", R"("correlation": 4)"),
      event("user_annotation", "Optimizer.step#SGD.step", 1, "150", "20"),
      event("cpu_op", "aten::add_", 1, "151", "5"),
      event("cuda_runtime", "cudaLaunchKernel", 1, "152", "2", R"("correlation": 5)"),
      event("cpu_op", "aten::relu", 1, "205", "5"),
      event("cuda_runtime", "cudaLaunchKernel", 1, "206", "2", R"("correlation": 6)"),
      event("kernel", "conv_a", 70, "110", "10", R"("stream": 7, "correlation": 1)"),
      event("kernel", "conv_b", 70, "125", "20", R"("stream": 7, "correlation": 2)"),
      event("kernel", "dgrad", 70, "145", "40", R"("stream": 7, "correlation": 3)"),
      event("kernel", "ncclAllReduce", 80, "165", "30", R"("stream": 8, "correlation": 4, "bytes": 4096)"),
      event("kernel", "axpy", 70, "200", "5", R"("stream": 7, "correlation": 5)"),
      event("kernel", "relu", 70, "210", "6.5", R"("stream": 7, "correlation": 6)"),
  });
}

TEST(ChromeReaderTest, KeepsEventsAndNamesOnce) {
  const EventLog log = read(two_steps());
  EXPECT_EQ(log.events.size(), 21u);
  EXPECT_EQ(log.device, "V100");
  EXPECT_TRUE(log.warnings.empty());
  EXPECT_EQ(log.events.back().duration_ns, 6500);
  EXPECT_EQ(log.input_shapes(log.events[2]), "[[8,3],[],[4]]");
  EXPECT_EQ(log.events[4].name, log.events[5].name);
  EXPECT_EQ(log.bytes(log.events[18]), 4096);
}

TEST(ChromeReaderTest, TimesAreExactToTheNanosecond) {
  // 1712195495519689.123 has more digits than a double holds.
  EXPECT_EQ(nanoseconds_of("1712195495519689.123"), 1712195495519689123);
  EXPECT_EQ(nanoseconds_of("0.0015"), 2);
  EXPECT_EQ(nanoseconds_of("0.0014999"), 1);
  EXPECT_EQ(nanoseconds_of("-3"), -3000);
  EXPECT_EQ(nanoseconds_of("1.5e3"), 1500000);
  EXPECT_EQ(nanoseconds_of("7."), 7000);
  EXPECT_EQ(nanoseconds_of(""), std::nullopt);
  EXPECT_EQ(nanoseconds_of("."), std::nullopt);
  EXPECT_EQ(nanoseconds_of("99999999999999999999"), std::nullopt);
  EXPECT_EQ(nanoseconds_of("soon"), std::nullopt);
}

TEST(AnalysisTest, SummaryOfAnIteration) {
  const EventLog log = read(two_steps());
  const Analysis analysis(log);
  ASSERT_EQ(analysis.iterations().list.size(), 2u);
  EXPECT_EQ(analysis.iterations().rule, IterationRule::kSteps);
  const IterationSummary s = analysis.summary(analysis.iterations().list[0]);
  EXPECT_EQ(s.host_ns, 100'000);
  EXPECT_EQ(s.span_ns, 100'000);          // first kernel of step 1 at 110, of step 2 at 210
  EXPECT_EQ(s.kernel_ns, 105'000);        // 10 + 20 + 40 + 30 + 5
  EXPECT_EQ(s.busy_ns, 85'000);           // 110-120, 125-195 (two streams), 200-205
  EXPECT_EQ(s.idle_ns, 15'000);           // 5 + 5 + the 5 before 210
  EXPECT_EQ(s.launch_gap_ns, 5'000);      // only the kernel at 210 was launched (206) when the device was idle (205)
  EXPECT_EQ(s.communication_ns, 30'000);  // 165-195
  EXPECT_EQ(s.overlap_ns, 20'000);        // with dgrad until 185
  ASSERT_EQ(s.streams.size(), 2u);
  EXPECT_EQ(s.streams[0].busy_ns, 75'000);
  EXPECT_EQ(s.streams[1].busy_ns, 30'000);
}

TEST(AnalysisTest, OperatorsInOrderWithPhaseExecutionAndGap) {
  const EventLog log = read(two_steps());
  const Analysis analysis(log);
  const ExecutionTrace trace = analysis.execution_trace(analysis.iterations().list[0]);
  ASSERT_EQ(trace.operators.size(), 4u);
  const auto us = [](Seconds time) { return std::lround(time.value() * 1e6); };
  const TracedOperator& conv = trace.operators[0];
  EXPECT_EQ(conv.name, "aten::conv2d");
  EXPECT_EQ(conv.kind, "conv2d");
  EXPECT_EQ(conv.phase, Phase::kForward);
  EXPECT_EQ(us(conv.execution), 30);
  EXPECT_EQ(us(conv.gap), 5);  // the idle time inside
  EXPECT_EQ(conv.inputs, (std::vector<std::vector<std::int64_t>>{{8, 3}, {}, {4}}));
  EXPECT_EQ(trace.operators[1].kind, "ConvBackward");
  EXPECT_EQ(trace.operators[1].phase, Phase::kBackward);
  EXPECT_EQ(us(trace.operators[1].gap), -20);  // the collective starts 20 us before its end
  EXPECT_EQ(trace.operators[2].kind, "communication");
  EXPECT_EQ(trace.operators[2].phase, Phase::kBackward);
  EXPECT_EQ(trace.operators[3].phase, Phase::kUpdate);
  EXPECT_EQ(us(trace.iteration()), 100);
}

TEST(AnalysisTest, IdleBeforeALateLaunchIsALaunchGap) {
  // The device is idle from 20 to 50; the second kernel was launched at 40 only.
  const EventLog log = read(trace_of({event("cuda_runtime", "l", 1, "5", "1", R"("correlation": 1)"),
                                      event("cuda_runtime", "l", 1, "40", "1", R"("correlation": 2)"),
                                      event("kernel", "a", 7, "10", "10", R"("correlation": 1)"),
                                      event("kernel", "b", 7, "50", "10", R"("correlation": 2)")}));
  const Analysis analysis(log);
  EXPECT_EQ(analysis.iterations().rule, IterationRule::kWhole);
  EXPECT_EQ(analysis.summary(analysis.iterations().list[0]).launch_gap_ns, 30'000);
}

TEST(AnalysisTest, WithoutADeviceOperatorsAreTheWork) {
  // Debian's torch: a bare list without categories or arguments.
  std::string text = "[";
  for (const int begin : {0, 100}) {
    text += fmt::format(
        R"({}{{"name": "aten::conv2d", "ph": "X", "ts": {}, "dur": 40, "tid": 1, "pid": "CPU", "args": {{}}}},)",
        begin > 0 ? "," : "", begin + 10);
    text += fmt::format(R"({{"name": "aten::convolution", "ph": "X", "ts": {}, "dur": 38, "tid": 1, "pid": "CPU"}},)",
                        begin + 11);
    text +=
        fmt::format(R"({{"name": "Optimizer.step#SGD.step", "ph": "X", "ts": {}, "dur": 20, "tid": 1, "pid": "CPU"}},)",
                    begin + 60);
    text +=
        fmt::format(R"({{"name": "aten::add_", "ph": "X", "ts": {}, "dur": 10, "tid": 1, "pid": "CPU"}})", begin + 65);
  }
  const EventLog log = read(text + "]");
  const Analysis analysis(log);
  EXPECT_EQ(analysis.iterations().rule, IterationRule::kOptimizer);
  ASSERT_EQ(analysis.iterations().list.size(), 2u);
  const ExecutionTrace trace = analysis.execution_trace(analysis.iterations().list[0]);
  ASSERT_EQ(trace.operators.size(), 2u);
  EXPECT_NEAR(trace.operators[0].execution.value(), 40e-6, 1e-12);
  EXPECT_NEAR(trace.operators[0].gap.value(), 15e-6, 1e-12);  // 50 to 65
  EXPECT_EQ(trace.operators[1].phase, Phase::kUpdate);
  EXPECT_NEAR(trace.iteration().value(), 100e-6, 1e-12);
}

TEST(AnalysisTest, IterationsWithoutMarkersAreFoundByTheirPeriod) {
  // c a b, c a b, ...: the longest idle time is before a, so that is where an iteration begins.
  std::vector<std::string> events;
  for (int i = 0; i < 6; ++i) {
    events.push_back(event("kernel", "c", 7, std::to_string(100 * i), "5"));
    events.push_back(event("kernel", "a", 7, std::to_string(100 * i + 60), "10"));
    events.push_back(event("kernel", "b", 7, std::to_string(100 * i + 75), "10"));
  }
  const EventLog log = read(trace_of(events));
  const Analysis analysis(log);
  EXPECT_EQ(analysis.iterations().rule, IterationRule::kPeriod);
  ASSERT_EQ(analysis.iterations().list.size(), 5u);
  EXPECT_EQ(analysis.iterations().list[0].window, (Interval{60'000, 160'000}));
}

TEST(ChromeReaderTest, OddEventsGiveWarningsNotFailures) {
  const EventLog log = read(R"([{"name": "no phase"}, {"ph": "X", "name": "no time"}, {"ph": "X", "name": "n", "ts": 5},
      {"ph": "X", "name": "n", "ts": 5, "dur": -4}, {"ph": "E", "ts": 7}, {"ph": "B", "ts": 7, "name": "open"},
      {"ph": "B", "ts": 8, "name": "pair", "tid": 3}, {"ph": "E", "ts": 11, "tid": 3}, {"ph": "X", "ts": 9e14, "dur": 1}])");
  EXPECT_EQ(log.events.size(), 4u);
  EXPECT_EQ(log.events.back().duration_ns, 3000);
  std::vector<std::string> kinds;
  for (const TraceWarning& warning : log.warnings) kinds.push_back(warning.what);
  EXPECT_EQ(kinds,
            (std::vector<std::string>{"events without a phase were left out", "events without a time were left out",
                                      "events without a duration count as 0", "negative durations count as 0",
                                      "ends of ranges that never began", "ranges that never ended count as 0",
                                      "events more than a day away from the others were left out"}));
  EXPECT_EQ(read("[]").warnings.at(0).what, "no events");
}

TEST(ChromeReaderTest, BrokenFilesAreErrorsWithAnOffset) {
  const std::string deep = "[" + std::string(100, '[') + std::string(100, ']') + "]";
  const struct {
    std::string text, message;
  } cases[] = {
      {"", "byte 0: expected a Chrome trace: an object with \"traceEvents\", or a list of events"},
      {"{}", "byte 1: the object has no \"traceEvents\""},
      {"[{\"ph\": \"X\"", "byte 11: the file ends in the middle of the value that starts at byte 1"},
      {"[{}", "byte 3: the file ends where ']' was expected"},
      {"[{} {}]", "byte 4: expected ']', found \"{\""},
      {"[{},]", "byte 4: expected a value, found \"]\""},
      {"[{}] x", "byte 5: something follows the end of the trace"},
      {deep, "byte 1: the value that starts here nests deeper than 64"},
      {std::string("\x1f\x8b\x08", 3), "gzip, byte 3: the file ends in the middle"},
  };
  for (const auto& c : cases) {
    const auto log = read_chrome_trace(c.text);
    ASSERT_FALSE(log) << c.text;
    EXPECT_EQ(log.error().message(), c.message);
  }
  ChromeReadOptions few;
  few.events_max = 3;
  const auto log = read_chrome_trace(two_steps(), few);
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message().find("more than 3 events"), std::string::npos);
}

// Hands out a few bytes at a time, so that every token is cut somewhere.
class SlowFile : public env::ReadHandle {
 public:
  SlowFile(std::string bytes, std::size_t step) : bytes_(std::move(bytes)), step_(step) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) override {
    const std::size_t at = std::min<std::size_t>(offset, bytes_.size());
    return bytes_.copy(buffer.data(), std::min(buffer.size(), step_), at);
  }

 private:
  std::string bytes_;
  std::size_t step_;
};

std::string gzipped(const std::string& bytes) {
  z_stream state{};
  EXPECT_EQ(::deflateInit2(&state, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(bytes.size() + 1000, '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  state.avail_in = static_cast<uInt>(bytes.size());
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&state, Z_FINISH), Z_STREAM_END);
  out.resize(state.total_out);
  ::deflateEnd(&state);
  return out;
}

TEST(ChromeReaderTest, TheSameHoweverTheBytesArrive) {
  const std::string text = two_steps();
  const std::string expected = write_chrome_trace(read(text));
  for (const std::string& bytes : {text, gzipped(text), gzipped(text.substr(0, 500)) + gzipped(text.substr(500))}) {
    for (const std::size_t step : {2, 3, 7, 64, 100'000}) {
      SlowFile file(bytes, step);
      const auto log = read_chrome_trace(file);
      ASSERT_TRUE(log) << log.error().to_string();
      EXPECT_EQ(write_chrome_trace(*log), expected);
    }
  }
}

TEST(TraceWritersTest, ChromeRoundTrip) {
  const EventLog log = read(two_steps());
  const EventLog again = read(write_chrome_trace(log));
  ASSERT_EQ(again.events.size(), log.events.size());
  const Analysis a(log), b(again);
  for (std::size_t i = 0; i < a.iterations().list.size(); ++i) {
    EXPECT_EQ(a.summary(a.iterations().list[i]).busy_ns, b.summary(b.iterations().list[i]).busy_ns);
  }
}

TraceFile file_of(const EventLog& log) {
  const Analysis analysis(log);
  TraceFile file;
  for (const Iteration& iteration : analysis.iterations().list) {
    file.names.push_back(iteration.name);
    file.iterations.push_back(analysis.execution_trace(iteration));
  }
  return file;
}

TEST(TraceFileTest, RoundTrip) {
  TraceFile file = file_of(read(two_steps()));
  file.iterations[0].model = "resnet50";
  file.iterations[0].batch = 32;
  file.iterations[0].operators[0].index = workload::OperatorIndex(3);
  file.iterations[0].operators[0].flops = Flops(1e9);
  const std::string text = write_trace_file(file);
  EXPECT_TRUE(is_trace_file(text));
  const auto again = parse_trace_file(text);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(write_trace_file(*again), text);
  EXPECT_EQ(again->iterations[0].operators[0].inputs, file.iterations[0].operators[0].inputs);
}

TEST(TraceFileTest, MistakesAreNamedByTheirPath) {
  const std::string text = write_trace_file(file_of(read(two_steps())));
  const auto error_of = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    const auto file = parse_trace_file(changed);
    return file ? "" : file.error().message();
  };
  EXPECT_EQ(error_of("orrery-trace", "x"), "format: expected \"orrery-trace\"");
  EXPECT_EQ(error_of("\"version\": 1", "\"version\": 9"), "version: only version 1 can be read");
  EXPECT_EQ(error_of("\"forward\"", "\"sideward\""),
            "iterations[0].operators[0].phase: expected forward, backward or update");
  EXPECT_EQ(error_of("\"execution_s\"", "\"x\""),
            "iterations[0].operators[0].execution_s: expected a number that is not negative");
  EXPECT_FALSE(parse_trace_file(text.substr(0, text.size() / 2)));
}

TEST(TraceFileTest, AsEventsItIsTheSameTrace) {
  TraceFile file = file_of(read(two_steps()));
  for (ExecutionTrace& iteration : file.iterations) {  // without overlap, which events of one thread cannot show
    for (TracedOperator& op : iteration.operators) op.gap = std::max(op.gap, Seconds(0));
    Seconds start;
    for (TracedOperator& op : iteration.operators) {
      op.start = start;
      start += op.execution + op.gap;
    }
  }
  const TraceFile again = file_of(events_of(file));
  ASSERT_EQ(again.iterations.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(again.iterations[i].operators.size(), file.iterations[i].operators.size());
    EXPECT_NEAR(again.iterations[i].iteration().value(), file.iterations[i].iteration().value(), 1e-9);
    for (std::size_t k = 0; k < file.iterations[i].operators.size(); ++k) {
      const TracedOperator &a = file.iterations[i].operators[k], &b = again.iterations[i].operators[k];
      EXPECT_EQ(a.name, b.name);
      EXPECT_EQ(a.phase, b.phase);
      EXPECT_NEAR(a.execution.value(), b.execution.value(), 1e-9);
      EXPECT_NEAR(a.gap.value(), b.gap.value(), 2e-9);
    }
  }
}

TEST(IntervalsTest, UnionAndOverlapEqualCountingPoints) {
  rc::check([] {
    const auto make = [] {
      std::vector<Interval> list;
      for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
        const auto begin = *rc::gen::inRange<std::int64_t>(0, 40);
        list.push_back({begin, begin + *rc::gen::inRange<std::int64_t>(0, 10)});
      }
      return list;
    };
    const auto a = make(), b = make();
    const auto covers = [](const std::vector<Interval>& list, std::int64_t t) {
      return std::any_of(list.begin(), list.end(), [t](const Interval& i) { return i.begin_ns <= t && t < i.end_ns; });
    };
    std::int64_t in_a = 0, in_both = 0;
    for (std::int64_t t = 0; t < 60; ++t) {
      in_a += covers(a, t) ? 1 : 0;
      in_both += covers(a, t) && covers(b, t) ? 1 : 0;
    }
    RC_ASSERT(total_length(unite(a)) == in_a);
    RC_ASSERT(shared_length(unite(a), unite(b)) == in_both);
  });
}

}  // namespace
}  // namespace orrery::trace
