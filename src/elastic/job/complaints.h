#pragma once
// Errors that a launcher or an agent endures. Each is said once: what fails now fails again at every look.

#include <set>
#include <string>

#include "base/result.h"

namespace orrery::elastic {

class Complaints {
 public:
  // What to say about it; empty if it is no error, or was said before. At most kMax are said.
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
