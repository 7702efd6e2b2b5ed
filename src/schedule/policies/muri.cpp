#include "schedule/policies/muri.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_set>

namespace orrery::schedule {

namespace {

using JobSet = std::unordered_set<JobIndex>;

// Jobs that are to share GPUs, the first in order first.
struct Target {
  std::vector<JobIndex> jobs;
  int gpus = 0;
  double efficiency = 0;
  JobIndex stays = kNoJob;  // one of them whose GPUs it keeps
};

class Muri : public Policy {
 public:
  Muri(const MuriPolicyOptions& options, std::unique_ptr<Placer> placer)
      : options_(options), placer_(std::move(placer)), grouping_(options.groups) {}

  std::string_view name() const override { return options_.knows_run_times ? "muri-s" : "muri-l"; }
  TimeNs round_ns() const override { return from_seconds(options_.round_s); }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    view_ = &view;
    for (const JobIndex job : event.ended) std::erase(active_, job);
    for (const JobIndex job : event.withdrawn) std::erase(active_, job);
    active_.insert(active_.end(), event.arrived.begin(), event.arrived.end());
    const bool happened = !event.arrived.empty() || !event.ended.empty() || !event.evicted.empty() ||
                          !event.withdrawn.empty() || !event.revised.empty() || event.machines_changed;
    if (!happened && !waits_for_protected_) return;
    std::vector<JobFacts> jobs;
    if (grouping_.has_many_kinds(active_.size())) {
      for (const JobIndex job : active_) jobs.push_back(view.facts(job));
      grouping_.keep_kinds_of(jobs);
    }
    order();
    keep_protected();
    group();
    keep_places();
    carry_out(decisions);
  }

  void exchange(StateArchive& state) override {
    state(active_, waits_for_protected_, grouping_);
    state.expect_active(active_);
  }

  void adopt(const ClusterView& view) override { active_ = own_jobs(view); }

 private:
  struct Ordered {
    double service_s = 0;
    JobIndex job = kNoJob;
  };

  double service_s(JobIndex job) const {
    const TimeNs time = options_.knows_run_times ? std::max<TimeNs>(0, view_->left_ns(job)) : view_->executed_ns(job);
    return to_seconds(time) * view_->facts(job).gpus;
  }

  void order() {
    order_.clear();
    for (const JobIndex job : active_) order_.push_back({service_s(job), job});
    std::stable_sort(order_.begin(), order_.end(),
                     [](const Ordered& a, const Ordered& b) { return a.service_s < b.service_s; });
  }

  // Groups with a job that must not be suspended stay; their jobs leave the order.
  void keep_protected() {
    free_ = view_->gpus();
    kept_.clear();
    waits_for_protected_ = false;
    for (const auto& [service_s, job] : order_) {
      if (is_kept(job) || !view_->is_protected(job)) continue;
      waits_for_protected_ = true;
      for (const JobIndex one : view_->group_of(job)) kept_.insert(one);
      free_ -= gpus_in(view_->progress(job).allocation);
    }
    std::erase_if(order_, [&](const Ordered& one) { return is_kept(one.job); });
  }

  bool is_kept(JobIndex job) const { return kept_.contains(job); }

  void group() {
    std::map<int, std::deque<std::size_t>> by_size;  // places in the order, of those not chosen
    for (std::size_t i = 0; i < order_.size(); ++i) by_size[gpus(i)].push_back(i);
    std::vector<std::size_t> chosen;
    int left = free_;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      std::deque<std::size_t>& alike = by_size[gpus(i)];
      if (alike.empty() || alike.front() != i || gpus(i) > left) continue;
      left -= gpus(i);
      for (std::size_t n = 0; n < options_.groups.size_max && !alike.empty(); ++n) {
        chosen.push_back(alike.front());
        alike.pop_front();
      }
    }
    std::sort(chosen.begin(), chosen.end());
    std::vector<JobFacts> jobs;
    for (const std::size_t i : chosen) jobs.push_back(view_->facts(order_[i].job));
    targets_.clear();
    left = free_;
    for (const MuriGroup& group : grouping_.groups(jobs, free_)) {
      if (group.gpus > left) continue;
      left -= group.gpus;
      Target& target = targets_.emplace_back();
      target.gpus = group.gpus;
      target.efficiency = group.efficiency;
      for (const int place : group.jobs) target.jobs.push_back(order_[chosen[static_cast<std::size_t>(place)]].job);
    }
    for (std::size_t i = 0; i < order_.size() && left > 0; ++i) {
      const std::deque<std::size_t>& others = by_size[gpus(i)];
      if (gpus(i) > left || !std::binary_search(others.begin(), others.end(), i)) continue;
      left -= gpus(i);
      targets_.push_back({{order_[i].job}, gpus(i)});
    }
  }

  int gpus(std::size_t place) const { return view_->facts(order_[place].job).gpus; }

  // Each target keeps the GPUs of the running group that has most jobs in common with it.
  void keep_places() {
    taken_.clear();
    for (Target& target : targets_) {
      std::size_t most = 0;
      for (const JobIndex job : target.jobs) {
        if (!view_->is_running(job)) continue;
        const std::vector<JobIndex> now = view_->group_of(job);
        const auto common = static_cast<std::size_t>(std::count_if(now.begin(), now.end(), [&](JobIndex one) {
          return std::find(target.jobs.begin(), target.jobs.end(), one) != target.jobs.end();
        }));
        if (common <= most || taken_.contains(job)) continue;
        most = common;
        target.stays = job;
      }
      if (target.stays == kNoJob) continue;
      for (const JobIndex one : view_->group_of(target.stays)) taken_.insert(one);
    }
  }

  bool stays(const Target& target, JobIndex job) const {
    if (target.stays == kNoJob || !view_->is_running(job)) return false;
    const std::vector<JobIndex> now = view_->group_of(target.stays);
    return std::find(now.begin(), now.end(), job) != now.end();
  }

  void carry_out(std::vector<Decision>& decisions) {
    JobSet stay;
    for (const Target& target : targets_) {
      for (const JobIndex job : target.jobs) {
        if (stays(target, job)) stay.insert(job);
      }
    }
    JobSet freed;  // the lowest of each group that leaves its GPUs altogether
    FreeGpus free(*view_);
    for (const auto& [service_s, job] : order_) {
      if (!view_->is_running(job) || stay.contains(job)) continue;
      decisions.push_back({.action = Action::kSuspend, .job = job, .reason = {Why::kOvertaken}});
      const std::vector<JobIndex> group = view_->group_of(job);
      const bool is_empty = std::none_of(group.begin(), group.end(), [&](JobIndex one) { return stay.contains(one); });
      if (!is_empty || !freed.insert(*std::min_element(group.begin(), group.end())).second) continue;
      free.give(view_->progress(job).allocation);
    }
    std::vector<const Target*> by_size;
    for (const Target& target : targets_) by_size.push_back(&target);
    std::stable_sort(by_size.begin(), by_size.end(),
                     [](const Target* a, const Target* b) { return a->gpus > b->gpus; });
    for (const Target* target : by_size) start(*target, stay, free, decisions);
  }

  void start(const Target& target, const JobSet& stay, FreeGpus& free, std::vector<Decision>& decisions) {
    JobIndex host = target.stays;
    if (host == kNoJob) {
      host = target.jobs.front();
      Allocation allocation = take_gpus(*placer_, *view_, free, host, target.gpus);
      decisions.push_back(
          {.job = host, .allocation = std::move(allocation), .reason = {Why::kNextInOrder, service_s(host)}});
    }
    const auto size = static_cast<double>(target.jobs.size());
    for (const JobIndex job : target.jobs) {
      if (job == host || stay.contains(job)) continue;
      decisions.push_back({.action = Action::kInterleave,
                           .job = job,
                           .other = host,
                           .reason = {Why::kInterleaved, size, target.efficiency}});
    }
  }

  MuriPolicyOptions options_;
  std::unique_ptr<Placer> placer_;
  MuriGrouping grouping_;
  const ClusterView* view_ = nullptr;
  std::vector<JobIndex> active_;  // in the order of submission
  std::vector<Ordered> order_;
  int free_ = 0;  // GPUs that are not held by jobs that must stay
  JobSet kept_;   // must stay
  JobSet taken_;  // their groups continue as targets
  bool waits_for_protected_ = false;
  std::vector<Target> targets_;
};

}  // namespace

std::unique_ptr<Policy> make_muri(const MuriPolicyOptions& options, std::unique_ptr<Placer> placer) {
  return std::make_unique<Muri>(options, std::move(placer));
}

}  // namespace orrery::schedule
