#pragma once
// What steps a model has learned from, so that it knows what it does not know.
//
// By likeness (step_features.h) the least and the largest prior are kept, and what nearly all steps that are alike (all
// but 2 % at either end) took of their priors. A step's time is known if its like was measured at a prior at most
// kReachFactor away, and if the time's multiple of the prior, the physical estimate, is at most kPhysicalFactor beyond
// those of its like. Beside them the motifs (motifs.h) of all models learned from.

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "workload/graph.h"

namespace orrery::predict {

inline constexpr double kReachFactor = 2;
inline constexpr double kPhysicalFactor = 4;

// A model built in ways of which more than this share was never measured is of a kind that was not learned.
inline constexpr double kUnknownMotifsMax = 0.05;

class KnownSteps {
 public:
  // Adds a measured step; seconds and prior are above 0. settle() once, behind the last.
  void add(std::uint64_t likeness, double prior, double seconds) {
    seen_[likeness].push_back({prior, seconds / prior});
  }
  void add_motifs(const workload::TrainingGraph& graph);
  void settle();

  bool is_known(std::uint64_t likeness, double prior, double seconds) const;
  // The share of the graph's operators whose motif was not learned from.
  double unknown_motifs(const workload::TrainingGraph& graph) const;

  void write(ByteWriter& out) const;
  static Result<KnownSteps> read(ByteReader& in);

 private:
  struct Seen {
    double prior = 0, multiple = 0;
  };
  // What measured steps that are alike lie between.
  struct Reach {
    double prior_least = 0, prior_most = 0;
    double multiple_low = 0, multiple_high = 0;  // time over prior
  };
  static Reach reach_of(const std::vector<Seen>& alike);

  std::unordered_map<std::uint64_t, std::vector<Seen>> seen_;  // until settled
  std::unordered_map<std::uint64_t, Reach> known_;
  std::unordered_set<std::uint64_t> motifs_;
};

}  // namespace orrery::predict
