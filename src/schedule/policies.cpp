#include "schedule/policies.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "base/text.h"
#include "schedule/placement/placer.h"
#include "schedule/policies/drf.h"
#include "schedule/policies/edf.h"
#include "schedule/policies/elastic_flow.h"
#include "schedule/policies/fifo.h"
#include "schedule/policies/first_fit.h"
#include "schedule/policies/flow.h"
#include "schedule/policies/gavel.h"
#include "schedule/policies/gittins.h"
#include "schedule/policies/lucid.h"
#include "schedule/policies/muri.h"
#include "schedule/policies/online_batch.h"
#include "schedule/policies/optimus.h"
#include "schedule/policies/optimus_servers.h"
#include "schedule/policies/pollux.h"
#include "schedule/policies/priority.h"
#include "schedule/policies/sia.h"
#include "schedule/policies/sjf.h"
#include "schedule/policies/srsf.h"
#include "schedule/policies/srtf.h"
#include "schedule/policies/tetris.h"
#include "schedule/policies/tiresias.h"
#include "schedule/policies/typed_order.h"

namespace orrery::schedule {

namespace {

using PlacerMaker = std::unique_ptr<Policy> (*)(std::unique_ptr<Placer>);

std::unique_ptr<Policy> allox_of(std::unique_ptr<Placer> placer) {
  return make_online_allox(std::move(placer));
}
std::unique_ptr<Policy> hydra_of(std::unique_ptr<Placer> placer) {
  return make_online_hydra(std::move(placer));
}

std::unique_ptr<Policy> lucid_of(std::unique_ptr<Placer> placer) {
  return make_lucid({}, std::move(placer));
}

struct ListPolicy {
  std::string_view name;
  PlacerMaker make;
  bool preemptive;
};
constexpr ListPolicy kListPolicies[] = {
    {"fifo", make_fifo, false},        {"first-fit", make_first_fit, false},
    {"sjf", make_sjf, false},          {"srtf", make_srtf, true},
    {"srsf", make_srsf, true},         {"edf", make_edf, true},
    {"priority", make_priority, true}, {"drf", make_drf, false},
    {"tetris", make_tetris, false},    {"allox", allox_of, false},
    {"hydra", hydra_of, false},        {"lucid", lucid_of, false},
};

// On clusters where types of devices differ.
const TypedOptions kTypedPolicies[] = {
    {.name = "fifo", .rule = TypedRule::kArrival, .strict = true},
    {.name = "first-fit", .rule = TypedRule::kArrival},
    {.name = "sjf", .rule = TypedRule::kWork},
    {.name = "srtf", .rule = TypedRule::kWork, .preemptive = true},
    {.name = "srsf", .rule = TypedRule::kService, .preemptive = true},
    {.name = "edf", .rule = TypedRule::kDeadline, .preemptive = true},
    {.name = "priority", .rule = TypedRule::kPriority, .preemptive = true},
    {.name = "las", .rule = TypedRule::kAttained, .preemptive = true},
    {.name = "tiresias", .rule = TypedRule::kAttained, .preemptive = true},
    {.name = "gittins", .rule = TypedRule::kGittins, .preemptive = true},
};

// One of the published periods, from 30 s to 8 min: months of a trace in rounds of a minute take too long.
constexpr double kPolluxRoundS = 300;

struct GavelForm {
  std::string_view name;
  GavelGoal goal;
};
constexpr GavelForm kGavelForms[] = {
    {"gavel", GavelGoal::kMaxMin},
    {"gavel-finish", GavelGoal::kFinishTime},
    {"gavel-makespan", GavelGoal::kMakespan},
    {"gavel-throughput", GavelGoal::kThroughput},
    {"gavel-cost", GavelGoal::kThroughput},
    {"gavel-isolated", GavelGoal::kIsolated},
    {"gavel-packed", GavelGoal::kMaxMin},
};

Result<std::unique_ptr<Policy>> make_gavel_form(const GavelForm& form, const PolicyInputs& inputs,
                                                std::unique_ptr<Placer> placer) {
  GavelOptions options;
  options.name = form.name;
  options.goal = form.goal;
  if (inputs.round_s > 0) options.round_s = inputs.round_s;
  if (form.name == "gavel-cost") options.price = inputs.type_prices;
  if (form.name == "gavel-packed") {
    if (!inputs.packed_share) return Error::invalid("gavel-packed needs the speeds of jobs that share GPUs");
    options.packed_share = inputs.packed_share;
  }
  return make_gavel(options, std::move(placer));
}

Error needs_any_placement(std::string_view name) {
  return Error::invalid(
      fmt::format("{} counts GPUs, so it needs a placement that always succeeds; best-fit may "
                  "rather wait, take consolidated",
                  name));
}

TiresiasOptions tiresias_options(const PolicyInputs& inputs) {
  TiresiasOptions options;
  if (inputs.round_s > 0) options.round_s = inputs.round_s;
  return options;
}

Result<GittinsRanks> gittins_ranks(const PolicyInputs& inputs) {
  auto ranks = GittinsRanks::make(inputs.service_sample_gpu_s, inputs.las.limits_gpu_s.front());
  if (!ranks) return std::move(ranks).error().with_context("gittins");
  return ranks;
}

Result<TypedOptions> complete(TypedOptions options, const PolicyInputs& inputs) {
  if (options.name == "tiresias") {
    const TiresiasOptions rounds = tiresias_options(inputs);
    options.limits_gpu_s = rounds.limits_gpu_s;
    options.round_s = rounds.round_s;
  } else if (options.rule == TypedRule::kAttained || options.rule == TypedRule::kGittins) {
    options.limits_gpu_s = inputs.las.limits_gpu_s;
  }
  if (options.rule == TypedRule::kGittins) {
    ORRERY_TRY(options.ranks, gittins_ranks(inputs));
  }
  return options;
}

}  // namespace

const std::vector<PolicyInfo>& all_policies() {
  static const std::vector<PolicyInfo> kPolicies = {
      {"fifo", "strictly in order of arrival"},
      {"first-fit", "in order of arrival, later jobs that fit may start"},
      {"sjf", "shortest job first, without preemption"},
      {"srtf", "shortest remaining time first, preemptive"},
      {"srsf", "shortest remaining time x GPUs first, preemptive"},
      {"edf", "earliest deadline first, preemptive"},
      {"priority", "highest priority first, preemptive"},
      {"las", "2D-LAS: least attained GPU time first, in three queues"},
      {"gittins", "2D-Gittins: likeliest to end soon first, from a sample of past jobs"},
      {"tiresias", "2D-LAS in rounds with two queues"},
      {"drf", "smallest dominant share of a tenant first"},
      {"tetris", "best packing and shortest remaining work together"},
      {"allox", "least sum of completion times on several types of GPUs, planned anew at every event"},
      {"hydra", "deadlines first, then completion times, planned anew at every event"},
      {"optimus", "GPUs where they save most time; elastic, in rounds"},
      {"optimus-ps", "the same with parameter servers and workers, evenly on few machines"},
      {"equal-share", "the same number of GPUs for every job that can use them; elastic, in rounds"},
      {"pollux", "elastic, in rounds: the largest power mean of speedups, restarts counted; batches stay"},
      {"sia", "elastic, in rounds: which job gets which number and type of GPUs, restarts counted"},
      {"elasticflow", "elastic: admitted jobs keep their deadlines with the fewest GPUs, the rest saves time"},
      {"flow", "our own: elastic, GPUs where they shorten the sum of completion times most, few restarts"},
      {"gandiva", "affinity, time slicing, packing, migration"},
      {"lucid", "shortest service first; jobs that fit together share GPUs"},
      {"muri-s",
       "least service left first; where GPUs are scarce, stages of up to four jobs take turns on the same ones"},
      {"muri-l", "the same by least attained service, without run times"},
      {"gavel", "max-min fair shares of time on every type of GPU, in rounds"},
      {"gavel-finish", "the same; shares that make finish times fair"},
      {"gavel-makespan", "the same; shares that let the last job end earliest"},
      {"gavel-throughput", "the same; shares with the largest sum of speeds"},
      {"gavel-cost", "the same; speed per dollar, deadlines kept where possible"},
      {"gavel-isolated", "the same; an equal share for every job"},
      {"gavel-packed", "max-min fair shares, with pairs of jobs on the same GPUs"},
  };
  return kPolicies;
}

bool needs_elastic_jobs(std::string_view policy) {
  static constexpr std::string_view kElastic[] = {"optimus", "optimus-ps",  "equal-share", "pollux",
                                                  "sia",     "elasticflow", "flow"};
  return std::find(std::begin(kElastic), std::end(kElastic), policy) != std::end(kElastic);
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name, const PolicyInputs& inputs) {
  ORRERY_TRY(std::unique_ptr<Placer> placer, make_placer(inputs.placement));
  const bool may_wait = inputs.placement == "best-fit";
  if (inputs.typed) {
    for (const TypedOptions& known : kTypedPolicies) {
      if (known.name != name) continue;
      if (known.preemptive && may_wait) return needs_any_placement(name);
      ORRERY_TRY(TypedOptions options, complete(known, inputs));
      return make_typed_order(options, std::move(placer));
    }
    if (name == "optimus-ps" || name == "flow" || name == "elasticflow" || name == "pollux" ||
        name.starts_with("muri-")) {
      return Error::invalid(
          fmt::format("{} knows one type of GPU only; these jobs are faster on some than on others", name));
    }
    // These choose the type themselves.
    if (name != "optimus" && name != "equal-share" && name != "sia" && !name.starts_with("gavel"))
      placer = make_fastest_type_placer(std::move(placer));
  }
  for (const ListPolicy& policy : kListPolicies) {
    if (policy.name != name) continue;
    if (policy.preemptive && may_wait) return needs_any_placement(name);
    return policy.make(std::move(placer));
  }
  if (may_wait && name != "gandiva") {
    return Error::invalid(fmt::format("{} needs a placement that always succeeds, such as consolidated", name));
  }
  if (name == "las") return make_las(inputs.las, std::move(placer));
  if (name == "tiresias") return make_tiresias(tiresias_options(inputs), std::move(placer));
  if (name == "gittins") {
    ORRERY_TRY(GittinsRanks ranks, gittins_ranks(inputs));
    return make_gittins(inputs.las, std::move(ranks), std::move(placer));
  }
  if (name == "optimus" || name == "optimus-ps" || name == "equal-share") {
    if (inputs.scaling == nullptr) return Error::invalid(fmt::format("{} needs a scaling model", name));
    OptimusOptions options;
    if (inputs.round_s > 0) options.round_s = inputs.round_s;
    options.young_factor = inputs.young_factor;
    options.young_s = 2 * options.round_s;
    options.equal_shares = name == "equal-share";
    if (name == "optimus-ps") return make_optimus_servers(options, *inputs.scaling);
    return make_optimus(options, *inputs.scaling, std::move(placer));
  }
  if (name == "flow" || name == "elasticflow" || name == "sia" || name == "pollux") {
    if (inputs.scaling == nullptr) return Error::invalid(fmt::format("{} needs a scaling model", name));
    if (name == "flow") return make_flow({}, *inputs.scaling, std::move(placer));
    if (name == "elasticflow") return make_elastic_flow({}, *inputs.scaling, std::move(placer));
    if (name == "pollux") {
      return make_fixed_batch_pollux({.round_s = inputs.round_s > 0 ? inputs.round_s : kPolluxRoundS}, *inputs.scaling,
                                     std::move(placer));
    }
    SiaOptions options;
    if (inputs.round_s > 0) options.round_s = inputs.round_s;
    return make_sia(options, *inputs.scaling, std::move(placer));
  }
  if (name == "gandiva") return make_gandiva(inputs.gandiva);
  if (name == "muri-s" || name == "muri-l") {
    MuriPolicyOptions options;
    options.knows_run_times = name == "muri-s";
    if (inputs.round_s > 0) options.round_s = inputs.round_s;
    return make_muri(options, std::move(placer));
  }
  for (const GavelForm& form : kGavelForms) {
    if (form.name == name) return make_gavel_form(form, inputs, std::move(placer));
  }
  std::vector<std::string> names;
  for (const PolicyInfo& policy : all_policies()) names.push_back(policy.name);
  return Error::not_found(
      fmt::format("no policy {}{} (policies: {})", quote(name), did_you_mean(name, names), fmt::join(names, ", ")));
}

}  // namespace orrery::schedule
