#include "elastic/job/agent.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/sha256.h"
#include "base/text.h"
#include "elastic/job/hosted_job.h"
#include "env/clock.h"
#include "env/terminal.h"

namespace orrery::elastic {

namespace {

constexpr Seconds kLongest{0.1}, kWhileWriting{0.002};
constexpr Seconds kHelloMax{5};
constexpr Seconds kSilenceMax{5};
constexpr std::size_t kVisitorsMax = 64;

class Agent {
 public:
  Agent(env::Env env, const AgentOptions& options, env::FileDescriptor socket, std::unique_ptr<Watch> watch)
      : env_(env), options_(options), socket_(std::move(socket)), watch_(std::move(watch)) {}

  Status run() {
    say(fmt::format("agent on {}", env::to_string(net::local_address(socket_.get()))));
    for (int signals = 0; signals == 0 || !jobs_.empty();) {
      ORRERY_TRY(const int came, wait());
      for (int i = 0; i < came; ++i) heed_signal(++signals);
      ORRERY_TRY_VOID(welcome());
      for (auto& job : jobs_) ORRERY_TRY_VOID(job->move());
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
  struct Visitor {
    std::unique_ptr<net::Stream> stream;
    Seconds since{0};
    std::string challenge;
    bool is_done = false;
  };

  void say(const std::string& text) { env_.terminal.write_error(fmt::format("orrery: {}\n", text)); }

  Result<int> wait() {
    std::vector<int> descriptors = {socket_.get()};
    for (const Visitor& visitor : visitors_) descriptors.push_back(visitor.stream->socket());
    for (const auto& job : jobs_) job->add_descriptors(descriptors);
    const bool writes = std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->has_output(); });
    return watch_->wait(descriptors, writes ? kWhileWriting : kLongest);
  }

  void heed_signal(int number) {
    say(number == 1 ? "ending when the processes here have left; a second signal kills them" : "killing");
    for (auto& job : jobs_) job->end_all(number == 1 ? env::Signal::kTerminate : env::Signal::kKill);
  }

  Status welcome() {
    while (visitors_.size() < kVisitorsMax) {
      ORRERY_TRY(auto socket, net::accept_from(socket_.get()));
      if (!socket) break;
      net::notice_silence(socket->get(), kSilenceMax);
      net::prepare(socket->get(), 0);
      Visitor visitor{std::make_unique<net::Stream>(std::move(*socket), net::StreamLimits{}), env_.clock.monotonic(),
                      net::random_bytes()};
      (void)visitor.stream->send(encode(Challenge{kOrderVersion, visitor.challenge}));
      visitors_.push_back(std::move(visitor));
    }
    for (Visitor& visitor : visitors_) listen_to(visitor);
    std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.is_done; });
    return {};
  }

  void listen_to(Visitor& visitor) {
    std::vector<std::string> messages;
    const Status received = visitor.stream->flush() ? visitor.stream->receive(messages) : Error::unavailable("gone");
    visitor.is_done = !received || !messages.empty() || env_.clock.monotonic() > visitor.since + kHelloMax;
    if (messages.empty()) return;
    const auto order = decode_order(messages.front());
    const auto* const open = order ? std::get_if<OpenJob>(&*order) : nullptr;
    if (order && open == nullptr) return;
    const Status done = order ? admit(*open, visitor) : Status(order.error());
    if (done) return;
    say(fmt::format("refused a launcher: {}", done.error().message()));
    if (visitor.stream == nullptr) return;
    (void)visitor.stream->send(encode(JobOpened{done.error().message(), {}, ""}));
    (void)visitor.stream->flush();
  }

  Status admit(const OpenJob& order, Visitor& visitor) {
    if (!is_same_secret(order.proof, proof_of(order, options_.secret, visitor.challenge))) {
      return Error::invalid("the secret is not the one of this agent");
    }
    std::unique_ptr<net::Stream>& stream = visitor.stream;
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
  std::unique_ptr<Watch> watch_;
  std::vector<Visitor> visitors_;
  std::vector<std::unique_ptr<HostedJob>> jobs_;  // last: they use the watch
};

}  // namespace

Status run_agent(env::Env env, const AgentOptions& options) {
  ORRERY_TRY(env::FileDescriptor socket, net::listen_on(options.listen));
  ORRERY_TRY(auto watch, Watch::start());
  return Agent(env, options, std::move(socket), std::move(watch)).run();
}

}  // namespace orrery::elastic
