#include "schedule/policies/elastic_flow.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "schedule/policies/elastic_grants.h"

namespace orrery::schedule {

namespace {

// GPUs promised from now on, as a step function of time.
class Promises {
 public:
  explicit Promises(int gpus) : gpus_(gpus) { segments_.push_back({0, 0}); }

  int free_now() const { return gpus_ - segments_.front().used; }

  // The end of a job that gets min(k, what is free); infinite: not before `deadline`.
  template <typename StepTime>
  double end_with(int k, double steps, double deadline_s, const StepTime& step_s) const {
    for (std::size_t i = 0; i < segments_.size() && steps > 0; ++i) {
      const double from = segments_[i].from_s, to = i + 1 < segments_.size() ? segments_[i + 1].from_s : deadline_s;
      if (from >= deadline_s) break;
      const int gpus = std::min(k, gpus_ - segments_[i].used);
      if (gpus <= 0) continue;
      const double needs = steps * step_s(gpus);
      if (from + needs <= std::min(to, deadline_s)) return from + needs;
      steps -= std::max(0.0, std::min(to, deadline_s) - from) / step_s(gpus);
    }
    return kNoEnd;
  }

  // Promises min(k, what is free) until `end_s`.
  void add(int k, double end_s) {
    split(end_s);
    for (Segment& segment : segments_) {
      if (segment.from_s < end_s) segment.used += std::min(k, gpus_ - segment.used);
    }
  }

  static constexpr double kNoEnd = 1e300;

 private:
  struct Segment {
    double from_s = 0;  // to the next one
    int used = 0;
  };

  void split(double at_s) {
    const auto after = std::upper_bound(segments_.begin(), segments_.end(), at_s,
                                        [](double at, const Segment& segment) { return at < segment.from_s; });
    const Segment before = *(after - 1);
    if (before.from_s < at_s) segments_.insert(after, {at_s, before.used});
  }

  int gpus_;
  std::vector<Segment> segments_;
};

class ElasticFlow : public Policy {
 public:
  ElasticFlow(const ElasticFlowOptions& options, const ScalingModel& model, std::unique_ptr<Placer> placer)
      : options_(options), model_(model), placer_(std::move(placer)) {}

  std::string_view name() const override { return "elasticflow"; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const JobIndex job : event.ended) leave(job);
    for (const JobIndex job : event.withdrawn) leave(job);
    for (const JobIndex job : event.arrived) arrive(view, job);
    grant(view);
    carry_out(view, *placer_, grants_, decisions);
  }

  void exchange(StateArchive& state) override {
    std::vector<JobIndex> admitted(admitted_.begin(), admitted_.end());
    std::sort(admitted.begin(), admitted.end());
    state(active_, admitted);
    state.expect_active(active_);
    admitted_ = {admitted.begin(), admitted.end()};
  }

  // Jobs are admitted as if they arrived now, in the order of submission.
  void adopt(const ClusterView& view) override {
    for (const JobIndex job : own_jobs(view)) arrive(view, job);
  }

 private:
  struct Share {
    JobIndex job = kNoJob;
    int gpus = 0;          // for now: earlier deadlines come first
    bool in_time = false;  // whether any share lets it end in time
  };

  void arrive(const ClusterView& view, JobIndex job) {
    active_.push_back(job);
    if (may_be_admitted(view, job)) admitted_.insert(job);
  }

  void leave(JobIndex job) {
    std::erase(active_, job);
    admitted_.erase(job);
  }

  int most(const ClusterView& view, JobIndex job) const {
    return std::max(1, std::min(model_.gpus_max(job), view.gpus()));
  }

  // Step 1 for one job; false, and nothing is promised, if no share lets it end in time.
  bool promise_share(const ClusterView& view, JobIndex job, Promises& promises) const {
    const double steps = model_.steps_left(job);
    const double deadline_s = to_seconds(view.facts(job).deadline_ns - view.now());
    const auto step_s = [&](int gpus) { return model_.step_s(job, gpus); };
    const auto end_with = [&](int gpus) { return promises.end_with(gpus, steps, deadline_s, step_s); };
    int high = most(view, job), low = 1;
    if (end_with(high) == Promises::kNoEnd) return false;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (end_with(middle) == Promises::kNoEnd) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    promises.add(low, end_with(low));
    return true;
  }

  std::vector<JobIndex> by_deadline(const ClusterView& view, const std::unordered_set<JobIndex>& jobs) const {
    std::vector<JobIndex> order;
    for (const JobIndex job : active_) {
      if (jobs.contains(job)) order.push_back(job);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](JobIndex a, JobIndex b) { return view.facts(a).deadline_ns < view.facts(b).deadline_ns; });
    return order;
  }

  // Shares of jobs in order of their deadlines, and what they leave for now.
  std::vector<Share> shares_of(const ClusterView& view, const std::unordered_set<JobIndex>& jobs, int gpus) const {
    Promises promises(gpus);
    std::vector<Share> shares;
    for (const JobIndex job : by_deadline(view, jobs)) {
      const int before = promises.free_now();
      const bool in_time = promise_share(view, job, promises);
      shares.push_back({job, before - promises.free_now(), in_time});
    }
    return shares;
  }

  // Step 2.
  bool may_be_admitted(const ClusterView& view, JobIndex job) const {
    if (view.facts(job).deadline_ns == kNever) return false;
    std::unordered_set<JobIndex> with = admitted_;
    with.insert(job);
    const auto satisfied = [](const std::vector<Share>& shares) {
      return std::count_if(shares.begin(), shares.end(), [](const Share& share) { return share.in_time; });
    };
    // A job that cannot be satisfied any more does not keep others out.
    return satisfied(shares_of(view, with, view.gpus())) == satisfied(shares_of(view, admitted_, view.gpus())) + 1;
  }

  void grant(const ClusterView& view) {
    grants_.clear();
    int left = view.gpus();
    std::unordered_set<JobIndex> promised;
    for (const JobIndex job : active_) {
      if (!view.is_protected(job)) {
        if (admitted_.contains(job)) promised.insert(job);
        continue;
      }
      left -= held_gpus(view, job);
    }
    for (const Share& share : shares_of(view, promised, left)) {
      const double spare = to_seconds(view.facts(share.job).deadline_ns - view.now());
      const Reason promise = {Why::kMinimumShare, static_cast<double>(share.gpus), spare};
      add_grant(share.job, share.gpus, share.in_time ? promise : Reason{Why::kBestEffort});
      left -= share.gpus;
    }
    std::vector<std::pair<double, JobIndex>> others;  // with the time they need alone
    for (const JobIndex job : active_) {
      if (!promised.contains(job) && !view.is_protected(job)) others.emplace_back(alone_s(job), job);
    }
    std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& other : others) {
      const int gpus = std::min(left, 1);
      add_grant(other.second, gpus, {Why::kBestEffort});
      left -= gpus;
    }
    keep_held(view, left);
    spread(view, left);
  }

  double alone_s(JobIndex job) const { return model_.steps_left(job) * model_.step_s(job, 1); }

  void add_grant(JobIndex job, int gpus, Reason reason) {
    grants_.push_back({.job = job, .gpus = gpus, .reason = reason});
  }

  void keep_held(const ClusterView& view, int& left) {
    for (Grant& grant : grants_) {
      const int more = std::min(left, held_gpus(view, grant.job) - grant.gpus);
      if (more <= 0) continue;
      grant.gpus += more;
      left -= more;
    }
  }

  // Time saved by one more GPU.
  double gain(const Grant& grant) const {
    const double now = grant.gpus == 0 ? 2 * model_.step_s(grant.job, 1) : model_.step_s(grant.job, grant.gpus);
    return model_.steps_left(grant.job) * (now - model_.step_s(grant.job, grant.gpus + 1));
  }

  void spread(const ClusterView& view, int left) {
    std::vector<int> before;
    for (const Grant& grant : grants_) before.push_back(grant.gpus);
    std::priority_queue<std::pair<double, std::ptrdiff_t>> queue;  // of equal gains the first
    const auto offer = [&](std::size_t i) {
      if (grants_[i].gpus >= most(view, grants_[i].job)) return;
      const double saved_s = gain(grants_[i]);
      if (saved_s > 0) queue.push({saved_s, -static_cast<std::ptrdiff_t>(i)});
    };
    for (std::size_t i = 0; i < grants_.size() && left > 0; ++i) offer(i);
    for (; left > 0 && !queue.empty(); --left) {
      const auto i = static_cast<std::size_t>(-queue.top().second);
      queue.pop();
      ++grants_[i].gpus;
      offer(i);
    }
    for (std::size_t i = 0; i < grants_.size(); ++i) {
      Grant& grant = grants_[i];
      const int held = held_gpus(view, grant.job);
      const bool grows = held > 0 && before[i] == held && grant.gpus > held;
      if (grows && grant.gpus < options_.slack * held) grant.gpus = held;
      if (grant.gpus > before[i]) grant.reason = {Why::kLeftOver, static_cast<double>(grant.gpus)};
    }
  }

  ElasticFlowOptions options_;
  const ScalingModel& model_;
  std::unique_ptr<Placer> placer_;
  std::vector<JobIndex> active_;  // in order of submission
  std::unordered_set<JobIndex> admitted_;
  std::vector<Grant> grants_;
};

}  // namespace

std::unique_ptr<Policy> make_elastic_flow(const ElasticFlowOptions& options, const ScalingModel& model,
                                          std::unique_ptr<Placer> placer) {
  return std::make_unique<ElasticFlow>(options, model, std::move(placer));
}

}  // namespace orrery::schedule
