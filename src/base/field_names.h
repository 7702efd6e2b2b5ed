#pragma once
// How the source of a request spells its fields, so that an error names a field as its author wrote it: --dataset-size
// on a command line, dataset_size in YAML and JSON.

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace orrery {

class YamlPlaces;

// The key of an option in YAML and JSON: "dataset_size" of "dataset-size".
std::string key_of(std::string_view option);

class FieldNames {
 public:
  FieldNames() = default;  // of JSON
  static FieldNames of_words();
  // Errors state the file and line of the field.
  static FieldNames of_yaml(YamlPlaces places);

  // The name of an option: "--steps", "steps".
  std::string operator()(std::string_view option) const;
  // "--steps: message", "job.yaml:12: steps: message", "steps: message".
  Error error(std::string_view option, std::string_view message) const;
  // The same of an error that does not name the field; its code stays.
  Error error(std::string_view option, const Error& cause) const;

  // Always equal: where a request came from is no part of what it asks.
  friend bool operator==(const FieldNames&, const FieldNames&) { return true; }

 private:
  bool are_words_ = false;
  std::shared_ptr<const YamlPlaces> places_;
};

}  // namespace orrery
