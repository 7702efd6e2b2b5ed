#include "elastic/messenger.h"

#include <algorithm>

#include "elastic/job/note.h"

namespace orrery::elastic {

Result<std::unique_ptr<Messenger>> Messenger::open(env::Env env, const MessengerOptions& options) {
  ORRERY_TRY(Mailbox mailbox, Mailbox::open(options.job, options.self.id));
  std::unique_ptr<Messenger> messenger(new Messenger(options.self, std::move(mailbox)));
  if (options.self.address.empty()) return messenger;
  ORRERY_TRY(const env::Address address, env::parse_address(options.self.address));
  ORRERY_TRY(messenger->listener_, net::Listener::open(env, options.credentials, address, true));
  ORRERY_TRY(messenger->peer_connections_, net::PeerConnections::open(*messenger->listener_, options.self.id));
  ORRERY_TRY(messenger->poller_, env.pollers.make());
  ORRERY_TRY(messenger->mailbox_watch_, env::Watch::on(*messenger->poller_, messenger->mailbox_));
  ORRERY_TRY(messenger->peers_watch_, env::Watch::on(*messenger->poller_, messenger->peer_connections_->poller()));
  return messenger;
}

void Messenger::learn(const WorkerRecord& worker) {
  records_[worker.id] = worker;
}

void Messenger::learn(const Membership& membership) {
  for (const WorkerRecord& worker : membership.workers) learn(worker);
}

void Messenger::learn(const Request& request) {
  if (const auto* const join = std::get_if<Join>(&request.request)) learn(join->worker);
}

void Messenger::learn(const Message& message) {
  if (const auto* const commit = std::get_if<Commit>(&message.body)) learn(commit->membership);
  if (const auto* const propose = std::get_if<Propose>(&message.body)) learn(propose->membership);
  if (const auto* const ask = std::get_if<Ask>(&message.body)) learn(ask->request);
  const auto* const promise = std::get_if<Promise>(&message.body);
  if (promise == nullptr) return;
  if (promise->accepted) learn(*promise->accepted);
  for (const Request& request : promise->requests) learn(request);
}

bool Messenger::send(const Message& message) {
  if (!spans_hosts()) return mailbox_.send(message.to, encode(message));
  learn(message);
  const auto found = records_.find(message.to);
  if (found == records_.end()) return false;
  if (is_here(found->second)) return mailbox_.send(message.to, encode(message));
  const auto address = env::parse_address(found->second.address);
  return address && peer_connections_->send(message.to, *address, encode(message));
}

Result<std::optional<std::string>> Messenger::receive(Seconds timeout) {
  if (!spans_hosts()) return mailbox_.receive(timeout);
  for (int i = 0;; ++i) {
    ORRERY_TRY(std::optional<std::string> here, mailbox_.receive(Seconds(0)));
    if (!here && arrived_.empty()) {
      arrived_ = peer_connections_->receive();
      std::reverse(arrived_.begin(), arrived_.end());
    }
    if (!here && !arrived_.empty()) {
      here = std::move(arrived_.back());
      arrived_.pop_back();
      // Notes are for processes on one host.
      if (is_note(*here)) continue;
    }
    if (here && !is_note(*here)) {
      if (const auto message = decode_message(*here)) learn(*message);
    }
    if (here || i > 0 || timeout <= Seconds(0)) return here;
    ORRERY_TRY_VOID(poller_->wait(timeout));
  }
}

void Messenger::watch(const Membership& membership) {
  if (!spans_hosts()) return;
  learn(membership);
  std::map<std::uint64_t, env::Address> peers;
  for (const WorkerRecord& worker : membership.workers) {
    const auto address = env::parse_address(worker.address);
    if (!is_here(worker) && address) peers[worker.id] = *address;
  }
  peer_connections_->watch(peers);
}

}  // namespace orrery::elastic
