// Jobs that run: what they are, how large they shall be, and their end.

#include <fmt/format.h>
#include <future>

#include "base/text.h"
#include "cli/commands.h"
#include "elastic/job/jobs.h"
#include "env/clock.h"

namespace orrery::cli {

using elastic::AskLauncher;
using elastic::JobStatus;
using elastic::LauncherRequest;

namespace {

constexpr Seconds kAnswerMax{5};
constexpr Seconds kBetweenLooks{0.01};

std::int64_t whole(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

Table jobs_table() {
  return Table({{"job", "job"},
                {"launcher", "launcher", CellFormat::kInteger},
                {"workers", "workers", CellFormat::kInteger},
                {"wanted", "wanted", CellFormat::kInteger},
                {"workers_min", "fewest", CellFormat::kInteger},
                {"workers_max", "most", CellFormat::kInteger},
                {"processes", "processes", CellFormat::kInteger},
                {"generation", "generation", CellFormat::kInteger},
                {"step", "step", CellFormat::kInteger},
                {"epoch", "epoch", CellFormat::kInteger},
                {"pause_s", "last pause", CellFormat::kSeconds}});
}

Status add_job(Context& context, const std::string& job, const Result<JobStatus>& answer, Table& table) {
  if (!answer) {
    // It may have ended meanwhile, or have lost its launcher.
    ORRERY_TRY(const elastic::JobMailboxes mailboxes, elastic::mailboxes_of(context.env.files, job));
    if (mailboxes.processes == 0) return {};
    table.add(
        {job, Cell(), Cell(), Cell(), Cell(), Cell(), whole(mailboxes.processes), Cell(), Cell(), Cell(), Cell()});
    return {};
  }
  table.add({job, answer->launcher, whole(answer->workers.size()), whole(answer->size), whole(answer->size_min),
             whole(answer->size_max), whole(answer->processes.size()), whole(answer->generation), whole(answer->step),
             whole(answer->epoch), answer->pause_s > 0 ? Cell(answer->pause_s) : Cell()});
  return {};
}

Status show_processes(Context& context, const std::string& job, const OptionValues& options) {
  ORRERY_TRY(const JobStatus status,
             elastic::ask_launcher(context.env, job, {.request = LauncherRequest::kStatus}, kAnswerMax));
  Table table({{"worker", "worker", CellFormat::kInteger},
               {"process", "process", CellFormat::kInteger},
               {"state", "state"},
               {"generation", "generation", CellFormat::kInteger},
               {"step", "step", CellFormat::kInteger},
               {"step_s", "step time", CellFormat::kSeconds},
               {"vote_s", "waiting", CellFormat::kSeconds}});
  const auto time = [](double seconds) { return seconds > 0 ? Cell(seconds) : Cell(); };
  for (const elastic::ProcessStatus& process : status.processes) {
    table.add({whole(process.worker), process.process, std::string(to_string(process.state)), whole(process.generation),
               whole(process.step), time(process.step_s), time(process.vote_s)});
  }
  return context.print_table(table, options);
}

Status show_jobs(Context& context, const Arguments& arguments) {
  if (arguments.options.has("job")) return show_processes(context, arguments.options.text("job"), arguments.options);
  ORRERY_TRY(const std::vector<std::string> jobs, elastic::running_jobs(context.env.files));
  // All at once: a launcher that is stopped does not delay the answers of the others.
  std::vector<std::future<Result<JobStatus>>> answers;
  for (const std::string& job : jobs) {
    answers.push_back(std::async(std::launch::async, [&context, &job] {
      return elastic::ask_launcher(context.env, job, {.request = LauncherRequest::kStatus}, kAnswerMax);
    }));
  }
  Table table = jobs_table();
  for (std::size_t i = 0; i < jobs.size(); ++i) ORRERY_TRY_VOID(add_job(context, jobs[i], answers[i].get(), table));
  if (table.rows() == 0 && for_people(arguments.options)) {
    context.print("no job is running; `orrery run` starts one\n");
    return {};
  }
  return context.print_table(table, arguments.options);
}

// Asks for the status until `is_done`, or until the job has ended.
template <class IsDone>
Result<JobStatus> wait_until(env::Env env, const std::string& job, JobStatus status, Seconds time_max, IsDone is_done) {
  const Seconds end = env.clock.monotonic() + time_max;
  while (!is_done(status)) {
    if (env.clock.monotonic() > end) {
      return Error::unavailable(fmt::format("job {} has {} workers after {}; it may get there later", quote(job),
                                            status.workers.size(), format_seconds(time_max)));
    }
    env.clock.sleep(kBetweenLooks);
    ORRERY_TRY(status, elastic::ask_launcher(env, job, {.request = LauncherRequest::kStatus}, kAnswerMax));
  }
  return status;
}

Status resize_job(Context& context, const Arguments& arguments) {
  const std::string& job = arguments.options.text("local");
  ORRERY_TRY(const JobStatus before,
             elastic::ask_launcher(context.env, job, {.request = LauncherRequest::kStatus}, kAnswerMax));
  const auto wanted = static_cast<std::uint64_t>(arguments.options.integer("workers"));
  const Seconds start = context.env.clock.monotonic();
  ORRERY_TRY(JobStatus after, elastic::ask_launcher(context.env, job,
                                                    {.request = LauncherRequest::kResize, .size = wanted}, kAnswerMax));
  if (!arguments.options.flag("no-wait")) {
    ORRERY_TRY(after, wait_until(context.env, job, after, arguments.options.duration("time-max"),
                                 [&](const JobStatus& status) { return status.workers.size() == wanted; }));
  }
  context.print(fmt::format("{}: {} workers, {} wanted, {} before; after {}\n", job, after.workers.size(), after.size,
                            before.workers.size(), format_seconds(context.env.clock.monotonic() - start)));
  return {};
}

Status stop_job(Context& context, const Arguments& arguments) {
  const std::string& job = arguments.options.text("local");
  AskLauncher question{.request = LauncherRequest::kStop};
  if (arguments.options.has("worker")) {
    question.worker = static_cast<elastic::WorkerId>(arguments.options.integer("worker"));
  }
  ORRERY_TRY(JobStatus status, elastic::ask_launcher(context.env, job, question, kAnswerMax));
  const Seconds end = context.env.clock.monotonic() + arguments.options.duration("time-max");
  // The launcher answers no more once all have stopped.
  const auto is_there = [&] {
    for (const elastic::ProcessStatus& process : status.processes) {
      if (question.worker == 0 || process.worker == question.worker) return true;
    }
    return false;
  };
  while (!arguments.options.flag("no-wait") && is_there()) {
    if (context.env.clock.monotonic() > end) return Error::unavailable("not yet; it will when its step has ended");
    context.env.clock.sleep(kBetweenLooks);
    ORRERY_TRY(const elastic::JobMailboxes mailboxes, elastic::mailboxes_of(context.env.files, job));
    if (!mailboxes.has_launcher) break;
    auto answer = elastic::ask_launcher(context.env, job, {.request = LauncherRequest::kStatus}, kAnswerMax);
    if (!answer) break;
    status = std::move(*answer);
  }
  if (arguments.options.flag("no-wait")) {
    context.print(fmt::format("{}: asked to stop\n", job));
    return {};
  }
  context.print(question.worker == 0 ? fmt::format("{}: all workers have stopped\n", job)
                                     : fmt::format("{}: worker {} has left\n", job, question.worker));
  return {};
}

OptionRecord local_job() {
  return text_option("local", "", "name of a job of this host, as `orrery ps` shows it").in("NAME").required();
}

std::vector<OptionRecord> waiting_options() {
  return {flag_option("no-wait", "return as soon as the launcher has received the request"),
          duration_option("time-max", "60s", "longest time to wait").bounds(0, 864000)};
}

}  // namespace

Command ps_command() {
  return {"ps",
          "list the jobs that run on this host, or the processes of one job",
          join({text_option("job", "", "show the processes of this job").word()}, table_options()),
          {"orrery ps", "orrery ps --json", "orrery ps demo --columns worker,process,state"},
          show_jobs};
}

Command resize_command() {
  return {"resize",
          "change the number of workers of a running job",
          join({optional_integer("workers", "number of workers that it shall have").bounds(1, 1e6).word().required(),
                local_job()},
               waiting_options()),
          {"orrery resize --local demo 4", "orrery resize --local demo 1 --no-wait"},
          resize_job};
}

Command stop_command() {
  return {"stop",
          "stop a running job, or one of its workers, after the present step",
          join({local_job(),
                optional_integer("worker", "stop only this worker; the job continues without it").bounds(1, 1e15)},
               waiting_options()),
          {"orrery stop --local demo", "orrery stop --local demo --worker 3"},
          stop_job};
}

}  // namespace orrery::cli
