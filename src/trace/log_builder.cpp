#include "trace/log_builder.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace orrery::trace {

namespace {

// An event further than this from the middle of the trace was stamped by a clock that jumped.
constexpr std::int64_t kFarNs = 24 * 3600 * 1'000'000'000LL;
constexpr std::size_t kSampledStarts = 100'000;

bool is_wrapper(std::string_view name) {
  return name.starts_with("ProfilerStep#") || name.starts_with("Optimizer.") ||
         name.starts_with("enumerate(DataLoader)");
}

// The beginning of a text, cut between characters, without anything a terminal would act on.
std::string printable(std::string_view text, std::size_t bytes_max) {
  std::size_t length = std::min(text.size(), bytes_max);
  while (length < text.size() && length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  std::string result(text.substr(0, length));
  if (is_printable(result)) return result;
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F) c = '?';
  }
  return result;
}

std::int64_t median_start(const std::deque<Event>& events) {
  std::vector<std::int64_t> starts;
  const std::size_t step = events.size() / kSampledStarts + 1;
  for (std::size_t i = 0; i < events.size(); i += step) starts.push_back(events[i].start_ns);
  const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
  std::nth_element(starts.begin(), middle, starts.end());
  return *middle;
}

}  // namespace

EventCategory category_of(std::string_view category, std::string_view name) {
  if (category == "kernel" || category == "Kernel") return EventCategory::kKernel;
  if (category == "gpu_memcpy" || category == "Memcpy") return EventCategory::kMemcpy;
  if (category == "gpu_memset" || category == "Memset") return EventCategory::kMemset;
  if (category == "cuda_runtime" || category == "Runtime" || category == "cuda_driver") return EventCategory::kRuntime;
  if (category == "gpu_user_annotation") return EventCategory::kDeviceAnnotation;
  if (category == "python_function") return EventCategory::kPython;
  if (category == "user_annotation") return EventCategory::kAnnotation;
  const bool from_operators = category == "cpu_op" || category == "Operator" || category.empty();
  if (!from_operators) return EventCategory::kOther;
  return is_wrapper(name) ? EventCategory::kAnnotation : EventCategory::kOperator;
}

void LogBuilder::warn(std::string_view what, std::uint64_t offset, std::uint64_t count) {
  for (TraceWarning& warning : log_.warnings) {
    if (warning.what != what) continue;
    warning.count += count;
    return;
  }
  log_.warnings.push_back({std::string(what), count, offset});
}

void LogBuilder::set_device(const std::string& name) {
  if (log_.device.empty()) log_.device = printable(name, 200);
}

Result<std::uint32_t> LogBuilder::track_of(const ChromeEvent& event) {
  if (!log_.tracks.empty() && event.process == last_process_ && event.thread == last_thread_) return last_track_;
  ORRERY_TRY(last_track_, find_track(event));
  last_process_ = event.process;
  last_thread_ = event.thread;
  return last_track_;
}

Result<std::uint32_t> LogBuilder::find_track(const ChromeEvent& event) {
  scratch_.assign(event.process);
  scratch_ += '\0';
  scratch_ += event.thread;
  if (const auto found = tracks_.find(scratch_); found != tracks_.end()) return found->second;
  if (log_.tracks.size() >= options_.tracks_max) {
    return Error::invalid(fmt::format("more than {} threads", options_.tracks_max));
  }
  const auto id = static_cast<std::uint32_t>(log_.tracks.size());
  tracks_.emplace(scratch_, id);
  log_.tracks.push_back({printable(event.process, 200), printable(event.thread, 200), "", -1});
  return id;
}

std::uint32_t LogBuilder::id_of(std::int64_t number, std::uint64_t offset) {
  if (number < 0) return kNoId;
  if (number < kNoId) return static_cast<std::uint32_t>(number);
  warn("ids beyond 32 bits were left out", offset);
  return kNoId;
}

std::uint32_t LogBuilder::name_of(std::string_view name, std::uint64_t offset) {
  if (const std::uint32_t known = log_.names.find(name); known != kNoId) return known;
  if (name.size() > options_.name_bytes_max) {
    warn("names were cut", offset);
    return log_.names.intern(printable(name, options_.name_bytes_max));
  }
  return is_printable(name) ? log_.names.intern(name) : log_.names.intern(printable(name, name.size()));
}

// Only lists of whole numbers are shapes; spaces are left out so that the same shapes are the same text.
std::uint32_t LogBuilder::shapes_of(std::string_view json) {
  scratch_.clear();
  for (const char c : json) {
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
    if ((c < '0' || c > '9') && c != '[' && c != ']' && c != ',' && c != '-') return 0;
    scratch_ += c;
  }
  const bool has_digits = scratch_.find_first_of("0123456789") != std::string::npos;
  if (!has_digits || scratch_.size() > options_.name_bytes_max) return 0;
  const bool is_known = log_.shapes.find(scratch_) != kNoId;
  return is_known || nlohmann::json::accept(scratch_) ? log_.shapes.intern(scratch_) : 0;
}

Status LogBuilder::append(const ChromeEvent& event, std::uint64_t offset) {
  if (log_.events.size() >= options_.events_max) {
    return Error::invalid(fmt::format("more than {} events", options_.events_max));
  }
  if (log_.names.bytes() + log_.shapes.bytes() > options_.text_bytes_max) {
    return Error::invalid(fmt::format("names longer than {} bytes together", options_.text_bytes_max));
  }
  ORRERY_TRY(const std::uint32_t track, track_of(event));
  Event record;
  record.category = category_of(event.category, event.name);
  if (record.category == EventCategory::kPython && !options_.keep_python) return {};
  record.start_ns = *event.start_ns;
  record.duration_ns = event.duration_ns.value_or(0);
  record.correlation = id_of(event.correlation, offset);
  record.external_id = id_of(event.external_id, offset);
  record.name = name_of(event.name, offset);
  if (event.bytes >= 0 || !event.shapes.empty()) {
    record.detail = log_.details.intern({event.shapes.empty() ? 0 : shapes_of(event.shapes), event.bytes});
  }
  record.track = track;
  if (is_device_work(record.category) && event.stream >= 0) log_.tracks[track].stream = event.stream;
  log_.events.push_back(record);
  return {};
}

Status LogBuilder::add_range(const ChromeEvent& event, std::uint64_t offset) {
  ChromeEvent mended = event;
  if (!event.duration_ns) warn("events without a duration count as 0", offset);
  if (event.duration_ns.value_or(0) < 0) {
    warn("negative durations count as 0", offset);
    mended.duration_ns = 0;
  }
  return append(mended, offset);
}

Status LogBuilder::add_begin(const ChromeEvent& event, std::uint64_t offset) {
  const std::size_t index = log_.events.size();
  ChromeEvent begun = event;
  begun.duration_ns = 0;
  ORRERY_TRY_VOID(append(begun, offset));
  if (log_.events.size() > index) open_[log_.events[index].track].push_back(index);
  return {};
}

Status LogBuilder::add_end(const ChromeEvent& event, std::uint64_t offset) {
  ORRERY_TRY(const std::uint32_t track, track_of(event));
  auto& open = open_[track];
  if (open.empty()) {
    warn("ends of ranges that never began", offset);
    return {};
  }
  Event& begun = log_.events[open.back()];
  open.pop_back();
  if (*event.start_ns < begun.start_ns) warn("negative durations count as 0", offset);
  begun.duration_ns = std::max<std::int64_t>(0, *event.start_ns - begun.start_ns);
  return {};
}

Status LogBuilder::add_label(const ChromeEvent& event) {
  if (event.name != "thread_name" || event.label.empty()) return {};
  ORRERY_TRY(const std::uint32_t track, track_of(event));
  log_.tracks[track].name = printable(event.label, 200);
  return {};
}

Status LogBuilder::add(const ChromeEvent& event, std::uint64_t offset) {
  if (event.phase == 'M') return add_label(event);
  if (event.phase == '\0') {
    warn("events without a phase were left out", offset);
    return {};
  }
  if (event.phase != 'X' && event.phase != 'B' && event.phase != 'E') return {};
  if (!event.start_ns) {
    warn("events without a time were left out", offset);
    return {};
  }
  if (event.phase == 'X') return add_range(event, offset);
  return event.phase == 'B' ? add_begin(event, offset) : add_end(event, offset);
}

void LogBuilder::close_open_ranges() {
  std::uint64_t count = 0;
  for (const auto& [track, open] : open_) count += open.size();
  if (count > 0) warn("ranges that never ended count as 0", log_.bytes_read, count);
}

void LogBuilder::drop_far_events() {
  if (log_.events.empty()) return;
  const std::int64_t middle = median_start(log_.events);
  const auto count = std::erase_if(log_.events, [middle](const Event& e) {
    return e.start_ns < middle - kFarNs || e.start_ns > middle + kFarNs || e.duration_ns > 2 * kFarNs;
  });
  if (count > 0) warn("events more than a day away from the others were left out", 0, count);
}

EventLog LogBuilder::finish(std::uint64_t bytes_read) && {
  log_.bytes_read = bytes_read;
  close_open_ranges();
  drop_far_events();
  if (log_.events.empty()) warn("no events", bytes_read);
  return std::move(log_);
}

}  // namespace orrery::trace
