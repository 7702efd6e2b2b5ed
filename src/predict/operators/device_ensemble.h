#pragma once
// Times of work on a device that was not measured, from measurements of the same kind of work on other devices.
//
// Every row of work comes with a physical estimate of its time on its device (`roof`, a roofline) and with features
// that are ratios of work to what the device can do. On each measured device trees learn how far reality was from
//
//   floor = overhead(device, kind) + roof
//
// as log(measured / floor). For a new device the answer is the median of the devices' answers, weighted by
// exp(−|generation difference| / reach), times its floor with the median overhead. The median keeps one device that was
// measured badly (another library version, throttled by heat) from deciding; the weights prefer kernels of the nearest
// generation.
//
// Intervals: each device that may be used is left out in turn and predicted from the others; the ratios calibrate a
// split-conformal interval per group. So an interval contains the error of the method on unseen devices.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "predict/learn/boosted_trees.h"
#include "predict/learn/conformal.h"
#include "predict/operators/device_facts.h"

namespace orrery::predict {

struct WorkRow {
  std::size_t device = 0;  // index into the devices
  std::size_t kind = 0;    // what shares an overhead: an optimizer, a class of operators
  double roof_ms = 0;      // above 0
  double measured_ms = 0;  // 0: not measured, only to be predicted
  double weight = 0;       // in fitting; 0: not fitted
  std::string group{};     // of its interval
};

struct EnsembleOptions {
  double reach = 0.8;         // generations
  double overhead_share = 1;  // of the overhead that is left when work follows work without waiting
  BoostOptions boost{.trees = 150, .leaves = 15};
};

struct EnsembleAnswer {
  double time_ms = 0;
  bool in_domain = true;  // the device was measured, and every feature is inside what was fitted on it
  bool inside = true;     // every feature is inside the range that a device in use was fitted on
};

// The ranges of rows of features.
struct FeatureRange {
  std::vector<float> low{}, high{};  // by column

  void add(std::span<const float> row);
  // A little outside still counts.
  bool has(std::span<const float> row) const;
};

class DeviceEnsemble {
 public:
  // One feature row per work row. Fits one model of the ensemble per device that has rows with a weight.
  static Result<DeviceEnsemble> fit(std::vector<DeviceFacts> devices, const Features& features,
                                    std::vector<WorkRow> rows, const EnsembleOptions& options);

  // The time of a row from the models that are not `excluded`; the row's own device is always excluded. Precondition: a
  // model is left.
  EnsembleAnswer predict(std::size_t row, std::span<const std::size_t> excluded = {}) const;
  // The time of a row on a device that was measured itself, by its own model. Precondition: it has one.
  EnsembleAnswer predict_seen(std::size_t row) const;
  // Work that is not among the rows, on any device: a measured device has its own model, else the others answer,
  // without `excluded` (names). Precondition: a model is left, and as many features as were fitted.
  EnsembleAnswer predict_new(const DeviceFacts& device, std::span<const float> features, double roof_ms,
                             std::size_t kind = 0, std::string_view excluded = {}) const;
  // The error to expect for rows of `device`, calibrated without that device. Needs models of at least two other
  // devices.
  Result<Conformal> calibrate(std::size_t device) const;
  // The same for a device that is not among them.
  Result<Conformal> calibrate_new() const { return calibrate(devices_.size()); }

  // The roofline alone with the median overhead: the answer of a model without learning.
  double floor_ms(std::size_t row, std::span<const std::size_t> excluded = {}) const;
  // Models of the other devices.
  std::size_t members_beside(std::size_t device) const;

  // Without the rows: what was read predicts new work only.
  void write(ByteWriter& out) const;
  static Result<DeviceEnsemble> read(ByteReader& in);

  std::size_t columns() const { return members_[0].trees.columns(); }
  const std::vector<WorkRow>& rows() const { return rows_; }
  const std::vector<DeviceFacts>& devices() const { return devices_; }

 private:
  struct Member {
    std::size_t device = 0;
    std::vector<double> overhead_ms;  // by kind; NaN: no row was small enough to show it
    BoostedTrees trees;               // of log(measured / floor)
    std::vector<float> log_ratio;     // by row
    std::vector<char> in_range;       // by row
    FeatureRange range;               // of the fitted rows
  };

  void find_members();
  void fill_unknown_overheads();
  Status fit_member(Member& member, const Features& features) const;
  double overhead_for(std::size_t kind, std::size_t own, std::span<const std::size_t> excluded) const;
  double weight_of(double generations) const;  // of a device so far away
  bool is_out(std::size_t member, std::size_t own, std::span<const std::size_t> excluded) const;

  std::vector<DeviceFacts> devices_;
  std::vector<WorkRow> rows_;
  std::vector<Member> members_;
  EnsembleOptions options_;
};

// The value at half of the total weight, interpolated between the middles of neighbouring weights. Precondition: not
// empty, weights positive.
double weighted_median(std::span<const std::pair<double, double>> values_and_weights);

}  // namespace orrery::predict
