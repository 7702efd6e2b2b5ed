// One process of a data-parallel job; `profile --workers` starts it.

#include <fmt/format.h>

#include "cli/commands.h"
#include "env/clock.h"
#include "env/sockets.h"
#include "env/terminal.h"
#include "service/profile_workers.h"

namespace orrery::cli {

namespace {

struct RoleRequest {
  service::TrainedFields trained;
  service::ExchangeFields exchange;
  int workers = 0;
  bool serves = false;
  int rank = 0;
  std::string address;
  std::vector<std::string> peers;
  std::string folder;
};

const Fields<RoleRequest>& role_fields() {
  using R = RoleRequest;
  static const auto kFields =
      Fields<R>()
          .add(&R::trained, service::trained_fields())
          .add(&R::exchange, service::exchange_fields())
          .add(&R::workers, integer_option("workers", 2, "workers of the job").bounds(1, 64))
          .add(&R::serves, choice_option("role", "worker", {"worker", "server"}, "what it does"),
               [](const std::string& name) -> Result<bool> { return name == "server"; })
          .add(&R::rank, integer_option("rank", 0, "rank of this process within its role").bounds(0, 63))
          .add(&R::address, text_option("address", "127.0.0.1", "address of this process").in("HOST"))
          .add(&R::peers, text_option("peers", "", "addresses on which the servers listen").in("HOST:PORT").list())
          .add(&R::folder,
               text_option("folder", "", "folder through which the processes of an all-reduce find each other")
                   .in("DIR"));
  return kFields;
}

constexpr Seconds kAddressMax{20};

// Its network may be set up only after the process has started.
Result<std::unique_ptr<env::Listener>> listen_when_possible(env::Env env, const std::string& host) {
  const Seconds end = env.clock.monotonic() + kAddressMax;
  while (true) {
    auto listener = env.sockets.listen({host, 0});
    if (listener || env.clock.monotonic() >= end) return listener;
    env.clock.sleep(Seconds(0.02));
  }
}

Status serve_shard(Context& context, const workload::TrainingRun& run, const RoleRequest& role) {
  const auto rank = static_cast<std::size_t>(role.rank);
  const auto servers = static_cast<std::size_t>(*role.exchange.servers);
  if (rank >= servers) return Error::invalid(fmt::format("there is no server {} of {}", rank, servers));
  profile::ServerOptions server;
  server.parameters = profile::shard_of(static_cast<std::size_t>(run.graph.parameter_count()), rank, servers).size();
  server.workers = static_cast<std::size_t>(role.workers);
  server.mode = *role.exchange.mode;
  server.learning_rate = role.trained.learning_rate;
  server.silence_max = *role.exchange.silence;
  ORRERY_TRY(const auto listener, listen_when_possible(context.env, role.address));
  context.env.terminal.write_error(fmt::format("{}{}\n", profile::kListening, listener->address().port));
  ORRERY_TRY(const profile::ServerReport report, profile::serve(*listener, context.env.clock, server));
  context.print(profile::to_json(report));
  return {};
}

Result<std::unique_ptr<profile::Exchange>> join_servers(env::Env env, const RoleRequest& role) {
  if (role.peers.empty()) return Error::invalid("parameter servers need --peers");
  profile::ServerExchangeOptions exchange;
  exchange.rank = static_cast<std::uint32_t>(role.rank);
  exchange.workers = static_cast<std::uint32_t>(role.workers);
  exchange.silence_max = *role.exchange.silence;
  for (const std::string& text : role.peers) {
    ORRERY_TRY(env::Address address, env::parse_address(text));
    exchange.servers.push_back(std::move(address));
  }
  return profile::connect_to_servers(env.sockets, env.clock, exchange);
}

Result<std::unique_ptr<profile::Exchange>> join_ring(env::Env env, const RoleRequest& role) {
  if (role.folder.empty()) return Error::invalid("an all-reduce needs --folder");
  ORRERY_TRY(const auto probe, listen_when_possible(env, role.address));
  profile::AllReduceOptions exchange;
  exchange.rank = role.rank;
  exchange.workers = role.workers;
  exchange.address = role.address;
  exchange.folder = role.folder;
  exchange.learning_rate = role.trained.learning_rate;
  exchange.silence_max = *role.exchange.silence;
  return profile::make_all_reduce(exchange);
}

Status work(Context& context, const workload::TrainingRun& run, const RoleRequest& role) {
  if (role.rank >= role.workers) return Error::invalid("the rank is not below --workers");
  profile::ExecutorOptions how;
  how.threads = role.trained.threads.value_or(1);
  how.seed = role.trained.seed + static_cast<std::uint64_t>(role.rank);
  ORRERY_TRY(const auto executor, profile::make_executor(run, how, context.env.clock));
  ORRERY_TRY(const auto exchange, *role.exchange.form == profile::DistributedForm::kParameterServer
                                      ? join_servers(context.env, role)
                                      : join_ring(context.env, role));
  const int steps = *role.exchange.steps;
  ORRERY_TRY(const profile::WorkerReport report, profile::train(*executor, *exchange, steps, context.env.clock));
  context.print(profile::to_json(report));
  return {};
}

Status run_role(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const RoleRequest role, role_fields().read(arguments.options));
  ORRERY_TRY(const workload::TrainingRun run,
             service::trained_run(context.env, role.trained, workload::Optimizer::kSgd));
  return role.serves ? serve_shard(context, run, role) : work(context, run, role);
}

}  // namespace

Command profile_role_command() {
  return {"profile role",
          "run one process of a data-parallel job (started by `orrery profile --workers`)",
          role_fields().records(),
          {"orrery profile role lenet --role server --workers 1 --silence 5s"},
          run_role};
}

}  // namespace orrery::cli
