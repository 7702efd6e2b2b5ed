#include "schedule/policies/las.h"

#include <algorithm>
#include <queue>
#include <set>

#include "base/check.h"
#include "schedule/policies/order_walk.h"
#include "schedule/size_heaps.h"

namespace orrery::schedule {

namespace {

class Las : public Policy {
 public:
  Las(const LasOptions& options, std::unique_ptr<Placer> placer)
      : options_(options), placer_(std::move(placer)), queues_(options.limits_gpu_s.size() + 1) {
    for (const double limit : options.limits_gpu_s) limits_.push_back(from_seconds(limit));
  }

  std::string_view name() const override { return options_.count_gpus ? "las" : "las-time"; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    look(view);
    for (const JobIndex job : event.forgotten) entries_.forget(job);
    for (const JobIndex job : event.withdrawn) queues_[entry(job).queue].waiting.remove(kind_of(view, job), job);
    for (const JobIndex job : event.ended) stop(job);
    for (const JobIndex job : event.evicted) {
      stop(job);
      wait_in_front(job);
    }
    for (const JobIndex job : event.arrived) queues_[0].tail.push_back(job);
    end_protection();
    demote();
    starting_.clear();
    stopping_.clear();
    if (view.is_typed()) {
      walk_types();
    } else {
      walk();
    }
    apply(decisions);
    wake_ns_ = next_demotion();
  }

  TimeNs wake_at_ns() const override { return wake_ns_; }

  void exchange(StateArchive& state) override {
    std::vector<std::pair<TimeNs, JobIndex>> due;
    if (!state.is_reading()) due = due_times();
    std::vector<std::pair<std::size_t, JobIndex>> in_protection;  // with their queues
    for (const JobIndex job : protected_) in_protection.emplace_back(entry(job).queue, job);
    for (Queue& queue : queues_) state(queue.running, queue.waiting);
    state(in_protection, due, stamp_, front_stamp_, wake_ns_);
    if (!state.is_reading()) return;
    look(state.view());
    std::vector<JobIndex> running, waiting;
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      const Running& in_order = queues_[q].running;
      for (auto place = in_order.begin(); place != in_order.end(); ++place) {
        const auto [stamp, job] = *place;
        running.push_back(job);
        entry(job) = {.queue = q, .stamp = stamp, .place = place, .running = true};
        queues_[q].held += gpus(job);
      }
      for (const SizeHeaps::Heap& heap : queues_[q].waiting.heaps()) {
        for (const OrderKey& key : heap.keys) {
          waiting.push_back(key.job);
          entry(key.job) = {.queue = q, .stamp = key.value};
        }
      }
    }
    for (const auto& [queue, job] : in_protection) {
      state.expect(queue < queues_.size(), "there is no such queue");
      running.push_back(job);
      protect(job, queue);
    }
    for (const auto& [at_ns, job] : due) due_.push({at_ns, job, entry(job).turn});
    state.expect_waiting(waiting);
    state.expect_all_running(running);
  }

  void adopt(const ClusterView& view) override {
    look(view);
    std::vector<JobIndex> running;
    for (const JobIndex job : own_jobs(view)) {
      const TimeNs attained = view.executed_ns(job) * weight(job);
      const auto reached = [&](TimeNs limit) { return attained >= limit; };
      entry(job).queue = static_cast<std::size_t>(std::count_if(limits_.begin(), limits_.end(), reached));
      if (view.is_running(job)) {
        running.push_back(job);
      } else {
        wait(job, ++stamp_);
      }
    }
    std::stable_sort(running.begin(), running.end(),
                     [&](JobIndex a, JobIndex b) { return view.progress(a).started_ns < view.progress(b).started_ns; });
    for (const JobIndex job : running) {
      if (view.is_protected(job)) {
        protect(job, entry(job).queue);
      } else {
        run(job);
      }
      watch(job);
    }
    wake_ns_ = next_demotion();
  }

 private:
  using Running = std::set<std::pair<std::int64_t, JobIndex>>;
  struct Entry {
    std::size_t queue = 0;
    std::int64_t stamp = 0;     // its place among the running or the waiting of its queue
    Running::iterator place{};  // of a job that runs in its queue
    std::uint32_t turn = 0;     // counts starts, suspensions and demotions; older due times are void
    bool running = false;
    bool is_protected = false;  // runs, and is in no queue until it may be suspended
  };
  struct Queue {
    int held = 0;  // GPUs of `running`
    Running running;
    SizeHeaps waiting;
    std::vector<JobIndex> tail;  // came in at this event
  };
  struct Due {
    TimeNs at_ns = 0;
    JobIndex job = kNoJob;
    std::uint32_t turn = 0;
    friend bool operator>(const Due& a, const Due& b) { return std::pair(a.at_ns, a.job) > std::pair(b.at_ns, b.job); }
  };

  void look(const ClusterView& view) {
    view_ = &view;
    view.cover(entries_);
  }

  int gpus(JobIndex job) const { return view_->facts(job).gpus; }
  std::int64_t weight(JobIndex job) const { return options_.count_gpus ? gpus(job) : 1; }
  Entry& entry(JobIndex job) { return entries_[job]; }
  // Due times may be of jobs that are forgotten.
  bool is_void(const Due& due) const { return entries_[due.job].turn != due.turn; }

  void stop(JobIndex job) {
    Entry& e = entry(job);
    ORRERY_CHECK(e.running);
    e.running = false;
    ++e.turn;
    if (e.is_protected) {
      e.is_protected = false;
      protected_held_ -= gpus(job);
      std::erase(protected_, job);
      return;
    }
    Queue& queue = queues_[e.queue];
    queue.running.erase(e.place);
    queue.held -= gpus(job);
  }

  // Jobs that have had their minimum run time take their place in their queue.
  void end_protection() {
    const auto first =
        std::find_if(protected_.begin(), protected_.end(), [&](JobIndex job) { return view_->is_protected(job); });
    for (auto job = protected_.begin(); job != first; ++job) {
      entry(*job).is_protected = false;
      protected_held_ -= gpus(*job);
      run(*job);
    }
    protected_.erase(protected_.begin(), first);
  }

  void wait(JobIndex job, std::int64_t stamp) {
    entry(job).stamp = stamp;
    queues_[entry(job).queue].waiting.push(kind_of(*view_, job), {.value = stamp, .job = job});
  }
  void wait_in_front(JobIndex job) { wait(job, --front_stamp_); }

  void run(JobIndex job) {
    Entry& e = entry(job);
    e.stamp = ++stamp_;
    e.running = true;
    Queue& queue = queues_[e.queue];
    e.place = queue.running.emplace_hint(queue.running.end(), e.stamp, job);
    queue.held += gpus(job);
  }

  void begin(JobIndex job) {
    starting_.push_back(job);
    if (view_->min_run_ns() == 0) return run(job);
    protect(job, entry(job).queue);
  }

  void protect(JobIndex job, std::size_t queue) {
    Entry& e = entry(job);
    e.queue = queue;
    e.running = e.is_protected = true;
    protected_held_ += gpus(job);
    protected_.push_back(job);
  }

  // Of running jobs that are not in the last queue.
  std::vector<std::pair<TimeNs, JobIndex>> due_times() const {
    std::vector<std::pair<TimeNs, JobIndex>> times;
    for (auto left = due_; !left.empty(); left.pop()) {
      const Due& due = left.top();
      if (!is_void(due)) times.emplace_back(due.at_ns, due.job);
    }
    return times;
  }

  void watch(JobIndex job) {
    Entry& e = entry(job);
    ++e.turn;
    if (e.queue >= limits_.size()) return;
    const TimeNs left = limits_[e.queue] - view_->executed_ns(job) * weight(job);
    const TimeNs in = left <= 0 ? 0 : (left + weight(job) - 1) / weight(job);
    due_.push({view_->now() + in, job, e.turn});
  }

  void demote() {
    demoted_.clear();
    while (!due_.empty() && due_.top().at_ns <= view_->now()) {
      const Due due = due_.top();
      due_.pop();
      if (!is_void(due)) demoted_.push_back(due.job);
    }
    std::sort(demoted_.begin(), demoted_.end());
    for (const JobIndex job : demoted_) {
      if (entry(job).is_protected) {
        ++entry(job).queue;
        watch(job);
        continue;
      }
      stop(job);
      entry(job).running = true;  // it keeps its GPUs unless the walk takes them
      ++entry(job).queue;
      queues_[entry(job).queue].tail.push_back(job);
    }
  }

  // Running jobs of a queue that do not fit when `deficit` GPUs are missing. Jobs with enough behind them all fit, so
  // only the last few are walked.
  void suspend_last(const Queue& queue, int deficit) {
    last_.clear();
    int sum = 0;
    for (auto place = queue.running.rbegin(); place != queue.running.rend() && sum < deficit; ++place) {
      last_.push_back(place->second);
      sum += gpus(place->second);
    }
    int room = sum - deficit;
    for (auto job = last_.rbegin(); job != last_.rend(); ++job) {
      if (gpus(*job) <= room) {
        room -= gpus(*job);
      } else {
        suspended_.push_back(*job);
      }
    }
  }

  // Decides which jobs start and stop, and puts every queue in order.
  void walk() {
    int room = view_->gpus() - protected_held_;
    for (Queue& queue : queues_) {
      suspended_.clear();
      if (queue.held <= room) {
        room -= queue.held;
      } else {
        suspend_last(queue, queue.held - room);
        for (const JobIndex job : suspended_) stop(job);
        room -= queue.held;
      }
      while (const SizeHeaps::Heap* next = queue.waiting.first(room)) {
        const JobIndex job = next->top().job;
        room -= next->kind.gpus;
        queue.waiting.pop(*next);
        begin(job);
      }
      for (const JobIndex job : queue.tail) {
        const bool fits = gpus(job) <= room;
        if (fits) room -= gpus(job);
        enter(job, fits);
      }
      put_in_order(queue);
    }
  }

  // The same on a cluster with several types of devices, where what is free is no single number: every running job is
  // visited.
  void walk_types() {
    using enum OrderWalk::Verdict;
    walk_.begin(*view_);
    for (const JobIndex job : protected_) walk_.keep(job);
    for (const Queue& queue : queues_) {
      for (const auto& place : queue.running) {
        if (must_stay(place.second)) walk_.keep(place.second);
      }
      for (const JobIndex job : queue.tail) {
        if (must_stay(job)) walk_.keep(job);
      }
    }
    for (Queue& queue : queues_) {
      suspended_.clear();
      for (const auto& place : queue.running) {
        if (!must_stay(place.second) && walk_.visit(place.second) == kStops) suspended_.push_back(place.second);
      }
      for (const JobIndex job : suspended_) stop(job);
      closed_.assign(queue.waiting.heaps().size(), 0);
      while (const SizeHeaps::Heap* next = queue.waiting.first_open(closed_)) {
        const JobIndex job = next->top().job;
        if (walk_.visit(job) == kWaits) {
          closed_[queue.waiting.place_of(*next)] = 1;
          continue;
        }
        queue.waiting.pop(*next);
        begin(job);
      }
      for (const JobIndex job : queue.tail) {
        const OrderWalk::Verdict verdict = must_stay(job) ? kStays : walk_.visit(job);
        enter(job, verdict != kWaits && verdict != kStops);
      }
      put_in_order(queue);
    }
  }

  // It has moved, and counts as one that has just started.
  bool must_stay(JobIndex job) const { return view_->is_protected(job); }

  // A job that came into its queue at this event, behind all others.
  void enter(JobIndex job, bool fits) {
    const bool was_running = entry(job).running;
    if (fits && was_running) {
      run(job);
      watch(job);
    } else if (fits) {
      begin(job);
    } else {
      entry(job).running = false;
      if (was_running) stopping_.push_back(job);
      wait(job, ++stamp_);
    }
  }

  void put_in_order(Queue& queue) {
    queue.tail.clear();
    // Suspended jobs were before all waiting ones.
    for (auto job = suspended_.rbegin(); job != suspended_.rend(); ++job) wait_in_front(*job);
    stopping_.insert(stopping_.end(), suspended_.begin(), suspended_.end());
  }

  void apply(std::vector<Decision>& decisions) {
    const auto reason_of = [&](JobIndex job) { return Reason{Why::kQueue, static_cast<double>(entry(job).queue)}; };
    if (view_->is_typed()) {
      walk_.apply(*placer_, decisions, reason_of);
    } else if (!starting_.empty() || !stopping_.empty()) {
      walk_.start_and_stop(*view_, starting_, stopping_, *placer_, decisions, reason_of);
    }
    for (const JobIndex job : starting_) watch(job);
  }

  TimeNs next_demotion() {
    if (options_.jumps_of_simulator) return next_jump_of_simulator();
    while (!due_.empty() && is_void(due_.top())) due_.pop();
    return due_.empty() ? kNever : std::max(due_.top().at_ns, view_->now());
  }

  TimeNs next_jump_of_simulator() const {
    TimeNs next = kNever;
    for (std::size_t q = 0; q < limits_.size(); ++q) {
      for (const auto& place : queues_[q].running) {
        const std::int64_t left_s = (limits_[q] - view_->executed_ns(place.second)) / kSecondNs;
        const std::int64_t by = weight(place.second);
        const std::int64_t in_s = left_s <= 0 ? 0 : (left_s + by - 1) / by;
        next = std::min(next, view_->now() + in_s * kSecondNs);
      }
    }
    return next;
  }

  LasOptions options_;
  std::unique_ptr<Placer> placer_;
  std::vector<TimeNs> limits_;  // GPU time
  const ClusterView* view_ = nullptr;
  std::vector<Queue> queues_;
  JobTable<Entry> entries_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::int64_t stamp_ = 0;
  std::int64_t front_stamp_ = 0;
  TimeNs wake_ns_ = kNever;
  int protected_held_ = 0;           // GPUs of protected_
  std::vector<JobIndex> protected_;  // in the order of their starts
  OrderWalk walk_;
  SizeHeaps::Closed closed_;  // on several types: kinds of a queue whose first job did not fit in this walk
  std::vector<JobIndex> demoted_, starting_, stopping_, suspended_, last_;
};

}  // namespace

std::unique_ptr<Policy> make_las(const LasOptions& options, std::unique_ptr<Placer> placer) {
  return std::make_unique<Las>(options, std::move(placer));
}

}  // namespace orrery::schedule
