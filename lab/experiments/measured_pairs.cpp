#include "lab/experiments/measured_pairs.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "simulate/data_file.h"

namespace orrery::lab {

namespace {

constexpr double kCardMib = 24 * 1024;

using Profiles = std::map<std::string, PairMember>;

Result<std::string> config_of(const CsvTable& table, const CsvRow& row, const std::string& suffix) {
  std::string name;
  for (const char* column : {"model", "dataset", "batchsize", "amp"}) {
    ORRERY_TRY(const std::string part, text_field(table, row, column + suffix));
    name += (name.empty() ? "" : " ") + part;
  }
  return name;
}

Result<Profiles> read_profiles(env::Files& files, const std::string& path) {
  ORRERY_TRY(const CsvTable table, read_csv_file(files, path));
  Profiles profiles;
  for (const CsvRow& row : table.rows) {
    ORRERY_TRY(const std::string config, config_of(table, row, ""));
    ORRERY_TRY(const double utilisation, number_field(table, row, "gpu_util"));
    ORRERY_TRY(const double memory, number_field(table, row, "gmem"));
    profiles[config] = {config, std::clamp(utilisation / 100, 0.01, 1.0), std::clamp(memory / kCardMib, 0.001, 1.0)};
  }
  return profiles;
}

Result<PairMember> member_of(const Profiles& profiles, const CsvTable& table, const CsvRow& row,
                             const std::string& suffix) {
  ORRERY_TRY(const std::string config, config_of(table, row, suffix));
  const auto found = profiles.find(config);
  if (found == profiles.end()) {
    return Error::invalid(fmt::format("line {}: no profile of {} alone", row.line, config));
  }
  PairMember member = found->second;
  ORRERY_TRY(const double speed, number_field(table, row, "speed" + suffix));
  member.speed = std::min(1.0, speed);
  return member;
}

}  // namespace

Result<MeasuredPairs> read_measured_pairs(env::Files& files, const std::string& folder) {
  ORRERY_TRY(const Profiles profiles, read_profiles(files, folder + "/single_job_profiles.csv"));
  MeasuredPairs result;
  for (const auto& entry : profiles) result.alone.push_back(entry.second);
  const std::string path = folder + "/colocate_pairs.csv";
  ORRERY_TRY(const CsvTable table, read_csv_file(files, path));
  for (const CsvRow& row : table.rows) {
    MeasuredPair& pair = result.pairs.emplace_back();
    for (auto [member, suffix] : {std::pair(&pair.first, "1"), std::pair(&pair.second, "2")}) {
      auto read = member_of(profiles, table, row, suffix);
      if (!read) return std::move(read).error().with_context(path);
      *member = *read;
    }
  }
  return result;
}

}  // namespace orrery::lab
