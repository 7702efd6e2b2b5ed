// The forms of data-parallel training against one process that averages the gradients itself.

#include <filesystem>
#include <gtest/gtest.h>
#include <thread>

#include "env/clock.h"
#include "env/env.h"
#include "profile/distributed/parameter_server.h"
#include "profile/distributed/worker.h"
#include "workload/graph_builder.h"

namespace orrery::profile {
namespace {

constexpr double kRate = 0.1;
constexpr Seconds kHang{120};  // a peer that has not come or said anything for so long
constexpr int kSteps = 3;

workload::TrainingRun small_run() {
  workload::GraphBuilder g("small");
  const workload::Value x = g.input("x", {1, 6});
  g.cross_entropy(g.linear(g.linear(x, "hidden", 5), "out", 3));
  return {*g.finish()->with_batch(4)};
}

std::unique_ptr<Executor> make_worker(std::uint64_t rank) {
  ExecutorOptions options;
  options.is_random = false;
  options.seed = 11 + rank;  // its own data
  const env::Env env = env::make_real_env();
  auto executor = make_executor(small_run(), options, env.clock);
  EXPECT_TRUE(executor) << executor.error().to_string();
  return std::move(*executor);
}

// w ← w − η mean(g), one worker after the other.
std::vector<float> train_alone(std::size_t workers) {
  std::vector<std::unique_ptr<Executor>> executors;
  for (std::size_t rank = 0; rank < workers; ++rank) executors.push_back(make_worker(rank));
  std::vector<float> parameters = *executors[0]->parameters();
  for (int step = 0; step < kSteps; ++step) {
    std::vector<double> sum(parameters.size());
    for (auto& executor : executors) {
      EXPECT_TRUE(executor->set_parameters(parameters));
      EXPECT_TRUE(executor->compute_gradients());
      const std::vector<float> gradients = *executor->gradients();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradients[i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
      parameters[i] -= static_cast<float>(kRate * sum[i] / static_cast<double>(workers));
    }
  }
  return parameters;
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

struct Trained {
  std::vector<Status> servers;
  std::vector<Status> workers;
  std::vector<std::vector<float>> parameters;  // of each worker, at the end
  std::vector<WorkerReport> reports;
};

using MakeExchange = std::function<Result<std::unique_ptr<Exchange>>(std::uint32_t rank)>;

// The work of one worker; its parameters and report go to its place in `result`.
Status work(Executor& executor, std::uint32_t rank, int steps, const MakeExchange& make_exchange, Trained& result) {
  const env::Env env = env::make_real_env();
  ORRERY_TRY(const auto exchange, make_exchange(rank));
  ORRERY_TRY(result.reports[rank], train(executor, *exchange, steps, env.clock));
  ORRERY_TRY(result.parameters[rank], executor.parameters());
  return {};
}

Trained train_workers(std::size_t workers, int steps, const MakeExchange& make_exchange) {
  Trained result;
  result.workers.resize(workers);
  result.parameters.resize(workers);
  result.reports.resize(workers);
  std::vector<std::unique_ptr<Executor>>
      executors;  // made one after the other: the library has one source of randomness
  for (std::uint32_t rank = 0; rank < workers; ++rank) executors.push_back(make_worker(rank));
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < workers; ++rank) {
    threads.emplace_back(
        [&, rank] { result.workers[rank] = work(*executors[rank], rank, steps, make_exchange, result); });
  }
  threads.clear();
  return result;
}

// Each process is a thread here.
Trained train_on_servers(std::size_t servers, std::size_t workers, UpdateMode mode, int steps) {
  const env::Env env = env::make_real_env();
  const std::size_t parameters = make_worker(0)->parameters()->size();
  ServerExchangeOptions exchange{0, static_cast<std::uint32_t>(workers), {}, kHang, kHang};
  std::vector<std::unique_ptr<env::Listener>> listeners;
  for (std::size_t i = 0; i < servers; ++i) {
    listeners.push_back(*env.sockets.listen({"127.0.0.1", 0}));
    exchange.servers.push_back(listeners.back()->address());
  }
  std::vector<Status> outcomes(servers);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < servers; ++i) {
    threads.emplace_back([&, i] {
      const ServerOptions options{shard_of(parameters, i, servers).size(), workers, mode, kRate, kHang, kHang};
      const auto report = serve(*listeners[i], env.clock, options);
      if (!report) outcomes[i] = report.error();
    });
  }
  Trained result = train_workers(workers, steps, [&](std::uint32_t rank) {
    ServerExchangeOptions mine = exchange;
    mine.rank = rank;
    return connect_to_servers(env.sockets, env.clock, mine);
  });
  threads.clear();
  result.servers = outcomes;
  return result;
}

void expect_all_ok(const Trained& result) {
  for (const Status& status : result.workers) ASSERT_TRUE(status) << status.error().to_string();
  for (const Status& status : result.servers) ASSERT_TRUE(status) << status.error().to_string();
}

TEST(ParameterServer, SynchronousIsTheSameAsOneProcess) {
  for (const std::size_t workers : {1U, 2U, 3U}) {
    for (const std::size_t servers : {1U, 2U}) {
      const Trained result = train_on_servers(servers, workers, UpdateMode::kSync, kSteps);
      expect_all_ok(result);
      for (const auto& parameters : result.parameters) expect_near(parameters, train_alone(workers));
    }
  }
}

TEST(ParameterServer, EveryStepMovesTheGradientsOnceEachWay) {
  const Trained result = train_on_servers(2, 2, UpdateMode::kSync, kSteps);
  expect_all_ok(result);
  const double bytes = kSteps * (4.0 * static_cast<double>(result.parameters[0].size()) + 2 * 16);
  for (const WorkerReport& report : result.reports) EXPECT_EQ(*report.traffic, (Traffic{bytes, bytes}));
}

TEST(ParameterServer, AsynchronousMakesProgress) {
  const Trained result = train_on_servers(1, 2, UpdateMode::kAsync, 50);
  expect_all_ok(result);
  for (const WorkerReport& report : result.reports) {
    EXPECT_LT(report.steps.back().loss, 0.9 * report.steps.front().loss);
  }
}

TEST(AllReduce, IsTheSameAsOneProcess) {
  for (const int workers : {2, 3}) {
    const auto folder = std::filesystem::temp_directory_path() / ("orrery-all-reduce-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    const Trained result = train_workers(static_cast<std::size_t>(workers), kSteps, [&](std::uint32_t rank) {
      return make_all_reduce({static_cast<int>(rank), workers, "127.0.0.1", folder.string(), kRate, kHang});
    });
    std::filesystem::remove_all(folder);
    expect_all_ok(result);
    for (const auto& parameters : result.parameters) {
      expect_near(parameters, train_alone(static_cast<std::size_t>(workers)));
    }
  }
}

}  // namespace
}  // namespace orrery::profile
