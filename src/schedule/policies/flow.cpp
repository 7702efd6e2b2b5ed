#include "schedule/policies/flow.h"

#include <algorithm>
#include <unordered_map>

#include "schedule/policies/elastic_grants.h"
#include "schedule/policies/flow_sharing.h"
#include "schedule/work_values.h"

namespace orrery::schedule {

namespace {

constexpr int kPriceSteps = 50;
constexpr std::size_t kValuedMin = 1000;

struct FlowJob {
  JobIndex job = kNoJob;
  const Speedup* speedup = nullptr;
  double alone_s = 0;        // still, on one GPU
  double value = 0;          // of a step
  double change = 0;         // share of the speed that a change costs
  int has = 0;               // GPUs, by itself
  int held = 0;              // the same, but no more than are known to help it, unless it must keep them
  JobIndex beside = kNoJob;  // the one whose GPUs it shares
  int granted = 0;
  bool fixed = false;
  bool is_new = false;  // it has never run, so that a start costs nothing

  bool runs() const { return held > 0 || beside != kNoJob; }

  double worth(int gpus) const {
    if (gpus == held || !runs()) return value * speedup->at(gpus);
    return gpus == 0 ? -change * value * speedup->at(held) : value * speedup->at(gpus) * (1 - change);
  }

  // The number of GPUs with the largest worth - price x GPUs.
  int wanted_at(double price) const {
    const double part = runs() ? 1 - change : 1;
    int low = 0, high = speedup->most();
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (value * part * speedup->gain(middle) > price) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return held > 0 && worth(held) - price * held >= worth(low) - price * low ? held : low;
  }

  // The next number of GPUs worth having, with at most `left` more; what it has if there is none.
  int next(int left) const {
    const int most = std::min(speedup->most(), granted + left);
    const bool keeps = held > 0 && granted == held;
    return keeps ? most : std::min(most, granted + 1);
  }
};

class Flow : public Policy {
 public:
  Flow(const FlowOptions& options, const ScalingModel& model, std::unique_ptr<Placer> placer)
      : options_(options), model_(model), placer_(std::move(placer)) {}

  std::string_view name() const override { return "flow"; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const JobIndex job : event.ended) leave(job);
    for (const JobIndex job : event.withdrawn) leave(job);
    for (const JobIndex job : event.arrived) arrive(view.facts(job), job);
    for (const JobIndex job : event.revised) sort_into_kind(view.facts(job), job);
    if (table_.has_many_kinds(active_.size())) forget_kinds(view);
    if (view.gpus() == 0) return;
    if (view.gpus() != gpus_ || model_.learns()) speedups_.clear();
    gpus_ = view.gpus();
    look(view);
    value();
    grant();
    share();
    place(view, decisions);
  }

  void exchange(StateArchive& state) override {
    // What is known of a job may have been revised since its kind was found.
    std::vector<InterleavingTable::Kind> kinds;
    for (const JobIndex job : active_) kinds.push_back(kinds_.at(job));
    state(active_, table_, kinds, may_share_);
    state.expect_active(active_);
    state.expect(kinds.size() == active_.size(), "not every job has a kind");
    for (const InterleavingTable::Kind kind : kinds) state.expect(table_.has(kind), "there is no such kind of job");
    if (!state.is_reading() || !state.is_ok()) return;
    for (std::size_t i = 0; i < active_.size(); ++i) kinds_.emplace(active_[i], kinds[i]);
  }
  std::uint32_t state_format() const override { return 2; }

  void adopt(const ClusterView& view) override {
    for (const JobIndex job : own_jobs(view)) arrive(view.facts(job), job);
  }

 private:
  void forget_kinds(const ClusterView& view) {
    std::vector<JobFacts> jobs;
    for (const JobIndex job : active_) jobs.push_back(view.facts(job));
    table_.keep(jobs);
    kinds_.clear();
    for (std::size_t i = 0; i < jobs.size(); ++i) kinds_.emplace(active_[i], table_.kind_of(jobs[i]));
  }

  void arrive(const JobFacts& facts, JobIndex job) {
    active_.push_back(job);
    sort_into_kind(facts, job);
  }

  void sort_into_kind(const JobFacts& facts, JobIndex job) {
    kinds_.insert_or_assign(job, table_.kind_of(facts));
    may_share_ = may_share_ || facts.stages != nullptr || facts.gpu_utilisation < 1;
  }

  void leave(JobIndex job) {
    std::erase(active_, job);
    speedups_.erase(job);
    kinds_.erase(job);
  }

  // The jobs that are considered: the shortest, and all that run.
  void look(const ClusterView& view) {
    order_.clear();
    for (const JobIndex job : active_) order_.push_back({model_.steps_left(job) * model_.step_s(job, 1), job});
    valued_ = std::min(order_.size(), std::max(kValuedMin, 2 * static_cast<std::size_t>(gpus_)));
    const auto end = order_.begin() + static_cast<std::ptrdiff_t>(valued_);
    std::nth_element(order_.begin(), end, order_.end());
    std::sort(order_.begin(), end);
    std::sort(end, order_.end());
    jobs_.clear();
    place_.clear();
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto [alone_s, job] = order_[i];
      if (i >= valued_ && !view.is_running(job)) continue;
      jobs_.push_back(seen(view, job, alone_s));
    }
    if (!may_share_) return;
    for (std::size_t j = 0; j < jobs_.size(); ++j) place_.emplace(jobs_[j].job, j);
    // A job that must stay beside another needs it there, with the GPUs it has.
    for (const FlowJob& job : jobs_) {
      if (!job.fixed || job.beside == kNoJob) continue;
      FlowJob& host = jobs_[place_.at(job.beside)];
      host.fixed = true;
      host.held = host.has;
    }
  }

  FlowJob seen(const ClusterView& view, JobIndex job, double alone_s) {
    FlowJob entry{.job = job, .speedup = &speedup_of(job), .alone_s = alone_s};
    entry.has = entry.held = held_gpus(view, job);
    entry.fixed = view.is_protected(job);
    entry.is_new = view.progress(job).starts == 0;
    if (view.is_running(job) && entry.held == 0) {
      for (const JobIndex one : view.group_of(job)) entry.beside = view.progress(one).is_guest ? entry.beside : one;
    }
    if (!entry.fixed) entry.held = std::min(entry.held, entry.speedup->most());
    const double left_s = alone_s * entry.speedup->at(1) / entry.speedup->at(std::max(1, entry.held));
    entry.change = std::min(1.0, options_.change_s / std::min(left_s, options_.horizon_s));
    return entry;
  }

  const Speedup& speedup_of(JobIndex job) {
    const auto known = speedups_.find(job);
    if (known != speedups_.end()) return known->second;
    const int most = std::max(1, std::min(model_.gpus_max(job), gpus_));
    std::vector<double> speeds;
    for (int k = 1; k <= most; ++k) speeds.push_back(1 / model_.step_s(job, k));
    return speedups_.emplace(job, Speedup(std::move(speeds))).first->second;
  }

  void value() {
    std::vector<ValuedJob> valued;
    for (std::size_t i = 0; i < valued_; ++i) valued.push_back({jobs_[i].speedup});
    // Those behind wait as long as the last.
    if (!valued.empty()) valued.back().weight += static_cast<double>(order_.size() - valued_);
    const std::vector<double> values = work_values(valued, gpus_);
    for (std::size_t i = 0; i < valued_; ++i) jobs_[i].value = values[i];
  }

  void grant() {
    int gpus = gpus_;
    double high = 0;  // no job wants anything at this price
    for (FlowJob& job : jobs_) {
      if (job.fixed) gpus -= job.granted = job.held;
      high = std::max(high, 3 * job.value * job.speedup->at(1));
    }
    gpus = std::max(0, gpus);
    if (demand(0) > gpus) {
      double low = 0;
      int wanted = 0;  // at the price `high`
      // With all GPUs wanted, no other price gives more worth.
      for (int i = 0; i < kPriceSteps && wanted != gpus; ++i) {
        const double middle = (low + high) / 2;
        const int at_middle = demand(middle);
        (at_middle > gpus ? low : high) = middle;
        if (at_middle <= gpus) wanted = at_middle;
      }
      demand(high);
    }
    for (const FlowJob& job : jobs_) {
      if (!job.fixed) gpus -= job.granted;
    }
    fill(gpus);
  }

  // GPUs that all jobs want together at a price; each is granted what it wants.
  int demand(double price) {
    int sum = 0;
    for (FlowJob& job : jobs_) {
      if (!job.fixed) sum += job.granted = job.wanted_at(price);
    }
    return sum;
  }

  void fill(int left) {
    while (left > 0) {
      FlowJob* best = nullptr;
      double best_gain = 0;
      for (FlowJob& job : jobs_) {
        const int to = job.next(left);
        if (job.fixed || to == job.granted) continue;
        const double gain = (job.worth(to) - job.worth(job.granted)) / (to - job.granted);
        if (gain > best_gain) {
          best_gain = gain;
          best = &job;
        }
      }
      if (best == nullptr) break;
      const int to = best->next(left);
      left -= to - best->granted;
      best->granted = to;
    }
  }

  // Jobs without GPUs share those of others; hosts_ holds the hosts.
  void share() {
    hosts_.assign(jobs_.size(), -1);
    if (!may_share_) return;
    std::vector<SharingJob> jobs;
    for (const FlowJob& job : jobs_) {
      SharingJob& one = jobs.emplace_back();
      one = {job.speedup, job.value, job.is_new ? 0 : job.change, kinds_.at(job.job), job.granted};
      if (job.beside == kNoJob) continue;
      const FlowJob& host = jobs_[place_.at(job.beside)];
      if (host.granted == host.has) one.beside = static_cast<int>(place_.at(job.beside));
      one.must_stay = job.fixed;
    }
    hosts_ = share_gpus(jobs, table_);
  }

  // Whether it continues beside the job whose GPUs it shares, which then keeps them.
  bool stays(std::size_t place) const {
    if (hosts_[place] < 0) return false;
    const FlowJob& host = jobs_[static_cast<std::size_t>(hosts_[place])];
    return host.job == jobs_[place].beside && host.granted == host.has;
  }

  void place(const ClusterView& view, std::vector<Decision>& decisions) {
    std::vector<Grant> grants;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const FlowJob& job = jobs_[j];
      const Reason reason = {Why::kFlow, job.alone_s, static_cast<double>(job.granted)};
      grants.push_back({.job = job.job, .gpus = job.granted, .reason = reason});
      if (job.beside == kNoJob || stays(j)) continue;
      const bool gets_own = job.granted > 0;
      decisions.push_back(
          {.action = Action::kSuspend, .job = job.job, .reason = gets_own ? reason : Reason{Why::kOvertaken}});
    }
    carry_out(view, *placer_, grants, decisions);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (hosts_[j] < 0 || stays(j)) continue;
      decisions.push_back({.action = Action::kInterleave,
                           .job = jobs_[j].job,
                           .other = jobs_[static_cast<std::size_t>(hosts_[j])].job,
                           .reason = sharing_reason(hosts_[j])});
    }
  }

  Reason sharing_reason(int host) {
    InterleavingTable::Kinds kinds = {kinds_.at(jobs_[static_cast<std::size_t>(host)].job)};
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (hosts_[j] == host) kinds = joined(kinds, {kinds_.at(jobs_[j].job)});
    }
    return {Why::kInterleaved, static_cast<double>(kinds.size()), table_.efficiency(kinds)};
  }

  FlowOptions options_;
  const ScalingModel& model_;
  std::unique_ptr<Placer> placer_;
  std::vector<JobIndex> active_;
  int gpus_ = 0;
  std::vector<std::pair<double, JobIndex>> order_;   // time on one GPU; the first valued_ in order
  std::size_t valued_ = 0;                           // this many of the first of them have a value
  std::vector<FlowJob> jobs_;                        // these, then others that run
  std::unordered_map<JobIndex, std::size_t> place_;  // of a job in them
  std::vector<int> hosts_;                           // the job whose GPUs each of them shares, by place; -1: none
  std::unordered_map<JobIndex, Speedup> speedups_;   // of the jobs that are there, for gpus_
  std::unordered_map<JobIndex, InterleavingTable::Kind> kinds_;
  InterleavingTable table_;
  bool may_share_ = false;  // a job has been there whose GPU is idle at times
};

}  // namespace

std::unique_ptr<Policy> make_flow(const FlowOptions& options, const ScalingModel& model,
                                  std::unique_ptr<Placer> placer) {
  return std::make_unique<Flow>(options, model, std::move(placer));
}

}  // namespace orrery::schedule
