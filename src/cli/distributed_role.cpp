// One process of a data-parallel job; `distributed` starts it.

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/distributed_options.h"
#include "env/clock.h"
#include "env/sockets.h"
#include "env/terminal.h"
#include "profile/distributed/launch.h"
#include "service/models.h"

namespace orrery::cli {

std::vector<OptionRecord> distributed_options() {
  return {choice_option("form", "ps", {"ps", "allreduce"},
                        "how workers synchronise gradients: parameter servers, or a ring all-reduce"),
          integer_option("servers", 1, "parameter servers").bounds(1, 64),
          integer_option("workers", 2, "workers").bounds(1, 64),
          choice_option("mode", "sync", {"sync", "async"},
                        "sync: servers wait for all workers; async: they apply each gradient on arrival"),
          integer_option("steps", 10, "steps of each worker").bounds(1, 1e6),
          integer_option("batch", 8, "samples per step on each worker").bounds(1, 1 << 20),
          number_option("learning-rate", 1e-3, "learning rate of plain SGD").bounds(0, 1e3),
          integer_option("seed", 1, "seed of the initial parameters; each worker adds its rank to seed its data")
              .bounds(0, 1e15),
          integer_option("threads", 1, "threads inside operators, on each worker").bounds(1, 1024),
          duration_option("silence", "60s", "a process gives up when it has received nothing for this long")
              .bounds(1, 86400)};
}

std::vector<std::string> distributed_words(const OptionValues& options) {
  std::vector<std::string> words;
  for (const OptionRecord& record : distributed_options()) {
    words.push_back("--" + record.name);
    words.push_back(options.display(record.name));
  }
  return words;
}

Result<BytesPerSecond> parse_rate(const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"B/s", 1}};
  constexpr double kSlowest = 1e4, kFastest = 4e9;  // what a token bucket of the kernel can do
  for (const auto& [unit, factor] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto number = parse_number(text.substr(0, text.size() - unit.size()));
    if (!number || *number * factor < kSlowest || *number * factor > kFastest) break;
    return BytesPerSecond(*number * factor);
  }
  return Error::invalid(fmt::format("--rate: expected 10kB/s to 4GB/s, not {}", quote(text)));
}

Result<workload::TrainingRun> distributed_run(env::Env env, const std::string& model, const OptionValues& options) {
  ORRERY_TRY(const service::NamedModel named, service::load_model(env, model));
  ORRERY_TRY(workload::TrainingGraph graph, named.graph.with_batch(options.integer("batch")));
  workload::TrainingRun run{std::move(graph)};
  run.optimizer = workload::Optimizer::kSgd;
  return run;
}

namespace {

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

Status serve_shard(Context& context, const workload::TrainingRun& run, const OptionValues& options) {
  const auto rank = static_cast<std::size_t>(options.integer("rank"));
  const auto servers = static_cast<std::size_t>(options.integer("servers"));
  if (rank >= servers) return Error::invalid(fmt::format("there is no server {} of {}", rank, servers));
  profile::ServerOptions server;
  server.parameters = profile::shard_of(static_cast<std::size_t>(run.graph.parameter_count()), rank, servers).size();
  server.workers = static_cast<std::size_t>(options.integer("workers"));
  server.mode = options.text("mode") == "sync" ? profile::UpdateMode::kSync : profile::UpdateMode::kAsync;
  server.learning_rate = options.number("learning-rate");
  server.silence_max = options.duration("silence");
  ORRERY_TRY(const auto listener, listen_when_possible(context.env, options.text("address")));
  context.env.terminal.write_error(fmt::format("{}{}\n", profile::kListening, listener->address().port));
  ORRERY_TRY(const profile::ServerReport report, profile::serve(*listener, context.env.clock, server));
  context.print(profile::to_json(report));
  return {};
}

Result<env::Address> parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : parse_number(text.substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) {
    return Error::invalid(fmt::format("{} is no address; expected HOST:PORT", quote(text)));
  }
  return env::Address{text.substr(0, colon), static_cast<std::uint16_t>(*port)};
}

Result<std::unique_ptr<profile::Exchange>> join_servers(env::Env env, const OptionValues& options) {
  if (!options.has("peers")) return Error::invalid("parameter servers need --peers");
  profile::ServerExchangeOptions exchange;
  exchange.rank = static_cast<std::uint32_t>(options.integer("rank"));
  exchange.workers = static_cast<std::uint32_t>(options.integer("workers"));
  exchange.silence_max = options.duration("silence");
  for (const std::string& text : options.texts("peers")) {
    ORRERY_TRY(env::Address address, parse_address(text));
    exchange.servers.push_back(std::move(address));
  }
  return profile::connect_to_servers(env.sockets, env.clock, exchange);
}

Result<std::unique_ptr<profile::Exchange>> join_ring(env::Env env, const OptionValues& options) {
  if (!options.has("folder")) return Error::invalid("an all-reduce needs --folder");
  ORRERY_TRY(const auto probe, listen_when_possible(env, options.text("address")));
  profile::AllReduceOptions exchange;
  exchange.rank = static_cast<int>(options.integer("rank"));
  exchange.workers = static_cast<int>(options.integer("workers"));
  exchange.address = options.text("address");
  exchange.folder = options.text("folder");
  exchange.learning_rate = options.number("learning-rate");
  exchange.silence_max = options.duration("silence");
  return profile::make_all_reduce(exchange);
}

Status work(Context& context, const workload::TrainingRun& run, const OptionValues& options) {
  if (options.integer("rank") >= options.integer("workers")) return Error::invalid("the rank is not below --workers");
  profile::ExecutorOptions how;
  how.threads = static_cast<int>(options.integer("threads"));
  how.seed = static_cast<std::uint64_t>(options.integer("seed") + options.integer("rank"));
  ORRERY_TRY(const auto executor, profile::make_executor(run, how, context.env.clock));
  ORRERY_TRY(const auto exchange,
             options.text("form") == "ps" ? join_servers(context.env, options) : join_ring(context.env, options));
  const auto steps = static_cast<int>(options.integer("steps"));
  ORRERY_TRY(const profile::WorkerReport report, profile::train(*executor, *exchange, steps, context.env.clock));
  context.print(profile::to_json(report));
  return {};
}

Status run_role(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const workload::TrainingRun run, distributed_run(context.env, arguments.words[0], arguments.options));
  const bool serves = arguments.options.text("role") == "server";
  return serves ? serve_shard(context, run, arguments.options) : work(context, run, arguments.options);
}

}  // namespace

Command distributed_role_command() {
  return {
      "distributed role",
      "MODEL",
      1,
      1,
      "run one process of a data-parallel job (started by `orrery distributed`)",
      join({choice_option("role", "worker", {"worker", "server"}, "what it does"),
            integer_option("rank", 0, "rank of this process within its role").bounds(0, 63),
            text_option("address", "127.0.0.1", "address of this process").in("HOST"),
            text_option("peers", "", "addresses on which the servers listen").in("HOST:PORT").list(),
            text_option("folder", "", "folder through which the processes of an all-reduce find each other").in("DIR")},
           distributed_options()),
      {"orrery distributed role lenet --role server --workers 1 --silence 5s"},
      run_role};
}

}  // namespace orrery::cli
