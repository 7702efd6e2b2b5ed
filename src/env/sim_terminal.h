#pragma once
// A terminal and variables that the test sets.

#include <map>

#include "env/terminal.h"

namespace orrery::env {

class SimTerminal final : public Terminal {
 public:
  bool is_terminal() const override { return is_terminal_; }
  int width() const override { return width_; }
  bool shows_errors() const override { return is_terminal_; }
  void write_error(std::string_view text) override { errors_ += text; }
  const std::string& errors() const { return errors_; }
  // The interrupt key comes after it has been asked for this often.
  void interrupt_after(int questions) { questions_left_ = questions; }
  bool was_interrupted() override { return questions_left_ >= 0 && questions_left_-- <= 0; }
  void set(bool is_terminal, int width) {
    is_terminal_ = is_terminal;
    width_ = width;
  }

 private:
  bool is_terminal_ = false;
  int width_ = 80;
  std::string errors_;
  int questions_left_ = -1;  // below 0: it never comes
};

class SimVariables final : public Variables {
 public:
  std::optional<std::string> get(const std::string& name) const override {
    const auto found = values_.find(name);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }
  void set(std::string name, std::string value) { values_[std::move(name)] = std::move(value); }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace orrery::env
