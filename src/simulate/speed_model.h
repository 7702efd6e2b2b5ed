#pragma once
// How fast jobs really are: the speeds of the simulated cluster, not those that a policy sees.
//
// A rate is work per time; 1 is the speed on the GPUs a job asked for, placed as well as possible.

#include "schedule/cluster_view.h"
#include "schedule/scaling_model.h"
#include "schedule/step_curve.h"

namespace orrery::simulate {

class SpeedModel {
 public:
  virtual ~SpeedModel() = default;
  virtual double rate(const schedule::ClusterView& view, schedule::JobIndex job,
                      const schedule::Allocation& allocation) const = 0;
  // The share of its rate that `job` keeps when it shares its GPUs with `other`.
  virtual double packed_share(const schedule::ClusterView& view, schedule::JobIndex job,
                              schedule::JobIndex other) const = 0;
  // The same for a job whose stages take turns with those of all jobs that share its GPUs: its iteration alone, of
  // theirs.
  virtual double interleaved_share(const schedule::ClusterView& view, schedule::JobIndex job) const;
  // How much faster `job` trains with `factor` times its batch.
  virtual double batch_gain(const schedule::ClusterView& view, schedule::JobIndex job,
                            const schedule::Allocation& allocation, double factor) const = 0;
};

// Parameters of CurveSpeed. Shares are of the time of one step on one GPU.
struct CurveOptions {
  double serial_share = 0.03;      // does not shrink with more GPUs
  double growth = 0;               // every GPU beyond the first adds this, as in synchronous training
  double spread_cost = 0;          // slower by this share for every machine beyond the fewest possible
  double sharing_overhead = 0.05;  // of two jobs on the same GPUs
  double noise_scale = 4;          // of gradients, in batches: with f batches a sample is worth (n + 1) / (n + f)
};

// One scaling curve for all jobs: a step on k GPUs takes (1 - s) / k + s + g (k - 1) of one on a single GPU; or, for jobs
// whose steps were measured, the curve of their model. With p parameter servers half of s is their work, and grows with
// the workers each has: s / 2 + s / 2 x k / p, which is the same where servers are as many as workers. Two jobs that share GPUs get all they ask for while their utilisations add
// up to less than 1, and equal parts of it beyond.
class CurveSpeed : public SpeedModel {
 public:
  // `measured`, by job, is borrowed; jobs without a curve there, or beyond it, have the one curve.
  using Curves = IndexedVector<schedule::JobIndex, schedule::SharedCurve>;
  explicit CurveSpeed(const CurveOptions& options, const Curves* measured = nullptr)
      : options_(options), measured_(measured) {}

  double rate(const schedule::ClusterView& view, schedule::JobIndex job,
              const schedule::Allocation& allocation) const override;
  double packed_share(const schedule::ClusterView& view, schedule::JobIndex job,
                      schedule::JobIndex other) const override;
  double batch_gain(const schedule::ClusterView& view, schedule::JobIndex job, const schedule::Allocation& allocation,
                    double factor) const override;
  // Its rate by the number of GPUs alone, placed as well as possible.
  double scaling(const schedule::ClusterView& view, schedule::JobIndex job,
                 const schedule::Allocation& allocation) const;
  // Time of a step on k GPUs, of one on a single GPU.
  double step_share(int gpus) const {
    return (1 - options_.serial_share) / gpus + options_.serial_share + options_.growth * (gpus - 1);
  }
  bool has_measured() const { return measured_ != nullptr; }
  bool is_measured(schedule::JobIndex job) const {
    return has_measured() && job.place() < measured_->size() && (*measured_)[job] != nullptr;
  }
  // The same for one job.
  double step_share(schedule::JobIndex job, int gpus) const {
    if (!is_measured(job)) return step_share(gpus);
    const schedule::StepCurve& curve = *(*measured_)[job];
    return curve.step_s(gpus) / curve.step_s(1);
  }
  // Their quotient. Out of line: mostly nothing was measured.
  [[gnu::noinline]] double step_shares(schedule::JobIndex job, int gpus, int asked) const;
  // The same with parameter servers.
  schedule::PsSpeed ps_speed() const;

 private:
  CurveOptions options_;
  const Curves* measured_;
};

// The model that a policy sees: the same curve, and predicted work.
class CurveScaling : public schedule::ScalingModel {
 public:
  // Both are borrowed.
  CurveScaling(const schedule::ClusterView& view, const CurveSpeed& speed) : view_(view), speed_(speed) {}

  bool learns() const override { return false; }
  double step_s(schedule::JobIndex job, int gpus) const override;
  std::optional<schedule::PsSpeed> ps_speed(schedule::JobIndex job) const override;
  double steps_left(schedule::JobIndex job) const override;
  int gpus_max(schedule::JobIndex job) const override;

 private:
  const schedule::ClusterView& view_;
  const CurveSpeed& speed_;
};

}  // namespace orrery::simulate
