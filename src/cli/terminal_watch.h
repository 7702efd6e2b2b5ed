#pragma once
// A long operation, watched on standard error.

#include <optional>

#include "cli/command.h"
#include "service/watch.h"

namespace orrery::cli {

class TerminalWatch : public service::Watch {
 public:
  explicit TerminalWatch(env::Env environment) : env_(environment) {}

  void begin(const std::string& activity, std::int64_t total, const std::string& unit) override;
  void at(std::int64_t done, std::int64_t earlier) override;
  void finish() override;
  void note(const std::string& line) override;
  // From the first call on an interrupt is a request to stop.
  bool stopped() override;

 private:
  env::Env env_;
  std::optional<Progress> progress_;
};

}  // namespace orrery::cli
