#include "predict/readers/ets_traces.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <set>
#include <unordered_map>

#include "base/csv.h"
#include "base/random.h"
#include "base/text.h"
#include "base/xz.h"
#include "predict/readers/data_files.h"

namespace orrery::predict {

namespace {

constexpr Bytes kTraceBytesMax = gibibytes(1);
constexpr std::size_t kParametersMax = 30;
constexpr std::size_t kRowsMax = 1'000'000;
constexpr double kMicro = 1e-3;    // of a nanosecond
constexpr double kShortest = 0.1;  // microseconds

Result<CsvTable> read_table(env::Files& files, const std::string& folder, const std::string& name) {
  ORRERY_TRY(const std::string text, read_data(files, folder, name));
  auto table = parse_csv(text);
  if (!table) return std::move(table).error().with_context(folder + "/" + name);
  return table;
}

// What the index says of each trace.
using Index = std::unordered_map<std::string, LaunchTrace>;

Result<Index> read_index(env::Files& files, const std::string& folder) {
  ORRERY_TRY(const CsvTable table, read_table(files, folder, "index.csv"));
  std::vector<std::size_t> columns;
  for (const char* name : {"trace_id", "gpu", "model", "family", "batch", "image_hw", "overlap", "span_ns"}) {
    ORRERY_TRY(const std::size_t column, table.column(name));
    columns.push_back(column);
  }
  Index index;
  for (const CsvRow& row : table.rows) {
    LaunchTrace trace;
    const auto field = [&](std::size_t i) -> const std::string& { return row.fields[columns[i]]; };
    const auto number = [&](std::size_t i) { return parse_number(field(i)).value_or(-1); };
    trace.id = field(0);
    trace.gpu = field(1);
    trace.model = field(2);
    trace.family = field(3);
    trace.batch = static_cast<std::int64_t>(number(4));
    trace.image = static_cast<std::int64_t>(number(5));
    trace.overlaps = number(6) != 0;
    trace.iteration = number(7) * kMicro;
    if (trace.batch <= 0 || trace.image <= 0 || trace.iteration <= 0) {
      return Error::invalid(
          fmt::format("{}/index.csv line {}: batch, image and span must be numbers above 0", folder, row.line));
    }
    index.emplace(trace.id, std::move(trace));
  }
  return index;
}

// Reads tab-separated whole numbers from a line.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  std::string_view text() {
    const std::size_t end = rest_.find('\t');
    const std::string_view field = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return field;
  }
  double number() {
    const std::string_view field = text();
    double value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size()) is_good_ = false;
    return value;
  }
  bool is_good() const { return is_good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool is_good_ = true;
};

bool read_parameters(std::string_view text, std::vector<std::int32_t>& parameters) {
  if (text == "-") return true;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && parameters.size() < kParametersMax) {
    std::int32_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) return false;
    parameters.push_back(value);
    if (next != end && *next != ':') return false;
    at = next + 1;
  }
  return true;
}

bool read_row(std::string_view line, LaunchTrace& trace) {
  Fields fields(line);
  LaunchedOperator op;
  LaunchTimes times;
  op.kind = static_cast<std::int32_t>(fields.number());
  const int phase = static_cast<int>(fields.number());
  op.kernels = static_cast<std::int32_t>(fields.number());
  op.flops = fields.number();
  op.bytes = fields.number();
  op.grid = fields.number();
  op.block = fields.number();
  if (!read_parameters(fields.text(), op.parameters)) return false;
  times.device = fields.number() * kMicro;
  times.gap = fields.number() * kMicro;
  if (times.gap < 0) {
    times.device = std::max(kShortest, times.device + times.gap);
    times.gap = 0;
  }
  times.interval = fields.number() * kMicro;
  times.launch = fields.number() * kMicro;
  if (!fields.is_good() || phase < 1 || phase > 3 || op.kernels < 1) return false;
  op.phase = static_cast<workload::Phase>(phase - 1);
  trace.operators.push_back(std::move(op));
  trace.times.push_back(times);
  return true;
}

Status read_file(std::string_view text, Index& index, std::vector<LaunchTrace>& traces) {
  LaunchTrace* current = nullptr;
  std::size_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with('#')) {
      Fields fields(line.substr(1));
      const std::string id(fields.text());
      const double rows = fields.number();
      const double first_start = fields.number();
      const auto known = index.find(id);
      if (!fields.is_good() || known == index.end() || rows < 1 || rows > kRowsMax) {
        return Error::invalid(fmt::format("line {}: not the header of a trace in the index", line_number));
      }
      current = &traces.emplace_back(std::move(known->second));
      index.erase(known);
      current->first_start = first_start * kMicro;
      current->operators.reserve(static_cast<std::size_t>(rows));
      current->times.reserve(static_cast<std::size_t>(rows));
    } else if (current == nullptr || !read_row(line, *current)) {
      return Error::invalid(fmt::format("line {}: not an operator's row", line_number));
    }
  }
  return {};
}

}  // namespace

WorkClass LaunchTraces::class_of(std::int32_t kind) const {
  const auto found = kinds.find(kind);
  return found == kinds.end() ? WorkClass::kElementwise : work_class_of(found->second);
}

Result<std::vector<std::string>> gpus_of(env::Files& files, const std::string& folder) {
  ORRERY_TRY(const Index index, read_index(files, folder));
  std::set<std::string> gpus;
  for (const auto& [id, trace] : index) gpus.insert(trace.gpu);
  return std::vector<std::string>(gpus.begin(), gpus.end());
}

std::uint64_t configuration_fold(const LaunchTrace& trace, std::uint64_t seed) {
  return Random(seed).split(trace.id).below(kConfigurationFolds);
}

Result<LaunchTraces> read_launch_traces(env::Files& files, const std::string& folder, const std::string& gpu) {
  LaunchTraces all;
  ORRERY_TRY(const CsvTable names, read_table(files, folder, "op_names.csv"));
  for (const CsvRow& row : names.rows) {
    const auto kind = parse_number(row.fields.front());
    if (!kind) return Error::invalid(fmt::format("{}/op_names.csv line {}: not a number", folder, row.line));
    all.kinds[static_cast<std::int32_t>(*kind)] = row.fields.back();
  }
  ORRERY_TRY(Index index, read_index(files, folder));
  ORRERY_TRY(const std::vector<std::string> names_in_folder, files.list(folder));
  for (const std::string& name : names_in_folder) {
    if (!name.starts_with(gpu + "__") || !name.ends_with(".tsv.xz")) continue;
    const std::string path = folder + "/" + name;
    ORRERY_TRY(const std::string packed, files.read(path, kTraceBytesMax));
    auto text = unxz(packed, kTraceBytesMax);
    if (!text) return std::move(text).error().with_context(path);
    if (auto status = read_file(*text, index, all.traces); !status) return std::move(status).error().with_context(path);
  }
  if (all.traces.empty()) return Error::not_found(fmt::format("no trace of {} in {}", gpu, folder));
  return all;
}

}  // namespace orrery::predict
