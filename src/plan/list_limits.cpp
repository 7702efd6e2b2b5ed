#include "plan/list_limits.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/options.h"
#include "base/text.h"

namespace orrery::plan {

namespace {

constexpr Seconds kTimeFieldMax{1e8};
constexpr std::size_t kMatchesMax = 100;

bool is_match(const std::string& text) {
  return !text.empty() && text.size() <= kMatchBytesMax && is_printable(text);
}

// One text, or a list of them.
Result<std::vector<std::string>> match_of(YamlFields& fields) {
  const YamlValue* value = fields.any("match");
  std::vector<std::string> patterns;
  if (value != nullptr && value->kind == YamlValue::Kind::kScalar) patterns.push_back(value->scalar);
  if (value != nullptr && value->kind == YamlValue::Kind::kList)
    for (const YamlValue& item : value->items) patterns.push_back(item.scalar);
  if (patterns.empty() || patterns.size() > kMatchesMax || !std::all_of(patterns.begin(), patterns.end(), is_match))
    return fields.error(
        "match",
        fmt::format("expected part of the name of a VM type or its GPU, or a list of at most {}", kMatchesMax));
  return patterns;
}

Result<ListedQuota> read_quota(const YamlValue& value, const YamlFields& limits, std::size_t index) {
  ORRERY_TRY(YamlFields fields,
             YamlFields::of(value, limits.file(), fmt::format("{}[{}]", limits.path("quotas"), index)));
  ListedQuota quota;
  quota.line = value.line;
  ORRERY_TRY(const auto name, fields.text("name"));
  ORRERY_TRY(quota.match, match_of(fields));
  ORRERY_TRY(const auto gpus, fields.integer("max_gpus", 0, kNodesMax * kVmGpusMax));
  ORRERY_TRY_VOID(fields.check_unknown());
  if (!gpus) return fields.error("max_gpus", "missing; expected how many GPUs may be rented together");
  quota.name = name.value_or(quota.match[0]);
  if (!is_match(quota.name)) return fields.error("name", "expected a short printable text");
  quota.gpus_max = *gpus;
  return quota;
}

Result<ListedCap> read_cap(const YamlValue& value, const YamlFields& limits, std::size_t index) {
  ORRERY_TRY(YamlFields fields,
             YamlFields::of(value, limits.file(), fmt::format("{}[{}]", limits.path("vm_types"), index)));
  ListedCap cap;
  cap.line = value.line;
  ORRERY_TRY(cap.match, match_of(fields));
  ORRERY_TRY(const auto nodes, fields.integer("max_nodes", 0, kNodesMax));
  ORRERY_TRY_VOID(fields.check_unknown());
  if (!nodes) return fields.error("max_nodes", "missing; expected how many may be rented at once");
  cap.nodes_max = *nodes;
  return cap;
}

// One number, or 24 by the hour of the day.
Status read_hours(YamlFields& fields, const char* key, double high, std::vector<double>& values) {
  const YamlValue* value = fields.any(key);
  if (value == nullptr) return {};
  if (value->kind != YamlValue::Kind::kList) {
    ORRERY_TRY(const auto number, fields.number(key, 0, high));
    values = {*number};
    return {};
  }
  values.clear();
  for (const YamlValue& item : value->items) {
    const auto number = parse_number(item.scalar);
    if (!number || *number < 0 || *number > high) break;
    values.push_back(*number);
  }
  if (values.size() == 24 && value->items.size() == 24) return {};
  return fields.error(key, fmt::format("expected a number from 0 to {:g}, or 24 of them by the hour of the day", high));
}

}  // namespace

Result<std::optional<Seconds>> time_field(YamlFields& fields, std::string_view key) {
  ORRERY_TRY(const auto text, fields.text(key));
  if (!text) return std::optional<Seconds>();
  const auto time = parse_duration(*text);
  if (!time || *time < Seconds() || *time > kTimeFieldMax)
    return fields.error(key, fmt::format("{} is no time from the start; expected 90s, 30m, 12h or 1.5d, at most {}",
                                         quote(*text), duration_text(kTimeFieldMax)));
  return time;
}

Result<ListLimits> read_limits(YamlFields& list) {
  ListLimits limits;
  const YamlValue* value = list.any("limits");
  if (value == nullptr) return limits;
  ORRERY_TRY(YamlFields fields, YamlFields::of(*value, list.file(), "limits"));
  ORRERY_TRY(const auto usd, fields.number("budget_usd", 0, kBudgetMax));
  ORRERY_TRY(const auto kg, fields.number("budget_kgco2", 0, kBudgetMax));
  ORRERY_TRY(const YamlValue* quotas, fields.list("quotas"));
  ORRERY_TRY(const YamlValue* caps, fields.list("vm_types"));
  ORRERY_TRY_VOID(fields.check_unknown());
  limits.budget_usd = usd.value_or(limits.budget_usd);
  limits.budget_kgco2 = kg.value_or(limits.budget_kgco2);
  for (std::size_t i = 0; quotas != nullptr && i < quotas->items.size(); ++i) {
    if (i == kQuotasMax) return fields.error("quotas", fmt::format("more than {}", kQuotasMax));
    ORRERY_TRY(ListedQuota quota, read_quota(quotas->items[i], fields, i));
    limits.quotas.push_back(std::move(quota));
  }
  for (std::size_t i = 0; caps != nullptr && i < caps->items.size(); ++i) {
    if (i == kQuotasMax) return fields.error("vm_types", fmt::format("more than {}", kQuotasMax));
    ORRERY_TRY(ListedCap cap, read_cap(caps->items[i], fields, i));
    limits.caps.push_back(std::move(cap));
  }
  return limits;
}

Result<horizon::EnergyFacts> read_energy(YamlFields& list) {
  horizon::EnergyFacts facts;
  const YamlValue* value = list.any("energy");
  if (value == nullptr) return facts;
  ORRERY_TRY(YamlFields fields, YamlFields::of(*value, list.file(), "energy"));
  ORRERY_TRY_VOID(read_hours(fields, "usd_per_kwh", 100, facts.usd_per_kwh));
  ORRERY_TRY_VOID(read_hours(fields, "gco2_per_kwh", 1e4, facts.gco2_per_kwh));
  ORRERY_TRY(const auto ton, fields.number("usd_per_tco2", 0, 1e5));
  ORRERY_TRY(const auto overhead, fields.number("overhead", 1, 10));
  ORRERY_TRY(const auto idle, fields.number("idle_share", 0, 1));
  ORRERY_TRY(const auto hour, fields.number("start_hour", 0, 24));
  ORRERY_TRY_VOID(fields.check_unknown());
  facts.usd_per_tco2 = ton.value_or(facts.usd_per_tco2);
  facts.overhead = overhead.value_or(facts.overhead);
  facts.idle_share = idle.value_or(facts.idle_share);
  facts.start_hour = hour.value_or(facts.start_hour);
  return facts;
}

Result<std::optional<SpotRules>> read_spot(YamlFields& list) {
  const YamlValue* value = list.any("spot");
  if (value == nullptr) return std::optional<SpotRules>();
  ORRERY_TRY(YamlFields fields, YamlFields::of(*value, list.file(), "spot"));
  SpotRules rules;
  ORRERY_TRY(const auto rate, fields.number("interruptions_per_h", 0, 1e3));
  ORRERY_TRY(const auto every, time_field(fields, "save_every"));
  ORRERY_TRY(const auto save, time_field(fields, "save"));
  ORRERY_TRY(const auto restart, time_field(fields, "restart"));
  ORRERY_TRY_VOID(fields.check_unknown());
  if (every && *every < Seconds(1)) return fields.error("save_every", "expected at least 1s");
  rules.interruptions_per_h = rate.value_or(rules.interruptions_per_h);
  rules.save_every = every.value_or(rules.save_every);
  rules.save = save.value_or(rules.save);
  rules.restart = restart.value_or(rules.restart);
  return std::optional(rules);
}

bool matches(const VmType& type, const std::vector<std::string>& patterns) {
  const std::string name = to_lower(type.name), gpu = to_lower(type.gpu);
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    const std::string part = to_lower(pattern);
    return name.find(part) != std::string::npos || gpu.find(part) != std::string::npos;
  });
}

Status apply_limits(const ListLimits& limits, const std::string& file, std::vector<VmType>& types) {
  const auto none = [&](std::size_t line, const std::vector<std::string>& match) {
    return Error::invalid(
        fmt::format("{}:{}: match: no VM type that can be rented has {} in its name or that of its GPU", file, line,
                    quote(fmt::format("{}", fmt::join(match, ", ")))));
  };
  for (const ListedCap& cap : limits.caps) {
    bool found = false;
    for (VmType& type : types) {
      if (!matches(type, cap.match)) continue;
      found = true;
      type.nodes_max = std::min(type.nodes_max, cap.nodes_max);
    }
    if (!found) return none(cap.line, cap.match);
  }
  for (const ListedQuota& quota : limits.quotas) {
    bool found = false;
    for (VmType& type : types) {
      if (!matches(type, quota.match)) continue;
      found = true;
      type.nodes_max = std::min(type.nodes_max, quota.gpus_max / type.gpus);
    }
    if (!found) return none(quota.line, quota.match);
  }
  return {};
}

std::vector<Quota> quotas_on(const ListLimits& limits, const std::vector<VmType>& types) {
  std::vector<Quota> quotas;
  for (const ListedQuota& listed : limits.quotas) {
    Quota quota{listed.name, {}, listed.gpus_max};
    for (std::size_t vm = 0; vm < types.size(); ++vm)
      if (matches(types[vm], listed.match)) quota.vms.push_back(vm);
    if (!quota.vms.empty()) quotas.push_back(std::move(quota));
  }
  return quotas;
}

}  // namespace orrery::plan
