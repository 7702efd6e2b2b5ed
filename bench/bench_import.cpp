// How long it takes to read a model file, and how much memory:
//
//   1 GB of weights beside the file   2 s   200 MB
//   1 GB of weights inside the file   2 s   200 MB
//   a graph of 100,000 nodes          2 s
//
// Each is read by a process of its own, which reports its largest resident size and its processor time: on a machine
// that others use too, the wall clock says more about them. The weights are holes in sparse files:
// a reader that skips them never notices, one that loads them does. Exit code 1 when a bar is missed.

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <sys/resource.h>

#include "child.h"
#include "env/env.h"
#include "env/files.h"
#include "env/processes.h"
#include "workload/import/onnx/onnx.h"
#include "workload/import/onnx/writer.h"

namespace orrery {
namespace {

using workload::import::OnnxWriter;

constexpr double kBarSeconds = 2;
constexpr double kBarMegabytes = 200;
constexpr std::int64_t kSide = 4096;
constexpr int kLayers = 16;  // of 4096² weights of 4 bytes: 1 GiB

struct Case {
  const char* name;
  const char* what;
  bool judge_memory;
};
constexpr Case kCases[] = {{"beside", "1 GiB of weights beside the file", true},
                           {"inside", "1 GiB of weights inside the file", true},
                           {"nodes", "a graph of 100,000 nodes", false}};

Status write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  return file.good() ? Status() : Error::io("cannot write " + path);
}

std::string layers_of_linear(OnnxWriter& file) {
  std::string x = "x";
  file.input(x, {0, kSide});
  for (int i = 0; i < kLayers; ++i) {
    const std::string y = fmt::format("y{}", i);
    file.node("MatMul", {x, fmt::format("w{}", i)}, {y});
    x = y;
  }
  file.output(x);
  return x;
}

Status write_beside(const std::string& path) {
  OnnxWriter file;
  layers_of_linear(file);
  for (int i = 0; i < kLayers; ++i) file.weight(fmt::format("w{}", i), {kSide, kSide});
  ORRERY_TRY_VOID(write_file(path, file.bytes()));
  ORRERY_TRY_VOID(write_file(path + ".data", ""));
  std::filesystem::resize_file(path + ".data", static_cast<std::uintmax_t>(kLayers) * kSide * kSide * 4);
  return {};
}

// The file OnnxWriter would write with zeros for weights, but with holes in their place.
Status write_inside(const std::string& path) {
  using namespace workload::import;
  constexpr std::uint64_t kBytes = static_cast<std::uint64_t>(kSide) * kSide * 4;
  OnnxWriter structure;
  layers_of_linear(structure);
  std::vector<std::string> heads;
  std::uint64_t length = structure.graph().size();
  for (int i = 0; i < kLayers; ++i) {
    const std::string tensor = wire_number(1, kSide) + wire_number(1, kSide) + wire_number(2, kOnnxFloat) +
                               wire_bytes(8, fmt::format("w{}", i)) + wire_varint(9 << 3 | 2) + wire_varint(kBytes);
    heads.push_back(wire_varint(5 << 3 | 2) + wire_varint(tensor.size() + kBytes) + tensor);
    length += heads.back().size() + kBytes;
  }
  std::ofstream file(path, std::ios::binary);
  file << wire_number(1, 7) << wire_bytes(8, wire_number(2, 13)) << wire_varint(7 << 3 | 2) << wire_varint(length);
  for (const std::string& head : heads) {
    file << head;
    file.seekp(static_cast<std::streamoff>(kBytes), std::ios::cur);
  }
  file << structure.graph();
  return file.good() ? Status() : Error::io("cannot write " + path);
}

Status write_nodes(const std::string& path) {
  constexpr int kNodes = 100'000;
  OnnxWriter file;
  std::string x = "x";
  file.input(x, {0, 8, 4, 4});
  for (int i = 0; i < kNodes; ++i) {
    const std::string y = fmt::format("/features/block{}/layer/output_{}", i / 10, i);
    if (i % 10 == 0) {
      const std::string w = fmt::format("features.block{}.weight", i / 10);
      file.weight(w, {8, 8, 3, 3}).node("Conv", {x, w}, {y}, {OnnxWriter::list("pads", {1, 1, 1, 1})});
    } else {
      file.node(i % 2 == 0 ? "Relu" : "Tanh", {x}, {y});
    }
    x = y;
  }
  file.output(x);
  return write_file(path, file.bytes());
}

Status write_case(const std::string& name, const std::string& path) {
  if (name == "beside") return write_beside(path);
  if (name == "inside") return write_inside(path);
  return write_nodes(path);
}

// In a process of its own: reads, and prints one row.
int read_case(env::Env env, const Case& wanted, const std::string& path) {
  const auto graph = workload::read_onnx(env.files, path);
  if (!graph) {
    fmt::print(stderr, "{}\n", graph.error().to_string());
    return 1;
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds_of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  const double seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  const double megabytes = static_cast<double>(usage.ru_maxrss) / 1000;
  const bool meets = seconds <= kBarSeconds && (!wanted.judge_memory || megabytes <= kBarMegabytes);
  fmt::print("| {} | {} | {:.3f} | {:.0f} | {:.0f} | {} | {} |\n", wanted.what, graph->operators().size(), seconds,
             kBarSeconds, megabytes, wanted.judge_memory ? fmt::format("{:.0f}", kBarMegabytes) : "",
             meets ? "meets" : "MISSES");
  return meets ? 0 : 1;
}

int run(int argc, char** argv) {
  env::Env env = env::make_real_env();
  for (const Case& wanted : kCases) {
    if (argc == 3 && std::string(argv[1]) == wanted.name) return read_case(env, wanted, argv[2]);
  }
  fmt::print(
      "| what | operators | processor s | bar s | peak MB | bar MB | verdict |\n|---|---:|---:|---:|---:|---:|---|\n");
  std::fflush(stdout);
  bool all_met = true;
  for (const Case& wanted : kCases) {
    const auto met = bench::measure_in_child(env, argv[0], wanted.name, Seconds(60),
                                             [&](const std::string& path) { return write_case(wanted.name, path); });
    if (!met) fmt::print(stderr, "{}: {}\n", wanted.what, met.error().to_string());
    all_met = all_met && met && *met;
  }
  return all_met ? 0 : 1;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  return orrery::run(argc, argv);
}
