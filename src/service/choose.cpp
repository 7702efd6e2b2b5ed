#include "service/choose.h"

#include <algorithm>
#include <fmt/format.h>

#include "hardware/device.h"

namespace orrery::service {

using plan::Choice;

namespace {

Result<ChooseGoal> parse_goal(const std::string& name) {
  return name == "cost" ? ChooseGoal::kCost : name == "time" ? ChooseGoal::kTime : ChooseGoal::kAuto;
}

Fields<plan::SpotRules> rule_fields() {
  using R = plan::SpotRules;
  return Fields<R>()
      .add(&R::interruptions_per_h,
           number_option("interruptions", 0.05, "interruptions per hour of one spot machine").bounds(0, 1000))
      .add(
          &R::save_every,
          duration_option("save-every", "30m", "training time between two checkpoints on spot machines").bounds(1, 1e7))
      .add(&R::save, duration_option("save", "30s", "time that a checkpoint takes").bounds(0, 1e6))
      .add(&R::restart,
           duration_option("restart", "5m", "time from an interruption until training continues").bounds(0, 1e6));
}

}  // namespace

const Fields<ChooseRequest>& choose_fields() {
  using C = ChooseRequest;
  static const auto kFields = [] {
    OptionRecord predictors = predictor_option().list();
    predictors.help += "; the first one decides, for the others the answer shows what they would choose";
    OptionRecord nodes = optional_integer("nodes", "numbers of machines to rent of one offer").bounds(1, 4096).list();
    nodes.default_value = "1,2,4";
    return Fields<C>()
        .add(&C::model,
             text_option("model", "", "model of the zoo, model file or job file").in("MODEL").required().word())
        .add(&C::training, training_fields("16,32,64,128"))
        .add(&C::catalog, catalog_fields())
        .add(&C::nodes, std::move(nodes))
        .add(&C::network, text_option("network", "", "link between machines").in("LINK"))
        .add(&C::devices, text_option("device", "", "rent only these devices").in("NAME").list())
        .add(&C::deadline, optional_duration("deadline", "finish within this time").bounds(1e-3, 1e12))
        .add(&C::budget, optional_number("budget", "spend at most this much").in("USD").bounds(0, 1e12))
        .add(&C::certainty,
             number_option("certainty", 0.9, "required probability of meeting the deadline and the budget")
                 .bounds(0.01, 0.999))
        .add(&C::goal,
             choice_option("goal", "auto", {"auto", "cost", "time"},
                           "what to minimise within the limits; auto: cost, or time if only the budget is limited"),
             parse_goal)
        .add(&C::predictors, std::move(predictors))
        .add(&C::facts, fact_option())
        .add(&C::spot, flag_option("spot", "also consider spot machines, which the provider can take away"))
        .add(&C::rules, rule_fields())
        .add(&C::all, flag_option("all", "show every configuration, with the reason why it was not chosen"));
  }();
  return kFields;
}

namespace {

// Every configuration does the same work: the samples of the epochs, or the steps with the first batch listed, which is
// that of the whole job, or of one replica on a single device.
double samples_wanted(const TrainingFields& training, const predict::RunSpec& spec) {
  if (spec.samples) return *spec.samples;
  const std::int64_t batch = training.batch->empty() ? training.batch_per_gpu->front() : training.batch->front();
  return spec.steps * static_cast<double>(batch);
}

plan::Goal goal_of(const ChooseRequest& request, const plan::Limits& limits) {
  if (request.goal == ChooseGoal::kTime) return plan::Goal::kTime;
  if (request.goal == ChooseGoal::kCost) return plan::Goal::kCost;
  return limits.budget && !limits.deadline ? plan::Goal::kTime : plan::Goal::kCost;
}

Result<plan::ChoiceSpace> space_of(const ChooseRequest& request, const TrainingFields& training,
                                   const std::optional<workload::JobSpec>& job) {
  plan::ChoiceSpace space;
  space.machines = request.nodes;
  space.batches = *training.batch;
  space.replica_batches = *training.batch_per_gpu;
  if (job && !training.tensor.given() && !training.pipeline.given()) space.replicas = job->replicas;
  for (const std::string& name : request.devices) {
    ORRERY_TRY(const hardware::Device* device, hardware::find_device(name));
    space.devices.emplace_back(device->name);
  }
  space.network = request.network;
  space.spot = request.spot;
  space.rules = request.rules;
  return space;
}

// Judges the configurations of an answer that has everything else.
Status judge(ChooseAnswer& answer, const ChooseRequest& request) {
  answer.choices.emplace(answer.graph, answer.spec, answer.space, *answer.by);
  plan::Choices& choices = *answer.choices;
  choices.add(answer.offers->offers);
  if (choices.configurations() == 0) {
    if (answer.offers->offers.empty()) return Error::infeasible("the price list is empty");
    return Error::infeasible(fmt::format(
        "none of {} offers can be used: {}; the number of devices must be a multiple of {} × {}, and divide "
        "the batch",
        answer.offers->offers.size(), choices.left_out().text(), request.names("tensor"), request.names("pipeline")));
  }
  ORRERY_TRY_VOID(choices.judge(answer.limits, request.all));
  answer.chosen = plan::choose(choices.all(), goal_of(request, answer.limits));
  // The nearest ones are searched among all configurations.
  if (answer.chosen == nullptr && !request.all) return choices.judge(answer.limits, true);
  return {};
}

}  // namespace

Result<ChooseAnswers> choose(env::Env env, const ChooseRequest& request) {
  const FieldNames& names = request.names;
  TrainingFields training = request.training;
  if (training.batch.given() && training.batch_per_gpu.given()) {
    return names.error("batch", fmt::format("excludes {}; give one of them", names("batch-per-gpu")));
  }
  if (training.precision->size() > 1) return names.error("precision", "several values; give one");
  ORRERY_TRY(const NamedModel model, load_model(env, request.model));
  if (model.job) complete(training, *model.job);
  ORRERY_TRY(predict::RunSpec spec, run_spec(training, names));
  spec.samples = samples_wanted(training, spec);
  ORRERY_TRY(const plan::ChoiceSpace space, space_of(request, training, model.job));
  plan::Limits limits{.deadline = request.deadline, .budget = request.budget, .certainty = request.certainty};
  if (model.job && !limits.deadline) limits.deadline = model.job->deadline;
  if (model.job && !limits.budget) limits.budget = model.job->budget;
  ORRERY_TRY(OfferList list, load_offers(env, request.catalog));
  const auto offers = std::make_shared<const OfferList>(std::move(list));

  ChooseAnswers answers;
  for (const std::string& predictor : request.predictors) {
    ORRERY_TRY(auto by, make_predictor(env, {predictor, request.facts}, names));
    auto answer = std::make_unique<ChooseAnswer>(
        ChooseAnswer{predictor, model.name, model.graph, spec, space, limits, offers, std::move(by)});
    ORRERY_TRY_VOID(judge(*answer, request));
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace orrery::service
