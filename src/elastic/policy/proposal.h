#pragma once
// What policies want changed, and how many proposals become one.
//
// Assumptions: every rank runs the same policies on the same numbers, so ranks that propose a value propose the same.
// Procedure:
//   1. Values that make no sense are rejected, each for itself.
//   2. A value is agreed if all ranks or policies that propose it agree. Those that propose nothing do not count.
//   3. A value on which they disagree is rejected.
// There are no ties: the result does not depend on the order of the proposers. Every rejection has a reason and affects
// nothing else.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace orrery::elastic {

inline constexpr const char* kWorkersValue = "workers";                   // of the job; a request to the launcher
inline constexpr const char* kBatchValue = "batch";                       // samples per step of the whole job
inline constexpr const char* kLearningRateScale = "learning_rate_scale";  // over that of the first batch
// Strategies: how workers make one model. Programs declare which of them they support.
inline constexpr const char* kSynchronousStrategy = "synchronous";   // every step uses the gradients of all workers
inline constexpr const char* kLocalStrategy = "local";               // models of their own, averaged now and then
inline constexpr const char* kPairStrategy = "pair";                 // models of their own, averaged in pairs
inline constexpr const char* kServerStrategy = "server";             // one gradient, summed by servers
inline constexpr const char* kServerAsyncStrategy = "server-async";  // one model at servers, changed at any time
inline constexpr double kWorkersMax = 1024, kBatchMax = 1e12, kScaleMax = 1e6;
inline constexpr std::size_t kValueNameMax = 31;

struct Proposal {
  std::map<std::string, double> values{};  // by the names above; any other name is a parameter of the program
  std::string strategy{};                  // empty: unchanged

  bool empty() const { return values.empty() && strategy.empty(); }
  friend bool operator==(const Proposal&, const Proposal&) = default;
};

// A proposer: a policy or a rank.
struct NamedProposal {
  std::string proposer;
  Proposal proposal;
};

struct Agreement {
  Proposal agreed{};
  std::vector<std::string> refused{};  // reasons
};

Status check_value(const std::string& name, double value);
using Strategies = std::span<const std::string>;
Status check_strategy(const std::string& name, Strategies offered);
// `offered`: strategies that the program supports; empty: synchronous steps only.
Agreement merge(std::span<const NamedProposal> proposals, Strategies offered = {});

}  // namespace orrery::elastic
