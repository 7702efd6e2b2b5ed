// Every policy on clusters whose effects are delayed, repeated, lost or fail, and whose machines vanish.
//
// The test keeps what is really true: which processes of which job run where. It checks after every event that no GPU is
// used twice and no job runs in two places; and in the end that every job has ended, since all faults stop in time.
// ORRERY_FAULT_SCHEDULES random schedules for each policy, 100 unless it is set.

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <queue>

#include "base/random.h"
#include "schedule/policies.h"
#include "schedule/reconciler.h"

namespace orrery::schedule {
namespace {

constexpr std::uint64_t kDefaultSchedules = 100;

std::uint64_t wanted_schedules() {
  const char* const wanted = std::getenv("ORRERY_FAULT_SCHEDULES");
  return wanted == nullptr ? kDefaultSchedules : std::strtoull(wanted, nullptr, 10);
}

int pick(Random& random, int low, int high) {
  return low + static_cast<int>(random.uniform() * (high - low + 1));
}

// A step on k GPUs takes 0.9 / k + 0.1 of one on a single GPU.
class TestScaling : public ScalingModel {
 public:
  explicit TestScaling(const ClusterView& view) : view_(view) {}
  double step_s(JobIndex, int gpus) const override { return share(gpus); }
  std::optional<PsSpeed> ps_speed(JobIndex) const override { return PsSpeed{.a = 0.9, .b = 0.05, .c = 0.05}; }
  double steps_left(JobIndex job) const override { return std::max(1.0, to_seconds(view_.left_ns(job))); }
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
constexpr std::string_view kFaultNames[] = {"effect delayed", "effect repeated", "effect lost", "effect fails",
                                            "answer late",    "answer repeated", "answer lost", "machine vanishes"};

struct Counts {
  std::int64_t of[kFaults] = {};
};

// The processes of one job.
struct Truth {
  Allocation runs_on{};     // of machines that are up
  bool is_whole = false;    // none of its machines has failed since it started
  std::int64_t group = -1;  // jobs of one group share their GPUs
  double left_s = 0;        // of work, on the GPUs asked for
  TimeNs since_ns = 0;
  bool has_ended = false;
  EffectNumber last = 0;  // carried out
  std::string last_error{};
  std::uint32_t turn = 0;  // ends that are due from before are void
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
    gpus_.assign(machines.size(), gpus);
    is_up_.assign(machines.size(), true);
    draw_jobs(gpus * count, gpus);
    draw_outages();
  }

  std::string run(const std::string& policy) {
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
    enum class Kind { kEffect, kAnswer, kEnd, kReport, kFails, kReturns } kind = Kind::kEffect;
    Effect effect{};
    std::string error{};
    MachineIndex machine{};
    std::uint32_t turn = 0;
    friend bool operator<(const Message& a, const Message& b) {
      return std::pair(a.at_ns, a.number) > std::pair(b.at_ns, b.number);
    }
  };

  TimeNs now() const { return dispatcher_->view().now(); }
  Truth& truth(JobIndex job) { return truth_[job]; }
  bool runs(JobIndex job) { return !truth(job).runs_on.empty(); }

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
    truth_.resize(jobs_.size());
    for (const JobIndex job : jobs_.indices()) truth(job).left_s = to_seconds(jobs_[job].work_ns);
  }

  void draw_outages() {
    for (const MachineIndex machine : is_up_.indices()) {
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
          if (truth(message.effect.job).has_ended) reconciler_->job_ended(message.effect.job);
          reconciler_->answered(message.effect.number, message.error);
          break;
        case Message::Kind::kEnd:
          end(message.effect.job, message.turn);
          break;
        case Message::Kind::kReport:
          reconciler_->job_ended(message.effect.job);
          break;
        case Message::Kind::kFails:
          vanish(message.machine);
          break;
        case Message::Kind::kReturns:
          is_up_[message.machine] = true;
          reconciler_->machine_returned(message.machine);
          break;
      }
    }
    for (; submitted_.place() < jobs_.size() && jobs_[submitted_].submit_ns <= now(); ++submitted_) {
      if (dispatcher_->submit(jobs_[submitted_]) == Admission::kTooLarge) truth(submitted_).has_ended = true;
    }
  }

  void carry_out(const Effect& effect) {
    Truth& t = truth(effect.job);
    if (effect.number < t.last) return;
    if (t.has_ended) return answer(effect, "it has ended");
    if (effect.number > t.last) t.last_error = try_out(effect);
    t.last = effect.number;
    answer(effect, t.last_error);
  }

  // Empty: it was carried out.
  std::string try_out(const Effect& effect) {
    const JobIndex job = effect.job;
    Truth& t = truth(job);
    switch (effect.kind) {
      case Effect::Kind::kStop:
        if (runs(job) && has_fault(kEffectFails)) return "it does not stop";
        stop(job);
        return "";
      case Effect::Kind::kSetBatch:
        return has_fault(kEffectFails) ? "no such batch" : "";
      case Effect::Kind::kStart:
        if (runs(job)) mistake(fmt::format("job {} is started and runs already", job));
        [[fallthrough]];
      case Effect::Kind::kMove: {
        const bool cannot = effect.kind == Effect::Kind::kMove && (!runs(job) || !t.is_whole);
        const bool all_up = std::all_of(effect.allocation.begin(), effect.allocation.end(),
                                        [&](const Slice& slice) { return is_up_[slice.machine]; });
        stop(job);
        if (cannot || !all_up || has_fault(kEffectFails)) return "it does not start";
        t.runs_on = effect.allocation;
        t.is_whole = true;
        t.group = effect.gpu_set;
        work_on();
        return "";
      }
    }
    return "";
  }

  void stop(JobIndex job) {
    book(job);
    Truth& t = truth(job);
    t.runs_on.clear();
    t.group = -1;
    ++t.turn;
    work_on();
  }

  double rate(JobIndex job) {
    const Truth& t = truth(job);
    if (!t.is_whole || t.runs_on.empty()) return 0;
    int sharing = 0;
    for (const Truth& other : truth_) sharing += other.group == t.group && !other.runs_on.empty() ? 1 : 0;
    return TestScaling::share(jobs_[job].gpus) / TestScaling::share(gpus_in(t.runs_on)) / sharing;
  }
  void book(JobIndex job) {
    Truth& t = truth(job);
    if (!t.runs_on.empty()) t.left_s -= rates_[job] * to_seconds(now() - t.since_ns);
    t.since_ns = now();
  }
  // Every job works at the rate it has now.
  void work_on() {
    rates_.resize(jobs_.size());
    for (const JobIndex job : jobs_.indices()) {
      if (!runs(job)) continue;
      book(job);
      Truth& t = truth(job);
      rates_[job] = rate(job);
      ++t.turn;
      if (!(rates_[job] > 0)) continue;
      const TimeNs at = now() + from_seconds(std::max(0.0, t.left_s) / rates_[job]) + 1;
      put({.at_ns = at, .kind = Message::Kind::kEnd, .effect = {.job = job}, .turn = t.turn});
    }
  }

  void end(JobIndex job, std::uint32_t turn) {
    if (truth(job).turn != turn || truth(job).has_ended) return;
    stop(job);
    truth(job).has_ended = true;
    put({.at_ns = delay(kAnswerLate), .kind = Message::Kind::kReport, .effect = {.job = job}});
  }

  void vanish(MachineIndex machine) {
    ++counts_.of[kMachineVanishes];
    is_up_[machine] = false;
    for (const JobIndex job : jobs_.indices()) {
      Truth& t = truth(job);
      book(job);
      if (std::erase_if(t.runs_on, [&](const Slice& slice) { return slice.machine == machine; }) == 0) continue;
      t.is_whole = false;
    }
    work_on();
    reconciler_->machine_failed(machine);
  }

  // What the policy may see of running jobs.
  void measure() {
    const ClusterView& view = dispatcher_->view();
    for (const JobIndex job : IndexRange<JobIndex>(view.jobs())) {
      const JobProgress& p = view.progress(job);
      if (!view.is_running(job) || p.is_starting || !runs(job) || p.rate == rate(job)) continue;
      dispatcher_->ledger().set_rate(job, rate(job));
    }
  }

  void mistake(std::string what) {
    if (mistake_.empty()) mistake_ = fmt::format("at {} s: {}", to_seconds(now()), what);
  }

  void check() {
    if (const Status ok = dispatcher_->ledger().check_invariants(); !ok) mistake(ok.error().to_string());
    if (const Status ok = reconciler_->check_invariants(); !ok) mistake(ok.error().to_string());
    for (const MachineIndex machine : gpus_.indices()) {
      std::map<std::int64_t, int> by_group;
      for (const Truth& t : truth_) {
        for (const Slice& slice : t.runs_on) {
          if (slice.machine == machine) by_group[t.group] = slice.gpus;
        }
      }
      int used = 0;
      for (const auto& [group, gpus] : by_group) used += gpus;
      if (used > gpus_[machine])
        mistake(fmt::format("machine {}: {} of {} GPUs are used", machine, used, gpus_[machine]));
    }
  }

  void check_end() {
    for (const JobIndex job : jobs_.indices()) {
      if (!truth(job).has_ended) mistake(fmt::format("job {} has not ended", job));
      if (runs(job)) mistake(fmt::format("job {} still runs", job));
    }
    if (!reconciler_->is_settled()) mistake("the actual cluster is not as desired");
    for (const MachineIndex machine : gpus_.indices()) {
      const int free = reconciler_->actually_free(machine);
      if (free != gpus_[machine]) mistake(fmt::format("machine {} has {} free GPUs", machine, free));
    }
    if (dispatcher_->active() != 0) mistake(fmt::format("{} jobs are active", dispatcher_->active()));
  }

  Random random_;
  Counts& counts_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<Reconciler> reconciler_;
  IndexedVector<JobIndex, JobFacts> jobs_;
  IndexedVector<JobIndex, Truth> truth_;
  IndexedVector<JobIndex, double> rates_;
  IndexedVector<MachineIndex, int> gpus_;
  IndexedVector<MachineIndex, bool> is_up_;
  std::priority_queue<Message> queue_;
  std::int64_t messages_ = 0;
  JobIndex submitted_{0};
  TimeNs faults_until_ = 0;
  double fault_rate_ = 0;
  std::string mistake_;
};

class FaultSchedules : public testing::TestWithParam<std::string> {};

TEST_P(FaultSchedules, LoseNoJobAndUseNoGpuTwice) {
  Counts counts;
  const std::uint64_t schedules = wanted_schedules();
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    FaultSchedule schedule(seed, counts);
    ASSERT_EQ(schedule.run(GetParam()), "") << "seed " << seed;
  }
  for (int fault = 0; fault < kFaults; ++fault) {
    RecordProperty(std::string(kFaultNames[fault]), std::to_string(counts.of[fault]));
    EXPECT_GE(counts.of[fault], static_cast<std::int64_t>(std::min<std::uint64_t>(50, schedules / 4)))
        << kFaultNames[fault];
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const PolicyInfo& policy : all_policies()) all.push_back(policy.name);
  return all;
}

std::string test_name(const testing::TestParamInfo<std::string>& policy) {
  std::string name = policy.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Policies, FaultSchedules, testing::ValuesIn(names()), test_name);

}  // namespace
}  // namespace orrery::schedule
