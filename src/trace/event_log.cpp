#include "trace/event_log.h"

namespace orrery::trace {

std::string_view to_string(EventCategory category) {
  switch (category) {
    case EventCategory::kOperator:
      return "cpu_op";
    case EventCategory::kAnnotation:
      return "user_annotation";
    case EventCategory::kRuntime:
      return "cuda_runtime";
    case EventCategory::kKernel:
      return "kernel";
    case EventCategory::kMemcpy:
      return "gpu_memcpy";
    case EventCategory::kMemset:
      return "gpu_memset";
    case EventCategory::kDeviceAnnotation:
      return "gpu_user_annotation";
    case EventCategory::kPython:
      return "python_function";
    case EventCategory::kOther:
      return "other";
  }
  return "other";
}

bool is_device_work(EventCategory category) {
  return category == EventCategory::kKernel || category == EventCategory::kMemcpy || category == EventCategory::kMemset;
}

std::uint32_t TextTable::find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found != ids_.end() ? found->second : kNoId;
}

std::uint32_t TextTable::intern(std::string_view text) {
  if (const std::uint32_t found = find(text); found != kNoId) return found;
  const auto id = static_cast<std::uint32_t>(texts_.size());
  ids_.emplace(texts_.emplace_back(text), id);
  bytes_ += text.size();
  return id;
}

std::uint32_t DetailTable::intern(const EventDetail& detail) {
  const auto [at, is_new] = ids_.emplace(detail, static_cast<std::uint32_t>(details_.size()));
  if (is_new) details_.push_back(detail);
  return at->second;
}

}  // namespace orrery::trace
