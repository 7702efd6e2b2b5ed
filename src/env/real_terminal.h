#pragma once
// Standard output and the environment of this process. Stateless but for the watch for interrupts, which is the
// process's; thread-safe as long as no thread calls setenv.

#include "env/terminal.h"

namespace orrery::env {

class RealTerminal final : public Terminal {
 public:
  bool is_terminal() const override;
  int width() const override;
  bool shows_errors() const override;
  void write_error(std::string_view text) override;
  bool was_interrupted() override;
};

class RealVariables final : public Variables {
 public:
  std::optional<std::string> get(const std::string& name) const override;
};

}  // namespace orrery::env
