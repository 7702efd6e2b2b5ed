#include "elastic/job/hosted_job.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "elastic/job/attempt.h"
#include "elastic/job/host_variables.h"
#include "elastic/job/note.h"
#include "env/clock.h"

namespace orrery::elastic {

namespace {

constexpr std::size_t kPrintedBytes = 16 << 10;
constexpr int kReadsPerMove = 64;
constexpr Seconds kCloseMax{1};

Result<std::array<env::FileDescriptor, 2>> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return env::posix_error(errno, "cannot make a pipe");
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return std::array{env::FileDescriptor(ends[0]), env::FileDescriptor(ends[1])};
}

}  // namespace

Result<std::unique_ptr<HostedJob>> HostedJob::open(env::Env env, env::Poller& poller, const OpenJob& order,
                                                   const std::string& host) {
  ORRERY_TRY_VOID(check_job_name(order.job));
  if (order.slots < 1 || order.slots > kSlotsMax) {
    return Error::invalid(fmt::format("{} processes on one host; at most {}", order.slots, kSlotsMax));
  }
  std::unique_ptr<HostedJob> job(new HostedJob(env, poller, order));
  ORRERY_TRY(job->segment_,
             Segment::create({.slots = static_cast<int>(order.slots), .arena_bytes = order.arena_bytes}));
  for (std::uint32_t slot = 0; slot < order.slots; ++slot) {
    ORRERY_TRY(auto port, env.sockets.reserve({host, 0}));
    job->addresses_.push_back(env::to_string(port->address()));
    job->ports_.push_back(std::move(port));
  }
  ORRERY_TRY_VOID(job->open_pipes());
  return job;
}

HostedJob::~HostedJob() {
  processes_.clear();
  // What they have started and left behind.
  env_.processes.kill_marked(kRunVariable, mark_of(order_.job, order_.run));
}

Status HostedJob::open_pipes() {
  ORRERY_TRY(auto output, make_pipe());
  ORRERY_TRY(auto error, make_pipe());
  ORRERY_TRY(log_forwarder_, LogForwarder::start(output[1].get(), error[1].get()));
  printed_.end = env::PollableDescriptor(std::move(output[0]));
  printed_errors_.end = env::PollableDescriptor(std::move(error[0]));
  for (Pipe* const pipe : {&printed_, &printed_errors_}) {
    ORRERY_TRY(pipe->watch, env::Watch::on(poller_, pipe->end));
  }
  return {};
}

Status HostedJob::attach(std::unique_ptr<env::Channel>&& channel) {
  if (!mailbox_) {
    ORRERY_TRY(mailbox_, Mailbox::open(order_.job, kLauncherName));
    ORRERY_TRY(mailbox_watch_, env::Watch::on(poller_, *mailbox_));
  }
  channel_ = std::move(channel);
  send(JobOpened{"", addresses_});
  for (const auto& [worker, end] : ended_) send(end);
  return {};
}

void HostedJob::detach() {
  channel_.reset();
  // So processes see that their launcher is gone.
  mailbox_watch_.end();
  mailbox_.reset();
}

void HostedJob::close() {
  end_all(env::Signal::kKill);
  // Waits for the last lines, which include those of a process that was just killed.
  processes_.clear();
  env_.processes.kill_marked(kRunVariable, mark_of(order_.job, order_.run));
  log_forwarder_.reset();
  read_printed(printed_, false);
  read_printed(printed_errors_, true);
  send(CloseJob{});
  const env::Deadline deadline(kCloseMax);
  std::vector<std::string> none;
  while (channel_ != nullptr && channel_->has_output() && !deadline.passed() && channel_->move(none)) {
    env_.clock.sleep(Seconds(0.001));
  }
  detach();
}

void HostedJob::send(const Order& order) {
  if (channel_ == nullptr) return;
  (void)channel_->send(encode(order));
  // The rest goes when the connection has room, and what has come meanwhile is read by read_orders().
  if (!channel_->flush()) detach();
}

void HostedJob::end_all(env::Signal signal) {
  for (const auto& [worker, child] : processes_) (void)child.process->kill(signal);
}

void HostedJob::start(const StartOrder& order) {
  const auto process = spawn(order);
  send(process ? Started{order.worker, static_cast<std::uint64_t>(*process), ""}
               : Started{order.worker, 0, process.error().to_string()});
}

Result<std::int64_t> HostedJob::spawn(const StartOrder& order) {
  ORRERY_TRY(const PrintEnds ends, log_forwarder_->add(fmt::format("[{}] ", order.worker)));
  env::ProcessSpec spec;
  spec.argv = order.argv;
  spec.environment = order.environment;
  spec.environment["ORRERY_MEMORY"] = segment_->path();
  spec.environment[kRunVariable] = mark_of(order_.job, order_.run);
  add_host_variables(env_, spec.environment);
  spec.output = env::Output::kDescriptors;
  spec.descriptors = {ends.output.get(), ends.error.get()};
  spec.own_group = true;
  ORRERY_TRY(auto process, env_.processes.spawn(spec));
  const std::int64_t id = process->id();
  ORRERY_TRY_VOID(add_child(processes_, order.worker, std::move(process), poller_));
  return id;
}

Status HostedJob::carry_out(const Order& order) {
  if (const auto* const start_order = std::get_if<StartOrder>(&order)) start(*start_order);
  if (const auto* const end = std::get_if<EndOrder>(&order)) {
    const auto process = processes_.find(end->worker);
    if (process == processes_.end()) return {};
    return process->second.process->kill(end->signal == 15 ? env::Signal::kTerminate : env::Signal::kKill);
  }
  if (const auto* const posted = std::get_if<Posted>(&order)) {
    // A process that did not get it reports again, and is told again.
    if (mailbox_) (void)mailbox_->send(posted->name, posted->bytes);
  } else if (std::holds_alternative<CloseJob>(order)) {
    close();
  }
  return {};
}

Status HostedJob::read_orders() {
  if (channel_ == nullptr) return {};
  std::vector<std::string> messages;
  const bool goes_on = channel_->move(messages).has_value();
  Status done;
  for (const std::string& message : messages) {
    const auto order = decode_order(message);
    const Status one = order ? carry_out(*order) : Status();
    if (done) done = one;
  }
  if (!goes_on && channel_ != nullptr) detach();
  return done;
}

Status HostedJob::read_notes() {
  while (mailbox_) {
    ORRERY_TRY(const std::optional<std::string> bytes, mailbox_->receive(Seconds(0)));
    if (!bytes) break;
    if (is_note(*bytes)) send(Posted{kLauncherName, *bytes});
  }
  return {};
}

void HostedJob::read_printed(Pipe& pipe, bool is_error) {
  std::array<char, kPrintedBytes> buffer;
  for (int i = 0; i < kReadsPerMove && pipe.end.is_open(); ++i) {
    const ssize_t got = ::read(pipe.end.descriptor(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    if (got == 0) {
      pipe.watch.end();
      return pipe.end.close();
    }
    const std::string text(buffer.data(), static_cast<std::size_t>(got));
    if (channel_ == nullptr) {
      (void)print(text, is_error);
    } else if (channel_->has_room_for(2 * kPrintedBytes)) {
      if (dropped_ > 0) send(Printed{true, fmt::format("orrery: {} bytes of output were dropped\n", dropped_)});
      dropped_ = 0;
      send(Printed{is_error, text});
    } else {
      // Training does not wait for a slow reader.
      dropped_ += text.size();
    }
  }
}

Status HostedJob::reap() {
  return elastic::reap(
      processes_, [this] { return read_notes(); },
      [this](WorkerId worker, const env::ProcessExit& exit) {
        const HasEnded end{worker, static_cast<std::uint32_t>(exit.code), static_cast<std::uint32_t>(exit.signal)};
        ended_[worker] = end;
        send(end);
      });
}

Status HostedJob::move() {
  ORRERY_TRY_VOID(read_orders());
  ORRERY_TRY_VOID(read_notes());
  read_printed(printed_, false);
  read_printed(printed_errors_, true);
  return reap();
}

}  // namespace orrery::elastic
