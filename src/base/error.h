#pragma once
// What went wrong, in words on which a user can act.
//
// An Error states what was wrong, where, what was expected and what to do. Callers add context as it travels up:
// the chain reads from the outermost activity to the cause.

#include <string>
#include <string_view>
#include <vector>

namespace orrery {

enum class ErrorCode {
  kInvalidArgument,  // the input is wrong; the same call will fail again
  kNotFound,         // a named thing does not exist
  kUnsupported,      // understood, but not something this build can do
  kInfeasible,       // correct input without a solution (does not fit, no such placement)
  kIo,               // the operating system refused
  kUnavailable,      // try again later
  kInternal,         // a defect of ours
};

std::string_view to_string(ErrorCode code);

class Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }
  static Error not_found(std::string message) { return {ErrorCode::kNotFound, std::move(message)}; }
  static Error unsupported(std::string message) { return {ErrorCode::kUnsupported, std::move(message)}; }
  static Error infeasible(std::string message) { return {ErrorCode::kInfeasible, std::move(message)}; }
  static Error io(std::string message) { return {ErrorCode::kIo, std::move(message)}; }
  static Error unavailable(std::string message) { return {ErrorCode::kUnavailable, std::move(message)}; }
  static Error internal(std::string message) { return {ErrorCode::kInternal, std::move(message)}; }

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // Returns this error with `activity` ("reading jobs.yaml") put in front of the chain.
  Error with_context(std::string activity) &&;

  // "activity: inner activity: message".
  std::string to_string() const;

 private:
  ErrorCode code_;
  std::string message_;
  std::vector<std::string> context_;  // innermost first
};

}  // namespace orrery
