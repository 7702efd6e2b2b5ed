#include "adapt/training.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "ending_with_us.h"

namespace orrery::bench {

std::string beside_this_program(const std::string& name) {
  return (std::filesystem::canonical("/proc/self/exe").parent_path() / name).string();
}

namespace {

// Steps by their number, of all workers that logged them.
std::vector<LoggedStep> read_log(const std::string& folder) {
  std::map<std::uint64_t, LoggedStep> steps;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_discarded()) continue;  // a worker that was killed while it wrote
      LoggedStep& step = steps[json["step"]];
      step.repeats += json["repeats"].get<std::uint64_t>();
      step.accuracy = std::max(step.accuracy, json.value("accuracy", 0.0));
      if (step.step != 0) continue;
      step.time_s = json["time_s"];
      step.step = json["step"];
      step.samples = json["end"].get<std::uint64_t>() - json["begin"].get<std::uint64_t>();
      step.workers = json["workers"];
      step.strategy = json["strategy"];
      step.loss = json["loss"];
      step.noise_scale = json["noise_scale"].is_null() ? 0 : json["noise_scale"].get<double>();
    }
  }
  std::vector<LoggedStep> ordered;
  for (auto& [number, step] : steps) {
    step.time_s -= ordered.empty() ? 0 : steps.begin()->second.time_s;
    ordered.push_back(step);
  }
  if (!ordered.empty()) ordered.front().time_s = 0;
  return ordered;
}

}  // namespace

std::uint64_t Training::samples() const {
  std::uint64_t sum = 0;
  for (const LoggedStep& step : steps) sum += step.samples;
  return sum;
}

double Training::samples_per_s(double from, double to) const {
  const auto last = static_cast<double>(steps.size() - 1);
  const auto begin = static_cast<std::size_t>(from * last), end = static_cast<std::size_t>(to * last);
  double samples = 0;
  for (std::size_t i = begin + 1; i <= end; ++i) samples += static_cast<double>(steps[i].samples);
  return samples / (steps[end].time_s - steps[begin].time_s);
}

Result<TrainingJob> TrainingJob::start(env::Env env, const std::vector<std::string>& run, const std::string& model,
                                       const std::vector<std::string>& train, const std::vector<std::string>& inside) {
  static int count = 0;
  std::string name = fmt::format("adapt-{}-{}", ::getpid(), ++count);
  const std::string folder = (std::filesystem::temp_directory_path() / name).string();
  const std::string orrery = beside_this_program("orrery");
  std::vector<std::string> words = inside;
  words.insert(words.end(), {orrery, "run", "--name", name});
  words.insert(words.end(), run.begin(), run.end());
  for (const std::string& word : {std::string("--"), orrery, std::string("train"), model}) words.push_back(word);
  words.insert(words.end(), train.begin(), train.end());
  words.insert(words.end(), {"--log", folder, "--report", "1000000"});
  ORRERY_TRY(auto launcher,
             env.processes.spawn({.argv = ending_with_us(words), .output = env::Output::kCapture, .own_group = true}));
  return TrainingJob(std::move(name), folder, std::move(launcher));
}

TrainingJob::~TrainingJob() {
  if (launcher_ == nullptr) return;
  launcher_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool TrainingJob::runs() {
  const auto ended = launcher_->wait(Seconds(0));
  return ended && !*ended;
}

Result<Training> TrainingJob::finish(Seconds time_max) {
  ORRERY_TRY(const auto exit, launcher_->wait(time_max));
  if (!exit || !exit->ok()) {
    return Error::unavailable(fmt::format("the training {}: {}", exit ? "ended with " + to_string(*exit) : "is late",
                                          launcher_->standard_error()));
  }
  Training training;
  training.steps = read_log(folder_);
  const std::string& text = launcher_->standard_output();
  const auto after = [&](std::string_view word) {
    const auto at = text.find(word);
    return at == std::string::npos ? std::string() : text.substr(at + word.size());
  };
  if (const std::string rest = after("accuracy "); !rest.empty()) training.accuracy = std::stod(rest) / 100;
  if (training.steps.empty()) return Error::unavailable("the training logged no step");
  // Workers that left earlier have said what they had then.
  const std::string end = fmt::format(" after step {}\n", training.steps.back().step);
  if (const auto at = text.find(end); at != std::string::npos && at >= 16) training.model = text.substr(at - 16, 16);
  return training;
}

}  // namespace orrery::bench
