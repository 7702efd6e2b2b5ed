#include "profile/dataset/dataset_file.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "profile/line_log.h"

namespace orrery::profile {

using Json = nlohmann::ordered_json;

namespace {

constexpr double kNanosecondsPerSecond = 1e9;
constexpr std::string_view kFormat = "orrery-dataset";

std::int64_t nanoseconds(Seconds time) {
  return std::llround(time.value() * kNanosecondsPerSecond);
}

double rounded(double share) {
  return std::round(share * 1e4) / 1e4;
}

template <class Times>
Json times_of(const Times& times) {
  Json list = Json::array();
  for (const Seconds time : times) list.push_back(nanoseconds(time));
  return list;
}

Result<std::vector<Seconds>> parse_times(const Json& list) {
  if (!list.is_array()) return Error::invalid("expected a list of nanoseconds");
  std::vector<Seconds> times;
  for (const Json& one : list) {
    times.emplace_back(one.get<double>() / kNanosecondsPerSecond);
    if (!(times.back() >= Seconds(0))) return Error::invalid("a time must not be negative");
  }
  return times;
}

Error bad_line(std::size_t number, std::string_view what) {
  return Error::invalid(fmt::format("line {}: {}", number, what));
}

Result<DatasetHeader> parse_header(const Json& json) {
  if (json.value("format", "") != kFormat) return bad_line(1, "not a data set: \"format\" is not \"orrery-dataset\"");
  if (json.value("version", 0) != kDatasetVersion) {
    return bad_line(
        1, fmt::format("version {} is not the {} that is understood", json.value("version", 0), kDatasetVersion));
  }
  DatasetHeader header{json.at("machine"), json.at("library"), json.at("threads"), json.at("seed")};
  ORRERY_TRY(const auto quiet, parse_times(json.at("quiet_ns")));
  if (quiet.size() != header.quiet.size()) return bad_line(1, "quiet_ns: expected three times");
  std::copy(quiet.begin(), quiet.end(), header.quiet.begin());
  return header;
}

// Four numbers per operator: index, phase, execution and gap in nanoseconds. Indices are stored as steps from the one
// before, which packs well.
Json packed(const std::vector<MeasuredOperator>& operators) {
  Json list = Json::array();
  workload::OperatorIndex last(0);
  for (const MeasuredOperator& op : operators) {
    for (const std::int64_t number : {std::int64_t{op.index - last}, static_cast<std::int64_t>(op.phase),
                                      nanoseconds(op.execution), nanoseconds(op.gap)}) {
      list.push_back(number);
    }
    last = op.index;
  }
  return list;
}

Result<std::vector<MeasuredOperator>> unpacked(const Json& list) {
  if (!list.is_array() || list.size() % 4 != 0) return Error::invalid("operators: expected four numbers for each");
  std::vector<MeasuredOperator> operators;
  std::int64_t index = 0;
  for (std::size_t i = 0; i < list.size(); i += 4) {
    index += list[i].get<std::int64_t>();
    const auto phase = list[i + 1].get<std::int64_t>();
    if (index < 0 || index > INT32_MAX || phase < 0 || phase > 2)
      return Error::invalid("operators: no such operator or phase");
    operators.push_back({workload::OperatorIndex(index), static_cast<workload::Phase>(phase),
                         Seconds(list[i + 2].get<double>() / kNanosecondsPerSecond),
                         Seconds(list[i + 3].get<double>() / kNanosecondsPerSecond)});
  }
  return operators;
}

Result<DatasetEntry> parse_entry(const Json& json) {
  DatasetEntry entry;
  entry.configuration.family = json.at("family");
  entry.configuration.model = json.at("model");
  entry.configuration.batch = json.at("batch");
  ORRERY_TRY(entry.configuration.optimizer, workload::parse_optimizer(json.at("optimizer").get<std::string>()));
  ORRERY_TRY(entry.visits, parse_times(json.at("visits_ns")));
  const bool has_zero = std::find(entry.visits.begin(), entry.visits.end(), Seconds(0)) != entry.visits.end();
  if (entry.visits.empty() || has_zero) return Error::invalid("visits_ns: expected positive times");
  entry.overhead = json.at("overhead");
  ORRERY_TRY(entry.operators, unpacked(json.at("operators")));
  return entry;
}

// Where in the data set each configuration is.
using Places = std::map<std::string, std::size_t>;

Status parse_line(std::string_view line, std::size_t number, Dataset& dataset, Places& places) {
  try {
    const Json json = Json::parse(line);
    if (number == 1) {
      ORRERY_TRY(dataset.header, parse_header(json));
      return {};
    }
    auto entry = parse_entry(json);
    if (!entry) return std::move(entry).error().with_context(fmt::format("line {}", number));
    const auto [place, is_new] = places.try_emplace(entry->configuration.key(), dataset.entries.size());
    if (is_new) dataset.entries.emplace_back();
    dataset.entries[place->second] = std::move(*entry);
    return {};
  } catch (const nlohmann::json::exception& error) {
    return bad_line(number, error.what());
  }
}

}  // namespace

bool DatasetHeader::is_same_bench(const DatasetHeader& other) const {
  return machine == other.machine && library == other.library && threads == other.threads && seed == other.seed;
}

Seconds DatasetEntry::iteration() const {
  std::vector<double> times;
  for (const Seconds visit : visits) times.push_back(visit.value());
  return Seconds(median(times));
}

double DatasetEntry::spread() const {
  std::vector<double> distances;
  for (const Seconds visit : visits) distances.push_back(std::abs(visit / iteration() - 1));
  return 2 * median(distances);
}

Status add_visit(DatasetEntry& entry, const Profile& profile) {
  const auto& operators = profile.trace.operators;
  if (entry.visits.empty()) {
    for (const trace::TracedOperator& op : operators) entry.operators.push_back({op.index, op.phase, {}, {}});
  }
  if (entry.operators.size() != operators.size()) return Error::internal("a visit ran other operators than the last");
  const double share = 1 / static_cast<double>(entry.visits.size() + 1);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    MeasuredOperator& mean = entry.operators[i];
    mean.execution += (operators[i].execution - mean.execution) * share;
    mean.gap += (operators[i].gap - mean.gap) * share;
  }
  entry.overhead += (profile.overhead - entry.overhead) * share;
  entry.visits.push_back(profile.iteration);
  return {};
}

std::string header_line(const DatasetHeader& header) {
  const Json json = {{"format", kFormat},
                     {"version", kDatasetVersion},
                     {"machine", header.machine},
                     {"library", header.library},
                     {"threads", header.threads},
                     {"seed", header.seed},
                     {"quiet_ns", times_of(header.quiet)}};
  return json.dump() + "\n";
}

std::string entry_line(const DatasetEntry& entry) {
  const Json json = {{"family", entry.configuration.family}, {"model", entry.configuration.model},
                     {"batch", entry.configuration.batch},   {"optimizer", to_string(entry.configuration.optimizer)},
                     {"visits_ns", times_of(entry.visits)},  {"overhead", rounded(entry.overhead)},
                     {"operators", packed(entry.operators)}};
  return json.dump() + "\n";
}

Result<Dataset> parse_dataset(std::string_view lines, bool may_be_cut) {
  Dataset dataset;
  Places places;
  ORRERY_TRY_VOID(parse_lines(lines, may_be_cut, [&](std::string_view line, std::size_t number) {
    return parse_line(line, number, dataset, places);
  }));
  return dataset;
}

Result<Dataset> read_dataset(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string lines, read_lines(files, path, kDatasetMax));
  auto dataset = parse_dataset(lines, false);
  if (!dataset) return std::move(dataset).error().with_context(path);
  return dataset;
}

}  // namespace orrery::profile
