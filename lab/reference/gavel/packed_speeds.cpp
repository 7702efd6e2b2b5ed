#include "lab/reference/gavel/packed_speeds.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace orrery::lab {

Result<PackedSpeeds> PackedSpeeds::parse(std::string_view json, const std::vector<std::string>& types) {
  const auto root = nlohmann::json::parse(json, nullptr, false);
  if (!root.is_object()) return Error::invalid("speeds: expected JSON with an object for each type of GPU");
  PackedSpeeds table;
  const std::vector<double> none(types.size(), 0);
  for (std::size_t k = 0; k < types.size(); ++k) {
    const auto type = root.find(types[k]);
    if (type == root.end() || !type->is_object()) {
      return Error::not_found(fmt::format("speeds: no type {}", quote(types[k])));
    }
    for (const auto& entry : type->items()) {
      if (!entry.value().is_object()) continue;
      const Kind kind = table.kinds_.try_emplace(entry.key(), static_cast<Kind>(table.kinds_.size())).first->second;
      table.alone_.resize(table.kinds_.size(), none);
      table.alone_[static_cast<std::size_t>(kind)][k] = entry.value().value("null", 0.0);
    }
    for (const auto& entry : type->items()) {
      if (!entry.value().is_object()) continue;
      for (const auto& other : entry.value().items()) {
        const auto second = table.kinds_.find(other.key());
        const auto& speeds = other.value();
        if (second == table.kinds_.end() || !speeds.is_array() || speeds.size() != 2) continue;
        if (!speeds[0].is_number() || !speeds[1].is_number()) continue;
        auto& pair = table.pairs_.try_emplace({table.kinds_.find(entry.key())->second, second->second}, none, none)
                         .first->second;
        pair.first[k] = speeds[0].get<double>();
        pair.second[k] = speeds[1].get<double>();
      }
    }
  }
  return table;
}

PackedSpeeds::Kind PackedSpeeds::kind(std::string_view model, int gpus) const {
  const auto found = kinds_.find(fmt::format("('{}', {})", model, gpus));
  return found == kinds_.end() ? -1 : found->second;
}

std::vector<double> PackedSpeeds::packed(Kind first, Kind second) const {
  if (const auto found = pairs_.find({first, second}); found != pairs_.end()) return found->second.first;
  if (const auto found = pairs_.find({second, first}); found != pairs_.end()) return found->second.second;
  return std::vector<double>(alone_[static_cast<std::size_t>(first)].size(), 0);
}

}  // namespace orrery::lab
