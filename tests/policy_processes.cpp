// A part of a run in a process of its own: the policy gets what was saved after the event before, and nothing else of the
// past. tests/policy_processes_test.py starts it again and again.
//
// usage: policy_processes whole CASE POLICY               prints how many events there are, too
//        policy_processes next CASE POLICY FOLDER EVENTS  plays so many
//        policy_processes rest CASE POLICY FOLDER
//
// FOLDER holds `journal`, the decisions so far, and `state`, the saved policy. The past is played again from the
// journal, as a control plane recovers: no policy is asked for it. Then the policy itself plays the next events, or the
// rest. The last line is "ended HASH DECISIONS" when the run has ended.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

#include "env/sim_env.h"
#include "simulate/restart_cases.h"

namespace orrery::simulate {
namespace {

using schedule::ClusterView;
using schedule::Decision;
using schedule::Event;
using schedule::Policy;

// A call of the policy: what it decided, and when it wants to be called again.
struct Call {
  TimeNs wake_ns = kNever;
  std::vector<Decision> decisions;
};

struct Journal {
  std::int64_t events = 0;  // after which the state was saved
  TimeNs round_ns = 0;
  TimeNs first_wake_ns = kNever;  // before any call
  std::vector<Call> calls;
};

[[noreturn]] void fail(const std::string& what) {
  std::fputs((what + "\n").c_str(), stderr);
  std::_Exit(2);
}

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Journal read_journal(const std::string& path) {
  Journal journal;
  std::ifstream file(path);
  if (!file) return journal;
  file >> journal.events >> journal.round_ns >> journal.first_wake_ns;
  Call call;
  std::size_t decisions = 0;
  while (file >> call.wake_ns >> decisions) {
    call.decisions.clear();
    for (std::size_t i = 0; i < decisions; ++i) {
      Decision decision;
      int action = 0;
      std::int32_t job = 0, other = 0;
      std::size_t slices = 0;
      file >> action >> job >> other >> decision.batch_factor >> slices;
      decision.action = static_cast<schedule::Action>(action);
      decision.job = JobIndex(job);
      if (other >= 0) decision.other = JobIndex(other);
      for (std::size_t s = 0; s < slices; ++s) {
        std::int32_t machine = 0, gpus = 0, servers = 0;
        file >> machine >> gpus >> servers;
        decision.allocation.push_back({MachineIndex(machine), gpus, servers});
      }
      call.decisions.push_back(std::move(decision));
    }
    journal.calls.push_back(call);
  }
  return journal;
}

void write_journal(const std::string& path, const Journal& journal) {
  std::ofstream file(path + ".new");
  file << journal.events << " " << journal.round_ns << " " << journal.first_wake_ns << "\n";
  for (const Call& call : journal.calls) {
    file << call.wake_ns << " " << call.decisions.size() << "\n";
    for (const Decision& decision : call.decisions) {
      const std::int32_t other = decision.other == schedule::kNoJob ? -1 : decision.other.value();
      file << static_cast<int>(decision.action) << " " << decision.job.value() << " " << other << " "
           << decision.batch_factor << " " << decision.allocation.size();
      for (const schedule::Slice& slice : decision.allocation) {
        file << " " << slice.machine.value() << " " << slice.gpus << " " << slice.servers;
      }
      file << "\n";
    }
  }
  file.close();
  if (!file) fail("cannot write " + path);
  std::filesystem::rename(path + ".new", path);
}

// The past: says what the journal says.
class Replay : public Policy {
 public:
  explicit Replay(const Journal& journal) : journal_(journal) {}
  std::string_view name() const override { return "replay"; }
  TimeNs round_ns() const override { return journal_.round_ns; }
  TimeNs wake_at_ns() const override { return next_ == 0 ? journal_.first_wake_ns : journal_.calls[next_ - 1].wake_ns; }
  void decide(const ClusterView&, const Event&, std::vector<Decision>& decisions) override {
    if (next_ == journal_.calls.size()) fail("the journal is shorter than the past");
    const Call& call = journal_.calls[next_++];
    decisions.insert(decisions.end(), call.decisions.begin(), call.decisions.end());
  }
  void exchange(schedule::StateArchive& state) override { state(next_); }
  void adopt(const ClusterView&) override { fail("the journal cannot adopt a cluster"); }

 private:
  const Journal& journal_;
  std::size_t next_ = 0;
};

// The policy itself, whose calls are written down.
class Written : public Policy {
 public:
  Written(std::unique_ptr<Policy> policy, Journal& journal) : policy_(std::move(policy)), journal_(journal) {}
  std::string_view name() const override { return policy_->name(); }
  TimeNs round_ns() const override { return policy_->round_ns(); }
  TimeNs wake_at_ns() const override { return policy_->wake_at_ns(); }
  std::uint32_t state_format() const override { return policy_->state_format(); }
  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    const auto first = static_cast<std::ptrdiff_t>(decisions.size());
    policy_->decide(view, event, decisions);
    journal_.calls.push_back({policy_->wake_at_ns(), {decisions.begin() + first, decisions.end()}});
  }
  void exchange(schedule::StateArchive& state) override { policy_->exchange(state); }
  void adopt(const ClusterView&) override { fail("the saved state was refused"); }

 private:
  std::unique_ptr<Policy> policy_;
  Journal& journal_;
};

RestartCase case_of(std::string_view name) {
  if (name == "crowded") return crowded_cluster();
  if (name == "types") return failing_types();
  if (name == "elastic") return elastic_jobs();
  fail(fmt::format("no case \"{}\"", name));
}

class Process {
 public:
  Process(RestartCase played, std::string policy) : played_(std::move(played)), name_(std::move(policy)) {
    for (TraceJob& job : played_.job_trace.jobs) {
      if (job.facts.gpus_max == 0) job.facts.gpus_max = 4 * job.facts.gpus;
    }
  }

  int whole() {
    std::int64_t events = 0;
    played_.setup.engine.restart_policy = [&](const std::string& bytes) {
      ++events;
      return bytes;
    };
    const auto make = [&](const ClusterView& view) { return make_policy(view); };
    if (const int failed = run(make, false); failed != 0) return failed;
    fmt::print("{} events\n", events);
    played_.setup.engine.restart_policy = nullptr;
    scaling_ = nullptr;
    return run(make);
  }

  // So many events; 0: all that are left.
  int go_on(const std::string& folder, std::int64_t count) {
    const std::string journal_path = folder + "/journal", state_path = folder + "/state";
    journal_ = read_journal(journal_path);
    const std::int64_t past = journal_.events;
    const std::string saved = read_all(state_path);
    std::int64_t events = 0;
    played_.setup.engine.restart_policy = [&](const std::string& bytes) {
      if (++events < past) return bytes;
      is_past_ = false;
      if (events == past) return saved;
      if (count == 0 || events < past + count) return bytes;
      journal_.events = events;
      std::ofstream state(state_path + ".new", std::ios::binary);
      state << bytes;
      state.close();
      std::filesystem::rename(state_path + ".new", state_path);
      write_journal(journal_path, journal_);
      std::_Exit(0);
    };
    is_past_ = past > 0;
    return run([&](const ClusterView& view) -> Result<std::unique_ptr<Policy>> {
      if (is_past_) return std::make_unique<Replay>(journal_);
      ORRERY_TRY(std::unique_ptr<Policy> policy, make_policy(view));
      if (past == 0 && journal_.calls.empty()) {
        journal_.round_ns = policy->round_ns();
        journal_.first_wake_ns = policy->wake_at_ns();
      }
      return std::make_unique<Written>(std::move(policy), journal_);
    });
  }

 private:
  Result<std::unique_ptr<Policy>> make_policy(const ClusterView& view) {
    if (scaling_ == nullptr) scaling_ = std::make_unique<CurveScaling>(view, curve_);
    schedule::PolicyInputs inputs;
    inputs.scaling = scaling_.get();
    inputs.packed_share = [](const ClusterView&, JobIndex, JobIndex) { return 0.6; };
    inputs.typed = view.is_typed();
    const auto policies = runnable_policies(&env_);
    const schedule::PolicyRecord* const record = schedule::find_policy(policies, name_);
    if (record == nullptr) return schedule::no_such_policy(policies, name_);
    return schedule::make_policy(*record, inputs);
  }

  int run(const schedule::PolicyMaker& make, bool prints = true) {
    EngineOptions& engine = played_.setup.engine;
    if (!played_.setup.devices.empty()) engine.speeds = played_.job_trace.speeds;
    const auto result = simulate(played_.job_trace, played_.setup.machines, curve_, make, engine);
    if (!result) {
      std::fputs((result.error().to_string() + "\n").c_str(), stdout);
      return result.error().code() == ErrorCode::kInvalidArgument ? 77 : 1;
    }
    if (prints) fmt::print("ended {:016x} {}\n", result->decision_hash, result->decisions);
    return 0;
  }

  RestartCase played_;
  std::string name_;
  env::SimEnv sim_;
  env::Env env_ = sim_.env();
  CurveSpeed curve_{{}};
  std::unique_ptr<schedule::ScalingModel> scaling_;
  Journal journal_;
  bool is_past_ = false;
};

}  // namespace
}  // namespace orrery::simulate

int main(int argc, char** argv) {
  using namespace orrery::simulate;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool is_whole = words.size() == 3 && words[0] == "whole";
  const bool is_next = words.size() == 5 && words[0] == "next";
  const bool is_rest = words.size() == 4 && words[0] == "rest";
  if (!is_whole && !is_next && !is_rest) fail("usage: policy_processes whole|next|rest CASE POLICY [FOLDER] [EVENTS]");
  Process process(case_of(words[1]), words[2]);
  if (is_whole) return process.whole();
  const std::int64_t count = is_next ? std::strtoll(words[4].c_str(), nullptr, 10) : 0;
  if (is_next && count < 1) fail("EVENTS: expected a number from 1 on");
  return process.go_on(words[3], count);
}
