#include "schedule/policies/lucid.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "schedule/policies/gandiva.h"
#include "schedule/policies/ordered_start.h"

namespace orrery::schedule {

namespace {

class Lucid : public Policy {
 public:
  Lucid(const LucidOptions& options, std::unique_ptr<Placer> placer) : options_(options), placer_(std::move(placer)) {}

  std::string_view name() const override { return "lucid"; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    view_ = &view;
    for (const JobIndex job : event.ended) leave(job);
    for (const JobIndex job : event.evicted) {
      leave(job);
      wait(job);
    }
    for (const JobIndex job : event.withdrawn) waiting_.remove(kind_of(view, job), job);
    for (const JobIndex job : event.arrived) wait(job);
    for (const JobIndex job : event.revised) {
      if (waiting_.remove(kind_of(view, job), job)) wait(job);
    }
    undo_bad_pairs(decisions);
    start(decisions);
    if (waiting_.size() >= options_.crowd) share(decisions);
  }

  void exchange(StateArchive& state) override {
    std::erase_if(refused_, [&](const auto& one) { return !state.knows(one.first) || !state.knows(one.second); });
    state(waiting_, hosts_, pairs_, refused_);
    if (!state.is_reading()) return;
    std::vector<JobIndex> running;
    for (const auto& [gpus, hosts] : hosts_) {
      for (const JobIndex host : hosts) {
        state.expect(state.view().facts(host).gpus == gpus, "a job has another number of GPUs");
        running.push_back(host);
      }
    }
    for (const auto& [host, guest] : pairs_) running.insert(running.end(), {host, guest});
    state.expect_all_running(running);
  }

  void adopt(const ClusterView& view) override {
    view_ = &view;
    for (const JobIndex job : own_jobs(view)) {
      const JobProgress& progress = view.progress(job);
      if (!view.is_running(job)) {
        wait(job);
      } else if (progress.partner == kNoJob) {
        hosts_[view.facts(job).gpus].push_back(job);
      } else if (progress.is_guest) {
        const std::vector<JobIndex> group = view.group_of(job);
        const auto is_host = [&](JobIndex one) { return !view.progress(one).is_guest; };
        const auto host = std::find_if(group.begin(), group.end(), is_host);
        if (host != group.end()) pairs_.emplace_back(*host, job);
      }
    }
  }

 private:
  static constexpr int kTriesMax = 16;  // of waiting jobs of a size that find no partner

  void wait(JobIndex job) {
    const JobFacts& facts = view_->facts(job);
    const auto service = static_cast<std::int64_t>(
        std::min(9e18, static_cast<double>(std::max<TimeNs>(0, view_->left_ns(job))) * facts.gpus));
    waiting_.push(kind_of(*view_, job), {.value = service, .first = job.value(), .job = job});
  }

  void leave(JobIndex job) {
    std::erase(hosts_[view_->facts(job).gpus], job);
    std::erase_if(pairs_, [&](const auto& pair) {
      if (pair.first != job && pair.second != job) return false;
      // The one that is left alone can have another partner.
      const JobIndex other = pair.first == job ? pair.second : pair.first;
      if (view_->is_running(other)) hosts_[view_->facts(other).gpus].push_back(other);
      return true;
    });
  }

  void undo_bad_pairs(std::vector<Decision>& decisions) {
    std::erase_if(pairs_, [&](const auto& pair) {
      const auto [host, guest] = pair;
      const double a = view_->progress(host).rate, b = view_->progress(guest).rate;
      if (packing_pays(a, b) || view_->is_protected(guest)) return false;
      decisions.push_back({.action = Action::kUnpack, .job = guest, .reason = {Why::kPackedTooSlow, a, b}});
      refused_.insert_or_assign(guest, host);
      hosts_[view_->facts(host).gpus].push_back(host);
      wait(guest);
      return true;
    });
  }

  void start(std::vector<Decision>& decisions) {
    const std::size_t first = decisions.size();
    if (waiting_.smallest() > view_->free_gpus()) return;
    start_what_fits(*view_, *placer_, waiting_, free_, decisions);
    for (std::size_t i = first; i < decisions.size(); ++i) {
      const JobIndex job = decisions[i].job;
      hosts_[view_->facts(job).gpus].push_back(job);
    }
  }

  void share(std::vector<Decision>& decisions) {
    for (auto& [gpus, hosts] : hosts_) {
      std::vector<OrderKey> back;
      for (int tries = 0; tries < kTriesMax && !hosts.empty(); ++tries) {
        const SizeHeaps::Heap* next = first_of(gpus);
        if (next == nullptr) break;
        const OrderKey key = next->top();
        waiting_.pop(*next);
        const JobIndex host = partner_for(key.job, hosts);
        if (host == kNoJob) {
          back.push_back(key);
          continue;
        }
        std::erase(hosts, host);
        pairs_.emplace_back(host, key.job);
        decisions.push_back({.action = Action::kPack,
                             .job = key.job,
                             .other = host,
                             .reason = {Why::kClassesFit, static_cast<double>(class_of(host)),
                                        static_cast<double>(class_of(key.job))}});
      }
      for (const OrderKey& key : back) waiting_.push(kind_of(*view_, key.job), key);
    }
  }

  const SizeHeaps::Heap* first_of(int gpus) const {
    const SizeHeaps::Heap* first = nullptr;
    for (const SizeHeaps::Heap& heap : waiting_.heaps()) {
      if (heap.kind.gpus != gpus || heap.empty()) continue;
      if (first == nullptr || heap.top() < first->top()) first = &heap;
    }
    return first;
  }

  int class_of(JobIndex job) const { return lucid_class(view_->facts(job).gpu_utilisation); }

  JobIndex partner_for(JobIndex job, const std::vector<JobIndex>& hosts) const {
    const JobFacts& facts = view_->facts(job);
    const int own_class = lucid_class(facts.gpu_utilisation);
    JobIndex best = kNoJob;
    std::tuple<int, double, JobIndex> least;
    for (const JobIndex host : hosts) {
      const JobFacts& other = view_->facts(host);
      const int other_class = lucid_class(other.gpu_utilisation);
      if (!lucid_packs(own_class, other_class) || facts.gpu_memory_share + other.gpu_memory_share > 1) continue;
      const auto refused = refused_.find(job);
      if (refused != refused_.end() && refused->second == host) continue;
      if (view_->is_typed() && !runs_beside(job, host)) continue;
      const std::tuple<int, double, JobIndex> key(other_class, other.gpu_utilisation, host);
      if (best != kNoJob && key >= least) continue;
      best = host;
      least = key;
    }
    return best;
  }

  // On the type the other runs on; a job that starts now has no GPUs yet.
  bool runs_beside(JobIndex job, JobIndex host) const {
    if (!view_->is_running(host)) return false;
    const MachineIndex machine = view_->progress(host).allocation.front().machine;
    return view_->speed_on(job, view_->machines()[machine].device) > 0;
  }

  LucidOptions options_;
  std::unique_ptr<Placer> placer_;
  const ClusterView* view_ = nullptr;
  SizeHeaps waiting_;
  FreeGpus free_;
  std::map<int, std::vector<JobIndex>> hosts_;        // running jobs that share with no other, by GPUs
  std::vector<std::pair<JobIndex, JobIndex>> pairs_;  // host and guest
  std::map<JobIndex, JobIndex> refused_;              // the last partner that slowed a job down too much
};

}  // namespace

std::unique_ptr<Policy> make_lucid(const LucidOptions& options, std::unique_ptr<Placer> placer) {
  return std::make_unique<Lucid>(options, std::move(placer));
}

}  // namespace orrery::schedule
