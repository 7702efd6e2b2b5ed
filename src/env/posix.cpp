#include "env/posix.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <poll.h>
#include <system_error>
#include <unistd.h>

#include "env/real_clock.h"

namespace orrery::env {

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = other.release();
  return *this;
}

int FileDescriptor::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void FileDescriptor::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Deadline::Deadline(Seconds timeout) : end_(RealClock().monotonic() + std::max(timeout, Seconds(0))) {}

Seconds Deadline::left() const {
  return end_ - RealClock().monotonic();
}

bool Deadline::passed() const {
  return left() <= Seconds(0);
}

int Deadline::poll_ms(int longest_ms) const {
  const double ms = std::ceil(left().value() * 1000);
  return static_cast<int>(std::clamp(ms, 0.0, static_cast<double>(longest_ms)));
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      // Another program may have set the terminal or pipe that it shares with us not to wait.
      pollfd look{descriptor, POLLOUT, 0};
      ::poll(&look, 1, -1);
      continue;
    }
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Error posix_error(int error_number, const std::string& what) {
  const std::string message = what + ": " + std::generic_category().message(error_number);
  switch (error_number) {
    case ENOENT:
      return Error::not_found(message);
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
    case EINVAL:
      return Error::invalid(message);
    case EAGAIN:
    case EINTR:
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EADDRINUSE:
    case EMFILE:
    case ENFILE:
      return Error::unavailable(message);
    default:
      return Error::io(message);
  }
}

}  // namespace orrery::env
