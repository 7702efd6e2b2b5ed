#include "env/real_sockets.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/text.h"
#include "env/peer_user.h"
#include "env/posix.h"
#include "env/tcp.h"

namespace orrery::env {

namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// Waits until `fd` is ready for `events`.
Status wait_ready(int fd, short events, const Deadline& deadline, Seconds timeout, const std::string& what) {
  while (true) {
    pollfd request{fd, events, 0};
    const int ready = ::poll(&request, 1, deadline.poll_ms());
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return posix_error(errno, what);
    if (deadline.passed()) return timed_out(what, timeout);
  }
}

Result<AddressList> look_up(const Address& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failed == EAI_AGAIN)
    return Error::unavailable(fmt::format("cannot look up \"{}\": {}", address.host, ::gai_strerror(failed)));
  if (failed != 0)
    return Error::invalid(fmt::format("cannot look up \"{}\": {}; expected a host name or a numeric address",
                                      address.host, ::gai_strerror(failed)));
  return AddressList(found, &::freeaddrinfo);
}

Address describe(const sockaddr_storage& storage, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, host.data(), host.size(), port.data(), port.size(),
                NI_NUMERICHOST | NI_NUMERICSERV);
  return {host.data(), static_cast<std::uint16_t>(std::strtoul(port.data(), nullptr, 10))};
}

using AddressQuery = int(int, sockaddr*, socklen_t*);  // getsockname or getpeername

Address ask(int fd, AddressQuery* query) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (query(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return describe(storage, length);
}

class RealConnection final : public Connection {
 public:
  explicit RealConnection(FileDescriptor fd, bool is_made = true)
      : fd_(std::move(fd)),
        is_made_(is_made),
        local_(ask(fd_.get(), &::getsockname)),
        peer_(ask(fd_.get(), &::getpeername)) {
    const int on = 1;  // messages are written whole, so waiting for more to send only adds latency
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  int descriptor() const override { return fd_.get(); }

  Result<bool> is_connected() override {
    if (is_made_) return true;
    pollfd request{fd_.get(), POLLOUT, 0};
    if (::poll(&request, 1, 0) <= 0) return false;
    int failed = 0;
    socklen_t length = sizeof failed;
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &failed, &length) != 0) failed = errno;
    if (failed != 0) return posix_error(failed, "cannot connect");
    is_made_ = true;
    local_ = ask(fd_.get(), &::getsockname);
    peer_ = ask(fd_.get(), &::getpeername);
    return true;
  }

  Result<std::size_t> send_some(std::string_view bytes) override {
    while (true) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) return static_cast<std::size_t>(sent);
      if (errno == EAGAIN || errno == ENOTCONN) return std::size_t{0};
      if (errno != EINTR) return posix_error(errno, what("send to"));
    }
  }

  Result<std::optional<std::size_t>> receive_some(std::span<char> buffer) override {
    ORRERY_CHECK(!buffer.empty());
    while (true) {
      const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
      if (got >= 0) return std::optional(static_cast<std::size_t>(got));
      if (errno == EAGAIN || errno == ENOTCONN) return std::optional<std::size_t>();
      if (errno != EINTR) return posix_error(errno, what("receive from"));
    }
  }

  bool is_from_our_user() const override { return is_peer_our_user(fd_.get()); }
  void notice_silence(Seconds longest) override { env::notice_silence(fd_.get(), longest); }
  PathState path() const override { return path_state(fd_.get()); }
  void finish() override { ::shutdown(fd_.get(), SHUT_WR); }

  Status send(std::string_view bytes, Seconds timeout) override {
    const Deadline deadline(timeout);
    while (true) {
      ORRERY_TRY(const std::size_t sent, send_some(bytes));
      bytes.remove_prefix(sent);
      if (bytes.empty()) return {};
      ORRERY_TRY_VOID(wait_ready(fd_.get(), POLLOUT, deadline, timeout, what("send to")));
    }
  }

  Result<std::size_t> receive(std::span<char> buffer, Seconds timeout) override {
    ORRERY_CHECK(!buffer.empty());
    const Deadline deadline(timeout);
    while (true) {
      ORRERY_TRY(const std::optional<std::size_t> got, receive_some(buffer));
      if (got) return *got;
      ORRERY_TRY_VOID(wait_ready(fd_.get(), POLLIN, deadline, timeout, what("receive from")));
    }
  }

  const Address& local() const override { return local_; }
  const Address& peer() const override { return peer_; }

 private:
  std::string what(std::string_view verb) const { return fmt::format("cannot {} {}", verb, to_string(peer_)); }

  FileDescriptor fd_;
  bool is_made_;
  Address local_, peer_;
};

class RealListener final : public Listener {
 public:
  explicit RealListener(FileDescriptor fd) : fd_(std::move(fd)), address_(ask(fd_.get(), &::getsockname)) {}

  Result<std::unique_ptr<Connection>> accept(Seconds timeout) override {
    const Deadline deadline(timeout);
    const std::string what = "cannot accept on " + to_string(address_);
    while (true) {
      FileDescriptor fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (fd.open()) return std::make_unique<RealConnection>(std::move(fd));
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) return posix_error(errno, what);
      ORRERY_TRY_VOID(wait_ready(fd_.get(), POLLIN, deadline, timeout, what));
    }
  }

  Result<std::unique_ptr<Connection>> accept_now() override {
    while (true) {
      FileDescriptor fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (fd.open()) return std::make_unique<RealConnection>(std::move(fd));
      if (errno == EAGAIN) return std::unique_ptr<Connection>();
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        return Error::unavailable(fmt::format("cannot accept a connection: {}", std::strerror(errno)));
      }
      if (errno != EINTR && errno != ECONNABORTED) return posix_error(errno, "cannot accept a connection");
    }
  }

  int descriptor() const override { return fd_.get(); }
  const Address& address() const override { return address_; }
  bool is_local() const override { return is_bound_to_loopback(fd_.get()); }

 private:
  FileDescriptor fd_;
  Address address_;
};

FileDescriptor open_socket(const addrinfo& info) {
  return FileDescriptor(::socket(info.ai_family, info.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, info.ai_protocol));
}

Result<FileDescriptor> connect_to(const addrinfo& info, const Deadline& deadline, Seconds timeout,
                                  const std::string& what) {
  FileDescriptor fd = open_socket(info);
  if (!fd.open()) return posix_error(errno, what);
  if (::connect(fd.get(), info.ai_addr, info.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS && errno != EINTR) return posix_error(errno, what);
  ORRERY_TRY_VOID(wait_ready(fd.get(), POLLOUT, deadline, timeout, what));
  int failed = 0;
  socklen_t length = sizeof failed;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failed, &length) != 0) failed = errno;
  if (failed != 0) return posix_error(failed, what);
  return fd;
}

enum class Sharing { kNone, kReserved };

Result<FileDescriptor> bind_to(const Address& address, Sharing sharing) {
  const std::string what = "cannot listen on " + to_string(address);
  ORRERY_TRY(const AddressList found, look_up(address, AI_PASSIVE));
  FileDescriptor fd = open_socket(*found);
  if (!fd.open()) return posix_error(errno, what);
  // A restarted server gets its port back at once. A reserved port is shared only with sockets of this user that ask for
  // that; reusing addresses would share it with anybody's while nobody listens.
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, sharing == Sharing::kReserved ? SO_REUSEPORT : SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0) return posix_error(errno, what);
  return fd;
}

Result<std::unique_ptr<Listener>> listen_on(const Address& address, Sharing sharing) {
  ORRERY_TRY(FileDescriptor fd, bind_to(address, sharing));
  if (::listen(fd.get(), SOMAXCONN) != 0) return posix_error(errno, "cannot listen on " + to_string(address));
  return std::make_unique<RealListener>(std::move(fd));
}

class RealReservation final : public Reservation {
 public:
  explicit RealReservation(FileDescriptor fd) : fd_(std::move(fd)), address_(ask(fd_.get(), &::getsockname)) {}
  const Address& address() const override { return address_; }

 private:
  FileDescriptor fd_;
  Address address_;
};

}  // namespace

Result<std::unique_ptr<Listener>> RealSockets::listen(const Address& address) {
  return listen_on(address, Sharing::kNone);
}

Result<std::unique_ptr<Listener>> RealSockets::listen_reserved(const Address& address) {
  return listen_on(address, Sharing::kReserved);
}

Result<std::unique_ptr<Reservation>> RealSockets::reserve(const Address& address) {
  ORRERY_TRY(FileDescriptor fd, bind_to(address, Sharing::kReserved));
  return std::make_unique<RealReservation>(std::move(fd));
}

Result<std::unique_ptr<Connection>> RealSockets::connect(const Address& address, Seconds timeout) {
  ORRERY_TRY(const AddressList found, look_up(address, 0));
  const Deadline deadline(timeout);
  Error last = Error::unavailable("cannot connect to " + to_string(address) + ": it has no address");
  for (const addrinfo* info = found.get(); info != nullptr; info = info->ai_next) {
    auto fd = connect_to(*info, deadline, timeout, "cannot connect to " + to_string(address));
    if (fd) return std::make_unique<RealConnection>(std::move(*fd));
    last = std::move(fd).error();
  }
  return last;
}

Result<std::unique_ptr<Connection>> RealSockets::begin_connect(const Address& address) {
  ORRERY_TRY(const AddressList found, look_up(address, 0));
  FileDescriptor fd = open_socket(*found);
  const std::string what = "cannot connect to " + to_string(address);
  if (!fd.open()) return posix_error(errno, what);
  if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS && errno != EINTR) {
    return posix_error(errno, what);
  }
  return std::make_unique<RealConnection>(std::move(fd), false);
}

}  // namespace orrery::env
