#pragma once
// An agent's state of one job (agent.h): memory, ports, processes, and the connection to the launcher while there is
// one.

#include <map>
#include <memory>
#include <optional>

#include "elastic/host/log_forwarder.h"
#include "elastic/host/mailbox.h"
#include "elastic/host/segment.h"
#include "elastic/job/children.h"
#include "elastic/job/order.h"
#include "env/channel/channel.h"
#include "env/env.h"

namespace orrery::elastic {

// Used by one thread.
class HostedJob {
 public:
  // Opens the job. `host` is where its processes are reached; ports are reserved here.
  static Result<std::unique_ptr<HostedJob>> open(env::Env env, env::Poller& poller, const OpenJob& order,
                                                 const std::string& host);

  ~HostedJob();
  HostedJob(const HostedJob&) = delete;
  HostedJob& operator=(const HostedJob&) = delete;

  const std::string& name() const { return order_.job; }
  bool is_of(const OpenJob& order) const { return order.job == order_.job && order.run == order_.run; }
  // A launcher has connected, for the first time or again. It is told where processes are reached, and which have
  // ended. The channel is taken unless there is an error.
  Status attach(std::unique_ptr<env::Channel>&& channel);
  bool is_attached() const { return channel_ != nullptr; }
  // The job has ended: no process lives, and no launcher will ask.
  bool is_over() const { return processes_.empty() && channel_ == nullptr; }
  bool has_processes() const { return !processes_.empty(); }

  // Handles orders, notes, printed lines and ended processes. Never waits.
  Status move();
  void end_all(env::Signal signal);
  // Ends everything, and sends the launcher the last printed lines.
  void close();

 private:
  HostedJob(env::Env env, env::Poller& poller, OpenJob order) : env_(env), poller_(poller), order_(std::move(order)) {}
  // What a process prints comes out of these two.
  struct Pipe {
    env::PollableDescriptor end;
    env::Watch watch{};
  };
  Status open_pipes();
  void detach();
  void send(const Order& order);
  Status carry_out(const Order& order);
  void start(const StartOrder& order);
  // Its number among the processes of this host.
  Result<std::int64_t> spawn(const StartOrder& order);
  Status read_orders();
  Status read_notes();
  void read_printed(Pipe& pipe, bool is_error);
  Status reap();

  env::Env env_;
  env::Poller& poller_;
  OpenJob order_;
  std::shared_ptr<Segment> segment_;
  std::vector<std::unique_ptr<env::Reservation>> ports_;  // by slot
  std::vector<std::string> addresses_;
  std::optional<Mailbox> mailbox_;  // of the launcher, while it is connected
  env::Watch mailbox_watch_;
  Pipe printed_, printed_errors_;
  std::unique_ptr<LogForwarder> log_forwarder_;
  std::unique_ptr<env::Channel> channel_;
  std::map<WorkerId, HasEnded> ended_;
  std::uint64_t dropped_ = 0;  // printed bytes for which the launcher was too slow
  Children processes_;         // last: they end before what they use
};

}  // namespace orrery::elastic
