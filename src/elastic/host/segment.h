#pragma once
// The memory that the processes of one job share on one host.
//
//   header    layout, and the highest generation that was revoked
//   control   per slot: whether its owner lives or sleeps, how far rings are read, which blocks are lent
//   rings     per slot: frames, written by its owner and read by all others (frame_ring.h)
//   blocks    per slot: staging memory that its owner lends to others (endpoint.h)
//   arenas    per slot: tensors that all others reach directly (arena.h)
//
// A slot belongs to one process at a time (slot_lease.h). The memory has no name in any file system: it is freed when
// the last process that has it ends, in whatever way. The machine provides pages when they are first touched.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <pthread.h>
#include <string>

#include "base/result.h"
#include "env/posix.h"

namespace orrery::elastic {

inline constexpr int kSlotsMax = 64;
inline constexpr std::uint32_t kBlocksMax = 256;
inline constexpr std::size_t kLine = 64;  // bytes that move between cores together

struct SegmentOptions {
  int slots = 8;                             // processes at the same time
  std::uint64_t ring_bytes = 256 << 10;      // a power of two from 64 KiB to 64 MiB
  std::uint64_t inline_bytes = 16 << 10;     // tensors up to this size travel in frames; at most a quarter of a ring
  std::uint64_t block_bytes = 64 << 10;      // a power of two from 4 KiB to 16 MiB
  std::uint32_t blocks = 32;                 // 2 to kBlocksMax
  std::uint64_t arena_bytes = 256ULL << 20;  // whole pages, up to 1 TiB

  friend bool operator==(const SegmentOptions&, const SegmentOptions&) = default;
};

// All in shared memory; written by different processes, so every field that changes is atomic and has its own line.
struct SegmentHeader {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  SegmentOptions options{};
  std::uint64_t total_bytes = 0;
  alignas(kLine) std::atomic<std::uint64_t> revoked{0};  // this generation and all before it are over
};

struct SlotControl {
  // Robust: the kernel marks it when the thread that holds it ends, and wakes one waiter.
  alignas(kLine) pthread_mutex_t life;
  std::atomic<std::uint64_t> owner{0};                           // the name its owner gave
  alignas(kLine) std::atomic<std::uint32_t> bell{0};             // what the owner sleeps on
  std::atomic<std::uint32_t> sleeping{0};                        // a Sleep
  alignas(kLine) std::atomic<std::uint64_t> generation{0};       // that the owner is in; 0: none
  alignas(kLine) std::atomic<std::uint64_t> ring_generation{0};  // that ring and blocks belong to
  struct alignas(kLine) Cursor {
    std::atomic<std::uint64_t> consumed{0};
  } readers[kSlotsMax];
  struct alignas(kLine) Loan {
    std::atomic<std::uint32_t> readers{0};  // ranks that still read the block
  } loans[kBlocksMax];
};

class Segment {
 public:
  static Result<std::shared_ptr<Segment>> create(const SegmentOptions& options);
  // Maps a segment that another process created. Rejects anything else, whatever its bytes are.
  static Result<std::shared_ptr<Segment>> open(env::FileDescriptor file);
  // The same by the path() that its creator gives, while the creator lives.
  static Result<std::shared_ptr<Segment>> open(const std::string& path);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const SegmentOptions& options() const { return options_; }
  int descriptor() const { return file_.get(); }
  std::string path() const;

  SegmentHeader& header() { return *reinterpret_cast<SegmentHeader*>(base_); }
  SlotControl& control(int slot);
  std::byte* ring(int slot);
  std::byte* block(int slot, std::uint32_t index);
  std::byte* arena(int slot) { return arenas() + static_cast<std::uint64_t>(slot) * options_.arena_bytes; }
  // All arenas are one range; a place in it is the same number in every process.
  std::byte* arenas();
  std::uint64_t arenas_bytes() const { return static_cast<std::uint64_t>(options_.slots) * options_.arena_bytes; }

 private:
  Segment(env::FileDescriptor file, const SegmentOptions& options, std::byte* base, std::uint64_t bytes)
      : file_(std::move(file)), options_(options), base_(base), bytes_(bytes) {}

  env::FileDescriptor file_;
  SegmentOptions options_;  // a copy: other processes may change what is in shared memory
  std::byte* base_;
  std::uint64_t bytes_;
};

// Whether a segment can have this layout, and its size then.
Result<std::uint64_t> segment_bytes(const SegmentOptions& options);

}  // namespace orrery::elastic
