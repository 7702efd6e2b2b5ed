#include "trace/host_calls.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::trace {

using workload::Phase;

namespace {

constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function";

enum NameKind : std::uint8_t { kPlainName, kStepName, kUpdateName, kEvaluateName, kBackwardName };

NameKind kind_of(std::string_view name) {
  if (name.starts_with("ProfilerStep#")) return kStepName;
  if (is_update_name(name)) return kUpdateName;
  if (name.starts_with(kEvaluate)) return kEvaluateName;
  return is_backward_name(name) ? kBackwardName : kPlainName;
}

bool is_host(EventCategory category) {
  return category == EventCategory::kOperator || category == EventCategory::kAnnotation ||
         category == EventCategory::kRuntime;
}

// An event that has started and may contain the next one.
struct Open {
  std::int64_t end_ns = 0;
  HostPlace place;
};

class HostSweep {
 public:
  explicit HostSweep(const EventLog& log) : log_(log) {
    for (std::uint32_t i = 0; i < log.names.size(); ++i) kinds_.push_back(kind_of(log.names[i]));
    find_autograd_tracks();
  }

  HostCalls run() {
    const std::vector<std::uint32_t> order = sorted_host_events();
    std::uint32_t track = kNoEvent;
    for (const std::uint32_t index : order) {
      const Event& event = log_.events[index];
      if (event.track != track) open_.clear();
      track = event.track;
      visit(index, event);
    }
    sort_calls();
    return std::move(calls_);
  }

 private:
  // A thread with backward events but without steps or the optimizer belongs to autograd.
  void find_autograd_tracks() {
    std::vector<bool> main(log_.tracks.size());
    is_autograd_.resize(log_.tracks.size());
    for (const Event& event : log_.events) {
      if (!is_host(event.category)) continue;
      const NameKind kind = kinds_[event.name];
      if (kind == kStepName || kind == kUpdateName) main[event.track] = true;
      if (kind == kEvaluateName || kind == kBackwardName) is_autograd_[event.track] = true;
    }
    const bool has_main = std::find(main.begin(), main.end(), true) != main.end();
    for (std::size_t t = 0; t < main.size(); ++t) is_autograd_[t] = has_main && is_autograd_[t] && !main[t];
  }

  std::vector<std::uint32_t> sorted_host_events() const {
    std::vector<std::uint32_t> order;
    for (std::size_t i = 0; i < log_.events.size(); ++i) {
      if (is_host(log_.events[i].category)) order.push_back(static_cast<std::uint32_t>(i));
    }
    std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      const Event &x = log_.events[a], &y = log_.events[b];
      if (x.track != y.track) return x.track < y.track;
      if (x.start_ns != y.start_ns) return x.start_ns < y.start_ns;
      if (x.duration_ns != y.duration_ns) return x.duration_ns > y.duration_ns;
      return a < b;
    });
    return order;
  }

  HostPlace place_in(const Event& event, std::uint32_t index) const {
    HostPlace place;
    if (!open_.empty()) place = open_.back().place;
    if (open_.empty() && is_autograd_[event.track]) place.phase = Phase::kBackward;
    const NameKind kind = kinds_[event.name];
    if (event.category != EventCategory::kRuntime) {
      if (kind == kUpdateName) place.phase = Phase::kUpdate;
      if ((kind == kEvaluateName || kind == kBackwardName) && place.phase != Phase::kUpdate) {
        place.phase = Phase::kBackward;
      }
    }
    const bool is_operator = event.category == EventCategory::kOperator && kind != kEvaluateName;
    if (is_operator && place.top == kNoEvent) place.top = index;
    return place;
  }

  void visit(std::uint32_t index, const Event& event) {
    while (!open_.empty() && open_.back().end_ns <= event.start_ns) open_.pop_back();
    const HostCall call{index, place_in(event, index)};
    if (event.category == EventCategory::kRuntime) {
      if (event.correlation != kNoId) calls_.launches.push_back(call);
      return;
    }
    if (call.place.top == index) calls_.operators.push_back(call);
    if (event.category == EventCategory::kOperator && event.external_id != kNoId) calls_.by_external_id.push_back(call);
    open_.push_back({event.end_ns(), call.place});
  }

  void sort_calls() {
    const auto by = [this](auto key) {
      return [this, key](const HostCall& a, const HostCall& b) {
        return log_.events[a.event].*key < log_.events[b.event].*key;
      };
    };
    std::stable_sort(calls_.operators.begin(), calls_.operators.end(), by(&Event::start_ns));
    std::stable_sort(calls_.launches.begin(), calls_.launches.end(), by(&Event::correlation));
    std::stable_sort(calls_.by_external_id.begin(), calls_.by_external_id.end(), by(&Event::external_id));
  }

  const EventLog& log_;
  std::vector<NameKind> kinds_;    // by name
  std::vector<bool> is_autograd_;  // by track
  std::vector<Open> open_;
  HostCalls calls_;
};

const HostCall* find_call(const EventLog& log, const std::vector<HostCall>& calls, std::uint32_t Event::*key,
                          std::uint32_t wanted) {
  const auto found =
      std::lower_bound(calls.begin(), calls.end(), wanted,
                       [&](const HostCall& call, std::uint32_t value) { return log.events[call.event].*key < value; });
  return found != calls.end() && log.events[found->event].*key == wanted ? &*found : nullptr;
}

}  // namespace

bool is_backward_name(std::string_view name) {
  if (name.starts_with(kEvaluate) || name.starts_with("torch::autograd::")) return true;
  const std::size_t at = name.rfind("Backward");
  if (at == std::string_view::npos) return false;
  const std::string_view rest = name.substr(at + 8);
  return rest.find_first_not_of("0123456789s>") == std::string_view::npos;
}

bool is_update_name(std::string_view name) {
  return name.starts_with("Optimizer.step") || name.starts_with("Optimizer.zero_grad");
}

HostCalls host_calls(const EventLog& log) {
  ORRERY_CHECK(log.events.size() < kNoEvent);
  return HostSweep(log).run();
}

const HostCall* HostCalls::launch_of(const EventLog& log, const Event& device_event) const {
  if (device_event.correlation == kNoId) return nullptr;
  return find_call(log, launches, &Event::correlation, device_event.correlation);
}

HostPlace HostCalls::origin_of(const EventLog& log, const Event& device_event) const {
  const HostCall* launch = launch_of(log, device_event);
  if (launch != nullptr && launch->place.top != kNoEvent) return launch->place;
  const std::uint32_t id = device_event.external_id;
  const HostCall* op = id == kNoId ? nullptr : find_call(log, by_external_id, &Event::external_id, id);
  if (op != nullptr && log.events[op->event].start_ns <= device_event.start_ns) return op->place;
  return launch != nullptr ? launch->place : HostPlace{};
}

}  // namespace orrery::trace
