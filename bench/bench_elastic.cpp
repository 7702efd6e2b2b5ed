// How fast all-reduces on one host are, beside Open MPI over shared memory and Gloo's ring over TCP:
//
//   never slower than Open MPI; with 4 ranks 1.5 times as fast on private memory, 2.5 times in the arena
//   than Gloo 1.5 times from 4 MiB on, 15 times up to 64 KiB
//   over TCP never slower than Gloo's ring, which uses TCP too
//
// All contenders run in one run: for each number of ranks their processes start together and then take turns, in random
// order, on each size, round by round. A turn checks the sums, then times all-reduces one after the other, as many as
// take about kTurn: long enough for the processes to find a core each. Its time is that of the slowest rank. What is
// judged is the median over the rounds of other / ours. 32-bit floats, summed up.
//
//   bench_elastic [ROUNDS [RANKS [tcp|two-level [RATE]]]]
//
// With "tcp" only those take part that use TCP; with a RATE as tc has it ("1gbit"), every rank is in a network
// namespace of its own with a link of that rate, which needs root. RANKS 0: 2, 3 and 4. With "two-level" there are two
// ranks in each of two namespaces, whatever RANKS says, and our way through shared memory inside and TCP between them
// takes part too.
//
// Exit code 1 when a bar is missed.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

#include "base/random.h"
#include "base/statistics.h"
#include "elastic/board.h"
#include "elastic/host/segment.h"
#include "elastic/namespaces.h"
#include "ending_with_us.h"
#include "env/env.h"
#include "env/processes.h"
#include "env/sockets.h"

namespace orrery {
namespace {

using bench::Board;
using bench::ending_with_us;

constexpr int kRounds = 15;
constexpr double kTurn = 0.03;        // seconds
constexpr double kLongestTurn = 300;  // seconds, after which a contender is taken for dead

struct Work {
  std::string name;
  std::vector<std::uint64_t> counts;

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += 4 * count;
    return sum;
  }
};

// The parameters of ResNet-50 whose convolutions have biases, as in Keras: a stem, four stages of bottleneck blocks, a
// classifier. 214 tensors, 97.6 MiB.
std::vector<std::uint64_t> resnet50() {
  std::vector<std::uint64_t> counts;
  const auto convolution = [&](std::uint64_t in, std::uint64_t out, std::uint64_t side) {
    counts.push_back(in * out * side * side);
    counts.insert(counts.end(), 3, out);  // its bias, and two of the normalisation after it
  };
  convolution(3, 64, 7);
  std::uint64_t in = 64;
  const std::pair<std::uint64_t, int> stages[] = {{64, 3}, {128, 4}, {256, 6}, {512, 3}};
  for (const auto& [width, blocks] : stages) {
    for (int block = 0; block < blocks; ++block) {
      convolution(in, width, 1);
      convolution(width, width, 3);
      convolution(width, 4 * width, 1);
      if (block == 0) convolution(in, 4 * width, 1);
      in = 4 * width;
    }
  }
  counts.insert(counts.end(), {2048 * 1000, 1000});
  return counts;
}

std::vector<Work> all_work() {
  std::vector<Work> work;
  for (std::uint64_t kibibytes = 4; kibibytes <= 65536; kibibytes *= 4) {
    const std::string name =
        kibibytes < 1024 ? fmt::format("{} KiB", kibibytes) : fmt::format("{} MiB", kibibytes / 1024);
    work.push_back({name, {kibibytes * 256}});
  }
  work.push_back({"ResNet-50, 214 tensors", resnet50()});
  return work;
}

struct Contender {
  std::string name;
  std::vector<std::unique_ptr<env::Process>> processes;
};

// Who takes part, and where.
struct Setting {
  int ranks = 2;
  int per_host = 1;
  bool tcp_only = false;
  std::string rate{};  // of links between hosts; empty: everyone is on this host

  int hosts() const { return ranks / per_host; }
  int host_of(int rank) const { return rank / per_host; }
};

class Group {
 public:
  Group(env::Env env, std::string folder_of_programs, Setting setting)
      : env_(env), programs_(std::move(folder_of_programs)), setting_(std::move(setting)), ranks_(setting_.ranks) {}

  Status start() {
    if (!setting_.rate.empty()) {
      ORRERY_TRY(namespaces_, bench::Namespaces::make(env_, setting_.hosts(), setting_.rate));
    }
    const int file = ::memfd_create("bench-board", 0);
    if (file < 0 || ::ftruncate(file, sizeof(Board)) != 0) return Error::io("cannot create the board");
    board_path_ = fmt::format("/proc/{}/fd/{}", static_cast<long>(::getpid()), file);
    board_ = bench::open_board(board_path_.c_str());
    if (board_ == nullptr) return Error::io("cannot map the board");
    if (!setting_.tcp_only) {
      for (const char* where : {"private", "arena"}) ORRERY_TRY_VOID(start_ours(where));
    }
    if (setting_.per_host > 1) ORRERY_TRY_VOID(start_two_level());
    ORRERY_TRY_VOID(start_tcp());
    ours_ = contenders_.size();
    ORRERY_TRY_VOID(start_gloo());
    return setting_.tcp_only ? Status() : start_openmpi();
  }

  ~Group() {
    if (board_ == nullptr) return;
    bench::give_turn(*board_, bench::kNobody);
    for (Contender& contender : contenders_) {
      for (auto& process : contender.processes) (void)process->wait(Seconds(10));
    }
    std::filesystem::remove_all(folder_);
  }

  // Ours come first.
  const std::vector<Contender>& contenders() const { return contenders_; }
  std::size_t ours() const { return ours_; }

  // Seconds per all-reduce.
  Result<double> turn(std::size_t contender, const Work& work, std::uint32_t iterations) {
    board_->tensors = static_cast<std::uint32_t>(work.counts.size());
    std::copy(work.counts.begin(), work.counts.end(), board_->counts);
    board_->iterations = iterations;
    board_->answers.store(0);
    bench::give_turn(*board_, static_cast<std::uint32_t>(contender));
    const double latest = bench::seconds_now() + kLongestTurn;
    for (std::uint32_t answers = 0; answers < static_cast<std::uint32_t>(ranks_); answers = board_->answers.load()) {
      bench::wait_while(board_->answers, answers);
      if (bench::seconds_now() > latest) {
        return Error::internal(fmt::format("{}: no answer to {}", contenders_[contender].name, work.name));
      }
    }
    double slowest = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (board_->of[rank].right == 0) {
        return Error::internal(fmt::format("{}: wrong sums of {}", contenders_[contender].name, work.name));
      }
      slowest = std::max(slowest, board_->of[rank].seconds);
    }
    return slowest;
  }

 private:
  std::string address_of(int rank) const {
    return namespaces_ != nullptr ? bench::Namespaces::address(setting_.host_of(rank)) : "127.0.0.1";
  }

  // On the host of a rank.
  Status spawn_there(Contender& contender, int rank, const std::vector<std::string>& argv) {
    return spawn(contender, namespaces_ != nullptr ? namespaces_->inside(setting_.host_of(rank), argv) : argv);
  }

  Status spawn(Contender& contender, const std::vector<std::string>& argv) {
    ORRERY_TRY(auto process, env_.processes.spawn({.argv = ending_with_us(argv), .own_group = true}));
    contender.processes.push_back(std::move(process));
    return {};
  }

  Status start_ours(const std::string& where) {
    ORRERY_TRY(auto segment,
               elastic::Segment::create({.slots = ranks_, .arena_bytes = where == "arena" ? 128ULL << 20 : 0}));
    segments_.push_back(segment);
    Contender contender{where, {}};
    for (int rank = 0; rank < ranks_; ++rank) {
      ORRERY_TRY_VOID(spawn(contender, {programs_ + "/elastic_orrery", board_path_, fmt::to_string(contenders_.size()),
                                        fmt::to_string(rank), fmt::to_string(ranks_), segment->path(), where}));
    }
    contenders_.push_back(std::move(contender));
    return {};
  }

  Result<std::vector<std::string>> free_addresses() const {
    // Ports that were free a moment ago.
    std::vector<std::unique_ptr<env::Listener>> listeners;
    std::vector<std::string> addresses;
    for (int rank = 0; rank < ranks_; ++rank) {
      ORRERY_TRY(auto listener, env_.sockets.listen({"127.0.0.1", 0}));
      addresses.push_back(env::to_string(env::Address{address_of(rank), listener->address().port}));
      listeners.push_back(std::move(listener));
    }
    return addresses;
  }

  Status start_tcp() {
    ORRERY_TRY(const std::vector<std::string> addresses, free_addresses());
    Contender contender{"TCP", {}};
    for (int rank = 0; rank < ranks_; ++rank) {
      std::vector<std::string> argv = {programs_ + "/elastic_orrery_tcp", board_path_,
                                       fmt::to_string(contenders_.size()), fmt::to_string(rank),
                                       fmt::to_string(ranks_)};
      argv.insert(argv.end(), addresses.begin(), addresses.end());
      ORRERY_TRY_VOID(spawn_there(contender, rank, argv));
    }
    contenders_.push_back(std::move(contender));
    return {};
  }

  Status start_two_level() {
    ORRERY_TRY(const std::vector<std::string> addresses, free_addresses());
    Contender contender{"two levels", {}};
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank % setting_.per_host == 0) {
        ORRERY_TRY(auto segment, elastic::Segment::create({.slots = setting_.per_host}));
        segments_.push_back(std::move(segment));
      }
      std::vector<std::string> argv = {programs_ + "/elastic_orrery_two_level", board_path_,
                                       fmt::to_string(contenders_.size()),      fmt::to_string(rank),
                                       fmt::to_string(setting_.per_host),       segments_.back()->path()};
      for (int host = 0; host < setting_.hosts(); ++host) {
        argv.push_back(addresses[static_cast<std::size_t>(host * setting_.per_host)]);
      }
      ORRERY_TRY_VOID(spawn_there(contender, rank, argv));
    }
    contenders_.push_back(std::move(contender));
    return {};
  }

  Status start_gloo() {
    folder_ = (std::filesystem::temp_directory_path() / fmt::format("orrery-bench-elastic-{}-{}", ::getpid(), ranks_))
                  .string();
    std::filesystem::create_directories(folder_);
    Contender contender{"Gloo ring", {}};
    for (int rank = 0; rank < ranks_; ++rank) {
      ORRERY_TRY_VOID(spawn_there(contender, rank,
                                  {programs_ + "/elastic_gloo", board_path_, fmt::to_string(contenders_.size()),
                                   fmt::to_string(rank), fmt::to_string(ranks_), folder_, address_of(rank)}));
    }
    contenders_.push_back(std::move(contender));
    return {};
  }

  Status start_openmpi() {
    if (!std::filesystem::exists(programs_ + "/elastic_openmpi")) {
      fmt::print(stderr, "Open MPI (libopenmpi-dev) was not there when this was built; it does not take part\n");
      return {};
    }
    Contender contender{"Open MPI", {}};
    ORRERY_TRY_VOID(spawn(contender, {"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca",
                                      "btl", "self,vader", "-n", fmt::to_string(ranks_), programs_ + "/elastic_openmpi",
                                      board_path_, fmt::to_string(contenders_.size())}));
    contenders_.push_back(std::move(contender));
    return {};
  }

  env::Env env_;
  std::string programs_;
  Setting setting_;
  int ranks_;
  std::unique_ptr<bench::Namespaces> namespaces_;
  std::string board_path_;
  Board* board_ = nullptr;
  std::string folder_;
  std::vector<std::shared_ptr<elastic::Segment>> segments_;
  std::vector<Contender> contenders_;
  std::size_t ours_ = 0;
};

// What the ratio other / ours has to be; 0: nothing is asked.
double bar(const std::string& other, const std::string& ours, int ranks, const Work& work) {
  if (ours == "TCP" || ours == "two levels") return 1;
  if (other == "Open MPI") {
    if (ranks < 4) return 1;
    return ours == "arena" ? 2.5 : 1.5;
  }
  if (work.bytes() >= 4 << 20) return 1.5;
  return work.bytes() <= 64 << 10 ? 15 : 0;
}

// How often in a turn, when once took so long.
std::uint32_t repetitions(double seconds) {
  constexpr double kFewest = 2, kMost = 1e5;
  return static_cast<std::uint32_t>(std::clamp(kTurn / seconds, kFewest, kMost));
}

// Prints the rows of one number of ranks. Whether all bars were met.
Result<bool> measure(env::Env env, const std::string& programs, const Setting& setting, int rounds) {
  Group group(env, programs, setting);
  ORRERY_TRY_VOID(group.start());
  const std::vector<Work> work = all_work();
  const std::size_t contenders = group.contenders().size();
  std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> times;  // (work, contender)
  std::map<std::pair<std::size_t, std::size_t>, double> least;               // of them, and of a first round
  Random random(1);
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t w = 0; w < work.size(); ++w) {
      std::vector<std::size_t> order(contenders);
      for (std::size_t i = 0; i < contenders; ++i) order[i] = i;
      for (std::size_t i = contenders; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
      for (const std::size_t c : order) {
        const auto [known, is_first] = least.try_emplace({w, c}, kTurn);
        ORRERY_TRY(const double seconds, group.turn(c, work[w], repetitions(known->second)));
        known->second = is_first ? seconds : std::min(known->second, seconds);
        if (round >= 0) times[{w, c}].push_back(seconds);
      }
    }
  }
  bool all_met = true;
  for (std::size_t w = 0; w < work.size(); ++w) {
    for (std::size_t ours = 0; ours < group.ours(); ++ours) {
      for (std::size_t other = group.ours(); other < contenders; ++other) {
        const std::string& way = group.contenders()[ours].name;
        // Open MPI goes through shared memory here.
        if (way == "TCP" && group.contenders()[other].name == "Open MPI") continue;
        std::vector<double> ratios;
        for (int round = 0; round < rounds; ++round) {
          const auto at = static_cast<std::size_t>(round);
          ratios.push_back(times[{w, other}][at] / times[{w, ours}][at]);
        }
        const double ratio = median(ratios);
        const double wanted = bar(group.contenders()[other].name, way, setting.ranks, work[w]);
        const bool met = ratio >= wanted;
        all_met = all_met && met;
        fmt::print("| {} | {} | {} | {} | {:.1f} | {:.1f} | {:.2f} | {:.2f}–{:.2f} | {} | {} |\n", setting.ranks,
                   work[w].name, way, group.contenders()[other].name, 1e6 * median(times[{w, ours}]),
                   1e6 * median(times[{w, other}]), ratio, quantile(ratios, 0.1), quantile(ratios, 0.9),
                   wanted > 0 ? fmt::format("{:.1f}", wanted) : "",
                   wanted == 0 ? ""
                   : met       ? "meets"
                               : "MISSES");
        std::fflush(stdout);
      }
    }
  }
  return all_met;
}

int run(int argc, char** argv) {
  env::Env env = env::make_real_env();
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : kRounds;
  const std::string programs = std::filesystem::path(argv[0]).parent_path().string();
  fmt::print(
      "| ranks | tensors | ours | other | ours µs | other µs | other / ours | 10–90 % | bar | verdict |\n"
      "|---:|---|---|---|---:|---:|---:|---:|---:|---|\n");
  const std::string_view mode = argc > 3 ? argv[3] : "";
  const std::string rate = argc > 4 ? argv[4] : "";
  std::vector<Setting> settings;
  if (mode == "two-level") {
    settings.push_back({.ranks = 4, .per_host = 2, .tcp_only = true, .rate = rate.empty() ? "1gbit" : rate});
  } else {
    for (const int ranks : {2, 3, 4}) {
      if (argc > 2 && std::atoi(argv[2]) != 0 && std::atoi(argv[2]) != ranks) continue;
      settings.push_back({.ranks = ranks, .tcp_only = mode == "tcp", .rate = rate});
    }
  }
  bool all_met = true;
  for (const Setting& setting : settings) {
    const auto met = measure(env, programs, setting, rounds);
    if (!met) {
      fmt::print(stderr, "{} ranks: {}\n", setting.ranks, met.error().to_string());
      return 1;
    }
    all_met = all_met && *met;
  }
  return all_met ? 0 : 1;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  return orrery::run(argc, argv);
}
