#pragma once
// For tests: the ranks of a job, as threads of one process or as processes of their own.

#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <unistd.h>

#include "elastic/host/arena.h"
#include "elastic/session.h"
#include "elastic/test_child.h"

namespace orrery::elastic {

inline std::vector<int> first_slots(int ranks) {
  std::vector<int> slots(static_cast<std::size_t>(ranks));
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

// Small rings and few blocks, so that short tests reach every limit.
inline SegmentOptions tight_segment(int ranks) {
  return {.slots = ranks,
          .ring_bytes = 64 << 10,
          .inline_bytes = 1 << 10,
          .block_bytes = 4 << 10,
          .blocks = 4,
          .arena_bytes = 4 << 20};
}

// Runs `work` on `ranks` threads, each with a slot lease, an arena and a session of generation 1 in one segment.
inline void run_threads(int ranks, const SegmentOptions& options,
                        const std::function<void(Session& session, Arena& arena)>& work) {
  auto segment = Segment::create(options);
  ASSERT_TRUE(segment);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto lease = SlotLease::take(*segment, rank);
      ASSERT_TRUE(lease);
      Arena arena(**lease);
      auto session = Session::open(**lease, {.endpoint = {.generation = 1, .workers = first_slots(ranks)}});
      ASSERT_TRUE(session) << session.error().to_string();
      work(**session, arena);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A process with a segment as it maps it itself.
class ChildRank : public ChildProcess {
 public:
  ChildRank(const Segment& segment, const std::function<int(std::shared_ptr<Segment>)>& work)
      : ChildProcess([&] {
          auto opened = Segment::open(env::FileDescriptor(::dup(segment.descriptor())));
          return opened ? work(std::move(*opened)) : 98;
        }) {}
};

}  // namespace orrery::elastic
