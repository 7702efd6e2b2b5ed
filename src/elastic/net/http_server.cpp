#include "elastic/net/http_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>

#include "elastic/net/peer_user.h"
#include "elastic/net/socket.h"

namespace orrery::elastic::net {

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const env::Address& address, env::Clock& clock) {
  ORRERY_TRY(env::FileDescriptor listener, listen_on(address));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(listener), clock));
}

bool HttpServer::is_bound_to_loopback() const {
  return net::is_bound_to_loopback(listener_.get());
}

env::Address HttpServer::address() const {
  return local_address(listener_.get());
}

void HttpServer::add_descriptors(std::vector<int>& descriptors) const {
  // It does not accept more connections than kPendingMax.
  if (pending_.size() < kPendingMax && !is_full_) descriptors.push_back(listener_.get());
  for (const PendingConnection& pending : pending_) {
    if (pending.said.empty()) descriptors.push_back(pending.socket.get());
  }
}

bool HttpServer::has_output() const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [](const PendingConnection& pending) { return !pending.said.empty(); });
}

void HttpServer::let_in() {
  is_full_ = false;
  const auto drop_oldest = [this] {
    is_full_ = pending_.empty();
    if (!is_full_) pending_.erase(pending_.begin());
    return !is_full_;
  };
  while (pending_.size() < kPendingMax) {
    auto socket = accept_or_drop(listener_.get(), drop_oldest);
    if (!socket || !*socket) return;
    pending_.push_back({.socket = std::move(**socket), .until = clock_.monotonic() + kRequestMax});
  }
}

void HttpServer::hear(PendingConnection& pending, const std::function<HttpAnswer(const HttpRequest&)>& answer) {
  std::array<char, 4096> buffer;
  const ssize_t got = ::recv(pending.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    pending.is_over = true;
    return;
  }
  pending.asked.append(buffer.data(), static_cast<std::size_t>(got));
  HttpRead read = read_http(pending.asked);
  if (read.request) read.request->is_from_our_user = is_peer_our_user(pending.socket.get());
  if (read.request) pending.said = to_bytes(answer(*read.request));
  if (read.refusal) pending.said = to_bytes(*read.refusal);
}

void HttpServer::speak(PendingConnection& pending) {
  const std::size_t left = pending.said.size() - pending.written;
  const ssize_t put =
      ::send(pending.socket.get(), pending.said.data() + pending.written, left, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (put < 0) {
    pending.is_over = errno != EAGAIN && errno != EINTR;
    return;
  }
  pending.written += static_cast<std::size_t>(put);
  pending.is_over = pending.written == pending.said.size();
}

void HttpServer::move(const std::function<HttpAnswer(const HttpRequest&)>& answer) {
  let_in();
  for (PendingConnection& pending : pending_) {
    if (pending.said.empty()) hear(pending, answer);
    if (!pending.said.empty()) speak(pending);
    pending.is_over = pending.is_over || clock_.monotonic() > pending.until;
  }
  std::erase_if(pending_, [](const PendingConnection& pending) { return pending.is_over; });
}

}  // namespace orrery::elastic::net
