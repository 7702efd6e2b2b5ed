#pragma once
// A policy on a random cluster whose effects are delayed, repeated, lost or fail, and whose machines vanish; for tests.
//
// What is really true is kept beside it: which processes of which job run where. After every event no GPU may be used
// twice and no job may run in two places; in the end every job has ended, since all faults stop in time.
// ORRERY_FAULT_SCHEDULES random schedules for each policy; unless it is set, as many as the test says.

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <queue>
#include <set>

#include "base/random.h"
#include "schedule/policies.h"
#include "schedule/test_cluster.h"

namespace orrery::schedule {

inline int pick(Random& random, int low, int high) {
  return low + static_cast<int>(random.uniform() * (high - low + 1));
}

// A step on k GPUs takes 0.9 / k + 0.1 of one on a single GPU.
class TestScaling : public ScalingModel {
 public:
  explicit TestScaling(const ClusterView& view) : view_(view) {}
  double step_s(JobIndex, int gpus) const override { return share(gpus); }
  std::optional<PsSpeed> ps_speed(JobIndex) const override { return PsSpeed{.a = 0.9, .b = 0.05, .c = 0.05}; }
  double steps_left(JobIndex job) const override { return std::max(1.0, to_seconds(view_.expected_left_ns(job))); }
  int gpus_max(JobIndex job) const override { return std::max(view_.facts(job).gpus, view_.facts(job).gpus_max); }
  static double share(int gpus) { return 0.9 / gpus + 0.1; }

 private:
  const ClusterView& view_;
};

enum Fault {
  kEffectDelayed,
  kEffectRepeated,
  kEffectLost,
  kEffectFails,
  kAnswerLate,
  kAnswerRepeated,
  kAnswerLost,
  kMachineVanishes,
  kFaults
};
inline constexpr std::string_view kFaultNames[] = {"effect delayed", "effect repeated", "effect lost",
                                                   "effect fails",   "answer late",     "answer repeated",
                                                   "answer lost",    "machine vanishes"};

struct Counts {
  std::int64_t of[kFaults] = {};
};

class FaultSchedule {
 public:
  FaultSchedule(std::uint64_t seed, Counts& counts) : random_(seed), counts_(counts) {
    Machines machines;
    const int count = pick(random_, 1, 5), gpus = pick(random_, 1, 3) * 2;
    for (int m = 0; m < count; ++m) machines.push_back({.gpus = gpus, .rack = m / 2});
    faults_until_ = from_seconds(pick(random_, 200, 6000));
    fault_rate_ = random_.uniform(0.02, 0.3);
    DispatchOptions options{
        .costs = {.first_start_ns = 3 * kSecondNs, .resume_ns = 5 * kSecondNs, .move_ns = 5 * kSecondNs},
        .keep_log = true,
        .is_strict = true,
        .awaits_starts = true};
    if (random_.uniform() < 0.3) options.age_ns = from_seconds(pick(random_, 100, 3000));
    if (random_.uniform() < 0.3) options.min_run_ns = from_seconds(pick(random_, 10, 400));
    if (random_.uniform() < 0.3) options.tenant_quota = pick(random_, gpus, 2 * gpus);
    dispatcher_ = std::make_unique<Dispatcher>(machines, options);
    reconciler_ = std::make_unique<Reconciler>(
        *dispatcher_, ReconcilerOptions{.answer_timeout_ns = 60 * kSecondNs, .failures_max = 0});
    forgets_ = random_.uniform() < 0.5;
    cluster_ = std::make_unique<TestCluster>(machines, TestScaling::share);
    draw_jobs(gpus * count, gpus);
    draw_outages();
  }

  std::string run(const PolicyRecord& policy) {
    TestScaling scaling(dispatcher_->view());
    PolicyInputs inputs;
    inputs.scaling = &scaling;
    for (int i = 1; i <= 20; ++i) inputs.service_sample_gpu_s.push_back(i * 100);
    inputs.packed_share = [](const ClusterView&, JobIndex, JobIndex) { return 0.5; };
    const auto made = dispatcher_->set_policy([&](const ClusterView&) { return make_policy(policy, inputs); });
    if (!made) return made.error().to_string();
    for (int events = 0; mistake_.empty(); ++events) {
      if (events > 200'000) return "it goes on for ever";
      const TimeNs next = next_event();
      if (next == kNever) break;
      dispatcher_->advance_to(next);
      cluster_->advance_to(next);
      end_jobs();
      deliver();
      if (const auto stepped = dispatcher_->step(); !stepped) return stepped.error().to_string();
      for (const Effect& effect : reconciler_->effects()) post(effect);
      measure();
      check();
    }
    if (mistake_.empty()) check_end();
    return mistake_;
  }

 private:
  struct Message {
    TimeNs at_ns = 0;
    std::int64_t number = 0;  // of equal times the first that was posted
    enum class Kind { kEffect, kAnswer, kEnded, kFails, kReturns } kind = Kind::kEffect;
    Effect effect{};
    std::string error{};
    MachineIndex machine{};
    friend bool operator<(const Message& a, const Message& b) {
      return std::pair(a.at_ns, a.number) > std::pair(b.at_ns, b.number);
    }
  };

  TimeNs now() const { return dispatcher_->view().now(); }

  void draw_jobs(int all, int per_machine) {
    const int count = pick(random_, 3, 14);
    double at_s = 0;
    for (int j = 0; j < count; ++j) {
      at_s += random_.exponential(150);
      JobFacts facts{.submit_ns = from_seconds(std::floor(at_s)), .work_ns = from_seconds(pick(random_, 20, 2000))};
      facts.gpus = random_.uniform() < 0.8 ? pick(random_, 1, per_machine) : pick(random_, 1, all);
      if (random_.uniform() < 0.4) facts.gpus_max = facts.gpus * 2;
      if (random_.uniform() < 0.3) facts.deadline_ns = facts.submit_ns + 3 * facts.work_ns;
      facts.priority = pick(random_, 0, 2);
      facts.tenant = pick(random_, 0, 2);
      if (random_.uniform() < 0.5) facts.gpu_utilisation = facts.gpu_memory_share = 0.3;
      jobs_.push_back(facts);
    }
    for (const JobFacts& job : jobs_) cluster_->add(job);
  }

  void draw_outages() {
    for (const MachineIndex machine : dispatcher_->view().machines().indices()) {
      double at_s = random_.exponential(3000);
      while (from_seconds(at_s) < faults_until_) {
        const double back_s = at_s + 1 + random_.exponential(300);
        put({.at_ns = from_seconds(at_s), .kind = Message::Kind::kFails, .machine = machine});
        put({.at_ns = from_seconds(back_s), .kind = Message::Kind::kReturns, .machine = machine});
        at_s = back_s + 1 + random_.exponential(3000);
      }
    }
  }

  void put(Message message) {
    message.number = ++messages_;
    queue_.push(std::move(message));
  }

  TimeNs next_event() {
    TimeNs next = submitted_.place() < jobs_.size() ? jobs_[submitted_].submit_ns : kNever;
    const bool expects = next != kNever;
    if (!queue_.empty()) next = std::min(next, queue_.top().at_ns);
    next = std::min(next, cluster_->next_end());
    next = std::min(next, reconciler_->due_ns());
    if (expects || dispatcher_->active() > 0) next = std::min(next, dispatcher_->due_ns(expects));
    return next == kNever ? next : std::max(next, now());
  }

  bool has_fault(Fault fault) {
    if (now() >= faults_until_ || random_.uniform() >= fault_rate_) return false;
    ++counts_.of[fault];
    return true;
  }
  TimeNs delay(Fault fault) {
    const double s = random_.exponential(2);
    return now() + 1 + from_seconds(has_fault(fault) ? s + random_.exponential(120) : s);
  }

  void post(const Effect& effect) {
    const Message message{.kind = Message::Kind::kEffect, .effect = effect};
    const int copies = has_fault(kEffectLost) ? 0 : has_fault(kEffectRepeated) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      Message copy = message;
      copy.at_ns = delay(kEffectDelayed);
      put(std::move(copy));
    }
  }

  void answer(const Effect& effect, std::string error) {
    const int copies = has_fault(kAnswerLost) ? 0 : has_fault(kAnswerRepeated) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      put({.at_ns = delay(kAnswerLate), .kind = Message::Kind::kAnswer, .effect = effect, .error = error});
    }
  }

  void deliver() {
    while (!queue_.empty() && queue_.top().at_ns <= now()) {
      const Message message = queue_.top();
      queue_.pop();
      switch (message.kind) {
        case Message::Kind::kEffect:
          carry_out(message.effect);
          break;
        case Message::Kind::kAnswer:
          if (cluster_->has_ended(message.effect.job)) reconciler_->job_ended(message.effect.job);
          reconciler_->answered(message.effect.number, message.error);
          break;
        case Message::Kind::kEnded:
          reconciler_->job_ended(message.effect.job);
          if (forgets_) reconciler_->forget(message.effect.job);
          break;
        case Message::Kind::kFails:
          vanish(message.machine);
          break;
        case Message::Kind::kReturns:
          cluster_->restore(message.machine);
          reconciler_->machine_returned(message.machine);
          break;
      }
    }
    for (; submitted_.place() < jobs_.size() && jobs_[submitted_].submit_ns <= now(); ++submitted_) {
      JobFacts facts = jobs_[submitted_];
      if (random_.uniform() < 0.2) facts.work_ns = kUnknownWork;
      if (dispatcher_->submit(facts) == Admission::kTooLarge) refused_.insert(submitted_);
    }
    if (random_.uniform() < 0.1) revise();
  }

  // Something else is known of one of the jobs now.
  void revise() {
    if (submitted_.place() == 0) return;
    const JobIndex job(pick(random_, 0, static_cast<int>(submitted_.place()) - 1));
    if (!is_live(dispatcher_->view(), job)) return;
    JobFacts known = dispatcher_->view().facts(job);
    known.work_ns = random_.uniform() < 0.2 ? kUnknownWork : from_seconds(pick(random_, 1, 4000));
    known.gpu_utilisation = known.gpu_memory_share = 0.1 * pick(random_, 1, 10);
    dispatcher_->revise(job, known);
  }

  void carry_out(const Effect& effect) {
    const auto error = cluster_->carry_out(effect, [&](Effect::Kind) { return has_fault(kEffectFails); });
    if (error) answer(effect, *error);
  }

  void end_jobs() {
    for (const JobIndex job : cluster_->end_jobs()) {
      put({.at_ns = delay(kAnswerLate), .kind = Message::Kind::kEnded, .effect = {.job = job}});
    }
  }

  void vanish(MachineIndex machine) {
    ++counts_.of[kMachineVanishes];
    cluster_->fail(machine);
    reconciler_->machine_failed(machine);
  }

  // What the policy may see of running jobs.
  void measure() {
    const ClusterView& view = dispatcher_->view();
    for (const JobIndex job : IndexRange<JobIndex>(view.jobs())) {
      const JobProgress& p = view.progress(job);
      const double rate = cluster_->rate(job);
      if (!view.is_running(job) || p.is_starting || !cluster_->runs(job) || p.rate == rate) continue;
      dispatcher_->ledger().set_rate(job, rate);
    }
  }

  void mistake(std::string what) {
    if (mistake_.empty()) mistake_ = fmt::format("at {} s: {}", to_seconds(now()), what);
  }

  void check() {
    if (const Status ok = dispatcher_->ledger().check_invariants(); !ok) mistake(ok.error().to_string());
    if (const Status ok = reconciler_->check_invariants(); !ok) mistake(ok.error().to_string());
    if (const std::string wrong = cluster_->mistake(); !wrong.empty()) mistake(wrong);
  }

  void check_end() {
    for (const JobIndex job : jobs_.indices()) {
      if (!cluster_->has_ended(job) && !refused_.contains(job)) mistake(fmt::format("job {} has not ended", job));
      if (cluster_->runs(job)) mistake(fmt::format("job {} still runs", job));
    }
    if (!reconciler_->is_settled()) mistake("the actual cluster is not as desired");
    const Machines& machines = dispatcher_->view().machines();
    for (const MachineIndex machine : machines.indices()) {
      const int free = reconciler_->actually_free(machine);
      if (free != machines[machine].gpus) mistake(fmt::format("machine {} has {} free GPUs", machine, free));
    }
    if (dispatcher_->active() != 0) mistake(fmt::format("{} jobs are active", dispatcher_->active()));
  }

  Random random_;
  Counts& counts_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<Reconciler> reconciler_;
  std::unique_ptr<TestCluster> cluster_;
  IndexedVector<JobIndex, JobFacts> jobs_;
  std::set<JobIndex> refused_;
  std::priority_queue<Message> queue_;
  std::int64_t messages_ = 0;
  JobIndex submitted_{0};
  TimeNs faults_until_ = 0;
  double fault_rate_ = 0;
  bool forgets_ = false;  // jobs as soon as they have ended
  std::string mistake_;
};

// As many random schedules as are wanted under one policy, and every kind of fault in them.
inline void lose_no_job_and_use_no_gpu_twice(const PolicyRecord& policy, std::uint64_t schedules) {
  const char* const wanted = std::getenv("ORRERY_FAULT_SCHEDULES");
  if (wanted != nullptr) schedules = std::strtoull(wanted, nullptr, 10);
  Counts counts;
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    FaultSchedule schedule(seed, counts);
    ASSERT_EQ(schedule.run(policy), "") << "seed " << seed;
  }
  for (int fault = 0; fault < kFaults; ++fault) {
    testing::Test::RecordProperty(std::string(kFaultNames[fault]), std::to_string(counts.of[fault]));
    EXPECT_GE(counts.of[fault], static_cast<std::int64_t>(std::min<std::uint64_t>(50, schedules / 2)))
        << kFaultNames[fault];
  }
}

}  // namespace orrery::schedule
