#pragma once
// Errors that a launcher or an agent survives. Each is reported once, because what fails now fails again at every
// attempt.

#include <set>
#include <string>

#include "base/result.h"

namespace orrery::elastic {

class Complaints {
 public:
  // The text to report; empty if it is no error, or was reported before. At most kMax errors are reported.
  std::string about(const Status& status) {
    if (status || said_.size() == kMax) return "";
    std::string text = status.error().to_string();
    return said_.insert(text).second ? text : "";
  }

 private:
  static constexpr std::size_t kMax = 64;
  std::set<std::string> said_;
};

}  // namespace orrery::elastic
