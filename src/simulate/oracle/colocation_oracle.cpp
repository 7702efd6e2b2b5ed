// Measured pairs of jobs on one GPU: Gandiva keeps a pair exactly if it does more work than taking turns.
//
// Every measured pair is run by the policy on one GPU, with its measured speeds. It should be packed if the memory of
// both fits (a card of 24 GiB is assumed), and stay so if the speeds, at most 1 each, add up to more than 1.

#include <fmt/format.h>
#include <map>

#include "schedule/policies/gandiva.h"
#include "simulate/data_file.h"
#include "simulate/oracle/kinds.h"
#include "simulate/runner.h"

namespace orrery::simulate {

namespace {

constexpr double kCardMib = 24 * 1024;

struct Profile {
  double utilisation = 1;   // of the GPU, alone
  double memory_share = 1;  // of the card
};

// A model with its data set, batch and precision.
Result<std::string> config_of(const CsvTable& table, const CsvRow& row, const std::string& suffix) {
  std::string name;
  for (const char* column : {"model", "dataset", "batchsize", "amp"}) {
    ORRERY_TRY(const std::string part, text_field(table, row, column + suffix));
    name += (name.empty() ? "" : " ") + part;
  }
  return name;
}

Result<std::map<std::string, Profile>> read_profiles(env::Files& files, const std::string& path) {
  ORRERY_TRY(const CsvTable table, read_csv_file(files, path));
  std::map<std::string, Profile> profiles;
  for (const CsvRow& row : table.rows) {
    ORRERY_TRY(const std::string config, config_of(table, row, ""));
    ORRERY_TRY(const double utilisation, number_field(table, row, "gpu_util"));
    ORRERY_TRY(const double memory, number_field(table, row, "gmem"));
    profiles[config] = {std::clamp(utilisation / 100, 0.01, 1.0), std::clamp(memory / kCardMib, 0.001, 1.0)};
  }
  return profiles;
}

struct Pair {
  std::string first, second;
  double speed1 = 0, speed2 = 0;
};

// Whether the policy shares the GPU between the two and keeps it so.
Result<bool> is_kept(const Pair& pair, const Profile& first, const Profile& second) {
  Workload workload;
  workload.tenants = {""};
  for (const auto& [model, profile] : {std::pair(pair.first, first), std::pair(pair.second, second)}) {
    TraceJob& job = workload.jobs.emplace_back();
    job.model = model;
    job.facts.work_ns = schedule::from_seconds(3600);
    job.facts.gpu_utilisation = profile.utilisation;
    job.facts.gpu_memory_share = profile.memory_share;
  }
  // The same configuration twice is still two jobs.
  if (pair.first == pair.second) workload.jobs[1].model += " again";
  RunSetup setup;
  setup.machines = {{.gpus = 1}};
  setup.engine.keep_log = true;
  ORRERY_TRY(
      setup.interference,
      InterferenceTable::parse(fmt::format("model1,speed1,model2,speed2\n\"{}\",{},\"{}\",{}\n", workload.jobs[0].model,
                                           pair.speed1, workload.jobs[1].model, pair.speed2),
                               "pair"));
  ORRERY_TRY(const RunResult run, run_policy(workload, setup, "gandiva"));
  bool packed = false, undone = false;
  for (const LoggedDecision& entry : run.log) {
    packed = packed || entry.decision.action == schedule::Action::kPack;
    undone = undone || entry.decision.action == schedule::Action::kUnpack;
  }
  return packed && !undone;
}

}  // namespace

Result<std::vector<OracleCase>> run_colocation_oracle(const OracleInput& input) {
  const double start = input.now_s();
  ORRERY_TRY(const auto profiles, read_profiles(input.files, input.folder + "/single_job_profiles.csv"));
  const std::string path = input.folder + "/colocate_pairs.csv";
  ORRERY_TRY(const CsvTable table, read_csv_file(input.files, path));
  double pairs = 0, should = 0, kept_wrongly = 0, missed = 0;
  for (const CsvRow& row : table.rows) {
    Pair pair;
    ORRERY_TRY(pair.first, config_of(table, row, "1"));
    ORRERY_TRY(pair.second, config_of(table, row, "2"));
    ORRERY_TRY(pair.speed1, number_field(table, row, "speed1"));
    ORRERY_TRY(pair.speed2, number_field(table, row, "speed2"));
    const auto first = profiles.find(pair.first), second = profiles.find(pair.second);
    if (first == profiles.end() || second == profiles.end()) {
      return Error::invalid(fmt::format("{}: line {}: no profile of one of the two alone", path, row.line));
    }
    const bool fits = first->second.memory_share + second->second.memory_share <= 1;
    const bool pays = schedule::packing_pays(std::min(1.0, pair.speed1), std::min(1.0, pair.speed2));
    ORRERY_TRY(const bool kept, is_kept(pair, first->second, second->second));
    ++pairs;
    should += fits && pays ? 1 : 0;
    kept_wrongly += kept && !(fits && pays) ? 1 : 0;
    missed += !kept && fits && pays ? 1 : 0;
  }
  const double seconds = input.now_s() - start;
  const std::string note = fmt::format("{:.0f} of {:.0f} pairs fit and do more work together", should, pairs);
  return std::vector<OracleCase>{
      {"measured pairs", "gandiva", "kept although taking turns is better", 0, kept_wrongly, Bar::kEqual, 0, seconds,
       note},
      {"measured pairs", "gandiva", "not kept although better than turns", 0, missed, Bar::kEqual, 0, seconds, note}};
}

}  // namespace orrery::simulate
