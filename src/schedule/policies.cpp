#include "schedule/policies.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "schedule/placement/placer.h"
#include "schedule/policies/drf.h"
#include "schedule/policies/elastic_flow.h"
#include "schedule/policies/flow.h"
#include "schedule/policies/gavel.h"
#include "schedule/policies/gittins.h"
#include "schedule/policies/list_policies.h"
#include "schedule/policies/lucid.h"
#include "schedule/policies/muri.h"
#include "schedule/policies/online_batch.h"
#include "schedule/policies/optimus.h"
#include "schedule/policies/optimus_servers.h"
#include "schedule/policies/pollux.h"
#include "schedule/policies/sia.h"
#include "schedule/policies/tetris.h"
#include "schedule/policies/tiresias.h"

namespace orrery::schedule {

namespace {

using Made = Result<std::unique_ptr<Policy>>;
using OwnPlacer = std::unique_ptr<Placer>;
using enum Need;

// One of the published periods, from 30 s to 8 min: months of a trace in rounds of a minute take too long.
constexpr double kPolluxRoundS = 300;

// Without preemption, GPUs by the placer.
PolicyRecord started_list(std::string name, std::string summary, std::vector<Need> needs,
                          std::unique_ptr<Policy> (*make)(OwnPlacer), UnknownWork unknown = UnknownWork::kAsDone) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .needs = std::move(needs),
          .on_types = OnTypes::kFastest,
          .is_preemptive = false,
          .may_wait = true,
          .unknown_work = unknown,
          .make = [make](const PolicyInputs&, OwnPlacer placer) -> Made { return make(std::move(placer)); }};
}

std::unique_ptr<Policy> make_allox(OwnPlacer placer) {
  return make_online_allox(std::move(placer));
}
std::unique_ptr<Policy> make_hydra(OwnPlacer placer) {
  return make_online_hydra(std::move(placer));
}

// These count GPUs, and choose the type of device themselves.
PolicyRecord preemptive_list(std::string name, std::string summary, std::vector<Need> needs,
                             std::unique_ptr<Policy> (*make)(OwnPlacer)) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .needs = std::move(needs),
          .unknown_work = UnknownWork::kGoesLast,
          .make = [make](const PolicyInputs&, OwnPlacer placer) -> Made { return make(std::move(placer)); }};
}

template <class Options>
Options in_rounds(Options options, const PolicyInputs& inputs) {
  if (inputs.round_s > 0) options.round_s = inputs.round_s;
  return options;
}

Made make_gittins_policy(const PolicyInputs& inputs, OwnPlacer placer) {
  auto ranks = GittinsRanks::make(inputs.service_sample_gpu_s, inputs.las.limits_gpu_s.front());
  if (!ranks) return std::move(ranks).error().with_context("gittins");
  return make_gittins(inputs.las, std::move(*ranks), std::move(placer));
}

OptimusOptions optimus_options(const PolicyInputs& inputs) {
  OptimusOptions options = in_rounds(OptimusOptions{}, inputs);
  options.young_factor = inputs.young_factor;
  options.young_s = 2 * options.round_s;
  return options;
}

Made make_equal_share(const PolicyInputs& inputs, OwnPlacer placer) {
  OptimusOptions options = optimus_options(inputs);
  options.equal_shares = true;
  return make_optimus(options, *inputs.scaling, std::move(placer));
}

PolicyRecord muri(std::string name, std::string summary, bool knows_run_times) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .needs = knows_run_times ? std::vector{kWork, kStages} : std::vector{kStages},
          .on_types = OnTypes::kRefuses,
          .unknown_work = UnknownWork::kGoesLast,
          .make = [knows_run_times](const PolicyInputs& inputs, OwnPlacer placer) -> Made {
            return make_muri(in_rounds(MuriPolicyOptions{.knows_run_times = knows_run_times}, inputs),
                             std::move(placer));
          }};
}

PolicyRecord gavel(std::string name, std::string summary, GavelGoal goal, std::vector<Need> needs = {}) {
  const auto make = [name, goal, needs](const PolicyInputs& inputs, OwnPlacer placer) -> Made {
    GavelOptions options = in_rounds(GavelOptions{.name = name, .goal = goal}, inputs);
    const auto uses = [&](Need need) { return std::find(needs.begin(), needs.end(), need) != needs.end(); };
    if (uses(kPrices)) options.price = inputs.type_prices;
    if (uses(kPairSpeeds)) options.packed_share = inputs.packed_share;
    return make_gavel(options, std::move(placer));
  };
  return {.name = std::move(name), .summary = std::move(summary), .needs = std::move(needs), .make = make};
}

std::vector<PolicyRecord> records() {
  return {
      started_list("fifo", "strictly in order of arrival", {}, make_fifo),
      started_list("first-fit", "in order of arrival, later jobs that fit may start", {}, make_first_fit),
      started_list("sjf", "shortest job first, without preemption", {kWork}, make_sjf, UnknownWork::kGoesLast),
      preemptive_list("srtf", "shortest remaining time first, preemptive", {kWork}, make_srtf),
      preemptive_list("srsf", "shortest remaining time x GPUs first, preemptive", {kWork}, make_srsf),
      preemptive_list("edf", "earliest deadline first, preemptive", {kDeadlines}, make_edf),
      preemptive_list("priority", "highest priority first, preemptive", {}, make_priority),
      {.name = "las",
       .summary = "2D-LAS: least attained GPU time first, in three queues",
       .make = [](const PolicyInputs& inputs, OwnPlacer placer) -> Made {
         return make_las(inputs.las, std::move(placer));
       }},
      {.name = "gittins",
       .summary = "2D-Gittins: likeliest to end soon first, from a sample of past jobs",
       .needs = {kServiceSamples},
       .make = make_gittins_policy},
      {.name = "tiresias",
       .summary = "2D-LAS in rounds with two queues",
       .make = [](const PolicyInputs& inputs, OwnPlacer placer) -> Made {
         return make_tiresias(in_rounds(TiresiasOptions{}, inputs), std::move(placer));
       }},
      started_list("drf", "smallest dominant share of a tenant first", {}, make_drf),
      started_list("tetris", "best packing and shortest remaining work together", {kWork}, make_tetris),
      started_list("allox", "least sum of completion times on several types of GPUs, planned anew at every event",
                   {kWork}, make_allox),
      started_list("hydra", "deadlines first, then completion times, planned anew at every event", {kWork, kDeadlines},
                   make_hydra),
      {.name = "optimus",
       .summary = "GPUs where they save most time; elastic, in rounds",
       .needs = {kWork, kScaling},
       .is_elastic = true,
       .make = [](const PolicyInputs& inputs, OwnPlacer placer) -> Made {
         return make_optimus(optimus_options(inputs), *inputs.scaling, std::move(placer));
       }},
      {.name = "optimus-ps",
       .summary = "the same with parameter servers and workers, evenly on few machines",
       .needs = {kWork, kScaling, kServers},
       .on_types = OnTypes::kRefuses,
       .is_elastic = true,
       .make = [](const PolicyInputs& inputs, OwnPlacer) -> Made {
         return make_optimus_servers(optimus_options(inputs), *inputs.scaling);
       }},
      {.name = "equal-share",
       .summary = "the same number of GPUs for every job that can use them; elastic, in rounds",
       .needs = {kScaling},
       .is_elastic = true,
       .make = make_equal_share},
      {.name = "pollux",
       .summary = "elastic, in rounds: the largest power mean of speedups, restarts counted; batches stay",
       .needs = {kScaling},
       .on_types = OnTypes::kRefuses,
       .is_elastic = true,
       .make = [](const PolicyInputs& inputs, OwnPlacer placer) -> Made {
         return make_fixed_batch_pollux(in_rounds(PolluxOptions{.round_s = kPolluxRoundS}, inputs), *inputs.scaling,
                                        std::move(placer));
       }},
      {.name = "sia",
       .summary = "elastic, in rounds: which job gets which number and type of GPUs, restarts counted",
       .needs = {kScaling},
       .is_elastic = true,
       .make = [](const PolicyInputs& inputs, OwnPlacer placer) -> Made {
         return make_sia(in_rounds(SiaOptions{}, inputs), *inputs.scaling, std::move(placer));
       }},
      {.name = "elasticflow",
       .summary = "elastic: admitted jobs keep their deadlines with the fewest GPUs, the rest saves time",
       .needs = {kWork, kScaling, kDeadlines},
       .on_types = OnTypes::kRefuses,
       .is_elastic = true,
       .make = [](const PolicyInputs& inputs, OwnPlacer placer) -> Made {
         return make_elastic_flow({}, *inputs.scaling, std::move(placer));
       }},
      {.name = "flow",
       .summary = "our own: elastic, GPUs where they shorten the sum of completion times most, few restarts",
       .needs = {kWork, kScaling},
       .on_types = OnTypes::kRefuses,
       .is_elastic = true,
       .make = [](const PolicyInputs& inputs, OwnPlacer placer) -> Made {
         return make_flow({}, *inputs.scaling, std::move(placer));
       }},
      {.name = "gandiva",
       .summary = "affinity, time slicing, packing, migration",
       .needs = {kUtilisation},
       .may_wait = true,
       .make = [](const PolicyInputs& inputs, OwnPlacer) -> Made { return make_gandiva(inputs.gandiva); }},
      {.name = "lucid",
       .summary = "shortest service first; jobs that fit together share GPUs",
       .needs = {kWork, kUtilisation},
       .on_types = OnTypes::kFastest,
       .may_wait = true,
       .unknown_work = UnknownWork::kGoesLast,
       .make = [](const PolicyInputs&, OwnPlacer placer) -> Made { return make_lucid({}, std::move(placer)); }},
      muri("muri-s",
           "least service left first; where GPUs are scarce, stages of up to four jobs take turns on the same ones",
           true),
      muri("muri-l", "the same by least attained service, without run times", false),
      gavel("gavel", "max-min fair shares of time on every type of GPU, in rounds", GavelGoal::kMaxMin),
      gavel("gavel-finish", "the same; shares that make finish times fair", GavelGoal::kFinishTime, {kWork}),
      gavel("gavel-makespan", "the same; shares that let the last job end earliest", GavelGoal::kMakespan, {kWork}),
      gavel("gavel-throughput", "the same; shares with the largest sum of speeds", GavelGoal::kThroughput,
            {kWork, kDeadlines}),
      gavel("gavel-cost", "the same; speed per dollar, deadlines kept where possible", GavelGoal::kThroughput,
            {kWork, kDeadlines, kPrices}),
      gavel("gavel-isolated", "the same; an equal share for every job", GavelGoal::kIsolated),
      gavel("gavel-packed", "max-min fair shares, with pairs of jobs on the same GPUs", GavelGoal::kMaxMin,
            {kPairSpeeds}),
  };
}

}  // namespace

std::string_view to_string(Need need) {
  switch (need) {
    case kWork:
      return "work";
    case kScaling:
      return "scaling";
    case kServers:
      return "parameter servers";
    case kDeadlines:
      return "deadlines";
    case kUtilisation:
      return "utilisation";
    case kStages:
      return "stages";
    case kServiceSamples:
      return "service samples";
    case kPairSpeeds:
      return "speeds of pairs";
    case kPrices:
      return "prices";
  }
  return "";
}

std::string_view to_string(UnknownWork rule) {
  return rule == UnknownWork::kGoesLast ? "goes last" : "as much left as done";
}

bool PolicyRecord::has_need(Need need) const {
  return std::find(needs.begin(), needs.end(), need) != needs.end();
}

const std::vector<PolicyRecord>& all_policies() {
  static const std::vector<PolicyRecord> kPolicies = records();
  return kPolicies;
}

bool needs_elastic_jobs(std::string_view policy) {
  const PolicyRecord* const record = find_policy(all_policies(), policy);
  return record != nullptr && record->is_elastic;
}

const PolicyRecord* find_policy(const std::vector<PolicyRecord>& policies, std::string_view name) {
  const auto found =
      std::find_if(policies.begin(), policies.end(), [&](const PolicyRecord& record) { return record.name == name; });
  return found == policies.end() ? nullptr : &*found;
}

Error no_such_policy(const std::vector<PolicyRecord>& policies, std::string_view name) {
  std::vector<std::string> names;
  for (const PolicyRecord& policy : policies) names.push_back(policy.name);
  return Error::not_found(
      fmt::format("no policy {}{} (policies: {})", quote(name), did_you_mean(name, names), fmt::join(names, ", ")));
}

Result<std::unique_ptr<Policy>> make_policy(const PolicyRecord& record, const PolicyInputs& inputs) {
  const auto lacks = [&](std::string_view what) {
    return Error::invalid(fmt::format("{} needs {}", record.name, what));
  };
  ORRERY_TRY(OwnPlacer placer, make_placer(inputs.placement));
  if (inputs.placement == "best-fit" && !record.may_wait) {
    return lacks("a placement that always succeeds; best-fit may rather wait, take consolidated");
  }
  if (record.has_need(kScaling) && inputs.scaling == nullptr) return lacks("a scaling model");
  if (record.has_need(kPairSpeeds) && !inputs.packed_share) return lacks("the speeds of jobs that share GPUs");
  if (inputs.typed && record.on_types == OnTypes::kRefuses) {
    return Error::invalid(
        fmt::format("{} knows one type of GPU only; these jobs are faster on some than on others", record.name));
  }
  if (inputs.typed && record.on_types == OnTypes::kFastest) placer = make_fastest_type_placer(std::move(placer));
  return record.make(inputs, std::move(placer));
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name, const PolicyInputs& inputs) {
  const PolicyRecord* const record = find_policy(all_policies(), name);
  if (record == nullptr) return no_such_policy(all_policies(), name);
  return make_policy(*record, inputs);
}

}  // namespace orrery::schedule
