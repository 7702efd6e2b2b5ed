#include "trace/trace_file.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace orrery::trace {

using Json = nlohmann::ordered_json;
using workload::Phase;

namespace {

constexpr std::string_view kFormat = "orrery-trace";
constexpr std::int64_t kVersion = 1;
constexpr std::size_t kHead = 256;
constexpr int kDepthMax = 16;

Json json_of(const TracedOperator& op) {
  Json json;
  json["name"] = op.name;
  json["kind"] = op.kind;
  json["phase"] = std::string(to_string(op.phase));
  if (op.index.valid()) json["node"] = op.index.value();
  json["start_s"] = op.start.value();
  json["execution_s"] = op.execution.value();
  json["gap_s"] = op.gap.value();
  if (!op.inputs.empty()) json["inputs"] = op.inputs;
  if (op.flops.value() != 0) json["flops"] = op.flops.value();
  if (op.bytes.value() != 0) json["bytes"] = op.bytes.value();
  return json;
}

Json json_of(const std::string& name, const ExecutionTrace& trace) {
  Json json;
  json["name"] = name;
  json["model"] = trace.model;
  json["device"] = trace.device;
  json["optimizer"] = trace.optimizer;
  json["batch"] = trace.batch;
  json["operators"] = Json::array();
  for (const TracedOperator& op : trace.operators) json["operators"].push_back(json_of(op));
  return json;
}

// Reads the fields of one object; the first mistake stays and is named with the object's path.
class Fields {
 public:
  Fields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) fail("", "an object");
  }

  std::string text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return "";
    if (!value->is_string() || !is_printable(value->get_ref<const std::string&>())) {
      fail(key, "a text without control characters");
      return "";
    }
    return value->get<std::string>();
  }

  double number(const char* key, bool required, bool may_be_negative = false) {
    const Json* value = find(key);
    if (value == nullptr && !required) return 0;
    const bool fits = value != nullptr && value->is_number() && std::isfinite(value->get<double>()) &&
                      std::abs(value->get<double>()) < 1e18 && (may_be_negative || value->get<double>() >= 0);
    if (!fits) fail(key, may_be_negative ? "a number" : "a number that is not negative");
    return fits ? value->get<double>() : 0;
  }

  std::int64_t integer(const char* key, std::int64_t otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    const bool fits = value->is_number_integer() && value->get<double>() >= 0 && value->get<double>() < 2147483648.0;
    if (!fits) fail(key, "a whole number from 0 to 2147483647");
    return fits ? value->get<std::int64_t>() : otherwise;
  }

  Phase phase(const char* key) {
    const std::string word = text(key);
    for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
      if (word == to_string(phase)) return phase;
    }
    fail(key, "forward, backward or update");
    return Phase::kForward;
  }

  std::vector<std::vector<std::int64_t>> shapes(const char* key) {
    std::vector<std::vector<std::int64_t>> result;
    const Json* value = find(key);
    if (value == nullptr) return result;
    if (!value->is_array()) fail(key, "a list of shapes");
    for (const Json& shape : *value) {
      auto& dims = result.emplace_back();
      if (!shape.is_array()) fail(key, "a list of shapes");
      for (const Json& dim : shape) {
        if (!dim.is_number_integer()) fail(key, "whole numbers");
        dims.push_back(dim.is_number_integer() ? dim.get<std::int64_t>() : 0);
      }
    }
    return result;
  }

  const Json& list(const char* key) {
    static const Json kEmpty = Json::array();
    const Json* value = find(key);
    if (value != nullptr && value->is_array()) return *value;
    fail(key, "a list");
    return kEmpty;
  }

  const Status& status() const { return status_; }

 private:
  const Json* find(const char* key) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  void fail(const std::string& key, std::string_view expected) {
    if (!status_) return;
    const std::string separator = path_.empty() || key.empty() ? "" : ".";
    status_ = Error::invalid(fmt::format("{}{}{}: expected {}", path_, separator, key, expected));
  }

  const Json& json_;
  std::string path_;
  Status status_;
};

Result<TracedOperator> parse_operator(const Json& json, const std::string& path) {
  Fields fields(json, path);
  TracedOperator op;
  op.name = fields.text("name");
  op.kind = fields.text("kind");
  op.phase = fields.phase("phase");
  op.index = workload::OperatorIndex(fields.integer("node", -1));
  op.start = Seconds(fields.number("start_s", true));
  op.execution = Seconds(fields.number("execution_s", true));
  op.gap = Seconds(fields.number("gap_s", true, true));
  op.inputs = fields.shapes("inputs");
  op.flops = Flops(fields.number("flops", false));
  op.bytes = Bytes(fields.number("bytes", false));
  ORRERY_TRY_VOID(fields.status());
  return op;
}

Status parse_iteration(const Json& json, const std::string& path, TraceFile& file) {
  Fields fields(json, path);
  ExecutionTrace trace;
  file.names.push_back(fields.text("name"));
  trace.model = fields.text("model");
  trace.device = fields.text("device");
  trace.optimizer = fields.text("optimizer");
  trace.batch = fields.integer("batch", 0);
  const Json& operators = fields.list("operators");
  ORRERY_TRY_VOID(fields.status());
  for (std::size_t i = 0; i < operators.size(); ++i) {
    ORRERY_TRY(TracedOperator op, parse_operator(operators[i], fmt::format("{}.operators[{}]", path, i)));
    trace.operators.push_back(std::move(op));
  }
  file.iterations.push_back(std::move(trace));
  return {};
}

// Whole documents only, and none that nests deeper than ours do.
Result<Json> parse_json(std::string_view text) {
  bool too_deep = false;
  const auto watch = [&too_deep](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kDepthMax;
    return !too_deep;
  };
  try {
    Json json = Json::parse(text, watch);
    if (too_deep) return Error::invalid("nests too deep for a trace");
    return json;
  } catch (const Json::exception& e) {
    return Error::invalid(e.what());
  }
}

}  // namespace

std::string write_trace_file(const TraceFile& file) {
  Json json;
  json["format"] = kFormat;
  json["version"] = kVersion;
  json["iterations"] = Json::array();
  for (std::size_t i = 0; i < file.iterations.size(); ++i) {
    json["iterations"].push_back(json_of(file.names[i], file.iterations[i]));
  }
  return json.dump(1) + "\n";
}

Result<TraceFile> parse_trace_file(std::string_view text) {
  ORRERY_TRY(const Json json, parse_json(text));
  Fields fields(json, "");
  if (fields.text("format") != kFormat) return Error::invalid("format: expected \"orrery-trace\"");
  if (fields.integer("version", 0) != kVersion) return Error::unsupported("version: only version 1 can be read");
  const Json& iterations = fields.list("iterations");
  ORRERY_TRY_VOID(fields.status());
  TraceFile file;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    ORRERY_TRY_VOID(parse_iteration(iterations[i], fmt::format("iterations[{}]", i), file));
  }
  return file;
}

bool is_trace_file(std::string_view beginning) {
  return beginning.substr(0, kHead).find("\"orrery-trace\"") != std::string_view::npos;
}

}  // namespace orrery::trace
