// Every request of the service, read from words, YAML and JSON.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "base/yaml_options.h"
#include "service/bursts.h"
#include "service/choose.h"
#include "service/clusters.h"
#include "service/dataset.h"
#include "service/devices.h"
#include "service/fit.h"
#include "service/graphdef_nodes.h"
#include "service/job_check.h"
#include "service/job_trace_requests.h"
#include "service/memory.h"
#include "service/model_list.h"
#include "service/observe.h"
#include "service/plan.h"
#include "service/predict.h"
#include "service/profile.h"
#include "service/regress.h"
#include "service/resources.h"
#include "service/sample.h"
#include "service/simulate.h"
#include "service/simulate_compare.h"
#include "service/simulate_estimate.h"
#include "service/simulate_whatif.h"
#include "service/steps.h"
#include "service/traces.h"
#include "service/whatif.h"

namespace orrery::service {
namespace {

// A request without its type.
struct AnyRequest {
  std::string name;
  std::vector<OptionRecord> records;
  // Whether both are the same request, or neither is one.
  std::function<bool(const OptionValues&, const OptionValues&)> equal;
};

template <class Request>
AnyRequest any(std::string name, Fields<Request> fields) {
  std::vector<OptionRecord> records = fields.records();
  return {std::move(name), std::move(records),
          [fields = std::move(fields)](const OptionValues& a, const OptionValues& b) {
            const auto left = fields.read(a), right = fields.read(b);
            return left && right ? *left == *right : left.has_value() == right.has_value();
          }};
}

const std::vector<AnyRequest>& all_requests() {
  static const std::vector<AnyRequest> kAll = {
      any("predict", predict_fields()),
      any("memory", memory_fields()),
      any("whatif", whatif_fields()),
      any("choose", choose_fields()),
      any("simulate", simulate_fields()),
      any("simulate compare", compare_runs_fields()),
      any("simulate estimate", estimate_fields()),
      any("simulate whatif", simulate_whatif_fields()),
      any("job trace", job_trace_request_fields()),
      any("generate", generate_fields()),
      any("cluster", cluster_request_fields()),
      any("job check", job_check_fields()),
      any("devices", devices_fields()),
      any("models", models_fields()),
      any("plan", plan_fields()),
      any("profile", profile_fields()),
      any("trace show", trace_show_fields()),
      any("trace summary", trace_summary_fields()),
      any("trace compare", trace_compare_fields()),
      any("trace convert", trace_convert_fields()),
      any("bursts", bursts_fields()),
      any("sample", sample_fields()),
      any("nodes of a GraphDef", nodes_fields()),
      any("estimate-steps", estimate_steps_fields()),
      any("observe", observe_fields()),
      any("regress", regress_fields()),
      any("predict --resources", resources_fields()),
      any("fit", fit_fields()),
      any("dataset build", dataset_build_fields()),
      any("dataset jobs", dataset_jobs_fields()),
      any("dataset show", dataset_show_fields()),
  };
  return kAll;
}

// A value that the record accepts.
std::string random_value(const OptionRecord& record) {
  const double low = record.minimum.value_or(0), high = std::min(record.maximum.value_or(1000), 1e9);
  switch (record.type) {
    case OptionType::kFlag:
      return *rc::gen::arbitrary<bool>() ? "true" : "false";
    case OptionType::kInteger:
      return std::to_string(*rc::gen::inRange(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high) + 1));
    case OptionType::kNumber:
      return fmt::format("{}", low + (high - low) * *rc::gen::inRange(0, 1001) / 1000.0);
    case OptionType::kDuration:
      return fmt::format("{}s", std::min(high, std::ceil(low) + *rc::gen::inRange(0, 1000)));
    case OptionType::kSize:
      return fmt::format("{}MiB", *rc::gen::inRange(1, 1000));
    case OptionType::kChoice:
      return *rc::gen::elementOf(record.choices);
    default:
      // Words separate items by commas and are trimmed, so that text for all three sources has neither.
      return *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::oneOf(
          rc::gen::inRange('a', 'z'), rc::gen::inRange('0', '9'), rc::gen::elementOf(std::string("./:\"'#-\\")))));
  }
}

nlohmann::json as_json(const OptionRecord& record, const std::string& value) {
  if (record.type == OptionType::kFlag) return value == "true";
  if (record.type == OptionType::kInteger) return std::stoll(value);
  if (record.type == OptionType::kNumber) return nlohmann::json::parse(value);
  return value;
}

RC_GTEST_PROP(Requests, WordsYamlAndJsonReadTheSame, ()) {
  const AnyRequest& request = all_requests()[*rc::gen::inRange<std::size_t>(0, all_requests().size())];
  const std::vector<OptionRecord>& records = request.records;
  std::vector<std::string> words, plain;
  nlohmann::json json = nlohmann::json::object();
  for (const OptionRecord& record : records) {
    if (!record.is_required && *rc::gen::inRange(0, 3) > 0) continue;
    const int items = record.is_list ? *rc::gen::inRange(1, 4) : 1;
    std::vector<std::string> values;
    for (int i = 0; i < items; ++i) {
      std::string value = random_value(record);
      if (value.find_first_not_of(' ') == std::string::npos) value = "x";
      values.push_back(std::move(value));
    }
    if (record.is_word) {
      plain.insert(plain.end(), values.begin(), values.end());
    } else {
      words.push_back(fmt::format("--{}={}", record.name, fmt::join(values, ",")));
    }
    for (const std::string& value : values) {
      if (record.is_list) {
        json[key_of(record.name)].push_back(as_json(record, value));
      } else {
        json[key_of(record.name)] = as_json(record, value);
      }
    }
  }
  words.push_back("--");
  words.insert(words.end(), plain.begin(), plain.end());
  const auto from_words = read_words(records, words);
  RC_ASSERT(from_words.has_value());
  // JSON is YAML too; so is the block style.
  const auto from_json = read_json(records, json.dump());
  RC_ASSERT(from_json.has_value());
  const auto from_yaml = read_yaml(records, json.dump(), "request.yaml");
  RC_ASSERT(from_yaml.has_value());
  RC_ASSERT(request.equal(*from_words, *from_json));
  RC_ASSERT(request.equal(*from_words, *from_yaml));
}

}  // namespace
}  // namespace orrery::service
