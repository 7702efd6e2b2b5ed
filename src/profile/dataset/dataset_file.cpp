#include "profile/dataset/dataset_file.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/gzip.h"

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

Error bad_line(std::size_t number, std::string_view what) {
  return Error::invalid(fmt::format("line {}: {}", number, what));
}

Result<DatasetHeader> parse_header(const Json& json) {
  if (json.value("format", "") != kFormat) return bad_line(1, "not a data set: \"format\" is not \"orrery-dataset\"");
  if (json.value("version", 0) != kDatasetVersion) {
    return bad_line(
        1, fmt::format("version {} is not the {} that is understood", json.value("version", 0), kDatasetVersion));
  }
  return DatasetHeader{json.at("machine"), json.at("library"), json.at("threads"), json.at("seed")};
}

// Four numbers per operator: node, phase, execution and gap in nanoseconds. Nodes are stored as steps from the one
// before, which packs well.
Json packed(const std::vector<MeasuredOperator>& operators) {
  Json list = Json::array();
  std::int32_t last = 0;
  for (const MeasuredOperator& op : operators) {
    for (const std::int64_t number : {std::int64_t{op.node} - last, static_cast<std::int64_t>(op.phase),
                                      nanoseconds(op.execution), nanoseconds(op.gap)}) {
      list.push_back(number);
    }
    last = op.node;
  }
  return list;
}

Result<std::vector<MeasuredOperator>> unpacked(const Json& list) {
  if (!list.is_array() || list.size() % 4 != 0) return Error::invalid("operators: expected four numbers for each");
  std::vector<MeasuredOperator> operators;
  std::int64_t node = 0;
  for (std::size_t i = 0; i < list.size(); i += 4) {
    node += list[i].get<std::int64_t>();
    const auto phase = list[i + 1].get<std::int64_t>();
    if (node < 0 || node > INT32_MAX || phase < 0 || phase > 2)
      return Error::invalid("operators: no such node or phase");
    operators.push_back({static_cast<std::int32_t>(node), static_cast<workload::Phase>(phase),
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
  entry.iteration = Seconds(json.at("iteration_ns").get<double>() / kNanosecondsPerSecond);
  entry.spread = json.at("spread");
  entry.overhead = json.at("overhead");
  entry.load = json.at("load");
  entry.is_noisy = json.at("noisy");
  ORRERY_TRY(entry.operators, unpacked(json.at("operators")));
  return entry;
}

Status parse_line(std::string_view line, std::size_t number, Dataset& dataset) {
  try {
    const Json json = Json::parse(line);
    if (number == 1) {
      ORRERY_TRY(dataset.header, parse_header(json));
      return {};
    }
    auto entry = parse_entry(json);
    if (!entry) return std::move(entry).error().with_context(fmt::format("line {}", number));
    dataset.entries.push_back(std::move(*entry));
    return {};
  } catch (const nlohmann::json::exception& error) {
    return bad_line(number, error.what());
  }
}

}  // namespace

DatasetEntry entry_of(const Configuration& configuration, const Profile& profile) {
  DatasetEntry entry{
      configuration, profile.iteration, profile.spread, profile.overhead, profile.load, profile.is_noisy, {}};
  for (const trace::TracedOperator& op : profile.trace.operators) {
    entry.operators.push_back({op.node, op.phase, op.execution, op.gap});
  }
  return entry;
}

std::string header_line(const DatasetHeader& header) {
  const Json json = {{"format", kFormat},         {"version", kDatasetVersion}, {"machine", header.machine},
                     {"library", header.library}, {"threads", header.threads},  {"seed", header.seed}};
  return json.dump() + "\n";
}

std::string entry_line(const DatasetEntry& entry) {
  const Json json = {{"family", entry.configuration.family},
                     {"model", entry.configuration.model},
                     {"batch", entry.configuration.batch},
                     {"optimizer", to_string(entry.configuration.optimizer)},
                     {"iteration_ns", nanoseconds(entry.iteration)},
                     {"spread", rounded(entry.spread)},
                     {"overhead", rounded(entry.overhead)},
                     {"load", rounded(entry.load)},
                     {"noisy", entry.is_noisy},
                     {"operators", packed(entry.operators)}};
  return json.dump() + "\n";
}

Result<Dataset> parse_dataset(std::string_view lines, bool may_be_cut) {
  Dataset dataset;
  std::size_t number = 0;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos) {
      if (may_be_cut && number > 0) break;
      return bad_line(number + 1, "the file is cut in this line");
    }
    ORRERY_TRY_VOID(parse_line(lines.substr(0, end), ++number, dataset));
    lines.remove_prefix(end + 1);
  }
  if (number == 0) return Error::invalid("the data set is empty");
  return dataset;
}

Result<Dataset> read_dataset(env::Files& files, const std::string& path) {
  ORRERY_TRY(std::string bytes, files.read(path, kDatasetMax));
  if (is_gzip(bytes)) {
    auto unpacked_bytes = gunzip(bytes, kDatasetMax);
    if (!unpacked_bytes) return std::move(unpacked_bytes).error().with_context(path);
    bytes = std::move(*unpacked_bytes);
  }
  auto dataset = parse_dataset(bytes, false);
  if (!dataset) return std::move(dataset).error().with_context(path);
  return dataset;
}

}  // namespace orrery::profile
