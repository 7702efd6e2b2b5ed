#pragma once
// Sends messages of one worker to others: by mailbox on its host (host/mailbox.h), over TCP to other hosts
// (net/peer_connections.h). It learns their addresses from the records in the messages sent and received.

#include <map>
#include <memory>
#include <optional>

#include "elastic/host/mailbox.h"
#include "elastic/membership/message.h"
#include "elastic/net/peer_connections.h"
#include "env/env.h"

namespace orrery::elastic {

struct MessengerOptions {
  std::string job;                 // name of the job on this host
  WorkerRecord self;               // with an address if the job spans hosts
  env::Credentials credentials{};  // of such a job: known to its processes only
};

// Belongs to one thread.
class Messenger {
 public:
  // What is in `env` must outlive it.
  static Result<std::unique_ptr<Messenger>> open(env::Env env, const MessengerOptions& options);

  bool spans_hosts() const { return peer_connections_ != nullptr; }
  bool is_here(const WorkerRecord& worker) const { return !spans_hosts() || worker.host == self_.host; }
  // Where others connect; only if the job spans hosts.
  net::Listener& listener() { return *listener_; }

  void learn(const WorkerRecord& worker);
  // Never waits. Returns whether it was sent. The launcher is always on this host.
  bool send(const Message& message);
  bool send(std::uint64_t name_here, std::string_view bytes) { return mailbox_.send(name_here, bytes); }
  // The next message, waiting for it at most `timeout`. Addresses are learned from messages of workers.
  Result<std::optional<std::string>> receive(Seconds timeout);

  // From now on it connects to the workers of a membership on other hosts.
  void watch(const Membership& membership);
  // For a worker on another host: it cannot be reached now, but could be before.
  bool is_lost(WorkerId id) const { return peer_connections_ != nullptr && peer_connections_->is_lost(id); }
  // All workers of the membership have just been reached.
  void forget_losses() {
    if (peer_connections_ != nullptr) peer_connections_->forget_losses();
  }
  bool was_reached(WorkerId id) const { return peer_connections_ != nullptr && peer_connections_->was_reached(id); }

 private:
  Messenger(WorkerRecord self, Mailbox mailbox) : self_(std::move(self)), mailbox_(std::move(mailbox)) {}
  void learn(const Message& message);
  void learn(const Membership& membership);
  void learn(const Request& request);

  WorkerRecord self_;
  Mailbox mailbox_;
  std::unique_ptr<env::Poller> poller_;  // of a job that spans hosts
  std::unique_ptr<net::Listener> listener_;
  std::unique_ptr<net::PeerConnections> peer_connections_;
  env::Watch mailbox_watch_, peers_watch_;
  std::map<WorkerId, WorkerRecord> records_;
  std::vector<std::string> arrived_;  // by peers, the next one last
};

}  // namespace orrery::elastic
