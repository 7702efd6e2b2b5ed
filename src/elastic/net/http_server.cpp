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
  // A full house has no door.
  if (visitors_.size() < kVisitorsMax && !is_full_) descriptors.push_back(listener_.get());
  for (const Visitor& visitor : visitors_) {
    if (visitor.said.empty()) descriptors.push_back(visitor.socket.get());
  }
}

bool HttpServer::has_output() const {
  return std::any_of(visitors_.begin(), visitors_.end(), [](const Visitor& visitor) { return !visitor.said.empty(); });
}

void HttpServer::let_in() {
  is_full_ = false;
  const auto drop_oldest = [this] {
    is_full_ = visitors_.empty();
    if (!is_full_) visitors_.erase(visitors_.begin());
    return !is_full_;
  };
  while (visitors_.size() < kVisitorsMax) {
    auto socket = accept_or_drop(listener_.get(), drop_oldest);
    if (!socket || !*socket) return;
    visitors_.push_back({.socket = std::move(**socket), .until = clock_.monotonic() + kVisitMax});
  }
}

void HttpServer::hear(Visitor& visitor, const std::function<HttpAnswer(const HttpRequest&)>& answer) {
  std::array<char, 4096> buffer;
  const ssize_t got = ::recv(visitor.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    visitor.is_over = true;
    return;
  }
  visitor.asked.append(buffer.data(), static_cast<std::size_t>(got));
  HttpRead read = read_http(visitor.asked);
  if (read.request) read.request->is_from_our_user = is_peer_our_user(visitor.socket.get());
  if (read.request) visitor.said = to_bytes(answer(*read.request));
  if (read.refusal) visitor.said = to_bytes(*read.refusal);
}

void HttpServer::speak(Visitor& visitor) {
  const std::size_t left = visitor.said.size() - visitor.written;
  const ssize_t put =
      ::send(visitor.socket.get(), visitor.said.data() + visitor.written, left, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (put < 0) {
    visitor.is_over = errno != EAGAIN && errno != EINTR;
    return;
  }
  visitor.written += static_cast<std::size_t>(put);
  visitor.is_over = visitor.written == visitor.said.size();
}

void HttpServer::move(const std::function<HttpAnswer(const HttpRequest&)>& answer) {
  let_in();
  for (Visitor& visitor : visitors_) {
    if (visitor.said.empty()) hear(visitor, answer);
    if (!visitor.said.empty()) speak(visitor);
    visitor.is_over = visitor.is_over || clock_.monotonic() > visitor.until;
  }
  std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.is_over; });
}

}  // namespace orrery::elastic::net
