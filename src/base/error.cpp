#include "base/error.h"

namespace orrery {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kInfeasible:
      return "infeasible";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

Error Error::with_context(std::string activity) && {
  context_.push_back(std::move(activity));
  return std::move(*this);
}

std::string Error::to_string() const {
  std::string text;
  for (auto it = context_.rbegin(); it != context_.rend(); ++it) {
    text += *it;
    text += ": ";
  }
  return text + message_;
}

}  // namespace orrery
