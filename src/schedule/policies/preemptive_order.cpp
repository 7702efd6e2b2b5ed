#include "schedule/policies/preemptive_order.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/check.h"
#include "schedule/policies/order_walk.h"
#include "schedule/size_heaps.h"

namespace orrery::schedule {

namespace {

constexpr std::int64_t kWaitingKind = 0, kRunningKind = 1, kNewKind = 2;  // among equal values

class PreemptiveOrder : public Policy {
 public:
  PreemptiveOrder(std::string name, OrderRule rule, std::unique_ptr<Placer> placer)
      : name_(std::move(name)), rule_(rule), placer_(std::move(placer)) {}

  std::string_view name() const override { return name_; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    ++pass_;
    stamp_ = 0;
    look(view);
    for (const JobIndex job : event.forgotten) {
      keys_.forget(job);
      places_.forget(job);
    }
    starting_.clear();
    stopping_.clear();
    for (const JobIndex job : event.withdrawn) waiting_.remove(kind_of(view, job), job);
    for (const JobIndex job : event.ended) leave(job);
    for (const JobIndex job : event.evicted) {
      leave(job);
      wait(job, waiting_key(job, false));
    }
    const bool grown_up = end_protection();
    if (moves()) {
      for (const JobIndex job : event.revised) revise(job);
    }
    const bool only_arrivals =
        event.ended.empty() && event.evicted.empty() && !event.machines_changed && event.revised.empty() && !grown_up;
    int wanted = 0;
    for (const JobIndex job : event.arrived) {
      key(job) = waiting_key(job, true);
      wanted += gpus(job);
    }
    if (view.is_typed()) {
      for (const JobIndex job : event.arrived) waiting_.push(kind_of(view, job), key(job));
      choose_on_types();
    } else if (wanted <= free_now() && (only_arrivals || waiting_.empty())) {
      starting_.assign(event.arrived.begin(), event.arrived.end());
      std::sort(starting_.begin(), starting_.end(), [&](JobIndex a, JobIndex b) { return key(a) < key(b); });
    } else {
      bool comes_first = false;
      for (const JobIndex job : event.arrived) {
        waiting_.push(kind_of(view, job), key(job));
        comes_first = comes_first || waiting_.top(kind_of(view, job)).job == job;
      }
      // If no GPUs became free, jobs that did not fit before do not fit now.
      if (!only_arrivals || comes_first) choose();
    }
    apply(decisions);
  }

  void exchange(StateArchive& state) override {
    std::vector<OrderKey> running, until_later;
    for (const RunningSet& of_size : running_) running.insert(running.end(), of_size.jobs.begin(), of_size.jobs.end());
    for (const JobIndex job : protected_) until_later.push_back(key(job));
    state(pass_, waiting_, running, until_later);
    if (!state.is_reading()) return;
    look(state.view());
    std::vector<JobIndex> jobs;
    for (const SizeHeaps::Heap& heap : waiting_.heaps()) {
      for (const OrderKey& waiting : heap.keys) key(waiting.job) = waiting;
    }
    for (const OrderKey& of_running : running) {
      jobs.push_back(of_running.job);
      hold(of_running);
      stand_in_order(of_running.job);
    }
    for (const OrderKey& of_running : until_later) {
      jobs.push_back(of_running.job);
      hold(of_running);
      protected_.push_back(of_running.job);
    }
    state.expect_all_running(jobs);
  }
  std::uint32_t state_format() const override { return 2; }

  void adopt(const ClusterView& view) override {
    look(view);
    std::vector<JobIndex> running;
    for (const JobIndex job : own_jobs(view)) {
      if (view.is_running(job)) {
        running.push_back(job);
      } else {
        wait(job, waiting_key(job, false));
      }
    }
    std::stable_sort(running.begin(), running.end(),
                     [&](JobIndex a, JobIndex b) { return view.progress(a).started_ns < view.progress(b).started_ns; });
    for (const JobIndex job : running) {
      hold(running_key(job, waiting_key(job, false)));
      if (view.is_protected(job)) {
        protected_.push_back(job);
      } else {
        stand_in_order(job);
      }
    }
  }

 private:
  void look(const ClusterView& view) {
    view_ = &view;
    view.cover(keys_);
    view.cover(places_);
  }

  void hold(const OrderKey& of_running) {
    key(of_running.job) = of_running;
    held_ += gpus(of_running.job);
  }

  bool moves() const { return rule_ == OrderRule::kRemainingTime || rule_ == OrderRule::kRemainingService; }
  int gpus(JobIndex job) const { return view_->facts(job).gpus; }
  OrderKey& key(JobIndex job) { return keys_[job]; }
  // GPUs that none of our running jobs holds.
  int free_now() const { return view_->gpus() - held_; }

  bool counts_gpus() const { return rule_ == OrderRule::kRemainingService; }
  std::int64_t weight(JobIndex job) const { return counts_gpus() ? gpus(job) : 1; }
  // Of what is left, for a job that asks for so many GPUs. Service is in microseconds, so that a year of 100,000 GPUs
  // fits; more than fits is the most there is.
  std::int64_t size_of(TimeNs left_ns, int of_gpus) const {
    if (!counts_gpus()) return left_ns;
    constexpr TimeNs kMicrosecond = 1000;
    std::int64_t size = 0;
    const bool fits = !__builtin_mul_overflow(left_ns / kMicrosecond, std::int64_t{of_gpus}, &size);
    return fits ? size : std::numeric_limits<std::int64_t>::max();
  }

  OrderKey static_key(JobIndex job) const {
    const JobFacts& facts = view_->facts(job);
    const std::int64_t value =
        rule_ == OrderRule::kDeadline ? facts.deadline_ns : -static_cast<std::int64_t>(facts.priority * 1e6);
    return {.value = value, .first = job.value(), .job = job};
  }

  // Waiting jobs with the same value are in the order of the calls in which they began to wait; in one call those that
  // had run come before new ones.
  OrderKey waiting_key(JobIndex job, bool is_new) {
    if (!moves()) return static_key(job);
    return {.value = size_of(view_->left_ns(job), gpus(job)),
            .kind = kWaitingKind,
            .first = 2 * pass_ + (is_new ? 1 : 0),
            .second = ++stamp_,
            .job = job};
  }
  bool is_new(const OrderKey& waiting) const { return moves() && waiting.first == 2 * pass_ + 1; }
  // A waiting job's key, comparable with those of running jobs: a new job is behind them.
  OrderKey against_running(const OrderKey& waiting) const {
    OrderKey result = waiting;
    if (is_new(waiting)) result.kind = kNewKind;
    return result;
  }

  // Its value is the time at which the work would be done, which does not change while it runs.
  OrderKey running_key(JobIndex job, const OrderKey& was) const {
    if (!moves()) return static_key(job);
    return {.value = view_->now() + view_->left_ns(job),
            .kind = kRunningKind,
            .rank = weight(job),
            .first = is_new(was) ? pass_ : -pass_,
            .second = (was.first << 31) + was.second,
            .job = job};
  }

  // The value of a running job as of now, comparable with those of waiting jobs.
  std::int64_t value_now(const OrderKey& running, int of_gpus) const {
    if (!moves()) return running.value;
    return size_of(running.value - view_->now(), of_gpus);
  }
  OrderKey current(const OrderKey& running, int of_gpus) const {
    OrderKey result = running;
    result.value = value_now(running, of_gpus);
    return result;
  }
  // Whether a running job is before `place`; values mostly differ, so the rest is rarely compared.
  bool stands_before(const OrderKey& running, int of_gpus, const OrderKey& place) const {
    const std::int64_t value = value_now(running, of_gpus);
    return value != place.value ? value < place.value : current(running, of_gpus) < place;
  }

  void wait(JobIndex job, const OrderKey& new_key) {
    key(job) = new_key;
    waiting_.push(kind_of(*view_, job), new_key);
  }

  void leave(JobIndex job) {
    held_ -= gpus(job);
    if (std::erase(protected_, job) == 0) set_of(gpus(job)).erase(places_[job]);
  }

  void stand_in_order(JobIndex job) { places_[job] = set_of(gpus(job)).insert(key(job)).first; }

  // It takes the place that its work as it is known now gives it.
  void revise(JobIndex job) {
    if (waiting_.remove(kind_of(*view_, job), job)) {
      wait(job, waiting_key(job, false));
      return;
    }
    const auto place = std::find(protected_.begin(), protected_.end(), job);
    if (place == protected_.end()) set_of(gpus(job)).erase(places_[job]);
    key(job).value = view_->now() + view_->left_ns(job);
    if (place == protected_.end()) stand_in_order(job);
  }

  // Jobs that have had their minimum run time take their place in the order; whether there were any.
  bool end_protection() {
    const auto first =
        std::find_if(protected_.begin(), protected_.end(), [&](JobIndex job) { return view_->is_protected(job); });
    for (auto job = protected_.begin(); job != first; ++job) stand_in_order(*job);
    const bool any = first != protected_.begin();
    protected_.erase(protected_.begin(), first);
    return any;
  }

  // Running jobs that ask for the same number of GPUs; their order does not change while they run.
  struct RunningSet {
    int gpus = 0;
    std::set<OrderKey> jobs;
  };
  std::set<OrderKey>& set_of(int gpus_wanted) {
    for (RunningSet& of_size : running_) {
      if (of_size.gpus == gpus_wanted) return of_size.jobs;
    }
    return running_.emplace_back(RunningSet{gpus_wanted, {}}).jobs;
  }

  bool is_stopping(JobIndex job) const { return std::find(stopping_.begin(), stopping_.end(), job) != stopping_.end(); }

  // GPUs of running jobs behind `place`, without those that will stop; stops counting at `enough`.
  int behind(const OrderKey& place, int enough) const {
    int sum = 0;
    for (const RunningSet& bucket : running_) {
      for (auto at = bucket.jobs.rbegin(); at != bucket.jobs.rend() && sum < enough; ++at) {
        if (stands_before(*at, bucket.gpus, place)) break;
        if (!is_stopping(at->job)) sum += bucket.gpus;
      }
    }
    return sum;
  }

  // Whether a waiting job fits at its place when `slack` GPUs are left over behind all jobs.
  bool fits(const OrderKey& waiting, int wanted, int slack) const {
    const int needed = wanted - slack;
    if (needed <= 0) return true;
    // Mostly no job runs behind one that waits.
    return waiting.value <= last_value_ && behind(against_running(waiting), needed) >= needed;
  }

  // The first running job in order that does not fit when `deficit` GPUs are missing in the end: the one with less than
  // that behind it.
  OrderKey first_to_stop(int deficit) {
    ends_.clear();
    for (const RunningSet& bucket : running_) {
      if (!bucket.jobs.empty()) ends_.push_back({bucket.jobs.rbegin(), bucket.jobs.rend(), bucket.gpus});
    }
    OrderKey first;
    for (int sum = 0; sum < deficit;) {
      BackCursor* last = nullptr;
      OrderKey last_key;
      for (BackCursor& cursor : ends_) {
        while (cursor.at != cursor.end && is_stopping(cursor.at->job)) ++cursor.at;
        if (cursor.at == cursor.end) continue;
        if (last != nullptr && stands_before(*cursor.at, cursor.gpus, last_key)) continue;
        last = &cursor;
        last_key = current(*cursor.at, cursor.gpus);
      }
      ORRERY_CHECK(last != nullptr);
      first = last_key;
      sum += last->gpus;
      ++last->at;
    }
    return first;
  }

  // Walks the order, but visits only what can change: the first waiting job of every size, and running jobs at the end
  // when others took their GPUs. What is free for a job only shrinks along the walk.
  void choose() {
    int slack = free_now();
    last_value_ = std::numeric_limits<std::int64_t>::min();
    for (const RunningSet& of_size : running_) {
      if (of_size.jobs.empty()) continue;
      last_value_ = std::max(last_value_, value_now(*of_size.jobs.rbegin(), of_size.gpus));
    }
    // Mostly all waiting jobs ask for more GPUs than are left, and no job runs behind them: settled without a walk.
    const bool someone_may_start =
        std::any_of(waiting_.heaps().begin(), waiting_.heaps().end(), [&](const SizeHeaps::Heap& heap) {
          return !heap.empty() && (heap.kind.gpus <= slack || heap.top().value <= last_value_);
        });
    if (!someone_may_start && slack >= 0) return;
    closed_.assign(waiting_.heaps().size(), 0);
    while (true) {
      const SizeHeaps::Heap* const next = waiting_.first_open(closed_);
      if (slack < 0) {
        const OrderKey stops = first_to_stop(-slack);
        if (next == nullptr || stops < against_running(next->top())) {
          stopping_.push_back(stops.job);
          slack += gpus(stops.job);
          continue;
        }
      }
      if (next == nullptr) return;
      if (!fits(next->top(), next->kind.gpus, slack)) {
        closed_[waiting_.place_of(*next)] = 1;
        continue;
      }
      starting_.push_back(next->top().job);
      slack -= next->kind.gpus;
      waiting_.pop(*next);
    }
  }

  // The same on a cluster with several types of devices. What is free there is no single number, and jobs work at the
  // speed of their type, so that every running job is visited, at the place it has now.
  void choose_on_types() {
    walk_.begin(*view_);
    order_.clear();
    for (const JobIndex job : protected_) walk_.keep(job);
    for (const RunningSet& of_size : running_) {
      for (OrderKey place : of_size.jobs) {
        if (view_->is_protected(place.job)) {
          walk_.keep(place.job);  // it has moved
          continue;
        }
        if (moves()) place.value = size_of(view_->left_ns(place.job), gpus(place.job));
        order_.push_back(place);
      }
    }
    std::sort(order_.begin(), order_.end());
    closed_.assign(waiting_.heaps().size(), 0);
    for (auto running = order_.begin();;) {
      const SizeHeaps::Heap* const next = waiting_.first_open(closed_);
      if (running != order_.end() && (next == nullptr || *running < against_running(next->top()))) {
        if (walk_.visit(running->job) == OrderWalk::Verdict::kStops) stopping_.push_back(running->job);
        ++running;
        continue;
      }
      if (next == nullptr) return;
      const JobIndex job = next->top().job;
      if (walk_.visit(job) == OrderWalk::Verdict::kWaits) {
        closed_[waiting_.place_of(*next)] = 1;
      } else {
        starting_.push_back(job);
        waiting_.pop(*next);
      }
    }
  }

  void apply(std::vector<Decision>& decisions) {
    const auto reason_of = [&](JobIndex job) {
      return Reason{Why::kNextInOrder, static_cast<double>(key(job).value) * (counts_gpus() ? 1e-6 : 1e-9)};
    };
    if (view_->is_typed()) {
      walk_.apply(*placer_, decisions, reason_of);
    } else {
      if (starting_.empty() && stopping_.empty()) return;
      walk_.start_and_stop(*view_, starting_, stopping_, *placer_, decisions, reason_of);
    }
    for (const JobIndex job : stopping_) leave(job);
    for (const JobIndex job : starting_) {
      hold(running_key(job, key(job)));
      if (view_->min_run_ns() > 0) {
        protected_.push_back(job);
      } else {
        stand_in_order(job);
      }
    }
    for (const JobIndex job : stopping_) wait(job, waiting_key(job, false));
  }

  std::string name_;
  OrderRule rule_;
  std::unique_ptr<Placer> placer_;
  const ClusterView* view_ = nullptr;  // of the call
  std::int64_t pass_ = 0;
  std::int64_t stamp_ = 0;
  int held_ = 0;
  JobTable<OrderKey> keys_;
  JobTable<std::set<OrderKey>::iterator> places_;  // of a job that runs: in running_
  SizeHeaps waiting_;
  std::vector<RunningSet> running_;
  std::vector<JobIndex> protected_;  // run and must not be suspended yet, in the order of their starts
  std::int64_t last_value_ = 0;      // of the running job that is last, in this walk
  SizeHeaps::Closed closed_;         // kinds whose first job did not fit in this walk
  std::vector<JobIndex> starting_, stopping_;
  OrderWalk walk_;
  std::vector<OrderKey> order_;  // on several types: running jobs, at the places they have now
  struct BackCursor {
    std::set<OrderKey>::const_reverse_iterator at, end;
    int gpus = 0;
  };
  std::vector<BackCursor> ends_;
};

}  // namespace

std::unique_ptr<Policy> make_preemptive_order(std::string name, OrderRule rule, std::unique_ptr<Placer> placer) {
  return std::make_unique<PreemptiveOrder>(std::move(name), rule, std::move(placer));
}

}  // namespace orrery::schedule
