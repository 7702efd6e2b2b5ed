#include "base/field_names.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/yaml.h"

namespace orrery {

std::string key_of(std::string_view option) {
  std::string key(option);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

FieldNames FieldNames::of_words() {
  FieldNames names;
  names.are_words_ = true;
  return names;
}

FieldNames FieldNames::of_yaml(YamlPlaces places) {
  FieldNames names;
  names.places_ = std::make_shared<const YamlPlaces>(std::move(places));
  return names;
}

std::string FieldNames::operator()(std::string_view option) const {
  return are_words_ ? fmt::format("--{}", option) : key_of(option);
}

Error FieldNames::error(std::string_view option, std::string_view message) const {
  if (places_ != nullptr) return places_->error(key_of(option), message);
  return Error::invalid(fmt::format("{}: {}", (*this)(option), message));
}

Error FieldNames::error(std::string_view option, const Error& cause) const {
  return {cause.code(), error(option, cause.to_string()).message()};
}

}  // namespace orrery
