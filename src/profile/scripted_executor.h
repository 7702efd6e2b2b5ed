#pragma once
// For tests: plays back steps of known length instead of running a model.

#include <algorithm>

#include "profile/executor.h"

namespace orrery::profile {

class ScriptedExecutor final : public Executor {
 public:
  // Steps whose numbers are listed take ten times as long.
  ScriptedExecutor(double plain_s, double traced_s, std::vector<int> disturbed_steps = {})
      : plain_s_(plain_s), traced_s_(traced_s), disturbed_(std::move(disturbed_steps)) {}

  std::string library() const override { return "script"; }

  Result<StepRecord> step(Trace trace) override {
    using workload::Phase;
    const bool disturbed = std::find(disturbed_.begin(), disturbed_.end(), steps_++) != disturbed_.end();
    const double length = (trace == Trace::kYes ? traced_s_ : plain_s_) * (disturbed ? 10 : 1);
    StepRecord record{Seconds(now_), Seconds(now_ + length), 0.5, {}};
    if (trace == Trace::kYes) {
      // Node 1: forward takes 30 %, backward 20 % in two parts 10 % apart, update 5 %; the rest is gaps.
      add(record, 1, Phase::kForward, 0.10, 0.40, length);
      add(record, 1, Phase::kBackward, 0.50, 0.60, length);
      add(record, 1, Phase::kBackward, 0.70, 0.80, length);
      add(record, 1, Phase::kUpdate, 0.90, 0.95, length);
    }
    now_ += length;
    return record;
  }

  Result<std::vector<LibraryCall>> list_calls() override { return std::vector<LibraryCall>(); }
  Result<double> compute_gradients() override { return 0.0; }
  Result<std::vector<float>> scores() override { return std::vector<float>(); }
  Result<std::vector<float>> parameter(const std::string&) const override { return std::vector<float>(); }
  Result<std::vector<float>> gradient(const std::string&) const override { return std::vector<float>(); }
  Status set_parameter(const std::string&, std::span<const float>) override { return {}; }
  Result<std::vector<float>> parameters() const override { return std::vector<float>(); }
  Result<std::vector<float>> gradients() const override { return std::vector<float>(); }
  Status set_parameters(std::span<const float>) override { return {}; }
  Status set_input(std::size_t, std::span<const float>) override { return {}; }
  Result<std::vector<float>> input(std::size_t) const override { return std::vector<float>(); }
  Status set_target(std::size_t, std::span<const float>) override { return {}; }
  Result<std::vector<float>> target(std::size_t) const override { return std::vector<float>(); }

  int steps() const { return steps_; }

 private:
  void add(StepRecord& record, std::int32_t op, workload::Phase phase, double from, double to, double length) const {
    record.samples.push_back(
        {workload::OperatorIndex(op), phase, Seconds(now_ + from * length), Seconds(now_ + to * length)});
  }

  double plain_s_, traced_s_, now_ = 5;
  std::vector<int> disturbed_;
  int steps_ = 0;
};

}  // namespace orrery::profile
