#include "elastic/job/jobs.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/random.h"
#include "base/text.h"
#include "elastic/host/mailbox.h"
#include "env/clock.h"
#include "env/entropy.h"

namespace orrery::elastic {

namespace {

constexpr Bytes kSocketsMax = mebibytes(64);
constexpr Seconds kBetweenAsks{0.1};
constexpr std::uint64_t kAskerNames = 1ULL << 63;  // workers count from 1

Result<std::vector<MailboxName>> mailboxes(env::Files& files) {
  auto text = files.read("/proc/net/unix", kSocketsMax);
  // If there is no such file, there are no such sockets.
  if (!text && text.error().code() == ErrorCode::kNotFound) return std::vector<MailboxName>();
  ORRERY_TRY(const std::string sockets, std::move(text));
  std::vector<MailboxName> found = open_mailboxes(sockets);
  std::erase_if(found, [](const MailboxName& box) { return box.job.starts_with("alone-") || box.name >= kAskerNames; });
  return found;
}

}  // namespace

Result<std::vector<std::string>> running_jobs(env::Files& files) {
  ORRERY_TRY(const std::vector<MailboxName> found, mailboxes(files));
  std::vector<std::string> jobs;
  for (const MailboxName& box : found) {
    if (jobs.empty() || jobs.back() != box.job) jobs.push_back(box.job);
  }
  return jobs;
}

Result<JobMailboxes> mailboxes_of(env::Files& files, const std::string& job) {
  ORRERY_TRY(const std::vector<MailboxName> found, mailboxes(files));
  JobMailboxes of_job;
  for (const MailboxName& box : found) {
    if (box.job != job) continue;
    of_job.has_launcher = of_job.has_launcher || box.name == kLauncherName;
    of_job.processes += box.name != kLauncherName ? 1 : 0;
  }
  return of_job;
}

Result<JobStatus> ask_launcher(env::Env env, const std::string& job, AskLauncher question, Seconds timeout) {
  ORRERY_TRY(const std::vector<std::string> jobs, running_jobs(env.files));
  if (std::find(jobs.begin(), jobs.end(), job) == jobs.end()) {
    return Error::not_found(
        fmt::format("no job {} is running{}; `orrery ps` lists them", quote(job), did_you_mean(job, jobs)));
  }
  ORRERY_TRY(const JobMailboxes of_job, mailboxes_of(env.files, job));
  if (!of_job.has_launcher) {
    return Error::unavailable(
        fmt::format("job {} has lost its launcher; its {} workers train on to the end by themselves", quote(job),
                    of_job.processes));
  }
  Random random(hash64(env.entropy.bytes(sizeof(std::uint64_t))));
  question.from = kAskerNames | random.next();
  question.number = random.next() | 1;
  ORRERY_TRY(Mailbox mailbox, Mailbox::open(job, question.from));
  for (const Seconds end = env.clock.monotonic() + timeout; env.clock.monotonic() < end;) {
    (void)mailbox.send(kLauncherName, encode(question));
    ORRERY_TRY(const std::optional<std::string> bytes, mailbox.receive(kBetweenAsks));
    if (!bytes) continue;
    const auto note = decode_note(*bytes);
    const auto* const answer = note ? std::get_if<Answer>(&*note) : nullptr;
    if (answer == nullptr || answer->number != question.number) continue;
    if (!answer->problem.empty()) return Error::invalid(answer->problem);
    return answer->status;
  }
  return Error::unavailable(
      fmt::format("the launcher of job {} did not answer within {}", quote(job), format_seconds(timeout)));
}

}  // namespace orrery::elastic
