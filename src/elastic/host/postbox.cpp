#include "elastic/host/postbox.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace orrery::elastic {

namespace {

constexpr std::size_t kJobBytesMax = 64;

struct Name {
  sockaddr_un address{};
  socklen_t size = 0;
};

// A first byte of zero makes it a name of the kernel's own.
Name name_of(const std::string& job, std::uint64_t name) {
  const std::string text = fmt::format("orrery/{}/{:x}", job, name);
  Name made;
  made.address.sun_family = AF_UNIX;
  std::memcpy(made.address.sun_path + 1, text.data(), text.size());
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return made;
}

}  // namespace

Result<Postbox> Postbox::open(const std::string& job, std::uint64_t name) {
  if (job.empty() || job.size() > kJobBytesMax) {
    return Error::invalid(fmt::format("a job's name has 1 to {} characters, this one {}", kJobBytesMax, job.size()));
  }
  env::FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.open()) return env::posix_error(errno, "cannot make a socket");
  const Name own = name_of(job, name);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&own.address), own.size) != 0) {
    return env::posix_error(errno, fmt::format("cannot take the name {:x} in job \"{}\"", name, job));
  }
  return Postbox(job, std::move(socket));
}

bool Postbox::send(std::uint64_t to, std::string_view bytes) {
  if (bytes.size() > kPostBytesMax) return false;
  const Name peer = name_of(job_, to);
  const ssize_t sent = ::sendto(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&peer.address), peer.size);
  return sent == static_cast<ssize_t>(bytes.size());
}

Result<std::optional<std::string>> Postbox::receive(Seconds timeout) {
  const env::Deadline deadline(timeout);
  buffer_.resize(kPostBytesMax);
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got >= 0) return std::optional<std::string>(buffer_.substr(0, static_cast<std::size_t>(got)));
    if (errno != EAGAIN && errno != EINTR) return env::posix_error(errno, "cannot receive a message");
    const int wait_ms = deadline.poll_ms();
    if (wait_ms == 0) return std::optional<std::string>();
    pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, wait_ms);
  }
}

}  // namespace orrery::elastic
