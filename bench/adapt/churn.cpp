// Half an hour in which every two seconds a worker of a training is killed, told to leave or added, and what that
// leaves behind. Workers compute at a pace, as in half_an_hour.cpp. Afterwards as many steps undisturbed, by one
// process.
//
// Bars: a step is committed every second; open files of the launcher, names in the kernel and processes are once in the
// last fifth of the time no more than they were at most in the first, so nothing grows; in the end nothing is left; the
// model is that of one process, and so are the samples of every step.

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

#include "adapt/disturb.h"
#include "adapt/experiments.h"
#include "env/clock.h"

namespace orrery::bench {

namespace {

constexpr double kTime_s = 1800, kLongest_s = 1;
constexpr Seconds kBetween{2};

std::size_t entries(const std::filesystem::path& folder, const std::string& part) {
  std::size_t count = 0;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().filename().string().find(part) != std::string::npos) ++count;
  }
  return count;
}

// Whose command line names it; those that have ended and were not waited for have none.
std::size_t processes_of(const std::string& job) {
  std::size_t count = 0;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    std::ifstream file(entry.path() / "cmdline");
    std::string words;
    std::getline(file, words);
    if (words.find(job) != std::string::npos) ++count;
  }
  return count;
}

std::size_t names_of(const std::string& job) {
  std::size_t count = entries("/dev/shm", job);
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    if (line.find(job) != std::string::npos) ++count;
  }
  return count;
}

struct Footprint {
  const char* of;
  std::vector<std::size_t> early{}, late{};
};

bool has_same_samples(const Training& one, const Training& other) {
  return std::ranges::equal(one.steps, other.steps, {}, &LoggedStep::samples, &LoggedStep::samples);
}

}  // namespace

Result<bool> churn(const Bench& bench) {
  const std::vector<std::string> train = {"--data", "fashion-mnist", "--micro-batch", "16", "--batch", "64"};
  std::vector<std::string> paced = train;
  paced.insert(paced.end(), {"--pace", "20ms", "--steps", "1000000000"});
  ORRERY_TRY(
      TrainingJob job,
      TrainingJob::start(bench.env, {"-n", "3", "--elastic", "1:5", "--standby", "1", "--max-restarts", "1000000"},
                         "lenet", paced));
  const double time_s = bench.scale * kTime_s;
  Random random(1);
  Events events;
  Footprint files{"open files of the launcher"}, names{"names in the kernel"}, processes{"processes"};
  const auto look = [&](auto when) {
    (files.*when).push_back(entries(fmt::format("/proc/{}/fd", job.process()), ""));
    (names.*when).push_back(names_of(job.name()));
    (processes.*when).push_back(processes_of(job.name()));
  };
  const Seconds start = bench.env.clock.monotonic();
  const auto now_s = [&] { return (bench.env.clock.monotonic() - start).value(); };
  while (now_s() < time_s) {
    if (!job.runs()) return Error::unavailable("the training has ended too early");
    bench.env.clock.sleep(kBetween);
    disturb(bench.env, job, random, events);
    if (now_s() < time_s / 5) look(&Footprint::early);
    if (now_s() > time_s * 4 / 5) look(&Footprint::late);
  }
  // A worker that is killed while the job stops would be missed at its end.
  bench.env.clock.sleep(kBetween);
  ORRERY_TRY_VOID(job.stop());
  ORRERY_TRY(const Training churned, job.finish(Seconds(120)));
  const std::size_t names_left = names_of(job.name()), processes_left = processes_of(job.name());
  std::vector<std::string> alone_words = train;
  alone_words.insert(alone_words.end(), {"--steps", std::to_string(churned.steps.back().step)});
  ORRERY_TRY(TrainingJob alone_job, TrainingJob::start(bench.env, {"-n", "1"}, "lenet", alone_words));
  ORRERY_TRY(const Training alone, alone_job.finish(Seconds(7200)));

  double longest_s = 0;
  for (std::size_t i = 1; i < churned.steps.size(); ++i) {
    longest_s = std::max(longest_s, churned.steps[i].time_s - churned.steps[i - 1].time_s);
  }
  bench.say(fmt::format("{:.0f} s, {} steps: {} killed, {} told to leave, {} resized\n", time_s, churned.steps.size(),
                        events.killed, events.stopped, events.resized));
  bench.say("| what | measured | bar | |\n|---|---|---|---|");
  bool all_met = true;
  const auto row = [&](const std::string& what, const std::string& measured, const std::string& bar, bool met) {
    all_met = all_met && met;
    bench.say(fmt::format("| {} | {} | {} | {} |", what, measured, bar, met ? "meets" : "misses"));
  };
  row("longest time between two steps", fmt::format("{:.2f} s", longest_s), "1 s", longest_s <= kLongest_s);
  for (const Footprint& footprint : {files, names, processes}) {
    const std::size_t early = std::ranges::max(footprint.early), late = std::ranges::min(footprint.late);
    row(footprint.of, fmt::format("at most {} at first, at least {} in the end", early, late), "no more",
        late <= early);
  }
  row("names and processes afterwards", fmt::format("{}, {}", names_left, processes_left), "0, 0",
      names_left == 0 && processes_left == 0);
  const bool is_same = !churned.model.empty() && churned.model == alone.model && has_same_samples(churned, alone);
  row("model and samples of every step", is_same ? "those of one process" : "others", "those of one process", is_same);
  return all_met;
}

}  // namespace orrery::bench
