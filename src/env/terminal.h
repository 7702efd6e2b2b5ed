#pragma once
// What the program knows about its terminal and the variables it was started with.

#include <optional>
#include <string>
#include <string_view>

namespace orrery::env {

class Terminal {
 public:
  virtual ~Terminal() = default;

  // Whether a person is looking at standard output.
  virtual bool is_terminal() const = 0;
  // Columns; 80 if it is not known.
  virtual int width() const = 0;
  // Whether a person is looking at standard error, where progress goes.
  virtual bool shows_errors() const = 0;
  // Writes to standard error at once.
  virtual void write_error(std::string_view text) = 0;
  // Whether the interrupt key was pressed or the program was asked to end since the first call, which begins to watch:
  // from then on the first such request no longer ends the program, a second one does.
  virtual bool was_interrupted() { return false; }
};

class Variables {
 public:
  virtual ~Variables() = default;

  // The value of an environment variable; empty optional if it is not set.
  virtual std::optional<std::string> get(const std::string& name) const = 0;
};

}  // namespace orrery::env
