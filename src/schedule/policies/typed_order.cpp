#include "schedule/policies/typed_order.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "schedule/order_key.h"

namespace orrery::schedule {

namespace {

constexpr std::int64_t kRunningKind = 0, kWaitingKind = 1;  // among equal values

class TypedOrder : public Policy {
 public:
  TypedOrder(const TypedOptions& options, std::unique_ptr<Placer> placer)
      : options_(options), placer_(std::move(placer)) {}

  std::string_view name() const override { return options_.name; }
  TimeNs wake_at_ns() const override { return wake_ns_; }
  TimeNs round_ns() const override { return from_seconds(options_.round_s); }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    look(view);
    for (const JobIndex job : event.forgotten) entries_.forget(job);
    learn(event.ended);
    for (const JobIndex job : event.withdrawn) kinds_[entry(job).kind].erase(entry(job).key);
    for (const JobIndex job : event.ended) std::erase(running_, job);
    for (const JobIndex job : event.evicted) {
      std::erase(running_, job);
      wait(job);
    }
    for (const JobIndex job : event.arrived) wait(job);
    free_.assign(view);
    rooms_.assign(static_cast<std::size_t>(view.types()), 0);
    const Machines& machines = view.machines();
    for (const MachineIndex m : machines.indices()) room(machines[m].device) += free_.on(m);
    chosen_.clear();
    walk(decisions);
    place(decisions);
    wake_ns_ = next_limit();
  }

  void exchange(StateArchive& state) override {
    std::vector<OrderKey> waiting;
    for (const auto& [kind, keys] : kinds_) waiting.insert(waiting.end(), keys.begin(), keys.end());
    state(waiting, running_, wake_ns_);
    if (options_.ranks) state(*options_.ranks);
    if (!state.is_reading()) return;
    look(state.view());
    std::vector<JobIndex> jobs;
    for (const OrderKey& key : waiting) {
      jobs.push_back(key.job);
      wait(key.job, key);
    }
    state.expect_waiting(jobs);
    state.expect_all_running(running_);
  }

  void adopt(const ClusterView& view) override {
    look(view);
    for (const JobIndex job : own_jobs(view)) {
      if (view.is_running(job)) {
        running_.push_back(job);
      } else {
        wait(job);
      }
    }
    std::stable_sort(running_.begin(), running_.end(),
                     [&](JobIndex a, JobIndex b) { return view.progress(a).started_ns < view.progress(b).started_ns; });
    wake_ns_ = next_limit();
  }

 private:
  // What decides where a job fits: its size, and the types it runs on.
  struct Kind {
    int gpus = 0;
    std::vector<std::int32_t> types;  // by number
    friend auto operator<=>(const Kind&, const Kind&) = default;
  };
  struct Entry {
    Kind kind;
    OrderKey key;
  };
  struct Chosen {
    JobIndex job = kNoJob;
    std::int32_t type = 0;
  };

  void look(const ClusterView& view) {
    view_ = &view;
    view.cover(entries_);
  }

  // With new ranks, waiting jobs have other keys.
  void learn(std::span<const JobIndex> ended) {
    bool is_changed = false;
    for (const JobIndex job : ended) {
      if (options_.ranks && options_.ranks->add(attained_gpu_s(job))) is_changed = true;
    }
    if (!is_changed) return;
    const Waiting before = std::exchange(kinds_, {});
    for (const auto& [kind, keys] : before) {
      for (const OrderKey& key : keys) wait(key.job);
    }
  }

  Entry& entry(JobIndex job) { return entries_[job]; }
  int gpus(JobIndex job) const { return view_->facts(job).gpus; }
  int& room(std::int32_t type) { return rooms_[static_cast<std::size_t>(type)]; }
  std::int32_t type_of(JobIndex running) const {
    const MachineIndex machine = view_->progress(running).allocation.front().machine;
    return view_->machines()[machine].device;
  }

  double attained_gpu_s(JobIndex job) const { return to_seconds(view_->executed_ns(job)) * gpus(job); }

  std::size_t queue_of(JobIndex job) const {
    const double attained = attained_gpu_s(job);
    const auto reached = [&](double limit) { return attained >= limit; };
    return static_cast<std::size_t>(std::count_if(options_.limits_gpu_s.begin(), options_.limits_gpu_s.end(), reached));
  }

  std::int64_t value_of(JobIndex job) const {
    const JobFacts& facts = view_->facts(job);
    switch (options_.rule) {
      case TypedRule::kArrival:
        return facts.submit_ns;
      case TypedRule::kWork:
        return view_->left_ns(job);
      case TypedRule::kService:
        return view_->left_ns(job) * facts.gpus;
      case TypedRule::kDeadline:
        return facts.deadline_ns;
      case TypedRule::kPriority:
        return -static_cast<std::int64_t>(facts.priority * 1e6);
      case TypedRule::kAttained:
        return static_cast<std::int64_t>(queue_of(job));
      case TypedRule::kGittins: {
        // The bits of positive doubles are in their order. The higher the index, the sooner its turn.
        constexpr int kQueueShift = 58;
        const std::int64_t rank = std::bit_cast<std::int64_t>(options_.ranks->rank(attained_gpu_s(job))) >> 5;
        return (static_cast<std::int64_t>(queue_of(job) + 1) << kQueueShift) - 1 - rank;
      }
    }
    return 0;
  }

  void wait(JobIndex job) {
    wait(job, {.value = value_of(job), .kind = kWaitingKind, .first = job.value(), .job = job});
  }
  void wait(JobIndex job, const OrderKey& key) {
    Entry& e = entry(job);
    e.kind = {gpus(job), view_->types_of(job)};
    std::sort(e.kind.types.begin(), e.kind.types.end());
    e.key = key;
    kinds_[e.kind].insert(e.key);
  }

  bool fits(const Kind& kind) {
    return std::any_of(kind.types.begin(), kind.types.end(),
                       [&](std::int32_t type) { return room(type) >= kind.gpus; });
  }
  std::int32_t fastest_with_room(JobIndex job) {
    for (const std::int32_t type : view_->types_of(job)) {
      if (room(type) >= gpus(job)) return type;
    }
    return -1;
  }

  using Waiting = std::map<Kind, std::set<OrderKey>>;

  // The first waiting job in order whose kind has not failed to fit in this walk; end() without any.
  Waiting::iterator first_waiting() {
    auto first = kinds_.end();
    for (auto kind = kinds_.begin(); kind != kinds_.end(); ++kind) {
      if (kind->second.empty() || std::find(closed_.begin(), closed_.end(), &kind->first) != closed_.end()) continue;
      if (first == kinds_.end() || *kind->second.begin() < *first->second.begin()) first = kind;
    }
    return first;
  }

  void walk(std::vector<Decision>& decisions) {
    closed_.clear();
    order_.clear();
    for (const JobIndex job : running_) {
      if (!options_.preemptive || view_->is_protected(job)) continue;
      order_.push_back({.value = value_of(job), .kind = kRunningKind, .first = job.value(), .job = job});
      room(type_of(job)) += gpus(job);
    }
    std::sort(order_.begin(), order_.end());
    auto next_running = order_.begin();
    while (true) {
      const auto waiting = first_waiting();
      const bool any = waiting != kinds_.end();
      if (next_running != order_.end() && (!any || *next_running < *waiting->second.begin())) {
        keep_or_move(next_running->job, decisions);
        ++next_running;
        continue;
      }
      if (!any) return;
      if (!fits(waiting->first)) {
        if (options_.strict) return;
        closed_.push_back(&waiting->first);
        continue;
      }
      const JobIndex job = waiting->second.begin()->job;
      const std::int32_t type = fastest_with_room(job);
      room(type) -= gpus(job);
      chosen_.push_back({job, type});
      waiting->second.erase(waiting->second.begin());
    }
  }

  void keep_or_move(JobIndex job, std::vector<Decision>& decisions) {
    if (room(type_of(job)) >= gpus(job)) {
      room(type_of(job)) -= gpus(job);
      return;
    }
    free_.give(view_->progress(job).allocation);
    const std::int32_t type = fastest_with_room(job);
    if (type >= 0) {
      room(type) -= gpus(job);
      chosen_.push_back({job, type});
      return;
    }
    decisions.push_back({.action = Action::kSuspend, .job = job, .reason = {Why::kOvertaken}});
    suspended_.push_back(job);
  }

  void place(std::vector<Decision>& decisions) {
    for (const JobIndex job : suspended_) {
      std::erase(running_, job);
      wait(job);
    }
    suspended_.clear();
    bool held_back = false;
    for (const Chosen& chosen : chosen_) {
      const JobIndex job = chosen.job;
      const bool moves = view_->is_running(job);
      auto allocation =
          held_back ? std::nullopt : placer_->place(*view_, free_.of_type(*view_, chosen.type), job, gpus(job));
      if (!allocation) {
        // A placer that prefers to wait; never called for jobs that run.
        held_back = options_.strict;
        wait(job);
        continue;
      }
      free_.take(*allocation);
      if (!moves) running_.push_back(job);
      decisions.push_back({.action = moves ? Action::kMigrate : Action::kStart,
                           .job = job,
                           .allocation = std::move(*allocation),
                           .reason = {Why::kFastestType, view_->speed_on(job, chosen.type)}});
    }
  }

  TimeNs next_limit() {
    TimeNs next = kNever;
    if (options_.limits_gpu_s.empty()) return next;
    for (const JobIndex job : running_) {
      const std::size_t queue = queue_of(job);
      if (queue == options_.limits_gpu_s.size()) continue;
      const TimeNs until = from_seconds(options_.limits_gpu_s[queue] / gpus(job)) - view_->executed_ns(job);
      next = std::min(next, view_->now() + std::max<TimeNs>(1, until));
    }
    return next;
  }

  TypedOptions options_;
  std::unique_ptr<Placer> placer_;
  const ClusterView* view_ = nullptr;
  JobTable<Entry> entries_;
  Waiting kinds_;
  std::vector<JobIndex> running_;    // in the order of their starts
  std::vector<int> rooms_;           // by type: GPUs left in this walk
  std::vector<const Kind*> closed_;  // kinds that do not fit in this walk
  std::vector<OrderKey> order_;      // running jobs that may be suspended
  std::vector<Chosen> chosen_;
  std::vector<JobIndex> suspended_;
  FreeGpus free_;
  TimeNs wake_ns_ = kNever;
};

}  // namespace

std::unique_ptr<Policy> make_typed_order(const TypedOptions& options, std::unique_ptr<Placer> placer) {
  return std::make_unique<TypedOrder>(options, std::move(placer));
}

}  // namespace orrery::schedule
