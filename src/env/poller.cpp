#include "env/poller.h"

#include <utility>

namespace orrery::env {

Result<Watch> Watch::on(Poller& poller, const Pollable& what, Interest interest) {
  ORRERY_TRY_VOID(poller.watch(what, interest));
  Watch watch;
  watch.poller_ = &poller;
  watch.what_ = &what;
  watch.interest_ = interest;
  return watch;
}

Watch::Watch(Watch&& other) noexcept
    : poller_(std::exchange(other.poller_, nullptr)), what_(other.what_), interest_(other.interest_) {}

Watch& Watch::operator=(Watch&& other) noexcept {
  if (this == &other) return *this;
  end();
  poller_ = std::exchange(other.poller_, nullptr);
  what_ = other.what_;
  interest_ = other.interest_;
  return *this;
}

Status Watch::set(Interest interest) {
  if (poller_ == nullptr || interest == interest_) return {};
  interest_ = interest;
  return poller_->watch(*what_, interest);
}

void Watch::end() {
  if (poller_ != nullptr) poller_->forget(*what_);
  poller_ = nullptr;
}

}  // namespace orrery::env
