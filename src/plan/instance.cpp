#include "plan/instance.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace orrery::plan {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "capacity-oracle-1";
constexpr std::size_t kNameBytesMax = 200;

Error wrong(const std::string& where, std::string_view what) {
  return Error::invalid(fmt::format("{}: {}", where, what));
}

// A number within bounds; `where` names the file and the field.
Result<double> number_in(const Json& value, const std::string& where, double low, double high) {
  if (!value.is_number()) return wrong(where, "expected a number");
  const double number = value.get<double>();
  if (std::isnan(number) || number < low || number > high)
    return wrong(where, fmt::format("{:g} is out of range; expected {:g} to {:g}", number, low, high));
  return number;
}

Result<double> positive_time(const Json& value, const std::string& where) {
  ORRERY_TRY(const double time, number_in(value, where, 0, kTimeMaxS));
  if (time <= 0) return wrong(where, "a time must be more than 0 s");
  return time;
}

// The fields of one JSON object, by name.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  std::string at(std::string_view key) const { return fmt::format("{}.{}", where_, key); }

  Result<const Json*> get(const char* key) const {
    if (!object_.is_object()) return wrong(where_, "expected an object");
    const auto found = object_.find(key);
    if (found == object_.end()) return wrong(at(key), "missing");
    return &*found;
  }
  Result<const Json*> list(const char* key, std::size_t items_max) const {
    ORRERY_TRY(const Json* value, get(key));
    if (!value->is_array() || value->empty()) return wrong(at(key), "expected a list with at least one entry");
    if (value->size() > items_max)
      return wrong(at(key), fmt::format("{} entries; at most {} are supported", value->size(), items_max));
    return value;
  }
  Result<double> number(const char* key, double low, double high) const {
    ORRERY_TRY(const Json* value, get(key));
    return number_in(*value, at(key), low, high);
  }
  Result<int> whole(const char* key, int low, int high) const {
    ORRERY_TRY(const double value, number(key, low, high));
    if (value != std::floor(value)) return wrong(at(key), "expected a whole number");
    return static_cast<int>(value);
  }
  Result<std::string> name(const char* key) const {
    ORRERY_TRY(const Json* value, get(key));
    if (!value->is_string()) return wrong(at(key), "expected a text");
    const auto& text = value->get_ref<const std::string&>();
    if (text.empty() || text.size() > kNameBytesMax || !is_printable(text))
      return wrong(at(key), fmt::format("expected 1 to {} printable bytes", kNameBytesMax));
    return text;
  }

 private:
  const Json& object_;
  std::string where_;
};

Result<VmType> read_vm_type(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  VmType type;
  ORRERY_TRY(type.name, fields.name("name"));
  ORRERY_TRY(type.gpu, fields.name("gpu"));
  ORRERY_TRY(type.gpus, fields.whole("gpus", 1, kVmGpusMax));
  ORRERY_TRY(type.price_usd_h, fields.number("price_usd_h", 0, kPriceMaxUsdH));
  if (object.contains("max_nodes") && !object["max_nodes"].is_null()) {
    ORRERY_TRY(type.nodes_max, fields.whole("max_nodes", 1, kNodesMax));
  }
  return type;
}

Result<std::vector<double>> read_times(const Json& list, const std::string& where) {
  if (!list.is_array() || list.empty() || list.size() > static_cast<std::size_t>(kVmGpusMax))
    return wrong(where, fmt::format("expected a list of 1 to {} times", kVmGpusMax));
  std::vector<double> times;
  for (const Json& value : list) {
    ORRERY_TRY(const double time, positive_time(value, fmt::format("{}[{}]", where, times.size())));
    times.push_back(time);
  }
  return times;
}

Result<Job> read_job(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  Job job;
  ORRERY_TRY(job.id, fields.name("id"));
  ORRERY_TRY(job.submit_s, fields.number("submit_s", -kTimeMaxS, kTimeMaxS));
  ORRERY_TRY(job.due_s, fields.number("due_s", -kTimeMaxS, kTimeMaxS));
  ORRERY_TRY(job.weight_usd_s, fields.number("weight_usd_s", 0, 1e6));
  ORRERY_TRY(const Json* times, fields.get("times_s"));
  if (!times->is_object() || times->empty())
    return wrong(fields.at("times_s"), "expected an object with the times by type of GPU");
  for (const auto& [gpu, list] : times->items()) {
    if (gpu.size() > kNameBytesMax || !is_printable(gpu))
      return wrong(fields.at("times_s"), fmt::format("type of GPU {} is not printable", quote(gpu)));
    ORRERY_TRY(job.times_s[gpu], read_times(list, fmt::format("{}.{}", fields.at("times_s"), gpu)));
  }
  return job;
}

template <class T, class Key>
Status sort_by_name(std::vector<T>& items, Key key, const std::string& where) {
  std::sort(items.begin(), items.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (key(items[i]) == key(items[i - 1])) return wrong(where, fmt::format("\"{}\" is there twice", key(items[i])));
  }
  return {};
}

Status check_usable(const Instance& instance, const Job& job, const std::string& where) {
  std::string known;
  for (const VmType& type : instance.vm_types) {
    if (time_s(job, type, 1)) return {};
    if (known.find(type.gpu) == std::string::npos) known += fmt::format("{}{}", known.empty() ? "" : ", ", type.gpu);
  }
  return Error::infeasible(fmt::format("{}: job \"{}\": times_s has none of the GPUs that can be rented ({})", where,
                                       job.id, quote(known, 200)));
}

// No sum of costs may come near the limits of the checker's whole nano-dollars.
Status check_cost(const Instance& instance, const std::string& where) {
  double longest = 0, price = 0, worst = 0;
  for (const Job& job : instance.jobs)
    for (const auto& [gpu, times] : job.times_s)
      longest = std::max(longest, *std::max_element(times.begin(), times.end()));
  for (const VmType& type : instance.vm_types) price = std::max(price, type.price_usd_h / 3600);
  const double wait = (1 + instance.wait_fraction) *
                      (instance.horizon_s + longest * static_cast<double>(instance.jobs.size()) / instance.nodes);
  for (const Job& job : instance.jobs) {
    const double late = std::max(0.0, instance.now_s + wait + longest - job.due_s);
    worst += price * (longest + instance.horizon_s) +
             job.weight_usd_s * ((1 + instance.rho) * late + instance.kappa * instance.horizon_s);
  }
  worst += price * instance.horizon_s * instance.nodes;
  if (worst <= kCostMaxUsd) return {};
  return wrong(where, fmt::format("all jobs at their worst would cost {:g} USD; expected at most {:g}: check prices, "
                                  "weights, rho and times",
                                  worst, kCostMaxUsd));
}

Result<Instance> read_fields(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  Instance instance;
  ORRERY_TRY(instance.nodes, fields.whole("nodes", 1, kNodesMax));
  ORRERY_TRY(instance.now_s, fields.number("now_s", -kTimeMaxS, kTimeMaxS));
  ORRERY_TRY(const Json* horizon, fields.get("horizon_s"));
  ORRERY_TRY(instance.horizon_s, positive_time(*horizon, fields.at("horizon_s")));
  ORRERY_TRY(instance.rho, fields.number("rho", 0, 1e6));
  ORRERY_TRY(instance.kappa, fields.number("kappa", 0, 1e6));
  ORRERY_TRY(instance.wait_fraction, fields.number("wait_fraction", 0, 1e3));
  ORRERY_TRY(const Json* types, fields.list("vm_types", kVmTypesMax));
  for (const Json& type : *types) {
    const std::string place = fmt::format("{}[{}]", fields.at("vm_types"), instance.vm_types.size());
    ORRERY_TRY(VmType read, read_vm_type(type, place));
    instance.vm_types.push_back(std::move(read));
  }
  ORRERY_TRY(const Json* jobs, fields.list("jobs", kJobsMax));
  for (const Json& job : *jobs) {
    const std::string place = fmt::format("{}[{}]", fields.at("jobs"), instance.jobs.size());
    ORRERY_TRY(Job read, read_job(job, place));
    ORRERY_TRY_VOID(check_usable(instance, read, place));
    instance.jobs.push_back(std::move(read));
  }
  ORRERY_TRY_VOID(sort_by_name(
      instance.vm_types, [](const VmType& type) { return type.name; }, fields.at("vm_types")));
  ORRERY_TRY_VOID(sort_by_name(
      instance.jobs, [](const Job& job) { return job.id; }, fields.at("jobs")));
  ORRERY_TRY_VOID(check_cost(instance, where));
  return instance;
}

}  // namespace

std::optional<double> time_s(const Job& job, const VmType& type, int gpus) {
  const auto found = job.times_s.find(type.gpu);
  if (gpus < 1 || gpus > type.gpus || found == job.times_s.end()) return std::nullopt;
  if (static_cast<std::size_t>(gpus) > found->second.size()) return std::nullopt;
  const double time = found->second[static_cast<std::size_t>(gpus) - 1];
  return std::isfinite(time) ? std::optional(time) : std::nullopt;
}

Result<Instance> read_instance(std::string_view text, const std::string& name) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return wrong(name, fmt::format("not JSON at byte {}", error.byte));
  } catch (const Json::exception&) {
    return wrong(name, "not JSON: a number is out of range");
  }
  if (!json.is_object()) return wrong(name, "expected a JSON object");
  if (json.contains("format") && json["format"] != kFormat)
    return wrong(name + ": format", fmt::format("expected \"{}\"", kFormat));
  if (!json.contains("instance")) return read_fields(json, name + ": instance");
  return read_fields(json["instance"], name + ": instance");
}

}  // namespace orrery::plan
