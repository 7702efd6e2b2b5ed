#pragma once
// epoll.

#include <set>

#include "env/poller.h"
#include "env/posix.h"

namespace orrery::env {

class RealPoller final : public Poller {
 public:
  static Result<std::unique_ptr<RealPoller>> make();

  Status watch(const Pollable& what, Interest interest) override;
  void forget(const Pollable& what) override;
  Status wait(Seconds timeout) override;
  bool is_anything_ready() override;
  int descriptor() const override { return epoll_.get(); }

 private:
  explicit RealPoller(FileDescriptor epoll) : epoll_(std::move(epoll)) {}

  FileDescriptor epoll_;
  std::set<const Pollable*> watched_;
  std::set<const Pollable*> without_descriptor_;  // processes, on kernels without pidfd
};

class RealPollers final : public Pollers {
 public:
  Result<std::unique_ptr<Poller>> make() override;
};

}  // namespace orrery::env
