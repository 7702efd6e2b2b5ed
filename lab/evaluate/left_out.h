#pragma once
// Predictions of cases by models that did not see them, and the intervals the others' errors give each.

#include <span>

#include "lab/evaluate/score.h"
#include "lab/lab.h"
#include "predict/learn/conformal.h"

namespace orrery::lab {

// The fold of a case when folds are drawn at random: the same for a key and a seed.
inline constexpr std::uint64_t kRandomFolds = 5;
std::string random_fold(std::string_view key, std::uint64_t seed);

struct LeftOut {
  Case one{};              // its interval comes later
  std::string fold{};      // what was left out together with it
  std::string kind{};      // cases of a kind calibrate each other where there are enough
  bool calibrates = true;  // false: its error says nothing about others'
};

// Times in seconds.
LeftOut left_out_of(std::string group, double measured_s, double predicted_s, std::string fold);

// Whether the cases of one fold are like those of the others (drawn at random), or may be unlike (a family, a device):
// then intervals allow for it (conformal.h).
enum class Folds { kAlike, kUnlike };

// From the errors of cases outside `fold`; an empty fold leaves none out.
Result<Conformal> calibrate(std::span<const LeftOut> left_out, Folds folds = Folds::kAlike, std::string_view fold = {});
// Outside the domain an interval is at least the formulas', as in a prediction (analytic.h).
Case with_interval(Case one, const Conformal& conformal, std::string_view kind = {});
// Every case with the interval from the errors outside its own fold.
Result<std::vector<Case>> calibrated_cases(std::span<const LeftOut> left_out, Folds folds = Folds::kAlike);

}  // namespace orrery::lab
