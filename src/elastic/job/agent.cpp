#include "elastic/job/agent.h"

#include <algorithm>
#include <fmt/format.h>
#include <sys/resource.h>

#include "base/text.h"
#include "elastic/job/complaints.h"
#include "elastic/job/hosted_job.h"
#include "env/channel/channel_listener.h"
#include "env/clock.h"
#include "env/terminal.h"

namespace orrery::elastic {

namespace {

constexpr Seconds kLongest{0.1};
constexpr Seconds kHandshakeMax{5};
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
  Agent(env::Env env, const AgentOptions& options, std::unique_ptr<env::Poller> poller,
        std::unique_ptr<env::EndRequests> end_requests, std::unique_ptr<env::ChannelListener> listener)
      : env_(env),
        options_(options),
        poller_(std::move(poller)),
        end_requests_(std::move(end_requests)),
        listener_(std::move(listener)) {}

  Status run() {
    ORRERY_TRY(const env::Watch watch, env::Watch::on(*poller_, *end_requests_));
    say(fmt::format("agent on {}", env::to_string(listener_->address())));
    for (int signals = 0; signals == 0 || !jobs_.empty();) {
      if (const Status waited = poller_->wait(kLongest); !waited) {
        endure(waited);
        env_.clock.sleep(kLongest);
      }
      for (int came = end_requests_->take(); came > 0; --came) heed_signal(++signals);
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
  // A launcher that knows the secret and has not said yet which job it is about.
  struct Arrival {
    std::unique_ptr<env::Channel> channel;
    Seconds since{0};
    bool is_done = false;
  };

  void say(const std::string& text) { env_.terminal.write_error(fmt::format("orrery: {}\n", text)); }

  void endure(const Status& status) {
    const std::string text = complaints_.about(status);
    if (!text.empty()) say(text);
  }

  void heed_signal(int number) {
    say(number == 1 ? "ending when the processes here have left; a second signal kills them" : "killing");
    for (auto& job : jobs_) job->end_all(number == 1 ? env::Signal::kTerminate : env::Signal::kKill);
  }

  void welcome() {
    for (auto& channel : listener_->receive()) greet(std::move(channel));
    for (const std::string& reason : listener_->take_refusals()) say("refused a launcher: " + reason);
    for (Arrival& arrival : arrivals_) listen_to(arrival);
    std::erase_if(arrivals_, [](const Arrival& arrival) { return arrival.is_done; });
  }

  void greet(std::unique_ptr<env::Channel> channel) {
    std::string refusal;
    if (channel->handshake().about() != kOrdersAbout) {
      refusal = fmt::format("expected {}, not {}; use the same orrery", quote(kOrdersAbout),
                            quote(channel->handshake().about()));
    } else if (options_.credentials.secret.empty() && !channel->connection().is_from_our_user()) {
      refusal =
          "an agent without a secret serves only the user who started it; start it with --secret-file to serve others";
    }
    if (!refusal.empty()) say("refused a launcher: " + refusal);
    channel->reply(refusal.empty(), refusal);
    arrivals_.push_back({std::move(channel), env_.clock.monotonic()});
  }

  void listen_to(Arrival& arrival) {
    std::vector<std::string> messages;
    const Status moved = arrival.channel->move(messages);
    arrival.is_done = !moved || !messages.empty() || env_.clock.monotonic() > arrival.since + kHandshakeMax;
    if (messages.empty()) return;
    const auto order = decode_order(messages.front());
    const auto* const open = order ? std::get_if<OpenJob>(&*order) : nullptr;
    if (open == nullptr) return;
    const Status done = admit(*open, arrival);
    if (done) return;
    say(fmt::format("refused a launcher: {}", done.error().message()));
    if (arrival.channel == nullptr) return;
    (void)arrival.channel->send(encode(JobOpened{done.error().message(), {}}));
    (void)arrival.channel->flush();
  }

  Status admit(const OpenJob& order, Arrival& arrival) {
    const auto known =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& job) { return job->name() == order.job; });
    if (known != jobs_.end() && !(*known)->is_of(order)) {
      return Error::invalid(fmt::format("a job called {} is running there; choose another --name", quote(order.job)));
    }
    std::unique_ptr<HostedJob> opened;
    if (known == jobs_.end()) {
      ORRERY_TRY(opened, HostedJob::open(env_, *poller_, order, options_.listen.host));
    }
    HostedJob& job = opened != nullptr ? *opened : **known;
    ORRERY_TRY_VOID(job.attach(std::move(arrival.channel)));
    say(opened != nullptr ? fmt::format("job {} has come here", order.job)
                          : fmt::format("job {}: its launcher is back", order.job));
    if (opened != nullptr) jobs_.push_back(std::move(opened));
    return {};
  }

  env::Env env_;
  AgentOptions options_;
  std::unique_ptr<env::Poller> poller_;
  std::unique_ptr<env::EndRequests> end_requests_;
  std::unique_ptr<env::ChannelListener> listener_;
  std::vector<Arrival> arrivals_;
  Complaints complaints_;
  std::vector<std::unique_ptr<HostedJob>> jobs_;
};

}  // namespace

Status run_agent(env::Env env, const AgentOptions& options) {
  ORRERY_TRY(auto poller, env.pollers.make());
  ORRERY_TRY(auto listener,
             env::ChannelListener::open(
                 env, *poller, options.listen, options.credentials,
                 {.unproven_max = pending_max(), .handshake_max = kHandshakeMax, .silence_max = kOrdersSilenceMax}));
  if (options.credentials.secret.empty() && !listener->is_local()) {
    return Error::invalid(fmt::format(
        "{} is reached from other machines, and an agent runs programs; give it a secret (--secret-file), or let it "
        "listen on 127.0.0.1",
        env::to_string(options.listen)));
  }
  ORRERY_TRY(auto end_requests, env.processes.end_requests());
  return Agent(env, options, std::move(poller), std::move(end_requests), std::move(listener)).run();
}

}  // namespace orrery::elastic
