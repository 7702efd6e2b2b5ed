#include "elastic/job/hosted_job.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "elastic/job/host_variables.h"
#include "elastic/job/note.h"
#include "elastic/job/reap.h"
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

Result<std::unique_ptr<HostedJob>> HostedJob::open(env::Env env, Supervisor& watch, const OpenJob& order,
                                                   const std::string& host) {
  ORRERY_TRY_VOID(check_job_name(order.job));
  if (order.slots < 1 || order.slots > kSlotsMax) {
    return Error::invalid(fmt::format("{} processes on one host; at most {}", order.slots, kSlotsMax));
  }
  std::unique_ptr<HostedJob> job(new HostedJob(env, watch, order));
  ORRERY_TRY(job->segment_,
             Segment::create({.slots = static_cast<int>(order.slots), .arena_bytes = order.arena_bytes}));
  for (std::uint32_t slot = 0; slot < order.slots; ++slot) {
    ORRERY_TRY(env::FileDescriptor port, net::reserve({host, 0}));
    job->addresses_.push_back(env::to_string(net::local_address(port.get())));
    job->ports_.push_back(std::move(port));
  }
  ORRERY_TRY(auto output, make_pipe());
  ORRERY_TRY(auto error, make_pipe());
  ORRERY_TRY(job->log_forwarder_, LogForwarder::start(output[1].get(), error[1].get()));
  job->printed_ = std::move(output[0]);
  job->printed_errors_ = std::move(error[0]);
  return job;
}

Status HostedJob::attach(std::unique_ptr<net::Stream>&& stream, const std::string& secret, const std::string& random) {
  if (!mailbox_) {
    ORRERY_TRY(mailbox_, Mailbox::open(order_.job, kLauncherName));
  }
  stream_ = std::move(stream);
  JobOpened opened{"", addresses_, ""};
  opened.proof = proof_of(opened, secret, random);
  send(opened);
  for (const auto& [worker, end] : ended_) send(end);
  return {};
}

void HostedJob::detach() {
  stream_.reset();
  // So processes see that their launcher is gone.
  mailbox_.reset();
}

void HostedJob::close() {
  end_all(env::Signal::kKill);
  // Waits for the last lines, which include those of a process that was just killed.
  processes_.clear();
  log_forwarder_.reset();
  read_printed(printed_, false);
  read_printed(printed_errors_, true);
  send(CloseJob{});
  const env::Deadline deadline(kCloseMax);
  while (has_output() && !deadline.passed()) {
    if (!stream_->flush()) break;
    env_.clock.sleep(Seconds(0.001));
  }
  detach();
}

void HostedJob::send(const Order& order) {
  if (stream_ == nullptr) return;
  (void)stream_->send(encode(order));
  if (!stream_->flush()) detach();
}

void HostedJob::add_descriptors(std::vector<int>& descriptors) const {
  if (stream_ != nullptr) descriptors.push_back(stream_->socket());
  if (mailbox_) descriptors.push_back(mailbox_->descriptor());
  if (printed_.open()) descriptors.push_back(printed_.get());
  if (printed_errors_.open()) descriptors.push_back(printed_errors_.get());
}

void HostedJob::end_all(env::Signal signal) {
  for (const auto& [worker, process] : processes_) (void)process->kill(signal);
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
  add_host_variables(env_, spec.environment);
  spec.output = env::Output::kDescriptors;
  spec.descriptors = {ends.output.get(), ends.error.get()};
  spec.own_group = true;
  ORRERY_TRY(auto process, env_.processes.spawn(spec));
  // A process that cannot be watched ends with `process`.
  ORRERY_TRY_VOID(watch_.add(process->id()));
  const std::int64_t id = process->id();
  processes_.emplace(order.worker, std::move(process));
  return id;
}

Status HostedJob::carry_out(const Order& order) {
  if (const auto* const start_order = std::get_if<StartOrder>(&order)) start(*start_order);
  if (const auto* const end = std::get_if<EndOrder>(&order)) {
    const auto process = processes_.find(end->worker);
    if (process == processes_.end()) return {};
    return process->second->kill(end->signal == 15 ? env::Signal::kTerminate : env::Signal::kKill);
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
  if (stream_ == nullptr) return {};
  std::vector<std::string> messages;
  const bool goes_on = stream_->flush() && stream_->receive(messages);
  Status done;
  for (const std::string& message : messages) {
    const auto order = decode_order(message);
    const Status one = order ? carry_out(*order) : Status();
    if (done) done = one;
  }
  if (!goes_on && stream_ != nullptr) detach();
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

void HostedJob::read_printed(env::FileDescriptor& pipe, bool is_error) {
  std::array<char, kPrintedBytes> buffer;
  for (int i = 0; i < kReadsPerMove && pipe.open(); ++i) {
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    if (got == 0) return pipe.close();
    const std::string text(buffer.data(), static_cast<std::size_t>(got));
    if (stream_ == nullptr) {
      (void)print(text, is_error);
    } else if (stream_->has_room_for(2 * kPrintedBytes)) {
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
      processes_, watch_, [this] { return read_notes(); },
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
