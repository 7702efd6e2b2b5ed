#include "elastic/net/socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>

#include "base/check.h"
#include "base/text.h"

namespace orrery::elastic::net {

namespace {

Result<ResolvedAddress> look_up(const env::Address& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failed != 0) {
    const std::string text = fmt::format("cannot look up \"{}\": {}; expected a host name or a numeric address",
                                         address.host, ::gai_strerror(failed));
    return failed == EAI_AGAIN ? Error::unavailable(text) : Error::invalid(text);
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, &::freeaddrinfo);
  ResolvedAddress resolved;
  std::memcpy(&resolved.address, list->ai_addr, list->ai_addrlen);
  resolved.length = list->ai_addrlen;
  return resolved;
}

env::FileDescriptor new_socket(const ResolvedAddress& resolved) {
  return env::FileDescriptor(::socket(resolved.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

}  // namespace

Result<ResolvedAddress> resolve(const env::Address& address) {
  return look_up(address, 0);
}

Result<env::Address> parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  env::Address address;
  if (colon != std::string_view::npos && colon > 0) {
    address.host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    const auto [end, failure] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (failure == std::errc() && end == port.data() + port.size()) return address;
  }
  return Error::invalid(fmt::format("{}: expected HOST:PORT", quote(text)));
}

namespace {

Result<env::FileDescriptor> bind_to(const env::Address& address, bool is_reserved) {
  const std::string what = "cannot listen on " + env::to_string(address);
  ORRERY_TRY(const ResolvedAddress resolved, look_up(address, AI_PASSIVE));
  env::FileDescriptor socket = new_socket(resolved);
  if (!socket.open()) return env::posix_error(errno, what);
  const int on = 1;  // a restarted process gets its port back at once
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (is_reserved) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&resolved.address), resolved.length) != 0) {
    return env::posix_error(errno, what);
  }
  return socket;
}

}  // namespace

Result<env::FileDescriptor> listen_on(const env::Address& address, bool is_reserved) {
  ORRERY_TRY(env::FileDescriptor socket, bind_to(address, is_reserved));
  if (::listen(socket.get(), SOMAXCONN) != 0) {
    return env::posix_error(errno, "cannot listen on " + env::to_string(address));
  }
  return socket;
}

Result<env::FileDescriptor> reserve(const env::Address& address) {
  return bind_to(address, true);
}

env::Address local_address(int socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, host.data(), host.size(), port.data(), port.size(),
                NI_NUMERICHOST | NI_NUMERICSERV);
  return {host.data(), static_cast<std::uint16_t>(std::strtoul(port.data(), nullptr, 10))};
}

Result<std::optional<env::FileDescriptor>> accept_from(int listener) {
  for (;;) {
    env::FileDescriptor socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.open()) return std::optional(std::move(socket));
    if (errno == EAGAIN) return std::optional<env::FileDescriptor>();
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      return Error::unavailable(fmt::format("cannot accept a connection: {}", std::strerror(errno)));
    }
    if (errno != EINTR && errno != ECONNABORTED) return env::posix_error(errno, "cannot accept a connection");
  }
}

Result<std::optional<env::FileDescriptor>> accept_or_drop(int listener, const std::function<bool()>& drop_one) {
  for (;;) {
    auto socket = accept_from(listener);
    if (socket || socket.error().code() != ErrorCode::kUnavailable) return socket;
    if (!drop_one()) return std::optional<env::FileDescriptor>();
  }
}

Result<env::FileDescriptor> begin_connect(const ResolvedAddress& resolved) {
  env::FileDescriptor socket = new_socket(resolved);
  if (!socket.open()) return env::posix_error(errno, "cannot open a socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&resolved.address), resolved.length) == 0 ||
      errno == EINPROGRESS || errno == EINTR) {
    return socket;
  }
  return env::posix_error(errno, "cannot connect");
}

Status connected(int socket) {
  int failed = 0;
  socklen_t length = sizeof failed;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &failed, &length) != 0) failed = errno;
  if (failed != 0) return env::posix_error(failed, "cannot connect");
  return {};
}

void prepare(int socket, std::uint32_t send_buffer_bytes) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int half = static_cast<int>(send_buffer_bytes / 2);  // the machine doubles it, for its own bookkeeping
  if (half > 0) ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &half, sizeof half);
}

bool stays_here(int socket) {
  sockaddr_storage own{}, peer{};
  socklen_t own_length = sizeof own, peer_length = sizeof peer;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_length) != 0 ||
      ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0 || own.ss_family != peer.ss_family) {
    return false;
  }
  if (own.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(own).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(peer).sin_addr.s_addr;
  }
  return std::memcmp(&reinterpret_cast<const sockaddr_in6&>(own).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr, sizeof(in6_addr)) == 0;
}

std::string random_bytes() {
  std::string bytes(kRandomBytes, '\0');
  // So few bytes arrive whole, or not at all.
  ORRERY_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return bytes;
}

}  // namespace orrery::elastic::net
