#include "env/channel/channel_listener.h"

#include <algorithm>

#include "env/entropy.h"

namespace orrery::env {

namespace {

constexpr Seconds kRestAfterFailure{0.1};

}  // namespace

Result<std::unique_ptr<ChannelListener>> ChannelListener::open(Env env, Poller& poller, const Address& address,
                                                               const Credentials& credentials,
                                                               const ChannelListenerOptions& options) {
  ORRERY_TRY(auto listener, options.is_reserved ? env.sockets.listen_reserved(address) : env.sockets.listen(address));
  std::unique_ptr<ChannelListener> made(new ChannelListener(env, poller, std::move(listener), credentials, options));
  ORRERY_TRY(made->watch_, Watch::on(poller, *made->listener_));
  return made;
}

void ChannelListener::accept() {
  if (env_.clock.monotonic() < again_) return;
  if (again_ > Seconds(0)) {
    auto watch = Watch::on(poller_, *listener_);
    if (!watch) return;
    watch_ = std::move(*watch);
    again_ = Seconds(0);
  }
  // At most as many per call as may wait, so that a stream of clients without the secret does not keep us here.
  for (std::size_t i = 0; i < options_.unproven_max; ++i) {
    auto connection = listener_->accept_now();
    if (!connection && !pending_.empty()) {
      pending_.erase(pending_.begin());
      continue;
    }
    if (!connection) {
      // It would stay ready.
      watch_.end();
      again_ = env_.clock.monotonic() + kRestAfterFailure;
    }
    if (!connection || *connection == nullptr) return;
    if (pending_.size() == options_.unproven_max) pending_.erase(pending_.begin());
    if (options_.silence_max > Seconds(0)) (*connection)->notice_silence(options_.silence_max);
    Pending pending;
    pending.since = env_.clock.monotonic();
    pending.channel = std::make_unique<Channel>(
        std::move(*connection), Handshake::of_listening(credentials_, env_.entropy.bytes(kChallengeBytes)),
        options_.limits);
    if (pending.channel->watch_with(poller_)) pending_.push_back(std::move(pending));
  }
}

void ChannelListener::look_at(Pending& pending) {
  std::vector<std::string> none;
  const Status moved = pending.channel->move(none);
  const std::string& problem = pending.channel->handshake().problem();
  if (!moved && !problem.empty()) refusals_.push_back(problem);
  pending.is_over = !moved || env_.clock.monotonic() - pending.since > options_.handshake_max;
}

std::optional<Seconds> ChannelListener::next_deadline() const {
  if (again_ > Seconds(0)) return again_;
  if (pending_.empty()) return std::nullopt;
  return pending_.front().since + options_.handshake_max;
}

std::vector<std::unique_ptr<Channel>> ChannelListener::receive() {
  accept();
  std::vector<std::unique_ptr<Channel>> introduced;
  for (Pending& pending : pending_) {
    look_at(pending);
    if (pending.is_over || pending.channel->handshake().state() != Handshake::State::kIntroduced) continue;
    introduced.push_back(std::move(pending.channel));
    pending.is_over = true;
  }
  std::erase_if(pending_, [](const Pending& pending) { return pending.is_over; });
  return introduced;
}

}  // namespace orrery::env
