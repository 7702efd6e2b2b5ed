// What adapting a training is worth, with real trainings under `orrery run`: see adapt/experiments.h and the files
// there.
//
//   bench_adapt [all|slow-worker|growing-batch|spot|interference|recovery|cluster-size|resizing|monitoring|all-reduces|
//                churn|half-an-hour] [FOLDER] [SCALE]
//
// Figures go to FOLDER. Exit code 1 when a bar is missed.

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

#include "adapt/experiments.h"
#include "env/files.h"

namespace orrery::bench {

void Bench::say(const std::string& text) const {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

Status Bench::draw(const std::string& name, const std::string& svg) const {
  if (folder.empty()) return {};
  return env.files.write_atomically(fmt::format("{}/{}.svg", folder, name), svg);
}

namespace {

constexpr std::pair<std::string_view, Experiment> kExperiments[] = {
    {"slow-worker", slow_worker},     {"spot", spot_machines},
    {"growing-batch", growing_batch}, {"interference", interference},
    {"recovery", recovery},           {"cluster-size", cluster_size},
    {"resizing", resizing},           {"monitoring", monitoring},
    {"all-reduces", all_reduces},     {"churn", churn},
    {"half-an-hour", half_an_hour}};

int run(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "all";
  const Bench bench{env::make_real_env(), argc > 2 ? argv[2] : "", argc > 3 ? std::atof(argv[3]) : 1};
  bool known = false, met = true;
  for (const auto& [name, experiment] : kExperiments) {
    if (wanted != "all" && wanted != name) continue;
    known = true;
    bench.say(fmt::format("\n### {}\n", name));
    const auto done = experiment(bench);
    if (!done) bench.say(done.error().to_string());
    met = done && *done && met;
  }
  if (!known) fmt::print(stderr, "no experiment \"{}\"\n", wanted);
  return known && met ? 0 : 1;
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  return orrery::bench::run(argc, argv);
}
