#include "schedule/policies/gittins.h"

#include <algorithm>

#include "schedule/policies/order_walk.h"

namespace orrery::schedule {

namespace {

class Gittins : public Policy {
 public:
  Gittins(const LasOptions& options, GittinsRanks ranks, std::unique_ptr<Placer> placer)
      : options_(options),
        ranks_(std::move(ranks)),
        placer_(std::move(placer)),
        queues_(options.limits_gpu_s.size() + 1) {}

  std::string_view name() const override { return "gittins"; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    look(view);
    for (const JobIndex job : event.forgotten) entries_.forget(job);
    for (const JobIndex job : event.ended) {
      remove(job);
      ranks_.add(attained_gpu_s(job));
    }
    for (const JobIndex job : event.withdrawn) remove(job);
    for (const JobIndex job : event.arrived) {
      entry(job) = {};
      queues_[0].push_back(job);
      live_.push_back(job);
    }
    demote();
    for (const JobIndex job : live_) entry(job).rank = ranks_.rank(attained_gpu_s(job));
    walk(decisions);
    wake_ns_ = next_demotion();
  }

  TimeNs wake_at_ns() const override { return wake_ns_; }

  void exchange(StateArchive& state) override {
    state(queues_, live_, ranks_, wake_ns_);
    if (!state.is_reading()) return;
    look(state.view());
    state.expect(queues_.size() == options_.limits_gpu_s.size() + 1, "there is another number of queues");
    std::vector<JobIndex> queued;
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      for (const JobIndex job : queues_[q]) entry(job).queue = q;
      queued.insert(queued.end(), queues_[q].begin(), queues_[q].end());
    }
    state.expect_active(queued);
    state.expect_active(live_);
    state.expect(queued.size() == live_.size(), "a job is in no queue");
  }

  void adopt(const ClusterView& view) override {
    look(view);
    live_ = own_jobs(view);
    const auto& limits = options_.limits_gpu_s;
    for (const JobIndex job : live_) {
      const auto reached = [&](double limit) { return attained_gpu_s(job) >= limit; };
      entry(job).queue = static_cast<std::size_t>(std::count_if(limits.begin(), limits.end(), reached));
      queues_[entry(job).queue].push_back(job);
      if (view.is_running(job)) running_.push_back(job);
    }
    wake_ns_ = next_demotion();
  }

 private:
  struct Entry {
    std::size_t queue = 0;
    double rank = 0;
  };

  void look(const ClusterView& view) {
    view_ = &view;
    view.cover(entries_);
  }

  int gpus(JobIndex job) const { return view_->facts(job).gpus; }
  Entry& entry(JobIndex job) { return entries_[job]; }
  double attained_gpu_s(JobIndex job) const { return to_seconds(view_->executed_ns(job)) * gpus(job); }

  void remove(JobIndex job) {
    std::erase(queues_[entry(job).queue], job);
    std::erase(live_, job);
  }

  void demote() {
    for (const JobIndex job : live_) {
      Entry& e = entry(job);
      if (!view_->is_running(job) || e.queue + 1 == queues_.size()) continue;
      if (attained_gpu_s(job) < options_.limits_gpu_s[e.queue]) continue;
      std::erase(queues_[e.queue], job);
      queues_[++e.queue].push_back(job);
    }
  }

  void walk(std::vector<Decision>& decisions) {
    running_.clear();
    walk_.begin(*view_);
    for (const JobIndex job : live_) {
      if (view_->is_protected(job)) walk_.keep(job);
    }
    for (std::vector<JobIndex>& queue : queues_) {
      std::stable_sort(queue.begin(), queue.end(), [&](JobIndex a, JobIndex b) {
        if (entry(a).rank != entry(b).rank) return entry(a).rank > entry(b).rank;
        return view_->facts(a).submit_ns < view_->facts(b).submit_ns;
      });
      std::vector<JobIndex> running, waiting;
      for (const JobIndex job : queue) {
        const bool runs = view_->is_protected(job) || fits(walk_.visit(job));
        (runs ? running : waiting).push_back(job);
      }
      running_.insert(running_.end(), running.begin(), running.end());
      queue = std::move(running);
      queue.insert(queue.end(), waiting.begin(), waiting.end());
    }
    walk_.apply(*placer_, decisions, [&](JobIndex job) {
      return Reason{Why::kQueue, static_cast<double>(entry(job).queue), entry(job).rank};
    });
  }

  static bool fits(OrderWalk::Verdict verdict) {
    return verdict != OrderWalk::Verdict::kWaits && verdict != OrderWalk::Verdict::kStops;
  }

  TimeNs next_demotion() {
    TimeNs next = kNever;
    for (const JobIndex job : running_) {
      const Entry& e = entry(job);
      if (e.queue + 1 == queues_.size()) continue;
      const TimeNs limit = from_seconds(options_.limits_gpu_s[e.queue]);
      const TimeNs executed = view_->executed_ns(job);
      const std::int64_t by = gpus(job);
      TimeNs in = std::max<TimeNs>(0, (limit - executed * by + by - 1) / by);
      if (options_.jumps_of_simulator) {
        const std::int64_t left_s = std::max<std::int64_t>(0, (limit - executed) / kSecondNs);
        in = (left_s + by - 1) / by * kSecondNs;
      }
      next = std::min(next, view_->now() + in);
    }
    return next;
  }

  LasOptions options_;
  GittinsRanks ranks_;
  std::unique_ptr<Placer> placer_;
  const ClusterView* view_ = nullptr;
  std::vector<std::vector<JobIndex>> queues_;
  std::vector<JobIndex> live_;     // unfinished, in order of arrival
  std::vector<JobIndex> running_;  // after the decisions of this call
  JobTable<Entry> entries_;
  OrderWalk walk_;
  TimeNs wake_ns_ = kNever;
};

}  // namespace

std::unique_ptr<Policy> make_gittins(const LasOptions& options, GittinsRanks ranks, std::unique_ptr<Placer> placer) {
  return std::make_unique<Gittins>(options, std::move(ranks), std::move(placer));
}

}  // namespace orrery::schedule
