#include "plan/choice.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <utility>

#include "base/text.h"

namespace orrery::plan {

using hardware::Offer;
using predict::Estimate;
using predict::Prediction;

namespace {

constexpr double kNinetiethNormal = 1.2815515655446004;  // Φ(this) = 0.9, the end of an 80 % interval

Estimate<double> plain(const Estimate<Seconds>& time) {
  return {time.value.value(), time.low.value(), time.high.value()};
}
Estimate<double> plain(const Estimate<Dollars>& cost) {
  return {cost.value.value(), cost.low.value(), cost.high.value()};
}

bool meets_deadline(const Choice& choice, const Limits& limits) {
  return !limits.deadline || chance_within(plain(choice.time), limits.deadline->value()) >= limits.certainty;
}

bool meets_budget(const Choice& choice, const Limits& limits) {
  return !limits.budget || chance_within(plain(choice.cost), limits.budget->value()) >= limits.certainty;
}

Verdict verdict_alone(const Choice& choice, const Limits& limits) {
  if (!choice.prediction->fits) return Verdict::kDoesNotFit;
  if (choice.without_work) return Verdict::kWithoutWork;
  if (!std::isfinite(choice.time.value.value())) return Verdict::kNeverEnds;
  if (!meets_deadline(choice, limits)) return Verdict::kMissesDeadline;
  if (!meets_budget(choice, limits)) return Verdict::kAboveBudget;
  return Verdict::kOnFront;
}

auto by_time(const Choice& choice) {
  return std::pair(choice.time.value, choice.cost.value);
}
auto by_cost(const Choice& choice) {
  return std::pair(choice.cost.value, choice.time.value);
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kChosen:
      return "chosen";
    case Verdict::kOnFront:
      return "best at this price";
    case Verdict::kBeaten:
      return "slower and no cheaper than another";
    case Verdict::kSameForLess:
      return "the same elsewhere for less";
    case Verdict::kDoesNotFit:
      return "does not fit";
    case Verdict::kMissesDeadline:
      return "misses the deadline";
    case Verdict::kAboveBudget:
      return "above the budget";
    case Verdict::kNeverEnds:
      return "interrupted too often to end";
    case Verdict::kWithoutWork:
      return "has more devices than samples for them";
  }
  return "";
}

std::string Choice::label() const {
  return fmt::format("{}{} {}{}", machines > 1 ? fmt::format("{} × ", machines) : "", offer->provider, offer->instance,
                     is_spot ? " (spot)" : "");
}

std::string Choice::place() const {
  return offer->region.empty() ? label() : fmt::format("{} in {}", label(), offer->region);
}

std::string LeftOut::text() const {
  const std::pair<std::size_t, std::string_view> reasons[] = {{unknown_device, "unknown device"},
                                                              {slice, "slice of a device"},
                                                              {odd_price, "odd price"},
                                                              {no_spot, "no spot price"},
                                                              {device_count, "wrong number of devices"},
                                                              {other_device, "another device"}};
  std::vector<std::string> parts;
  for (const auto& [count, why] : reasons) {
    if (count > 0) parts.push_back(fmt::format("{} {}", format_whole(static_cast<double>(count)), why));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

double chance_within(const Estimate<double>& value, double limit) {
  if (!(limit > 0) || !std::isfinite(value.value)) return 0;
  if (value.value <= 0) return 1;
  const double end = limit >= value.value ? value.high / value.value : value.value / std::max(value.low, 1e-300);
  const double distance = std::log(limit / value.value);
  const double spread = std::log(std::max(end, 1.0));
  if (spread == 0) return distance >= 0 ? 1 : 0;
  return 0.5 * std::erfc(-kNinetiethNormal * distance / spread / std::sqrt(2.0));
}

Choices::Choices(const workload::TrainingGraph& graph, const predict::RunSpec& spec, const ChoiceSpace& space,
                 const predict::Predictor& predictor)
    : graph_(graph), spec_(spec), space_(space), predictor_(predictor) {}

std::vector<std::int64_t> Choices::batches_on(std::int64_t devices) const {
  if (devices > hardware::kDevicesMax || devices % spec_.replica_devices() != 0) return {};
  const std::int64_t replicas = devices / spec_.replica_devices();
  if (space_.replicas && *space_.replicas != replicas) return {};
  if (space_.batches.empty()) return space_.replica_batches;
  std::vector<std::int64_t> batches;
  for (const std::int64_t batch : space_.batches) {
    if (batch % (replicas * spec_.parallelism.microbatches) == 0) batches.push_back(batch / replicas);
  }
  return batches;
}

void Choices::add(std::span<const Offer> offers) {
  for (const Offer& offer : offers) {
    for (const int machines : space_.machines) {
      if (possible(offer, machines)) add(offer, machines);
    }
  }
}

bool Choices::possible(const Offer& offer, int machines) {
  const std::int64_t devices = std::int64_t{machines} * offer.device_count;
  std::size_t* why = nullptr;
  if (offer.device.empty()) {
    why = &left_out_.unknown_device;
  } else if (offer.device_count == 0) {
    why = &left_out_.slice;
  } else if (!space_.devices.empty() &&
             std::find(space_.devices.begin(), space_.devices.end(), offer.device) == space_.devices.end()) {
    why = &left_out_.other_device;
  } else if (offer.odd_price) {
    why = &left_out_.odd_price;
  } else if (!space_.on_demand && !offer.spot) {
    why = &left_out_.no_spot;
  } else if (batches_on(devices).empty()) {
    why = &left_out_.device_count;
  }
  if (why != nullptr) ++*why;
  return why == nullptr;
}

void Choices::add(const Offer& offer, int machines) {
  for (const std::int64_t batch : batches_on(std::int64_t{machines} * offer.device_count)) {
    const auto [group, is_new] = groups_.try_emplace({offer.device, offer.device_count, machines, batch});
    if (is_new) group->second = {offer.device_count, machines, batch, offer.device, {}};
    group->second.offers.push_back(&offer);
    configurations_ += (space_.on_demand ? 1 : 0) + (space_.spot && offer.spot ? 1 : 0);
  }
}

std::vector<Choice> Choices::configurations_of(const Group& group, const Prediction& prediction, double share) const {
  std::vector<Choice> configurations;
  for (const Offer* offer : group.offers) {
    Choice configuration{.offer = offer, .machines = group.machines, .batch = group.batch, .prediction = &prediction};
    const double replicas =
        static_cast<double>(group.machines) * group.devices_per_machine / static_cast<double>(spec_.replica_devices());
    configuration.without_work = (replicas - 1) * static_cast<double>(group.batch) >= spec_.samples.value_or(0);
    configuration.price = offer->price * group.machines;
    price(configuration, share);
    if (space_.on_demand) configurations.push_back(configuration);
    if (!space_.spot || !offer->spot) continue;
    configuration.is_spot = true;
    configuration.price = *offer->spot * group.machines;
    price(configuration, share);
    configurations.push_back(configuration);
  }
  return configurations;
}

void Choices::price(Choice& choice, double share) const {
  const Estimate<Seconds>& work = choice.prediction->total_time;
  choice.time = {work.value * share, work.low * share, work.high * share};
  if (choice.is_spot) {
    const auto with_interruptions = [&](Seconds part) { return spot_time(part, choice.machines, space_.rules); };
    const SpotTime expected = with_interruptions(choice.time.value);
    choice.interruptions = expected.interruptions;
    choice.lost = expected.lost;
    choice.time = {expected.time, with_interruptions(choice.time.low).time, with_interruptions(choice.time.high).time};
  }
  choice.cost = {choice.price * choice.time.value, choice.price * choice.time.low, choice.price * choice.time.high};
}

Result<const workload::TrainingGraph*> Choices::graph_at(std::int64_t batch) {
  auto found = graphs_.find(batch);
  if (found == graphs_.end()) {
    ORRERY_TRY(workload::TrainingGraph graph, graph_.with_batch(batch));
    found = graphs_.emplace(batch, std::move(graph)).first;
  }
  return &found->second;
}

// Of the group; of one replica of it if `machines` is 0.
Result<const Prediction*> Choices::predict(const Group& group, int machines) {
  const bool alone = machines == 0;
  const int per_machine = alone ? static_cast<int>(spec_.replica_devices()) : group.devices_per_machine;
  const int devices = alone ? per_machine : machines * per_machine;
  const Key key(group.device, per_machine, alone ? 1 : machines, group.batch);
  const auto known = predictions_.find(key);
  if (known != predictions_.end()) return &known->second;
  ORRERY_TRY(const hardware::Placement placement,
             hardware::make_placement(group.device, devices, per_machine, {.inside = {}, .between = space_.network}));
  ORRERY_TRY(const workload::TrainingGraph* graph, graph_at(group.batch));
  ORRERY_TRY(const workload::TrainingRun run, predict::run_on(spec_, *graph, placement));
  ORRERY_TRY(Prediction prediction, predictor_.predict(run, placement));
  return &predictions_.emplace(key, std::move(prediction)).first->second;
}

Status Choices::judge(const Limits& limits, bool thorough) {
  choices_.clear();
  choices_.reserve(configurations_);
  ORRERY_TRY_VOID(thorough ? predict_all() : predict_promising(limits));
  mark(limits);
  return {};
}

Status Choices::predict_all() {
  for (const auto& [key, group] : groups_) {
    ORRERY_TRY(const Prediction* prediction, predict(group, group.machines));
    for (Choice& configuration : configurations_of(group, *prediction, 1)) choices_.push_back(configuration);
  }
  return {};
}

namespace {

// Configurations that meet the limits and that no other beats, by time: the cost falls.
class Front {
 public:
  bool beats(Seconds time, Dollars cost) const {
    const auto after = best_.upper_bound(time);
    return after != best_.begin() && std::prev(after)->second <= cost;
  }
  void add(const Choice& configuration) {
    if (beats(configuration.time.value, configuration.cost.value)) return;
    best_[configuration.time.value] = configuration.cost.value;
    for (auto next = best_.upper_bound(configuration.time.value);
         next != best_.end() && next->second >= configuration.cost.value;)
      next = best_.erase(next);
  }

 private:
  std::map<Seconds, Dollars> best_;
};

}  // namespace

Status Choices::predict_promising(const Limits& limits) {
  struct Bounded {
    const Group* group;
    std::vector<Choice> configurations;
    Dollars least;
  };
  std::vector<Bounded> order;
  for (const auto& [key, group] : groups_) {
    ORRERY_TRY(const Prediction* alone, predict(group, 0));
    const double devices = static_cast<double>(group.machines) * group.devices_per_machine;
    Bounded one{
        &group,
        configurations_of(group, *alone, kScalingSlack * static_cast<double>(spec_.replica_devices()) / devices),
        Dollars(std::numeric_limits<double>::infinity())};
    for (const Choice& configuration : one.configurations) one.least = std::min(one.least, configuration.cost.value);
    order.push_back(std::move(one));
  }
  std::stable_sort(order.begin(), order.end(), [](const Bounded& a, const Bounded& b) { return a.least < b.least; });
  Front front;
  for (Bounded& one : order) {
    const auto hopeless = [&](const Choice& configuration) {
      const bool late = limits.deadline && limits.certainty >= 0.5 && configuration.time.value > *limits.deadline;
      const bool dear = limits.budget && limits.certainty >= 0.5 && configuration.cost.value > *limits.budget;
      return configuration.without_work || late || dear ||
             front.beats(configuration.time.value, configuration.cost.value);
    };
    if (std::all_of(one.configurations.begin(), one.configurations.end(), hopeless)) {
      for (Choice& configuration : one.configurations) configuration.is_bound = true;
    } else {
      ORRERY_TRY(const Prediction* prediction, predict(*one.group, one.group->machines));
      one.configurations = configurations_of(*one.group, *prediction, 1);
      for (const Choice& configuration : one.configurations)
        if (verdict_alone(configuration, limits) == Verdict::kOnFront) front.add(configuration);
    }
    choices_.insert(choices_.end(), one.configurations.begin(), one.configurations.end());
  }
  return {};
}

void Choices::mark(const Limits& limits) {
  // Equal configurations by the order of the list of offers, whatever group they came from.
  std::sort(choices_.begin(), choices_.end(), [](const Choice& a, const Choice& b) {
    return std::tuple(by_time(a), a.offer, a.machines, a.batch) < std::tuple(by_time(b), b.offer, b.machines, b.batch);
  });
  std::map<std::pair<const Prediction*, bool>, const Choice*> cheapest;  // the first of its group in this order
  const Choice* best = nullptr;
  for (Choice& choice : choices_) {
    choice.better = nullptr;
    const Verdict alone = verdict_alone(choice, limits);
    if (choice.is_bound) {
      const bool is_sure =
          alone == Verdict::kMissesDeadline || alone == Verdict::kAboveBudget || alone == Verdict::kWithoutWork;
      choice.verdict = is_sure ? alone : Verdict::kBeaten;
      choice.better = best;
      continue;
    }
    const Choice*& first = cheapest[{choice.prediction, choice.is_spot}];
    if (first == nullptr) first = &choice;
    choice.verdict = alone;
    if (choice.verdict != Verdict::kOnFront) continue;
    if (first != &choice) {
      choice.verdict = Verdict::kSameForLess;
      choice.better = first;
    } else if (best != nullptr && best->cost.value <= choice.cost.value) {
      choice.verdict = Verdict::kBeaten;
      choice.better = best;
    } else {
      best = &choice;
    }
  }
}

std::string reason(const Choice& choice, const Limits& limits) {
  const std::string kind(to_string(choice.verdict));
  const bool by_average = limits.certainty <= 0.5;
  switch (choice.verdict) {
    case Verdict::kDoesNotFit:
      return fmt::format("{}: needs {}, has {}", kind, format_bytes(choice.prediction->memory.value),
                         format_bytes(choice.prediction->device_memory));
    case Verdict::kMissesDeadline:
      if (choice.time.value > *limits.deadline)
        return fmt::format("{} by {}", kind, format_seconds(choice.time.value - *limits.deadline));
      break;
    case Verdict::kAboveBudget:
      if (choice.cost.value > *limits.budget)
        return fmt::format("{} by {}", kind, format_dollars(choice.cost.value - *limits.budget));
      break;
    case Verdict::kBeaten:
      if (choice.better == nullptr) return kind;
      return fmt::format("{} is faster and no dearer", choice.better->label());
    case Verdict::kSameForLess:
      return fmt::format("same device and number, no dearer at {}", choice.better->place());
    default:
      return kind;
  }
  if (by_average) return kind;
  const double chance = choice.verdict == Verdict::kMissesDeadline
                            ? chance_within(plain(choice.time), limits.deadline->value())
                            : chance_within(plain(choice.cost), limits.budget->value());
  return fmt::format("{}: kept with {:.0f} %, {:.0f} % are wanted", kind, 100 * chance, 100 * limits.certainty);
}

const Choice* choose(std::vector<Choice>& choices, Goal goal) {
  Choice* best = nullptr;
  for (Choice& choice : choices) {
    if (!choice.on_front()) continue;
    const bool better =
        best == nullptr || (goal == Goal::kCost ? by_cost(choice) < by_cost(*best) : by_time(choice) < by_time(*best));
    if (better) best = &choice;
  }
  if (best != nullptr) best->verdict = Verdict::kChosen;
  return best;
}

namespace {

// The least by `key` of those `accepts` takes; nothing if there are none.
template <class Accepts, class Key>
const Choice* least(const std::vector<Choice>& choices, Accepts accepts, Key key) {
  const Choice* best = nullptr;
  for (const Choice& choice : choices) {
    if (accepts(choice) && (best == nullptr || key(choice) < key(*best))) best = &choice;
  }
  return best;
}

}  // namespace

std::vector<const Choice*> nearest(const std::vector<Choice>& choices, const Limits& limits) {
  const auto runs = [](const Choice& choice) {
    return choice.prediction->fits && !choice.without_work && std::isfinite(choice.time.value.value());
  };
  const auto in_budget = [&](const Choice& choice) { return runs(choice) && meets_budget(choice, limits); };
  const auto in_time = [&](const Choice& choice) { return runs(choice) && meets_deadline(choice, limits); };
  const auto lacking = [](const Choice& choice) {
    return choice.prediction->memory.value.value() - choice.prediction->device_memory.value();
  };
  const auto too_large = [](const Choice& choice) { return !choice.prediction->fits; };
  std::vector<const Choice*> found;
  const auto keep = [&](const Choice* choice) {
    if (choice != nullptr && std::find(found.begin(), found.end(), choice) == found.end()) found.push_back(choice);
    return choice != nullptr;
  };
  if (!keep(least(choices, in_budget, by_time))) keep(least(choices, runs, by_time));
  if (!keep(least(choices, in_time, by_cost))) keep(least(choices, runs, by_cost));
  if (found.empty()) keep(least(choices, too_large, lacking));
  return found;
}

}  // namespace orrery::plan
