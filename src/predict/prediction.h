#pragma once
// Prediction: what a training run will take, how certain that is, and how it was found.

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "workload/graph.h"

namespace orrery::predict {

// A value with the interval that should hold the truth `kIntervalLevel` of the time.
inline constexpr double kIntervalLevel = 0.8;
template <class T>
struct Estimate {
  T value;
  T low;
  T high;
};

// What keeps an operator from being faster.
enum class Bound { kNothing, kCompute, kMemory, kLaunch, kNetwork };
std::string_view to_string(Bound bound);

struct TimelineEntry {
  workload::OperatorIndex op;  // of the run's graph
  workload::Phase phase = workload::Phase::kForward;
  Seconds start;
  Seconds duration;  // on the device
  Seconds waited;    // the device idled this long before it, for the host to launch it
  Bound bound = Bound::kNothing;
};

struct CommunicationEntry {
  std::string what;
  Seconds start;
  Seconds duration;
  Bytes bytes;
};

// Bytes on the fullest device.
struct MemoryBreakdown {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer_state;
  Bytes activations;    // kept for backward
  Bytes temporaries;    // gradients of activations and the like, at the peak
  Bytes workspace;      // scratch space of convolution algorithms
  Bytes communication;  // buckets of gradients in transit
  Bytes framework;      // device context, library kernels

  Bytes total() const {
    return parameters + gradients + optimizer_state + activations + temporaries + workspace + communication + framework;
  }
};

struct Prediction {
  Estimate<Seconds> iteration;
  Seconds forward;
  Seconds backward;
  Seconds update;
  Seconds exposed_communication;  // not hidden behind computation
  Seconds pipeline_bubble;
  Seconds host_wait;  // the device idle, waiting for launches
  double samples_per_second = 0;

  Estimate<Bytes> memory;
  MemoryBreakdown memory_breakdown;
  Bytes device_memory;
  bool fits = false;

  Estimate<Seconds> total_time;           // for all steps of the run
  std::optional<Estimate<Dollars>> cost;  // empty: no offer of this device is known
  std::string cost_basis;                 // which offer, which date

  std::vector<TimelineEntry> timeline;  // one device, one micro-batch, then the update
  int timeline_repeats = 1;             // forward and backward entries run once per micro-batch
  std::vector<CommunicationEntry> communication;

  double learned_share = 0;  // of the iteration's time, in operators whose learned times count
  bool in_domain = false;    // true: all of its large parts are like what was learned from
  std::string network;       // between machines; empty: one machine
  bool calibrated = false;   // false: no measurement has confirmed this device and kind of model
  std::string predictor;     // its name: "analytic", "measured"
  std::string made_by;       // the same for people, with the knowledge it is based on
  std::vector<std::string> notes;
};

// Every time, and what it costs, `factor` times as long.
void scale_times(Prediction& prediction, double factor);
// The interval of time and cost, as multiples of the value.
void set_interval(Prediction& prediction, double low, double high);

}  // namespace orrery::predict
