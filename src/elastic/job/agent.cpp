#include "elastic/job/agent.h"

#include <algorithm>
#include <fmt/format.h>
#include <sys/resource.h>

#include "base/crypto.h"
#include "base/text.h"
#include "elastic/job/complaints.h"
#include "elastic/job/hosted_job.h"
#include "env/clock.h"
#include "env/peer_user.h"
#include "env/terminal.h"

namespace orrery::elastic {

namespace {

constexpr Seconds kLongest{0.1}, kWhileWriting{0.002};
constexpr Seconds kHandshakeMax{5};
constexpr Seconds kSilenceMax{5};
constexpr std::size_t kPendingMax = 64;
constexpr std::size_t kPendingMin = 4;

// At most a quarter of the descriptors is for unauthenticated clients; the rest is for jobs.
std::size_t pending_max() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kPendingMax;
  return std::clamp(static_cast<std::size_t>(limit.rlim_cur / 4), kPendingMin, kPendingMax);
}

class Agent {
 public:
  Agent(env::Env env, const AgentOptions& options, env::FileDescriptor socket, std::unique_ptr<Supervisor> watch)
      : env_(env), options_(options), socket_(std::move(socket)), watch_(std::move(watch)) {}

  Status run() {
    say(fmt::format("agent on {}", env::to_string(net::local_address(socket_.get()))));
    for (int signals = 0; signals == 0 || !jobs_.empty();) {
      const int came = wait();
      for (int i = 0; i < came; ++i) heed_signal(++signals);
      welcome();
      for (auto& job : jobs_) {
        endure(job->move());
      }
      const auto is_over = [&](const auto& job) { return job->is_over() || (signals > 0 && !job->has_processes()); };
      for (const auto& job : jobs_) {
        if (!is_over(job)) continue;
        if (job->is_attached()) job->close();
        say(fmt::format("job {} has ended here", job->name()));
      }
      std::erase_if(jobs_, is_over);
    }
    return {};
  }

 private:
  struct PendingConnection {
    std::unique_ptr<net::Stream> stream;
    Seconds since{0};
    std::string challenge;
    bool is_done = false;
  };

  void say(const std::string& text) { env_.terminal.write_error(fmt::format("orrery: {}\n", text)); }

  void endure(const Status& status) {
    const std::string text = complaints_.about(status);
    if (!text.empty()) say(text);
  }

  // Returns the number of signals that came.
  int wait() {
    std::vector<int> descriptors;
    // A listener that cannot accept would wake us without end.
    if (!is_full_) descriptors.push_back(socket_.get());
    for (const PendingConnection& pending : pending_) descriptors.push_back(pending.stream->socket());
    for (const auto& job : jobs_) job->add_descriptors(descriptors);
    const bool writes = std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->has_output(); });
    const auto came = watch_->wait(descriptors, writes ? kWhileWriting : kLongest);
    if (came) return *came;
    endure(came.error());
    env_.clock.sleep(kLongest);
    return 0;
  }

  void heed_signal(int number) {
    say(number == 1 ? "ending when the processes here have left; a second signal kills them" : "killing");
    for (auto& job : jobs_) job->end_all(number == 1 ? env::Signal::kTerminate : env::Signal::kKill);
  }

  bool drop_oldest() {
    is_full_ = pending_.empty();
    if (is_full_) return false;
    pending_.erase(pending_.begin());
    return true;
  }

  void take_in() {
    is_full_ = false;
    const std::size_t most = pending_max();
    // At most as many per call as may wait, so that a stream of unauthenticated clients does not keep us from the jobs.
    for (std::size_t i = 0; i < most; ++i) {
      auto socket = net::accept_or_drop(socket_.get(), [this] { return drop_oldest(); });
      if (!socket) endure(socket.error());
      if (!socket || !*socket) return;
      if (pending_.size() == most) drop_oldest();
      net::notice_silence((*socket)->get(), kSilenceMax);
      net::prepare((*socket)->get(), 0);
      PendingConnection pending{std::make_unique<net::Stream>(std::move(**socket), net::StreamLimits{}),
                                env_.clock.monotonic(), net::random_bytes()};
      (void)pending.stream->send(encode(Challenge{kOrderVersion, pending.challenge}));
      pending_.push_back(std::move(pending));
    }
  }

  void welcome() {
    take_in();
    for (PendingConnection& pending : pending_) listen_to(pending);
    std::erase_if(pending_, [](const PendingConnection& pending) { return pending.is_done; });
  }

  void listen_to(PendingConnection& pending) {
    std::vector<std::string> messages;
    const Status received = pending.stream->flush() ? pending.stream->receive(messages) : Error::unavailable("gone");
    pending.is_done = !received || !messages.empty() || env_.clock.monotonic() > pending.since + kHandshakeMax;
    if (messages.empty()) return;
    const auto order = decode_order(messages.front());
    const auto* const open = order ? std::get_if<OpenJob>(&*order) : nullptr;
    if (order && open == nullptr) return;
    const Status done = order ? admit(*open, pending) : Status(order.error());
    if (done) return;
    say(fmt::format("refused a launcher: {}", done.error().message()));
    if (pending.stream == nullptr) return;
    (void)pending.stream->send(encode(JobOpened{done.error().message(), {}, ""}));
    (void)pending.stream->flush();
  }

  Status admit(const OpenJob& order, PendingConnection& pending) {
    if (!is_same_secret(order.proof, proof_of(order, options_.secret, pending.challenge))) {
      return Error::invalid("the secret is not the one of this agent");
    }
    if (options_.secret.empty() && !env::is_peer_our_user(pending.stream->socket())) {
      return Error::invalid(
          "an agent without a secret serves only the user who started it; start it with --secret-file to serve others");
    }
    std::unique_ptr<net::Stream>& stream = pending.stream;
    const auto known =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& job) { return job->name() == order.job; });
    if (known != jobs_.end()) {
      if (!(*known)->is_of(order)) {
        return Error::invalid(fmt::format("a job called {} is running there; choose another --name", quote(order.job)));
      }
      say(fmt::format("job {}: its launcher is back", order.job));
      return (*known)->attach(std::move(stream), options_.secret, order.random);
    }
    ORRERY_TRY(auto job, HostedJob::open(env_, *watch_, order, options_.listen.host));
    ORRERY_TRY_VOID(job->attach(std::move(stream), options_.secret, order.random));
    say(fmt::format("job {} has come here", order.job));
    jobs_.push_back(std::move(job));
    return {};
  }

  env::Env env_;
  AgentOptions options_;
  env::FileDescriptor socket_;
  std::unique_ptr<Supervisor> watch_;
  std::vector<PendingConnection> pending_;  // the oldest first
  Complaints complaints_;
  bool is_full_ = false;                          // no descriptor is left for a pending connection
  std::vector<std::unique_ptr<HostedJob>> jobs_;  // last: they use the supervisor
};

}  // namespace

Status run_agent(env::Env env, const AgentOptions& options) {
  ORRERY_TRY(env::FileDescriptor socket, net::listen_on(options.listen));
  if (options.secret.empty() && !env::is_bound_to_loopback(socket.get())) {
    return Error::invalid(fmt::format(
        "{} is reached from other machines, and an agent runs programs; give it a secret (--secret-file), or let it "
        "listen on 127.0.0.1",
        env::to_string(options.listen)));
  }
  ORRERY_TRY(auto watch, Supervisor::start());
  return Agent(env, options, std::move(socket), std::move(watch)).run();
}

}  // namespace orrery::elastic
