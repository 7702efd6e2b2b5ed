#pragma once
// What the driver of bench_elastic and the processes of its contenders share: whose turn it is, with which tensors, and
// what was measured. Everyone who does not have the turn sleeps, so that contenders can take turns within one run.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <functional>
#include <linux/futex.h>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace orrery::bench {

inline constexpr int kContendersMax = 8;
inline constexpr int kRanksMax = 8;
inline constexpr int kTensorsMax = 512;
inline constexpr std::uint32_t kNobody = kContendersMax;  // as contender: the end

struct Board {
  // How many turns there were, and in the last digit to the base of 16 whose this one is: a contender that wakes up
  // late never takes the turn of another, or its own twice. Slept on by contenders.
  std::atomic<std::uint32_t> turn{0};
  std::uint32_t tensors = 1;
  std::uint64_t counts[kTensorsMax] = {};  // elements of each
  std::uint32_t iterations = 1;
  std::atomic<std::uint32_t> answers{0};  // slept on by the driver
  struct Answer {
    double seconds = 0;  // per iteration
    std::uint32_t right = 0;
  } of[kRanksMax];
};

inline Board* open_board(const char* path) {
  const int file = ::open(path, O_RDWR);
  if (file < 0) return nullptr;
  void* const memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Board*>(memory);
}

// Returns when the word has another value, or after some time.
inline void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  const timespec some_time{1, 0};
  if (word.load() == value) ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &some_time, nullptr, 0);
}

inline void wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1000, nullptr, nullptr, 0);
}

// Everything else on the board has been written before.
inline void give_turn(Board& board, std::uint32_t contender) {
  board.turn.store((board.turn.load() / 16 + 1) * 16 + contender);
  wake_all(board.turn);
}

inline double seconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// One rank of one contender. Tensors are parts of one buffer.
struct Rank {
  int rank = 0, ranks = 1;
  // Memory for that many floats, which stays where it is until more is asked for.
  std::function<float*(std::size_t count)> buffer;
  // Sums up all tensors among all ranks, in place.
  std::function<bool(const std::vector<float*>& tensors, const std::vector<std::size_t>& counts)> all_reduce;
  std::function<bool()> barrier;
};

// Takes the turns of `contender` until the end. Every turn first checks that sums are right.
inline int serve(Board& board, std::uint32_t contender, Rank& rank) {
  std::uint32_t turn = 0;
  for (;;) {
    wait_while(board.turn, turn);
    if (board.turn.load() == turn) continue;
    turn = board.turn.load();
    if (turn % 16 == kNobody) return 0;
    if (turn % 16 != contender) continue;
    std::vector<std::size_t> counts(board.counts, board.counts + board.tensors);
    std::size_t total = 0;
    for (const std::size_t count : counts) total += count;
    float* const memory = rank.buffer(total);
    std::vector<float*> tensors;
    float* at = memory;
    for (const std::size_t count : counts) {
      tensors.push_back(at);
      at += count;
    }
    std::fill(memory, memory + total, static_cast<float>(rank.rank + 1));
    bool right = rank.all_reduce(tensors, counts);
    const auto sum = static_cast<float>(rank.ranks * (rank.ranks + 1) / 2);
    right = right && std::count(memory, memory + total, sum) == static_cast<std::ptrdiff_t>(total);
    // Zeros stay zeros, however often they are summed up.
    std::fill(memory, memory + total, 0.0f);
    right = rank.barrier() && right;
    const double begin = seconds_now();
    for (std::uint32_t i = 0; i < board.iterations; ++i) right = rank.all_reduce(tensors, counts) && right;
    const double end = seconds_now();
    board.of[rank.rank] = {(end - begin) / board.iterations, right ? 1u : 0u};
    board.answers.fetch_add(1);
    wake_all(board.answers);
  }
}

}  // namespace orrery::bench
