#include "elastic/host/mailbox.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

namespace orrery::elastic {

namespace {

constexpr std::size_t kJobBytesMax = 64;

struct Name {
  sockaddr_un address{};
  socklen_t size = 0;
};

std::string prefix() {
  return fmt::format("orrery/{}/", ::geteuid());
}

// A first byte of zero puts the name into the kernel's abstract namespace.
Name name_of(const std::string& job, std::uint64_t name) {
  const std::string text = fmt::format("{}{}/{:x}", prefix(), job, name);
  Name made;
  made.address.sun_family = AF_UNIX;
  std::memcpy(made.address.sun_path + 1, text.data(), text.size());
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return made;
}

// One message, or -1 with errno. Without credentials that are ours or root's it is dropped: -1 with EINTR.
ssize_t receive_from_us(int socket, std::span<char> buffer) {
  iovec bytes{.iov_base = buffer.data(), .iov_len = buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return got;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
    if (sender.uid == ::geteuid() || sender.uid == 0) return got;
  }
  errno = EINTR;
  return -1;
}

}  // namespace

Result<Mailbox> Mailbox::open(const std::string& job, std::uint64_t name) {
  if (job.empty() || job.size() > kJobBytesMax) {
    return Error::invalid(fmt::format("a job's name has 1 to {} characters, this one {}", kJobBytesMax, job.size()));
  }
  env::FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.open()) return env::posix_error(errno, "cannot make a socket");
  const int yes = 1;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0) {
    return env::posix_error(errno, "cannot ask for the senders of messages");
  }
  const Name own = name_of(job, name);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&own.address), own.size) != 0) {
    return env::posix_error(errno, fmt::format("cannot take the name {:x} in job \"{}\"", name, job));
  }
  return Mailbox(job, std::move(socket));
}

bool Mailbox::send(std::uint64_t to, std::string_view bytes) {
  if (bytes.size() > kMailBytesMax) return false;
  const Name peer = name_of(job_, to);
  const ssize_t sent = ::sendto(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&peer.address), peer.size);
  return sent == static_cast<ssize_t>(bytes.size());
}

Result<std::optional<std::string>> Mailbox::receive(Seconds timeout) {
  const env::Deadline deadline(timeout);
  buffer_.resize(kMailBytesMax);
  for (;;) {
    const ssize_t got = receive_from_us(socket_.get(), buffer_);
    if (got >= 0) return std::optional<std::string>(buffer_.substr(0, static_cast<std::size_t>(got)));
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return env::posix_error(errno, "cannot receive a message");
    const int wait_ms = deadline.poll_ms();
    if (wait_ms == 0) return std::optional<std::string>();
    pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, wait_ms);
  }
}

std::vector<MailboxName> open_mailboxes(std::string_view sockets) {
  const std::string start = "@" + prefix();
  std::vector<MailboxName> names;
  for (const std::string& line : split(sockets, '\n')) {
    const std::size_t at = line.find(start);
    const std::size_t slash = line.rfind('/');
    if (at == std::string::npos || slash < at + start.size()) continue;
    MailboxName found{line.substr(at + start.size(), slash - at - start.size())};
    const char* const end = line.data() + line.size();
    const auto [stopped, failure] = std::from_chars(line.data() + slash + 1, end, found.name, 16);
    if (failure == std::errc() && stopped == end && !found.job.empty()) names.push_back(std::move(found));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace orrery::elastic
