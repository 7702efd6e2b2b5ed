#include "simulate/job_story.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/text.h"

namespace orrery::simulate {

namespace {

using schedule::Action;
using schedule::Decision;

std::string gpus_text(std::int64_t gpus) {
  return gpus == 1 ? "1 GPU" : fmt::format("{} GPUs", gpus);
}

std::string place_text(const schedule::Allocation& allocation) {
  std::string text;
  for (const schedule::Slice& slice : allocation) {
    text += fmt::format("{}{} of machine {}", text.empty() ? "" : " and ", gpus_text(slice.gpus), slice.machine);
    if (slice.servers > 0) text += fmt::format(" with {} parameter servers", slice.servers);
  }
  return text;
}

class Teller {
 public:
  Teller(const JobTrace& job_trace, const RunResult& run, JobIndex job)
      : job_trace_(job_trace), run_(run), job_(job), facts_(job_trace.jobs[job].facts) {}

  std::vector<StoryLine> tell() && {
    add(facts_.submit_ns, "is submitted", asks());
    waiting_since_ = facts_.submit_ns;
    for (std::size_t i = 0; i < run_.log.size(); ++i) {
      if (run_.log[i].decision.job == job_) decided(i);
    }
    end();
    return std::move(story_);
  }

 private:
  const std::string& id(JobIndex job) const { return job_trace_.jobs[job].id; }
  void add(TimeNs at, std::string what, std::string why) { story_.push_back({at, std::move(what), std::move(why)}); }

  std::string asks() const {
    std::string text = fmt::format("{}, {} of work", gpus_text(facts_.gpus),
                                   format_cell(schedule::to_seconds(facts_.work_ns), CellFormat::kSeconds));
    if (facts_.deadline_ns != kNever) {
      text += fmt::format(", due {} later", format_cell(schedule::to_seconds(facts_.deadline_ns - facts_.submit_ns),
                                                        CellFormat::kSeconds));
    }
    return text;
  }

  void decided(std::size_t i) {
    const TimeNs at = run_.log[i].at_ns;
    const Decision& decision = run_.log[i].decision;
    const bool begins = schedule::takes_only(decision.action);
    if (begins && waiting_since_ != kNever && at > waiting_since_) waited(waiting_since_, at);
    add(at, what(decision), to_string(decision.reason));
    if (begins) waiting_since_ = kNever;
    if (schedule::releases(decision.action) && !schedule::takes(decision.action)) waiting_since_ = at;
  }

  std::string what(const Decision& decision) const {
    switch (decision.action) {
      case Action::kStart:
        return "starts on " + place_text(decision.allocation);
      case Action::kSuspend:
        return "is suspended";
      case Action::kMigrate:
        return "moves to " + place_text(decision.allocation);
      case Action::kResize:
        return "goes on with " + place_text(decision.allocation);
      case Action::kPack:
        return "shares the GPUs of " + id(decision.other);
      case Action::kInterleave:
        return "takes turns with the stages of " + id(decision.other);
      case Action::kUnpack:
        return "leaves the GPUs it shares";
      case Action::kStop:
        return "is stopped";
      case Action::kEvict:
        return "loses its GPUs";
      case Action::kSetBatch:
        return fmt::format("trains with {:.2f} times its batch", decision.batch_factor);
    }
    return "";
  }

  // The jobs that got GPUs while it waited.
  void waited(TimeNs from, TimeNs to) {
    std::set<JobIndex> others;
    const LoggedDecision* first = nullptr;
    for (auto entry = std::lower_bound(run_.log.begin(), run_.log.end(), from,
                                       [](const LoggedDecision&e, TimeNs t) { return e.at_ns < t; });
         entry != run_.log.end() && entry->at_ns < to; ++entry) {
      if (entry->decision.job == job_ || !schedule::takes(entry->decision.action)) continue;
      if (first == nullptr) first = &*entry;
      others.insert(entry->decision.job);
    }
    std::string why = "no job gave GPUs back that it could use";
    if (first != nullptr) {
      why = fmt::format("{} got GPUs meanwhile; the first was {}: {}",
                        others.size() == 1 ? "one other job" : fmt::format("{} other jobs", others.size()),
                        id(first->decision.job), to_string(first->decision.reason));
    }
    add(from, fmt::format("waits {}", format_cell(schedule::to_seconds(to - from), CellFormat::kSeconds)), why);
  }

  void end() {
    const JobOutcome& outcome = run_.jobs[job_];
    if (std::find(run_.too_large.begin(), run_.too_large.end(), job_) != run_.too_large.end()) {
      add(facts_.submit_ns, "is refused", "asks for more GPUs than the cluster or its quota has");
      return;
    }
    if (outcome.end_ns == kNever) {
      if (waiting_since_ != kNever) waited(waiting_since_, kNever);
      add(run_.makespan_ns, "has not ended", "the policy left it when nothing else was to come");
      return;
    }
    add(outcome.end_ns, "ends",
        fmt::format("{} after its submission, {} of it on GPUs; started {} times, moved or resized {} times",
                    format_cell(schedule::to_seconds(outcome.end_ns - facts_.submit_ns), CellFormat::kSeconds),
                    format_cell(schedule::to_seconds(outcome.executed_ns), CellFormat::kSeconds), outcome.starts,
                    outcome.moves));
  }

  const JobTrace& job_trace_;
  const RunResult& run_;
  JobIndex job_;
  const JobFacts& facts_;
  TimeNs waiting_since_ = kNever;  // kNever: it runs
  std::vector<StoryLine> story_;
};

}  // namespace

std::vector<StoryLine> story_of(const JobTrace& job_trace, const RunResult& run, JobIndex job) {
  return Teller(job_trace, run, job).tell();
}

Table story_table(const JobTrace& job_trace, const std::vector<RunResult>& runs, JobIndex job) {
  Table table({{"policy", "policy"}, {"time_s", "time", CellFormat::kSeconds}, {"what", "job"}, {"why", "why"}});
  for (const RunResult& run : runs) {
    for (StoryLine& line : story_of(job_trace, run, job)) {
      table.add({run.policy, schedule::to_seconds(line.at_ns), std::move(line.what), std::move(line.why)});
    }
  }
  return table;
}

Result<JobIndex> find_job(const JobTrace& job_trace, std::string_view id) {
  constexpr std::size_t kCompared = 10'000;  // names that are looked through for a similar one
  std::vector<std::string> ids;
  for (const JobIndex job : job_trace.jobs.indices()) {
    if (job_trace.jobs[job].id == id) return job;
    if (ids.size() < kCompared) ids.push_back(job_trace.jobs[job].id);
  }
  return Error::not_found(fmt::format("no job {}{}", quote(id), did_you_mean(id, ids)));
}

}  // namespace orrery::simulate
