// Measured pairs of jobs on one GPU: Gandiva keeps a pair exactly if it does more work than taking turns.
//
// Every measured pair is run by the policy on one GPU, with its measured speeds. It should be packed if the memory of
// both fits (a card of 24 GiB is assumed), and stay so if the speeds, at most 1 each, add up to more than 1. Lucid's
// classes must let no pair through that does less work than taking turns.
// Batches of jobs drawn from the measured ones are paired: by gain (speeds - 1), the largest first, and by use of the
// GPU, the least first, as somebody does who has not measured pairs. Both are compared with the best matching.

#include <fmt/format.h>
#include <map>
#include <numeric>

#include "base/random.h"
#include "lab/experiments/measured_pairs.h"
#include "lab/lab.h"
#include "lab/reference/kinds.h"
#include "schedule/matching.h"
#include "schedule/policies/gandiva.h"
#include "schedule/policies/lucid.h"
#include "simulate/runner.h"

namespace orrery::lab {

namespace {

constexpr int kBatches = 40, kBatchJobs = 40;
constexpr double kGainLost = 0.05;  // of the best matching's, by greedy pairing
constexpr double kGainScale = 1e9;

// Whether the policy shares the GPU between the two and keeps it so.
Result<bool> is_kept(const MeasuredPair& pair) {
  JobTrace job_trace;
  job_trace.tenants = {""};
  for (const PairMember& member : {pair.first, pair.second}) {
    TraceJob& job = job_trace.jobs.emplace_back();
    job.model = member.config;
    job.facts.work_ns = schedule::from_seconds(3600);
    job.facts.gpu_utilisation = member.utilisation;
    job.facts.gpu_memory_share = member.memory_share;
  }
  // The same configuration twice is still two jobs.
  if (pair.first.config == pair.second.config) job_trace.jobs[JobIndex(1)].model += " again";
  RunSetup setup;
  setup.machines = {{.gpus = 1}};
  setup.engine.keep_log = true;
  ORRERY_TRY(setup.interference,
             InterferenceTable::parse(
                 fmt::format("model1,speed1,model2,speed2\n\"{}\",{},\"{}\",{}\n", job_trace.jobs[JobIndex(0)].model,
                             pair.first.speed, job_trace.jobs[JobIndex(1)].model, pair.second.speed),
                 "pair"));
  ORRERY_TRY(const RunResult run, run_policy(job_trace, setup, "gandiva"));
  bool packed = false, undone = false;
  for (const LoggedDecision& entry : run.log) {
    packed = packed || entry.decision.action == schedule::Action::kPack;
    undone = undone || entry.decision.action == schedule::Action::kUnpack;
  }
  return packed && !undone;
}

// What two jobs gain by sharing a GPU, in jobs' worth of work; 0: they do not fit or lose.
using Gains = std::map<std::pair<std::string, std::string>, double>;

double gain_of(const Gains& gains, const std::string& a, const std::string& b) {
  const auto found = gains.find(std::minmax(a, b));
  return found == gains.end() ? 0 : found->second;
}

// Over all batches: what pairing in order of use loses of what the best matching gains, as a share of it.
double lost_gain(const Gains& gains, const std::vector<PairMember>& alone) {
  double best = 0, by_use = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    Random random = Random(1).split("batches").split(static_cast<std::uint64_t>(batch));
    std::vector<const PairMember*> jobs;
    for (int j = 0; j < kBatchJobs; ++j) jobs.push_back(&alone[random.below(alone.size())]);
    std::vector<std::vector<std::int64_t>> weights(jobs.size(), std::vector<std::int64_t>(jobs.size(), 0));
    for (std::size_t a = 0; a < jobs.size(); ++a) {
      for (std::size_t b = 0; b < jobs.size(); ++b) {
        if (a == b) continue;
        weights[a][b] = static_cast<std::int64_t>(kGainScale * gain_of(gains, jobs[a]->config, jobs[b]->config));
      }
    }
    std::vector<int> order(jobs.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return jobs[static_cast<std::size_t>(a)]->utilisation > jobs[static_cast<std::size_t>(b)]->utilisation;
    });
    best += static_cast<double>(schedule::best_matching(weights).weight);
    by_use += static_cast<double>(schedule::pair_in_order(weights, order).weight);
  }
  return best == 0 ? 0 : 1 - by_use / best;
}

}  // namespace

Result<std::vector<ReferenceCase>> run_colocation_results(const ReferenceInput& input) {
  const double start = input.now_s();
  ORRERY_TRY(const MeasuredPairs measured, read_measured_pairs(input.files, input.folder));
  double pairs = 0, should = 0, kept_wrongly = 0, missed = 0, classes_wrongly = 0;
  Gains gains;
  for (const MeasuredPair& pair : measured.pairs) {
    const bool fits = pair.fits();
    const bool pays = schedule::packing_pays(pair.first.speed, pair.second.speed);
    ORRERY_TRY(const bool kept, is_kept(pair));
    if (fits && pays) gains.insert_or_assign(std::minmax(pair.first.config, pair.second.config), pair.gain());
    const bool classes_fit = schedule::lucid_packs(schedule::lucid_class(pair.first.utilisation),
                                                   schedule::lucid_class(pair.second.utilisation));
    classes_wrongly += classes_fit && fits && !pays ? 1 : 0;
    ++pairs;
    should += fits && pays ? 1 : 0;
    kept_wrongly += kept && !(fits && pays) ? 1 : 0;
    missed += !kept && fits && pays ? 1 : 0;
  }
  const double seconds = input.now_s() - start;
  const double lost = lost_gain(gains, measured.alone);
  const std::string batches = fmt::format("{} batches of {} jobs", kBatches, kBatchJobs);
  const std::string note = fmt::format("{:.0f} of {:.0f} pairs fit and do more work together", should, pairs);
  return std::vector<ReferenceCase>{
      {"measured pairs", "gandiva", "kept although taking turns is better", 0, kept_wrongly, Target::kEqual, 0, seconds,
       note},
      {"measured pairs", "gandiva", "not kept although better than turns", 0, missed, Target::kEqual, 0, seconds, note},
      {"measured pairs", "lucid", "classes fit although taking turns is better", 0, classes_wrongly, Target::kEqual, 0,
       seconds, note},
      {"measured pairs", "greedy by use", "share of the best matching's gain lost", kGainLost, lost, Target::kAtMost, 0,
       seconds, batches}};
}

}  // namespace orrery::lab
