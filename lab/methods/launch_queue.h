#pragma once
// How an iteration's time comes about on one GPU: a host that launches in order, a device that runs in order, and a
// queue between them.
//
//   L_i = max(L_{i−1} + interval_i, start of the kernel that must leave the full queue first)
//         at a synchronisation also E_{i−1} + behind_i: the host continues when the device is idle
//   S_i = max(L_i + latency, E_{i−1})                  the first kernel starts
//   E_i = max(S_i + device_i, L_i + launch_i + last_share_i · device_i) + hidden_i
// where hidden_i is the device's time for kernels without a row between this operator and the next.
// The first iterations only fill the queue; the time is that of the last, from its first kernel's start to its last
// kernel's end. Times in microseconds.

#include <span>
#include <vector>

#include "lab/lab.h"

namespace orrery::lab {

struct QueuedOperator {
  double device = 0;
  double hidden = 0;
  double interval = 0;
  double launch = 0;
  double last_share = 1;  // of the device time that can only start when the last kernel is launched
  double behind = 0;      // after a synchronisation, until the launch
  bool synchronises = false;
  int kernels = 1;
};

struct QueueOptions {
  double latency = 11;
  int depth = 1020;  // kernels
  int iterations = 4;
};

struct QueueTimes {
  double iteration = 0;
  double busy = 0;             // the device's share of it
  std::vector<double> starts;  // of each operator's first kernel, from the first one's on
};

QueueTimes run_launch_queue(std::span<const QueuedOperator> operators, const QueueOptions& options = {});

}  // namespace orrery::lab
