#include "env/real_poller.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <sys/epoll.h>

namespace orrery::env {

namespace {

constexpr Seconds kWithoutDescriptor{0.005};

}  // namespace

Result<std::unique_ptr<RealPoller>> RealPoller::make() {
  FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.open()) return posix_error(errno, "cannot make a poller");
  return std::unique_ptr<RealPoller>(new RealPoller(std::move(epoll)));
}

Status RealPoller::watch(const Pollable& what, Interest interest) {
  if (what.descriptor() < 0) return without_descriptor_.insert(&what), Status();
  epoll_event event{};
  if (includes(interest, Interest::kInput)) event.events |= EPOLLIN;
  if (includes(interest, Interest::kOutput)) event.events |= EPOLLOUT;
  const int change = watched_.contains(&what) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (::epoll_ctl(epoll_.get(), change, what.descriptor(), &event) != 0) return posix_error(errno, "cannot watch");
  watched_.insert(&what);
  return {};
}

void RealPoller::forget(const Pollable& what) {
  without_descriptor_.erase(&what);
  if (watched_.erase(&what) > 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, what.descriptor(), nullptr);
}

Status RealPoller::wait(Seconds timeout) {
  if (!without_descriptor_.empty()) timeout = std::min(timeout, kWithoutDescriptor);
  const Deadline deadline(timeout);
  epoll_event event{};
  do {
    const int ready = ::epoll_wait(epoll_.get(), &event, 1, deadline.poll_ms());
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return posix_error(errno, "cannot wait");
  } while (!deadline.passed());
  return {};
}

bool RealPoller::is_anything_ready() {
  epoll_event event{};
  return ::epoll_wait(epoll_.get(), &event, 1, 0) > 0;
}

Result<std::unique_ptr<Poller>> RealPollers::make() {
  ORRERY_TRY(auto poller, RealPoller::make());
  return std::unique_ptr<Poller>(std::move(poller));
}

}  // namespace orrery::env
