#pragma once
// Which machines to rent for one job: offers × numbers of machines × batches, the best one, and why not the others.

#include <memory>

#include "base/table.h"
#include "plan/choice.h"
#include "service/offers.h"
#include "service/predictors.h"
#include "service/runs.h"

namespace orrery::service {

enum class ChooseGoal { kAuto, kCost, kTime };

struct ChooseRequest {
  FieldNames names;
  std::string model;
  TrainingFields training;
  CatalogFields catalog;
  std::vector<int> nodes;            // numbers of machines to rent of one offer
  std::vector<std::string> devices;  // to rent; empty: any
  std::string network;
  std::optional<Seconds> deadline;
  std::optional<Dollars> budget;
  double certainty = 0;
  ChooseGoal goal = ChooseGoal::kAuto;
  std::vector<std::string> predictors;  // the first one decides; the others state a second opinion
  std::vector<std::string> facts;
  bool spot = false;
  plan::SpotRules rules{};
  bool all = false;  // also predict configurations that cannot win

  bool operator==(const ChooseRequest&) const = default;
};
const Fields<ChooseRequest>& choose_fields();

// What one predictor chooses. Configurations refer to the other members, so an answer stays where it was made.
struct ChooseAnswer {
  std::string predictor;
  std::string model;
  workload::TrainingGraph graph;
  predict::RunSpec spec;  // with the samples that every configuration trains on
  plan::ChoiceSpace space;
  plan::Limits limits;
  std::shared_ptr<const OfferList> offers;
  std::unique_ptr<predict::Predictor> by;
  std::optional<plan::Choices> choices{};
  const plan::Choice* chosen = nullptr;  // null: nothing meets the limits
};

// The answers of all predictors of the request, in their order.
using ChooseAnswers = std::vector<std::unique_ptr<const ChooseAnswer>>;
Result<ChooseAnswers> choose(env::Env env, const ChooseRequest& request);

// The configurations as rows: those that no other beats, or all.
Table choice_table(const ChooseAnswer& answer, bool all);
// "2 × aws p3.2xlarge, batch 64: 3.2 h (2.9 h to 3.6 h), …".
std::string choice_line(const plan::Choice& choice);
// How many configurations were rejected for which reason.
std::string rejected_text(const ChooseAnswer& answer);
// Which share of the predictions models of measurements made.
std::string calibration_text(const ChooseAnswer& answer);
// What comes nearest when nothing meets the limits.
Error nothing_fits(const ChooseAnswer& answer);
// SVG: time against cost, with the Pareto front.
std::string choice_plot(const ChooseAnswer& answer);

}  // namespace orrery::service
