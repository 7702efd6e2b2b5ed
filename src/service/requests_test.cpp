// Every request of the service, read from words, YAML and JSON.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "base/yaml_options.h"
#include "service/bursts.h"
#include "service/choose.h"
#include "service/dataset.h"
#include "service/fit.h"
#include "service/graphdef_nodes.h"
#include "service/memory.h"
#include "service/observe.h"
#include "service/plan.h"
#include "service/predict.h"
#include "service/profile.h"
#include "service/regress.h"
#include "service/resources.h"
#include "service/sample.h"
#include "service/steps.h"
#include "service/traces.h"
#include "service/whatif.h"

namespace orrery::service {
namespace {

const std::vector<std::pair<std::string, std::vector<OptionRecord>>>& all_requests() {
  static const std::vector<std::pair<std::string, std::vector<OptionRecord>>> kAll = {
      {"predict", predict_fields().records()},
      {"memory", memory_fields().records()},
      {"whatif", whatif_fields().records()},
      {"choose", choose_fields().records()},
      {"plan", plan_fields().records()},
      {"profile", profile_fields().records()},
      {"trace show", trace_show_fields().records()},
      {"trace summary", trace_summary_fields().records()},
      {"trace compare", trace_compare_fields().records()},
      {"trace convert", trace_convert_fields().records()},
      {"bursts", bursts_fields().records()},
      {"sample", sample_fields().records()},
      {"nodes of a GraphDef", nodes_fields().records()},
      {"estimate-steps", estimate_steps_fields().records()},
      {"observe", observe_fields().records()},
      {"regress", regress_fields().records()},
      {"predict --resources", resources_fields().records()},
      {"fit", fit_fields().records()},
      {"dataset build", dataset_build_fields().records()},
      {"dataset jobs", dataset_jobs_fields().records()},
      {"dataset show", dataset_show_fields().records()}};
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

bool equal(const OptionValues& a, const OptionValues& b) {
  for (const OptionRecord& record : a.records()) {
    const auto* left = a.find_value(record.name);
    const auto* right = b.find_value(record.name);
    if ((left == nullptr) != (right == nullptr)) return false;
    if (left == nullptr) continue;
    if (left->given != right->given || left->parts.size() != right->parts.size()) return false;
    for (std::size_t i = 0; i < left->parts.size(); ++i) {
      const bool is_number = record.type == OptionType::kNumber;
      const bool same =
          is_number ? number_value(left->parts[i]) == number_value(right->parts[i]) : left->parts[i] == right->parts[i];
      if (!same) return false;
    }
  }
  return true;
}

RC_GTEST_PROP(Requests, WordsYamlAndJsonReadTheSame, ()) {
  const auto& [name, records] = *rc::gen::elementOf(all_requests());
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
  RC_ASSERT(equal(*from_words, *from_json));
  RC_ASSERT(equal(*from_words, *from_yaml));
}

}  // namespace
}  // namespace orrery::service
