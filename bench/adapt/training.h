#pragma once
// Trainings of `orrery train` under `orrery run` as a benchmark sees them: started, disturbed, and read from their
// logs.

#include <string>
#include <vector>

#include "base/result.h"
#include "env/env.h"
#include "env/processes.h"

namespace orrery::bench {

// The path of another program of this build.
std::string beside_this_program(const std::string& name);

// A committed step, from the log of the worker with the lowest number that committed it.
struct LoggedStep {
  double time_s = 0;  // since the first
  std::uint64_t step = 0, samples = 0, workers = 0;
  std::uint64_t repeats = 0;  // by all workers together
  double loss = 0;
  double noise_scale = 0;  // 0: not known
  double accuracy = 0;     // of the test images; 0: not looked at
  std::string strategy;
};

struct Training {
  std::vector<LoggedStep> steps;
  double accuracy = 0;  // of the test images, at the end
  std::string model;    // a digest of it

  std::uint64_t samples() const;
  // Committed samples per second between two shares of the steps, so that start and end do not count.
  double samples_per_s(double from = 0.1, double to = 0.9) const;
};

// A job of several processes, alone on the machine as far as it knows. Its log is removed with it.
class TrainingJob {
 public:
  // `run` and `train`: options of the two commands; `model` is what is trained; `inside`: words before those of the
  // launcher, if it is to run elsewhere.
  static Result<TrainingJob> start(env::Env env, const std::vector<std::string>& run, const std::string& model,
                                   const std::vector<std::string>& train, const std::vector<std::string>& inside = {});
  ~TrainingJob();
  TrainingJob(TrainingJob&&) = default;
  TrainingJob& operator=(TrainingJob&&) = default;

  const std::string& name() const { return name_; }
  // Of the launcher.
  std::int64_t process() const { return launcher_->id(); }
  // Asks all workers to end after the step at hand.
  Status stop() { return launcher_->kill(env::Signal::kTerminate); }
  // Waits for the end. An error if it did not end well.
  Result<Training> finish(Seconds time_max);
  // Whether it still runs; takes in what it prints meanwhile.
  bool runs();

 private:
  TrainingJob(std::string name, std::string folder, std::unique_ptr<env::Process> launcher)
      : name_(std::move(name)), folder_(std::move(folder)), launcher_(std::move(launcher)) {}

  std::string name_, folder_;
  std::unique_ptr<env::Process> launcher_;
};

}  // namespace orrery::bench
