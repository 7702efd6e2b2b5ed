#pragma once
// Where channels are made to: accepts connections and lets them introduce themselves.
//
// At most `unproven_max` connections may have not introduced themselves, none for longer than `handshake_max`: when more
// come, or no descriptor is left, the oldest of them is closed. So connections that are idle, slow or do not know the
// secret never keep out one that does.

#include <memory>
#include <vector>

#include "env/channel/channel.h"
#include "env/clock.h"
#include "env/env.h"

namespace orrery::env {

struct ChannelListenerOptions {
  bool is_reserved = false;  // see Sockets::listen_reserved
  std::size_t unproven_max = 64;
  Seconds handshake_max{10};
  Seconds silence_max{0};  // see Connection::notice_silence; 0: any
  ChannelLimits limits{};
};

// Owned by one thread.
class ChannelListener {
 public:
  // The poller, and what is in `env`, must outlive it.
  static Result<std::unique_ptr<ChannelListener>> open(Env env, Poller& poller, const Address& address,
                                                       const Credentials& credentials,
                                                       const ChannelListenerOptions& options = {});

  const Address& address() const { return listener_->address(); }
  bool is_local() const { return listener_->is_local(); }

  bool has_pending() const { return !pending_.empty(); }
  // The channels that have introduced themselves since the last call; a reply is due. Never waits.
  std::vector<std::unique_ptr<Channel>> receive();
  // Why introductions were refused since the last call.
  std::vector<std::string> take_refusals() { return std::exchange(refusals_, {}); }
  // When receive() has something to do without anything being ready; none if it will not.
  std::optional<Seconds> next_deadline() const;

 private:
  struct Pending {
    std::unique_ptr<Channel> channel;
    Seconds since{0};
    bool is_over = false;
  };

  ChannelListener(Env env, Poller& poller, std::unique_ptr<Listener> listener, const Credentials& credentials,
                  const ChannelListenerOptions& options)
      : env_(env), poller_(poller), listener_(std::move(listener)), credentials_(credentials), options_(options) {}
  void accept();
  void look_at(Pending& pending);

  Env env_;
  Poller& poller_;
  std::unique_ptr<Listener> listener_;
  Credentials credentials_;
  ChannelListenerOptions options_;
  std::vector<Pending> pending_;  // the oldest first
  std::vector<std::string> refusals_;
  Seconds again_{0};  // when it accepts again, after a failure
  Watch watch_;
};

}  // namespace orrery::env
