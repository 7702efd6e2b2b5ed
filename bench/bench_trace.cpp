// How fast a profiler's trace of 2 GB is read, and how much memory that takes:
//
//   at least 150 MB per second of processor time
//   at most 25 % of the size of the file
//
// The file repeats the events of a real trace (from $ORRERY_DATA/data/kineto_traces, or ../shared) or, without one, of
// a generated one, with times that go on. It is read by a process of its own, which reports its largest resident size
// and its processor time: on a machine that others use too, the wall clock says more about them. The file is deleted
// afterwards. Exit code 1 when a bar is missed.

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include "child.h"
#include "env/env.h"
#include "env/files.h"
#include "env/processes.h"
#include "trace/byte_stream.h"
#include "trace/chrome_reader.h"
#include "trace/json_window.h"

namespace orrery {
namespace {

constexpr double kBarMegabytesPerSecond = 150;
constexpr double kBarMemoryShare = 0.25;
constexpr std::uint64_t kFileBytes = 2'000'000'000;
constexpr std::int64_t kPeriodUs = 1'000'000;
constexpr std::uint64_t kBufferBytes = 8 << 20;

// Few bytes per event are hard on memory, many on the scanner.
constexpr const char* kRealTraces[] = {"hta_V100_1rank_cnn.json.gz", "resnet50_V100_workers0_a.json.gz"};

std::filesystem::path data_folder() {
  const char* set = std::getenv("ORRERY_DATA");
  return std::filesystem::path(set != nullptr ? set : "../shared") / "data" / "kineto_traces";
}

Result<std::string> inflated(env::Env& env, const std::string& path) {
  ORRERY_TRY(const auto file, env.files.open(path));
  ORRERY_TRY(const auto stream, trace::open_stream(*file));
  std::string text, part(kBufferBytes, '\0');
  while (true) {
    ORRERY_TRY(const std::size_t got, stream->read(part));
    if (got == 0) return text;
    text.append(part, 0, got);
  }
}

std::string generated() {
  std::string text = "{\"traceEvents\": [";
  for (int i = 0; i < 30'000; ++i) {
    text += fmt::format(
        "{}\n{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_{}\", \"pid\": 1, \"tid\": 1, \"ts\": {}, "
        "\"dur\": 8.125, \"args\": {{\"External id\": {}, \"Input Dims\": [[32, {}, 7, 7], []]}}}},\n"
        "{{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"ts\": "
        "{}, "
        "\"dur\": 3, \"args\": {{\"cbid\": 211, \"correlation\": {}}}}},\n"
        "{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void kernel_{}<float>(int, float*)\", \"pid\": 0, \"tid\": "
        "7, "
        "\"ts\": {}, \"dur\": 7.5, \"args\": {{\"device\": 0, \"stream\": 7, \"correlation\": {}, \"grid\": [80, 1, "
        "1], "
        "\"block\": [256, 1, 1]}}}}",
        i > 0 ? "," : "", i % 90, 1'700'000'000'000'000 + 10L * i, i, i % 512, 1'700'000'000'000'002 + 10L * i, i,
        i % 70, 1'700'000'000'000'015 + 10L * i, i);
  }
  return text + "]}";
}

// The text of the events with the places of their times, to be written again and again.
struct Repeated {
  std::vector<std::string_view> between;  // one more than times
  std::vector<std::int64_t> times_us;     // whole microseconds; fractions stay in the text behind
};

Repeated split_at_times(std::string_view events) {
  constexpr std::string_view kKey = "\"ts\": ";
  Repeated result;
  for (std::size_t at = events.find(kKey); at != std::string_view::npos; at = events.find(kKey)) {
    const char* number = events.data() + at + kKey.size();
    std::int64_t time = 0;
    const char* behind = std::from_chars(number, events.data() + events.size(), time).ptr;
    result.between.push_back(events.substr(0, at + kKey.size()));
    result.times_us.push_back(time);
    events.remove_prefix(static_cast<std::size_t>(behind - events.data()));
  }
  result.between.push_back(events);
  return result;
}

// What stands between the brackets of "traceEvents".
Result<std::string_view> events_in(std::string_view text) {
  const std::string_view list = text.substr(text.find('[', text.find("\"traceEvents\"")));
  ORRERY_TRY(const auto stream, trace::open_stream(list));
  trace::JsonWindow window(*stream);
  ORRERY_TRY_VOID(window.skip_value());
  return list.substr(1, window.offset() - 2);
}

Status write_repeated(const std::string& path, const std::string& text) {
  ORRERY_TRY(const std::string_view events, events_in(text));
  const Repeated parts = split_at_times(events);
  std::ofstream file(path, std::ios::binary);
  std::string buffer = "{\"traceEvents\": [";
  std::uint64_t written = 0;
  for (std::int64_t shift = 0; written + buffer.size() < kFileBytes; shift += kPeriodUs) {
    if (shift > 0) buffer += ',';
    for (std::size_t i = 0; i < parts.times_us.size(); ++i) {
      buffer += parts.between[i];
      buffer += std::to_string(parts.times_us[i] + shift);
      if (buffer.size() < kBufferBytes) continue;
      file << buffer;
      written += buffer.size();
      buffer.clear();
    }
    buffer += parts.between.back();
  }
  file << buffer << "]}";
  return file.flush().good() ? Status() : Error::io("cannot write " + path);
}

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

// In a process of its own: reads, and prints one row.
int read_case(env::Env env, const std::string& name, const std::string& path) {
  const auto begin = std::chrono::steady_clock::now();
  const auto file = env.files.open(path);
  if (!file) return 1;
  const auto log = trace::read_chrome_trace(**file);
  if (!log) {
    fmt::print(stderr, "{}\n", log.error().to_string());
    return 1;
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const double processor = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  const double megabytes = static_cast<double>((*file)->size()) / 1e6;
  const double peak = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
  const bool meets = megabytes / processor >= kBarMegabytesPerSecond && peak <= kBarMemoryShare * megabytes;
  fmt::print("| {} | {:.0f} | {} | {:.2f} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.1f} % | {:.0f} % | {} |\n", name,
             megabytes, log->events.size(), processor, megabytes / processor, megabytes / wall.count(),
             kBarMegabytesPerSecond, peak, 100 * peak / megabytes, 100 * kBarMemoryShare, meets ? "meets" : "MISSES");
  return meets ? 0 : 1;
}

int run(int argc, char** argv) {
  env::Env env = env::make_real_env();
  if (argc == 3) return read_case(env, argv[1], argv[2]);
  fmt::print(
      "| events of | MB | events kept | processor s | MB/s | MB/s by the wall clock | bar MB/s | peak MB | of the file "
      "| "
      "bar | verdict |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
  std::fflush(stdout);
  bool all_met = true;
  const auto judge = [&](const std::string& name, const std::string& text) {
    const auto met = bench::measure_in_child(env, argv[0], name, Seconds(300),
                                             [&](const std::string& path) { return write_repeated(path, text); });
    if (!met) fmt::print(stderr, "{}: {}\n", name, met.error().to_string());
    all_met = all_met && met && *met;
  };
  judge("a generated trace", generated());
  for (const char* name : kRealTraces) {
    const auto text = inflated(env, (data_folder() / name).string());
    if (text) judge(name, *text);
  }
  return all_met ? 0 : 1;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  return orrery::run(argc, argv);
}
