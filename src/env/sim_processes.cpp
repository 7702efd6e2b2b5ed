#include "env/sim_processes.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/check.h"

namespace orrery::env {

namespace {

class SimProcess final : public Process {
 public:
  SimProcess(SimClock& clock, std::int64_t id, SimRun run, const ProcessSpec& spec)
      : clock_(clock), id_(id), run_(std::move(run)), left_(run_.duration), captures_(spec.output == Output::kCapture) {
    const std::size_t limit = static_cast<std::size_t>(spec.output_max.value());
    run_.standard_output.resize(std::min(run_.standard_output.size(), limit));
    run_.standard_error.resize(std::min(run_.standard_error.size(), limit));
    start_running();
  }
  ~SimProcess() override { stop_running(); }

  std::int64_t id() const override { return id_; }
  bool is_ready(Interest) const override { return exit_.has_value(); }

  Result<std::optional<ProcessExit>> wait(Seconds timeout) override {
    clock_.advance_until([this] { return exit_.has_value(); }, timeout);
    return exit_;
  }

  Status kill(Signal signal) override {
    if (exit_) return {};
    if (signal == Signal::kStop) return stop_running(), Status();
    if (signal == Signal::kContinue) return start_running(), Status();
    if (signal != Signal::kKill && run_.ignores_terminate) return {};
    // A stopped process sees only SIGKILL; the others wait until it continues.
    if (signal != Signal::kKill && !running_) return pending_ = signal, Status();
    stop_running();
    exit_ = ProcessExit{0, static_cast<int>(signal)};
    return {};
  }

  const std::string& standard_output() const override { return out_; }
  const std::string& standard_error() const override { return err_; }

 private:
  void start_running() {
    if (running_ || exit_) return;
    running_ = true;
    since_ = clock_.monotonic();
    if (std::isfinite(left_.value())) end_ = clock_.at(since_ + left_, [this] { exit_by_itself(); });
    if (pending_) static_cast<void>(kill(*pending_));
  }

  void stop_running() {
    if (!running_) return;
    running_ = false;
    left_ -= clock_.monotonic() - since_;
    if (end_) clock_.cancel(*end_);
    end_.reset();
  }

  void exit_by_itself() {
    running_ = false;
    end_.reset();
    exit_ = ProcessExit{run_.exit_code, 0};
    if (!captures_) return;
    out_ = std::move(run_.standard_output);
    err_ = std::move(run_.standard_error);
  }

  SimClock& clock_;
  std::int64_t id_;
  SimRun run_;
  Seconds left_;  // of its running time, when last started
  Seconds since_;
  bool captures_;
  bool running_ = false;
  std::optional<SimClock::EventId> end_;
  std::optional<Signal> pending_;
  std::optional<ProcessExit> exit_;
  std::string out_, err_;
};

class SimEndRequests final : public EndRequests {
 public:
  explicit SimEndRequests(std::shared_ptr<int> came) : came_(std::move(came)) {}
  int take() override { return std::exchange(*came_, 0); }
  bool is_ready(Interest) const override { return *came_ > 0; }

 private:
  std::shared_ptr<int> came_;
};

}  // namespace

Result<std::unique_ptr<EndRequests>> SimProcesses::end_requests() {
  return std::make_unique<SimEndRequests>(end_requests_);
}

void SimProcesses::request_end() {
  *end_requests_ += 1;
  clock_.at(clock_.monotonic(), [] {});  // wakes who waits
}

Result<std::unique_ptr<Process>> SimProcesses::spawn(const ProcessSpec& spec) {
  ORRERY_CHECK(!spec.argv.empty());
  const auto program = programs_.find(spec.argv[0]);
  if (program == programs_.end())
    return Error::not_found(fmt::format("cannot start \"{}\": No such file or directory", spec.argv[0]));
  return std::make_unique<SimProcess>(clock_, ++last_id_, program->second(spec), spec);
}

}  // namespace orrery::env
