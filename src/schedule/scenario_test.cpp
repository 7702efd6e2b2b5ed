// The golden scenarios of scenarios/: what a dispatcher and its policy do, line by line, under several configurations.
// scenarios/README.md explains the files. ORRERY_UPDATE_SCENARIOS=1 writes what happens into them.

#include <charconv>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "base/text.h"
#include "schedule/policies.h"
#include "schedule/test_cluster.h"

namespace orrery::schedule {
namespace {

namespace fs = std::filesystem;

// How a scenario is played. Without lines of its own it must print what "plain" prints.
struct Configuration {
  std::string name;
  bool restarts = false;           // the policy is made anew from its bytes after every step
  TimeNs delay_ns = 0;             // of every effect, and of every answer
  bool first_starts_fail = false;  // of every job
};
const Configuration kConfigurations[] = {
    {.name = "plain"},
    {.name = "restarted", .restarts = true},
    {.name = "delayed", .delay_ns = 2 * kSecondNs},
    {.name = "failing", .first_starts_fail = true},
};

struct Line {
  int number = 0;
  std::string configuration{};  // empty: all
  std::string command{};
  std::map<std::string, std::vector<std::string>> expected{};  // by configuration; "" is of plain and all others
};

using Words = std::vector<std::string>;

Words words_of(const std::string& text) {
  std::istringstream in(text);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

double number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || (end != text.data() + text.size() && *end != 's')) {
    ADD_FAILURE() << "not a number: " << text;
  }
  return value;
}

// Does what a test tells it, for decisions that no real policy makes.
class Scripted : public Policy {
 public:
  explicit Scripted(std::deque<Decision>& script) : script_(script) {}
  std::string_view name() const override { return "scripted"; }
  void decide(const ClusterView&, const Event&, std::vector<Decision>& decisions) override {
    decisions.assign(script_.begin(), script_.end());
    script_.clear();
  }
  void exchange(StateArchive&) override {}
  void adopt(const ClusterView&) override {}

 private:
  std::deque<Decision>& script_;
};

// A step on k GPUs takes 1 / k of one on a single GPU, so that times are whole.
double linear_share(int gpus) {
  return 1.0 / gpus;
}

class LinearScaling : public ScalingModel {
 public:
  explicit LinearScaling(const ClusterView& view) : view_(view) {}
  double step_s(JobIndex, int gpus) const override { return linear_share(gpus); }
  std::optional<PsSpeed> ps_speed(JobIndex) const override { return PsSpeed{.a = 1}; }
  double steps_left(JobIndex job) const override {
    return std::max(1.0, to_seconds(view_.left_ns(job)) * view_.facts(job).gpus);
  }
  int gpus_max(JobIndex job) const override { return std::max(view_.facts(job).gpus, view_.facts(job).gpus_max); }

 private:
  const ClusterView& view_;
};

class Player {
 public:
  explicit Player(const Configuration& configuration) : configuration_(configuration) {}

  // What a command prints.
  std::vector<std::string> play(const std::string& command) {
    printed_.clear();
    const Words words = words_of(command);
    const std::string& verb = words.front();
    if (verb == "cluster") {
      make_cluster(words);
    } else if (verb == "options") {
      for (std::size_t i = 1; i < words.size(); ++i) set_option(words[i]);
    } else if (verb == "policy") {
      make_policy_of(words.at(1));
    } else if (verb == "submit") {
      submit(words);
    } else if (verb == "advance") {
      advance(from_seconds(number_in(words.at(1))));
    } else if (verb == "expect") {
      expect(words);
    } else {
      happen(words);
    }
    take_log();
    if (reconciler_) {
      if (const Status ok = reconciler_->check_invariants(); !ok) print(ok.error().to_string());
      if (const Status ok = dispatcher_->ledger().check_invariants(); !ok) print(ok.error().to_string());
      if (const std::string mistake = cluster_->mistake(); !mistake.empty()) print(mistake);
    }
    return printed_;
  }

 private:
  struct Message {
    TimeNs at_ns = 0;
    bool is_answer = false;
    Effect effect{};
    std::string error{};
  };

  TimeNs now() const { return dispatcher_->view().now(); }
  void print(std::string text) { printed_.push_back(std::move(text)); }
  void print_now(std::string_view text) { print(fmt::format("{:g} s: {}", to_seconds(now()), text)); }

  JobIndex job(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) ADD_FAILURE() << "no job " << name;
    return found == names_.end() ? kNoJob : JobIndex(found - names_.begin());
  }
  const std::string& name(JobIndex job) const { return names_[job.place()]; }

  static std::string places(const Allocation& allocation) {
    std::vector<std::string> slices;
    for (const Slice& slice : allocation) {
      slices.push_back(fmt::format("{}:{}", slice.machine, slice.gpus) +
                       (slice.servers > 0 ? fmt::format("+{}", slice.servers) : ""));
    }
    return fmt::format("{}", fmt::join(slices, ","));
  }
  static Allocation places_of(const std::string& text) {
    Allocation allocation;
    for (const std::string& slice : split(text, ',')) {
      const auto parts = split(slice, ':');
      allocation.push_back(
          {MachineIndex(static_cast<int>(number_in(parts.at(0)))), static_cast<int>(number_in(parts.at(1)))});
    }
    return allocation;
  }

  // --- Before the first job.

  void make_cluster(const Words& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto parts = split(words[i], 'x');
      for (int m = 0; m < number_in(parts.at(0)); ++m) {
        machines_.push_back({.gpus = static_cast<int>(number_in(parts.at(1)))});
      }
    }
  }

  void set_option(const std::string& text) {
    const auto parts = split(text, '=');
    const double value = number_in(parts.at(1));
    if (parts[0] == "age")
      options_.age_ns = from_seconds(value);
    else if (parts[0] == "quota")
      options_.tenant_quota = static_cast<int>(value);
    else if (parts[0] == "min-run")
      options_.min_run_ns = from_seconds(value);
    else if (parts[0] == "checkpoint")
      options_.costs.checkpoint_ns = from_seconds(value);
    else if (parts[0] == "timeout")
      reconciler_options_.answer_timeout_ns = from_seconds(value);
    else if (parts[0] == "failures-max")
      reconciler_options_.failures_max = static_cast<int>(value);
    else if (parts[0] == "round")
      inputs_.round_s = value;
    else
      ADD_FAILURE() << "no option " << text;
  }

  void make_policy_of(const std::string& policy) {
    options_.keep_log = options_.awaits_starts = true;
    dispatcher_ = std::make_unique<Dispatcher>(machines_, options_);
    reconciler_ = std::make_unique<Reconciler>(*dispatcher_, reconciler_options_);
    cluster_ = std::make_unique<TestCluster>(machines_, linear_share);
    scaling_ = std::make_unique<LinearScaling>(dispatcher_->view());
    inputs_.scaling = scaling_.get();
    inputs_.packed_share = [](const ClusterView&, JobIndex, JobIndex) { return 0.5; };
    const Status made = dispatcher_->set_policy([this, policy](const ClusterView&) -> Result<std::unique_ptr<Policy>> {
      if (policy == "scripted") return std::make_unique<Scripted>(script_);
      return make_policy(policy, inputs_);
    });
    if (!made) ADD_FAILURE() << made.error().to_string();
  }

  // --- What happens.

  void submit(const Words& words) {
    JobFacts facts{.submit_ns = now()};
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto parts = split(words[i], '=');
      const double value = number_in(parts.at(1));
      if (parts[0] == "gpus")
        facts.gpus = static_cast<int>(value);
      else if (parts[0] == "gpus-max")
        facts.gpus_max = static_cast<int>(value);
      else if (parts[0] == "work")
        facts.work_ns = from_seconds(value);
      else if (parts[0] == "deadline")
        facts.deadline_ns = now() + from_seconds(value);
      else if (parts[0] == "priority")
        facts.priority = value;
      else if (parts[0] == "tenant")
        facts.tenant = static_cast<int>(value);
      else if (parts[0] == "utilisation")
        facts.gpu_utilisation = value;
      else if (parts[0] == "memory")
        facts.gpu_memory_share = value;
      else
        ADD_FAILURE() << "no fact " << words[i];
    }
    names_.push_back(words.at(1));
    cluster_->add(facts);
    switch (dispatcher_->submit(facts)) {
      case Admission::kAdmitted:
        break;
      case Admission::kHeld:
        print_now(words[1] + " is held by the quota");
        break;
      case Admission::kTooLarge:
        print_now(words[1] + " is refused: too large");
        break;
    }
    settle();
  }

  void happen(const Words& words) {
    const std::string& verb = words.front();
    if (verb == "cancel") {
      dispatcher_->cancel(job(words.at(1)));
    } else if (verb == "forget") {
      reconciler_->forget(job(words.at(1)));
    } else if (verb == "fail-machine") {
      const MachineIndex machine(static_cast<int>(number_in(words.at(1))));
      cluster_->fail(machine);
      reconciler_->machine_failed(machine);
    } else if (verb == "restore-machine") {
      const MachineIndex machine(static_cast<int>(number_in(words.at(1))));
      cluster_->restore(machine);
      reconciler_->machine_returned(machine);
    } else if (verb == "fail-next" || verb == "lose-next") {
      // "fail-next stop 2": the next two stops.
      std::map<std::string, int>& coming = verb == "fail-next" ? failures_ : losses_;
      coming[words.at(1)] += words.size() > 2 ? static_cast<int>(number_in(words[2])) : 1;
      return;
    } else if (verb == "decide") {
      return decide(words);
    } else if (verb == "step") {
      // Asks the policy.
    } else if (verb == "restart" || verb == "crash") {
      // From its bytes, or without any.
      restart(verb == "restart" ? dispatcher_->save_policy() : "");
    } else {
      ADD_FAILURE() << "no command " << verb;
    }
    settle();
  }

  // "decide start a on 0:4,1:2", "decide pack b beside a".
  void decide(const Words& words) {
    Decision decision{.job = words.at(2) == "nothing" ? JobIndex(999) : job(words[2])};
    for (const Action action : {Action::kStart, Action::kSuspend, Action::kMigrate, Action::kResize, Action::kPack,
                                Action::kUnpack, Action::kStop}) {
      if (to_string(action) == words.at(1)) decision.action = action;
    }
    if (words.size() > 4 && words[3] == "on") decision.allocation = places_of(words[4]);
    if (words.size() > 4 && words[3] == "beside") decision.other = job(words[4]);
    script_.push_back(decision);
  }

  void restart(const std::string& bytes) {
    const auto restored = dispatcher_->restart_policy(bytes);
    if (!restored) return print(restored.error().to_string());
    if (!*restored) print_now("the policy starts from the view");
  }

  void advance(TimeNs time) {
    const TimeNs until = now() + time;
    while (true) {
      TimeNs next = std::min(cluster_->next_end(), reconciler_->due_ns());
      for (const Message& message : messages_) next = std::min(next, message.at_ns);
      if (dispatcher_->active() > 0) next = std::min(next, dispatcher_->due_ns(false));
      if (next == kNever || next > until) break;
      move_to(std::max(next, now()));
      for (const JobIndex ended : cluster_->end_jobs()) {
        reconciler_->job_ended(ended);
        take_log();
        print_now(name(ended) + " ended");
      }
      settle();
    }
    move_to(until);
  }

  void move_to(TimeNs time) {
    dispatcher_->advance_to(time);
    cluster_->advance_to(time);
  }

  // --- The dispatcher's step, and its effects.

  void settle() {
    deliver();
    for (bool again = true; again;) {
      if (const auto stepped = dispatcher_->step(); !stepped) print(stepped.error().to_string());
      take_log();
      again = send();
      if (configuration_.restarts) restart(dispatcher_->save_policy());
    }
    measure();
  }

  void deliver() {
    for (std::size_t i = 0; i < messages_.size();) {
      if (messages_[i].at_ns > now()) {
        ++i;
        continue;
      }
      const Message message = messages_[i];
      messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i));
      if (message.is_answer) {
        answer(message.effect, message.error);
      } else {
        carry_out(message.effect);
      }
    }
  }

  // Whether the policy has to be asked again at this instant, because an effect failed at once.
  bool send() {
    bool again = false;
    for (auto effects = reconciler_->effects(); !effects.empty(); effects = reconciler_->effects()) {
      for (const Effect& effect : effects) {
        const std::string kind(to_string(effect.kind));
        if (losses_[kind] > 0) {
          --losses_[kind];
          print_now(fmt::format("{} {} is lost", kind, name(effect.job)));
          continue;
        }
        if (configuration_.delay_ns > 0) {
          messages_.push_back({.at_ns = now() + configuration_.delay_ns, .effect = effect});
        } else {
          again = carry_out(effect) || again;
        }
      }
    }
    return again;
  }

  // Whether it failed.
  bool carry_out(const Effect& effect) {
    const bool is_first = effect.kind == Effect::Kind::kStart && !started_.contains(effect.job);
    const auto error = cluster_->carry_out(effect, [&](Effect::Kind kind) {
      int& coming = failures_[std::string(to_string(kind))];
      if (coming == 0) return configuration_.first_starts_fail && is_first;
      --coming;
      return true;
    });
    if (effect.kind == Effect::Kind::kStart) started_.insert(effect.job);
    if (!error) return false;
    if (configuration_.delay_ns > 0) {
      messages_.push_back(
          {.at_ns = now() + configuration_.delay_ns, .is_answer = true, .effect = effect, .error = *error});
      return false;
    }
    answer(effect, *error);
    return !error->empty();
  }

  void answer(const Effect& effect, const std::string& error) {
    const bool was_starting = dispatcher_->view().progress(effect.job).is_starting;
    if (!error.empty()) print_now(fmt::format("{} {} fails: {}", to_string(effect.kind), name(effect.job), error));
    reconciler_->answered(effect.number, error);
    take_log();
    if (configuration_.delay_ns > 0 && error.empty() && was_starting &&
        !dispatcher_->view().progress(effect.job).is_starting) {
      print_now(name(effect.job) + " works");
    }
  }

  // What the policy may see of running jobs.
  void measure() {
    const ClusterView& view = dispatcher_->view();
    for (const JobIndex one : view.known_jobs()) {
      const JobProgress& p = view.progress(one);
      if (!view.is_running(one) || p.is_starting || p.rate == cluster_->rate(one)) continue;
      dispatcher_->ledger().set_rate(one, cluster_->rate(one));
    }
  }

  void take_log() {
    if (!dispatcher_) return;
    for (const LoggedDecision& logged : dispatcher_->take_log()) {
      const Decision& decision = logged.decision;
      std::string text = fmt::format("{:g} s: {} {}", to_seconds(logged.at_ns), to_string(decision.action),
                                     decision.job.place() < names_.size() ? name(decision.job) : "nothing");
      if (!decision.allocation.empty())
        text += (decision.action == Action::kEvict ? " from " : " on ") + places(decision.allocation);
      if (decision.other != kNoJob) text += " beside " + name(decision.other);
      const bool is_scripted = dispatcher_->policy().name() == "scripted" && decision.action != Action::kEvict;
      if (!is_scripted) text += ": " + to_string(decision.reason);
      if (!logged.error.empty()) text += " (" + logged.error + ")";
      print(text);
    }
  }

  // --- What must be so.

  std::string state_of(JobIndex one) const {
    const ClusterView& view = dispatcher_->view();
    switch (view.progress(one).state) {
      case JobState::kUnknown:
        return view.facts(one).gpus > view.gpus() ? "refused" : "held";
      case JobState::kWaiting:
      case JobState::kSuspended:
        return "waiting";
      case JobState::kRunning:
        return view.progress(one).is_starting ? "starting" : "running";
      case JobState::kEnded:
        return "ended";
    }
    return "";
  }

  // "expect running a b", "expect free 2 0".
  void expect(const Words& words) {
    if (words.at(1) == "free") {
      for (std::size_t i = 2; i < words.size(); ++i) {
        const int free = reconciler_->actually_free(MachineIndex(i - 2));
        if (free != number_in(words[i])) print(fmt::format("machine {} has {} free GPUs", i - 2, free));
      }
      return;
    }
    for (std::size_t i = 2; i < words.size(); ++i) {
      const std::string state = state_of(job(words[i]));
      if (state != words[1]) print(fmt::format("{} is {}", words[i], state));
    }
  }

  Configuration configuration_;
  Machines machines_;
  DispatchOptions options_{};
  ReconcilerOptions reconciler_options_{};
  PolicyInputs inputs_{};
  std::deque<Decision> script_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<Reconciler> reconciler_;
  std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<LinearScaling> scaling_;
  std::vector<std::string> names_;
  std::set<JobIndex> started_;
  std::map<std::string, int> failures_, losses_;  // to come, by kind of effect
  std::vector<Message> messages_;
  std::vector<std::string> printed_;
};

// --- The files.

bool is_configuration(std::string_view name) {
  return std::any_of(std::begin(kConfigurations), std::end(kConfigurations),
                     [&](const Configuration& known) { return known.name == name; });
}

struct File {
  // Of the file, in order: a comment or an empty line, or a command.
  struct Piece {
    std::string comment{};
    std::optional<Line> line{};
  };
  std::vector<Piece> pieces;
};

File read_scenario(const fs::path& path) {
  File file;
  std::ifstream in(path);
  int number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    const std::size_t mark = text.find("> ");
    const std::string before = mark == std::string::npos ? "" : text.substr(0, mark);
    if (mark != std::string::npos && (before.empty() || is_configuration(before))) {
      if (file.pieces.empty() || !file.pieces.back().line) {
        ADD_FAILURE() << path << ":" << number << ": no command before this line";
        continue;
      }
      auto& expected = file.pieces.back().line->expected[before];
      if (text.substr(mark + 2) != "-") expected.push_back(text.substr(mark + 2));
    } else if (text.empty() || text[0] == '#') {
      file.pieces.push_back({.comment = text});
    } else {
      Line line{.number = number, .command = text};
      const std::size_t colon = text.find(": ");
      if (colon != std::string::npos && is_configuration(text.substr(0, colon))) {
        line.configuration = text.substr(0, colon);
        line.command = text.substr(colon + 2);
      }
      file.pieces.push_back({.line = line});
    }
  }
  return file;
}

void write_scenario(const fs::path& path, const File& file) {
  std::ofstream out(path);
  for (const File::Piece& piece : file.pieces) {
    if (!piece.line) {
      out << piece.comment << "\n";
      continue;
    }
    const Line& line = *piece.line;
    out << (line.configuration.empty() ? "" : line.configuration + ": ") << line.command << "\n";
    for (const auto& [configuration, texts] : line.expected) {
      if (texts.empty() && !configuration.empty()) out << configuration << "> -\n";
      for (const std::string& text : texts) out << configuration << "> " << text << "\n";
    }
  }
}

class Scenarios : public testing::TestWithParam<std::string> {};

TEST_P(Scenarios, PrintWhatTheirFilesSay) {
  const bool updates = std::getenv("ORRERY_UPDATE_SCENARIOS") != nullptr;
  const fs::path path = fs::path(ORRERY_SCENARIOS) / GetParam();
  File file = read_scenario(path);
  int commands = 0;
  for (const Configuration& configuration : kConfigurations) {
    Player player(configuration);
    for (File::Piece& piece : file.pieces) {
      if (!piece.line) continue;
      Line& line = *piece.line;
      if (line.command == "skip " + configuration.name) break;
      if (line.command.starts_with("skip ")) continue;
      const bool is_restarted_plain = configuration.restarts && line.configuration == "plain";
      if (!line.configuration.empty() && line.configuration != configuration.name && !is_restarted_plain) continue;
      const std::vector<std::string> printed = player.play(line.command);
      ++commands;
      if (updates && configuration.name == "plain") line.expected.clear();
      if (updates && (configuration.name == "plain" || printed != line.expected[""])) {
        const std::string key = configuration.name == "plain" ? "" : configuration.name;
        line.expected[key] = printed;
        continue;
      }
      const auto own = line.expected.find(configuration.name);
      const auto& expected = own != line.expected.end() ? own->second : line.expected[""];
      EXPECT_EQ(printed, expected) << path << ":" << line.number << ": " << line.command << " (" << configuration.name
                                   << ")";
    }
  }
  EXPECT_GT(commands, 0);
  if (updates) write_scenario(path, file);
}

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(ORRERY_SCENARIOS)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path().filename());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string scenario_name(const testing::TestParamInfo<std::string>& file) {
  std::string name = fs::path(file.param).stem();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, Scenarios, testing::ValuesIn(scenario_files()), scenario_name);

}  // namespace
}  // namespace orrery::schedule
