#pragma once
// Time of one operator on one device, from its work and the device's peaks.
//
//   t = k·t_min + max( F_matrix / (P_matrix · e · s) + F_vector / (P_vector · e_v),  B / (W · e_w) )
//
// F: FLOPs, P: peak, B: bytes moved, W: memory bandwidth, k: kernels, t_min: shortest kernel. e is the share of the
// peak that large products of this kind reach; s = s_tiles · s_depth falls below 1 when there are too few output tiles
// to fill the device or too short sums to amortise a tile:
//   s_tiles = n / (n + 0.35·SMs), n = outputs / (128·64)         s_depth = K / (K + 24)
// More peak, more bandwidth or less work never gives more time.
//
// The constants are typical of eager frameworks and vendor libraries. They are not fitted to a device: that is what
// calibration is for.

#include "hardware/device.h"
#include "predict/prediction.h"
#include "workload/cost.h"

namespace orrery::predict {

struct OperatorTime {
  Seconds time;
  Bound bound = Bound::kNothing;
};

// `share` is the part of the operator this device does (tensor parallelism).
OperatorTime roofline_time(const hardware::Device& device, Precision precision, const workload::TrainingGraph& graph,
                           const workload::Operator& op, const workload::OperatorCost& cost, double share);

// Host time to launch one kernel; the device may still be busy with earlier ones.
Seconds launch_time(const hardware::Device& device);

}  // namespace orrery::predict
