#include "plan/instance.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "plan/limits.h"
#include "plan/spread.h"

namespace orrery::plan {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "capacity-oracle-1";
constexpr std::size_t kNameBytesMax = 200;
constexpr double kMemoryMaxGib = 1e6;
constexpr double kWeightMaxUsdS = 1e12;

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
    ORRERY_TRY(const Json* value, list_or_empty(key, items_max));
    if (value->empty()) return wrong(at(key), "expected a list with at least one entry");
    return value;
  }
  Result<const Json*> list_or_empty(const char* key, std::size_t items_max) const {
    ORRERY_TRY(const Json* value, get(key));
    if (!value->is_array()) return wrong(at(key), "expected a list");
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
  bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }
  Result<double> number_or(const char* key, double low, double high, double otherwise) const {
    if (!has(key)) return otherwise;
    return number(key, low, high);
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

Result<SpotRules> read_spot(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  if (!object.is_object()) return wrong(where, "expected an object");
  SpotRules rules;
  ORRERY_TRY(rules.interruptions_per_h,
             fields.number_or("interruptions_per_h", 0, 1e3, SpotRules().interruptions_per_h));
  const auto seconds = [&](const char* key, double low, Seconds& value) -> Status {
    ORRERY_TRY(const double read, fields.number_or(key, low, kTimeMaxS, value.value()));
    value = Seconds(read);
    return {};
  };
  ORRERY_TRY_VOID(seconds("save_every_s", 1, rules.save_every));
  ORRERY_TRY_VOID(seconds("save_s", 0, rules.save));
  ORRERY_TRY_VOID(seconds("restart_s", 0, rules.restart));
  return rules;
}

Result<VmType> read_vm_type(const Json& object, const std::string& where) {
  const Fields fields(object, where);
  VmType type;
  ORRERY_TRY(type.name, fields.name("name"));
  ORRERY_TRY(type.gpu, fields.name("gpu"));
  ORRERY_TRY(type.gpus, fields.whole("gpus", 1, kVmGpusMax));
  ORRERY_TRY(type.price_usd_h, fields.number("price_usd_h", 0, kPriceMaxUsdH));
  if (object.contains("max_nodes") && !object["max_nodes"].is_null()) {
    ORRERY_TRY(type.nodes_max, fields.whole("max_nodes", 0, kNodesMax));
  }
  ORRERY_TRY(type.memory_gib, fields.number_or("memory_gib", 0, kMemoryMaxGib, type.memory_gib));
  if (fields.has("spot")) {
    ORRERY_TRY(type.spot, read_spot(object["spot"], fields.at("spot")));
  }
  return type;
}

Result<std::vector<double>> read_times(const Json& list, const std::string& where, int times_max) {
  if (!list.is_array() || list.empty() || list.size() > static_cast<std::size_t>(times_max))
    return wrong(where, fmt::format("expected a list of 1 to {} times", times_max));
  std::vector<double> times;
  for (const Json& value : list) {
    ORRERY_TRY(const double time, positive_time(value, fmt::format("{}[{}]", where, times.size())));
    times.push_back(time);
  }
  return times;
}

// One number for any number of GPUs, or a list by it.
Result<std::vector<double>> read_memory(const Json& value, const std::string& where) {
  if (!value.is_array()) {
    ORRERY_TRY(const double gib, number_in(value, where, 0, kMemoryMaxGib));
    return std::vector<double>{gib};
  }
  if (value.empty() || value.size() > static_cast<std::size_t>(kVmGpusMax))
    return wrong(where, fmt::format("expected a number, or a list of 1 to {}", kVmGpusMax));
  std::vector<double> memory;
  for (const Json& one : value) {
    ORRERY_TRY(const double gib, number_in(one, fmt::format("{}[{}]", where, memory.size()), 0, kMemoryMaxGib));
    memory.push_back(gib);
  }
  return memory;
}

// The place of the named VM type in the list.
Result<std::size_t> find_vm(const std::vector<VmType>& types, const std::string& name, const std::string& where) {
  for (std::size_t vm = 0; vm < types.size(); ++vm)
    if (types[vm].name == name) return vm;
  std::vector<std::string> names;
  for (const VmType& type : types) names.push_back(type.name);
  return wrong(where, fmt::format("no VM type {}{}", quote(name), did_you_mean(name, names)));
}

// Where the job runs now. Precondition: VM types are sorted.
Status read_running(const Json& object, const std::vector<VmType>& types, const std::string& where, Job& job) {
  const Fields fields(object, where);
  ORRERY_TRY(const std::string name, fields.name("vm"));
  ORRERY_TRY(const std::size_t vm, find_vm(types, name, fields.at("vm")));
  ORRERY_TRY(const int gpus, fields.whole("gpus", 1, types[vm].gpus));
  if (!time_s(job, types[vm], gpus))
    return wrong(where, fmt::format("the job has no time on {} GPUs of type {}, or lacks memory", gpus, types[vm].gpu));
  job.held = {vm, gpus};
  if (!fields.has("pinned_on")) return {};
  ORRERY_TRY(job.pinned_on, fields.name("pinned_on"));
  return {};
}

// Times on one machine, by type of GPU.
Status read_one_machine(const Fields& fields, Job& job) {
  ORRERY_TRY(const Json* times, fields.get("times_s"));
  if (!times->is_object() || times->empty())
    return wrong(fields.at("times_s"), "expected an object with the times by type of GPU");
  for (const auto& [gpu, list] : times->items()) {
    if (gpu.size() > kNameBytesMax || !is_printable(gpu))
      return wrong(fields.at("times_s"), fmt::format("type of GPU {} is not printable", quote(gpu)));
    ORRERY_TRY(job.times_s[gpu], read_times(list, fmt::format("{}.{}", fields.at("times_s"), gpu), kVmGpusMax));
  }
  return {};
}

// Times on 2, 3, … whole machines, by VM type.
Status read_machines(const Json& object, const std::vector<VmType>& types, const std::string& where, Job& job) {
  if (!object.is_object() || object.empty())
    return wrong(where, "expected an object with the times on 2, 3, … machines by VM type");
  for (const auto& [name, list] : object.items()) {
    ORRERY_TRY_VOID(find_vm(types, name, where));
    ORRERY_TRY(job.machines_s[name], read_times(list, fmt::format("{}.{}", where, name), kSpreadMachinesMax - 1));
  }
  return {};
}

Result<Job> read_job(const Json& object, const std::vector<VmType>& types, const std::string& where) {
  const Fields fields(object, where);
  Job job;
  ORRERY_TRY(job.id, fields.name("id"));
  ORRERY_TRY(job.submit_s, fields.number("submit_s", -kTimeMaxS, kTimeMaxS));
  ORRERY_TRY(job.due_s, fields.number("due_s", -kTimeMaxS, kTimeMaxS));
  ORRERY_TRY(job.weight_usd_s, fields.number("weight_usd_s", 0, kWeightMaxUsdS));
  if (fields.has("machines_s"))
    ORRERY_TRY_VOID(read_machines(object["machines_s"], types, fields.at("machines_s"), job));
  if (fields.has("times_s") || job.machines_s.empty()) ORRERY_TRY_VOID(read_one_machine(fields, job));
  if (fields.has("memory_gib")) {
    ORRERY_TRY(job.memory_gib, read_memory(object["memory_gib"], fields.at("memory_gib")));
  }
  ORRERY_TRY(job.switch_s, fields.number_or("switch_s", 0, kTimeMaxS, 0));
  if (fields.has("running")) ORRERY_TRY_VOID(read_running(object["running"], types, fields.at("running"), job));
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

// What keeps a job from every VM type: none has its GPUs, or what the nearest one lacks.
Status check_usable(const Instance& instance, const Job& job, const std::string& where) {
  std::set<std::string> known;
  double lacking = std::numeric_limits<double>::infinity();
  const VmType* nearest = nullptr;
  for (const VmType& type : instance.vm_types) {
    known.insert(type.gpu);
    const int most = std::min({instance.nodes, type.nodes_max, kSpreadMachinesMax});
    for (int machines = 2; machines <= most; ++machines)
      if (spread_s(job, type, machines)) return {};
    for (int gpus = 1; gpus <= type.gpus; ++gpus) {
      if (time_s(job, type, gpus)) return {};
      const double lacks = memory_gib(job, gpus) - type.memory_gib;
      if (!job.times_s.contains(type.gpu) || lacks <= 0 || lacks >= lacking) continue;
      lacking = lacks;
      nearest = &type;
    }
  }
  if (nearest != nullptr)
    return Error::infeasible(
        fmt::format("{}: job \"{}\": memory_gib: no VM type has enough; nearest is {}, whose GPUs "
                    "lack {:g} GiB",
                    where, job.id, nearest->name, lacking));
  for (const auto& [gpu, times] : job.times_s)
    if (known.contains(gpu))
      return Error::infeasible(
          fmt::format("{}: job \"{}\": it would hardly ever end on spot machines, and others have no {}", where, job.id,
                      quote(gpu)));
  return Error::infeasible(fmt::format("{}: job \"{}\": times_s has none of the GPUs that can be rented ({})", where,
                                       job.id, quote(fmt::format("{}", fmt::join(known, ", ")), 200)));
}

// Sums of costs beyond that have lost the price of a machine.
Status check_cost(const Instance& instance, const std::string& where) {
  double longest = 0, price = 0, worst = 0;
  for (const Job& job : instance.jobs)
    for (const VmType& type : instance.vm_types)
      for (int gpus = 1; gpus <= type.gpus; ++gpus)
        longest = std::max(longest, time_s(job, type, gpus).value_or(0) + job.switch_s);
  int machines = 1;
  for (const Spread& one : spreads_of(instance)) {
    longest = std::max(longest, one.time_s);
    machines = std::max(machines, one.machines);
  }
  for (const VmType& type : instance.vm_types) price = std::max(price, type.price_usd_h / 3600);
  const double wait = (1 + instance.wait_fraction) *
                      (instance.horizon_s + longest * static_cast<double>(instance.jobs.size()) / instance.nodes);
  for (const Job& job : instance.jobs) {
    const double late = std::max(0.0, instance.now_s + wait + longest - job.due_s);
    worst += price * machines * (longest + instance.horizon_s) +
             job.weight_usd_s * ((1 + instance.rho) * late + instance.kappa * instance.horizon_s);
  }
  worst += price * instance.horizon_s * instance.nodes;
  if (worst <= kCostMaxUsd) return {};
  return wrong(where, fmt::format("all jobs at their worst would cost {:g} USD; expected at most {:g}: check prices, "
                                  "weights, rho and times",
                                  worst, kCostMaxUsd));
}

Result<Quota> read_quota(const Json& object, const std::vector<VmType>& types, const std::string& where) {
  const Fields fields(object, where);
  Quota quota;
  ORRERY_TRY(quota.name, fields.name("name"));
  ORRERY_TRY(quota.gpus_max, fields.whole("max_gpus", 0, kNodesMax * kVmGpusMax));
  ORRERY_TRY(const Json* names, fields.list("vm_types", kVmTypesMax));
  for (const Json& name : *names) {
    const std::string place = fmt::format("{}[{}]", fields.at("vm_types"), quota.vms.size());
    if (!name.is_string()) return wrong(place, "expected the name of a VM type");
    ORRERY_TRY(const std::size_t vm, find_vm(types, name.get<std::string>(), place));
    if (std::find(quota.vms.begin(), quota.vms.end(), vm) != quota.vms.end()) return wrong(place, "is there twice");
    quota.vms.push_back(vm);
  }
  return quota;
}

Status read_limits(const Fields& fields, Instance& instance) {
  ORRERY_TRY(instance.budget_usd, fields.number_or("budget_usd", 0, kCostMaxUsd, instance.budget_usd));
  if (!fields.has("quotas")) return {};
  ORRERY_TRY(const Json* quotas, fields.list("quotas", kQuotasMax));
  for (const Json& quota : *quotas) {
    const std::string place = fmt::format("{}[{}]", fields.at("quotas"), instance.quotas.size());
    ORRERY_TRY(Quota read, read_quota(quota, instance.vm_types, place));
    instance.quotas.push_back(std::move(read));
  }
  return {};
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
  ORRERY_TRY_VOID(sort_by_name(
      instance.vm_types, [](const VmType& type) { return type.name; }, fields.at("vm_types")));
  ORRERY_TRY(const Json* jobs, fields.list_or_empty("jobs", kJobsMax));
  for (const Json& job : *jobs) {
    const std::string place = fmt::format("{}[{}]", fields.at("jobs"), instance.jobs.size());
    ORRERY_TRY(Job read, read_job(job, instance.vm_types, place));
    ORRERY_TRY_VOID(check_usable(instance, read, place));
    instance.jobs.push_back(std::move(read));
  }
  ORRERY_TRY_VOID(sort_by_name(
      instance.jobs, [](const Job& job) { return job.id; }, fields.at("jobs")));
  ORRERY_TRY_VOID(read_limits(fields, instance));
  ORRERY_TRY_VOID(check_cost(instance, where));
  const auto pinned = check_pinned(instance);
  if (!pinned) return Error(pinned.error()).with_context(where);
  return instance;
}

}  // namespace

std::optional<double> time_s(const Job& job, const VmType& type, int gpus) {
  const auto found = job.times_s.find(type.gpu);
  if (gpus < 1 || gpus > type.gpus || found == job.times_s.end()) return std::nullopt;
  if (static_cast<std::size_t>(gpus) > found->second.size()) return std::nullopt;
  if (memory_gib(job, gpus) > type.memory_gib) return std::nullopt;
  double time = found->second[static_cast<std::size_t>(gpus) - 1];
  if (type.spot && std::isfinite(time)) time = spot_time(Seconds(time), 1, *type.spot).time.value();
  return time <= kTimeMaxS ? std::optional(time) : std::nullopt;
}

double memory_gib(const Job& job, int gpus) {
  if (job.memory_gib.empty()) return 0;
  return job.memory_gib[std::min(job.memory_gib.size(), static_cast<std::size_t>(gpus)) - 1];
}

std::optional<double> run_s(const Instance& instance, const Job& job, std::size_t vm, int gpus) {
  const auto time = time_s(job, instance.vm_types[vm], gpus);
  if (!time || job.switch_s == 0 || job.held == std::pair(vm, gpus)) return time;
  return *time + job.switch_s;
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
