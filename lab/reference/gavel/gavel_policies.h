#pragma once
// The policies of Gavel's simulator by the names it gives them: how shares are computed when they are, and how rounds
// use them. The linear programs are those of schedule/policies/gavel_shares.h; what is restated here are the lists.
//
//   fifo       jobs in order of arrival keep one type from start to end; a job takes the place of one that ended if it
//              is small enough for the GPUs not yet seen to be in use, then strictly in order on any type with room
//   fifo_perf  the same without memory: all anew every time, each on the fastest type with room, until one has none
//   allox      single jobs keep the type they got; the others are planned on the free GPUs (solve_allox), and the first
//              of each GPU's queue gets it. Gangs are planned anew every time as if they needed one GPU, keep their
//              type and have a share of 1 / GPUs of the time. With alpha=0.2 only the oldest fifth of those that wait
//              is planned, or as many as there are GPUs
//   gandiva    equal shares for everybody while there is room; else jobs with as many GPUs are drawn into pairs, which
//   are
//              undone when their speeds alone, summed over types, are not reached

#include <functional>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "lab/lab.h"
#include "schedule/policies/gavel_rounds.h"

namespace orrery::lab {

// A job as policies see it.
struct GavelActive {
  schedule::JobIndex job{};
  std::vector<double> speed;  // by type
  int gpus = 1;
  double weight = 1;
  double age_s = 0;
  double left = 0;            // steps
  double deadline_in_s = -1;  // below 0: none
};

struct GavelState {
  std::vector<int> gpus{};          // by type
  std::vector<GavelActive> jobs{};  // in order of arrival
  // Speeds of the first while it shares GPUs with the second, by type.
  std::function<std::vector<double>(schedule::JobIndex, schedule::JobIndex)> packed{};
};

struct UnitShare {
  schedule::RoundUnit unit;
  std::vector<double> by_type;
};

struct GavelPolicy {
  bool packs = false;       // pairs are units of rounds too
  bool uses_idle = true;    // units without a share use what is left
  bool keeps_order = true;  // types are looked through in one order; else in one drawn every round
  std::function<std::vector<UnitShare>(const GavelState&)> shares{};
};

Result<GavelPolicy> make_gavel_policy(std::string_view name, std::uint64_t seed);

}  // namespace orrery::lab
