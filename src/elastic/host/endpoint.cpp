#include "elastic/host/endpoint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <set>

#include "base/check.h"
#include "env/real_clock.h"

namespace orrery::elastic {

namespace {

constexpr int kFramesPerCall = 64;  // of one peer, before the next peer's turn
// A sleeper checks by itself this often: the one wake-up at a peer's end may go to a process that is stopped.
constexpr Seconds kSleepMax{0.02};

std::vector<int> others(const std::vector<int>& workers, int me) {
  std::vector<int> slots = workers;
  std::erase(slots, me);
  return slots;
}

}  // namespace

Endpoint::Endpoint(SlotLease& lease, const EndpointOptions& options, int rank)
    : segment_(lease.segment()),
      generation_(options.generation),
      workers_(options.workers),
      rank_(rank),
      open_max_(options.open_max),
      meanwhile_(options.meanwhile),
      limits_{options.generation,
              static_cast<int>(options.workers.size()),
              segment_.options().inline_bytes,
              segment_.options().block_bytes,
              segment_.options().blocks,
              segment_.arenas_bytes()},
      backoff_(static_cast<int>(options.workers.size()), available_cores()) {}

Result<std::unique_ptr<Endpoint>> Endpoint::open(SlotLease& lease, const EndpointOptions& options) {
  const std::vector<int>& workers = options.workers;
  const auto mine = std::find(workers.begin(), workers.end(), lease.slot());
  if (mine == workers.end()) {
    return Error::invalid(fmt::format("slot {} is no worker of generation {}", lease.slot(), options.generation));
  }
  if (std::set<int>(workers.begin(), workers.end()).size() != workers.size()) {
    return Error::invalid(fmt::format("generation {} names a worker twice", options.generation));
  }
  for (const int slot : workers) {
    if (slot < 0 || slot >= lease.segment().options().slots) {
      return Error::invalid(fmt::format("slot {} of {}", slot, lease.segment().options().slots));
    }
  }
  SlotControl& control = lease.control();
  if (control.generation.load() != 0)
    return Error::invalid("the lease is in an generation already; close that endpoint first");
  if (options.generation <= control.ring_generation.load()) {
    return Error::invalid(
        fmt::format("generation {} after generation {}", options.generation, control.ring_generation.load()));
  }
  std::unique_ptr<Endpoint> endpoint(new Endpoint(lease, options, static_cast<int>(mine - workers.begin())));
  control.generation.store(options.generation, std::memory_order_seq_cst);
  ORRERY_TRY_VOID(endpoint->wait_for_the_past());
  endpoint->writer_.emplace(lease.segment(), lease.slot(), others(workers, lease.slot()));
  for (SlotControl::Loan& loan : control.loans) loan.readers.store(0, std::memory_order_relaxed);
  control.ring_generation.store(options.generation, std::memory_order_seq_cst);
  endpoint->tell_all(Sleep::kForFrames);
  ORRERY_TRY_VOID(endpoint->wait_for_workers());
  endpoint->readers_.resize(workers.size());
  for (int rank = 0; rank < endpoint->size(); ++rank) {
    if (rank == endpoint->rank_) continue;
    endpoint->readers_[static_cast<std::size_t>(rank)].emplace(lease.segment(), endpoint->slot_of(rank), lease.slot());
  }
  return endpoint;
}

Endpoint::~Endpoint() {
  segment_.control(slot()).generation.store(0, std::memory_order_seq_cst);
  // Other processes, workers or not, may wait for our end.
  for (int other = 0; other < segment_.options().slots; ++other) ring_bell(segment_, other, Sleep::kForFrames);
}

template <class Ready>
Status Endpoint::wait_until(const char* what, Ready ready) {
  const env::RealClock clock;
  const Seconds end = clock.monotonic() + open_max_;
  for (std::uint32_t looks = 0;; ++looks) {
    ORRERY_TRY(const bool is_ready, ready());
    if (is_ready) return {};
    if (revoked()) return Error::unavailable(fmt::format("generation {} was revoked", generation_));
    if (meanwhile_ && looks % 16 == 15) ORRERY_TRY_VOID(meanwhile_());
    if (looks % 64 == 63 && clock.monotonic() > end) {
      return Error::unavailable(fmt::format("generation {}: {} within {} s", generation_, what, open_max_.value()));
    }
    rest(looks, false, [&] {
      const auto now = ready();
      return !now || *now || revoked();
    });
  }
}

Status Endpoint::wait_for_the_past() {
  return wait_until("some process did not leave the generation before", [&]() -> Result<bool> {
    for (int other = 0; other < segment_.options().slots; ++other) {
      if (other == slot() || life_of(segment_, other) != Life::kAlive) continue;
      const std::uint64_t generation = segment_.control(other).generation.load(std::memory_order_seq_cst);
      if (generation != 0 && generation < generation_) return false;
    }
    return true;
  });
}

Status Endpoint::wait_for_workers() {
  return wait_until("not all workers came", [&]() -> Result<bool> {
    bool all = true;
    for (const int worker : workers_) {
      const std::uint64_t generation = segment_.control(worker).ring_generation.load(std::memory_order_acquire);
      if (generation == generation_) continue;
      if (generation > generation_)
        return Error::unavailable(fmt::format("generation {} has begun without us", generation));
      all = false;
      if (life_of(segment_, worker) == Life::kDead) elastic::revoke(segment_, generation_);
    }
    return all;
  });
}

void Endpoint::tell_all(Sleep news) {
  for (const int worker : workers_) {
    if (worker != slot()) ring_bell(segment_, worker, news);
  }
}

bool Endpoint::post(Frame frame, std::span<const std::byte> payload) {
  frame.generation = generation_;
  if (!writer_->send(frame, payload)) return false;
  has_posted_ = true;
  return true;
}

bool Endpoint::send(Frame frame, std::span<const std::byte> payload) {
  if (!post(frame, payload)) return false;
  wake_all();
  return true;
}

void Endpoint::wake_all() {
  // Orders the frames before the check for sleepers; a sleeper does the reverse.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  tell_all(Sleep::kForFrames);
  has_posted_ = false;
}

Result<int> Endpoint::receive(const Take& take) {
  int taken = 0;
  std::uint64_t heard = 0;  // bits by rank
  has_no_block_ = false;
  for (int from = 0; from < size(); ++from) {
    if (from == rank_) continue;
    FrameRingReader& reader = *readers_[static_cast<std::size_t>(from)];
    int of_peer = 0;
    for (; of_peer < kFramesPerCall; ++of_peer) {
      ORRERY_TRY(const std::optional<FrameRingReader::Received> received, reader.peek());
      if (!received) break;
      ORRERY_TRY_VOID(check(received->frame, limits_));
      ORRERY_TRY_VOID(take(from, received->frame, received->payload));
      reader.pop();
    }
    taken += of_peer;
    if (of_peer > 0) heard |= 1ULL << from;
  }
  if (has_posted_) {
    wake_all();
  } else if (heard != 0) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  for (; heard != 0; heard &= heard - 1) {
    ring_bell(segment_, slot_of(std::countr_zero(heard)), Sleep::kForFramesOrSpace);
  }
  return taken;
}

std::optional<std::uint32_t> Endpoint::free_block() {
  if (has_no_block_) return std::nullopt;
  SlotControl& control = segment_.control(slot());
  // Always takes the first: memory that was used a moment ago is still in the caches.
  for (std::uint32_t index = 0; index < limits_.blocks; ++index) {
    if (control.loans[index].readers.load(std::memory_order_acquire) == 0) return index;
  }
  has_no_block_ = true;
  return std::nullopt;
}

void Endpoint::lend(std::uint32_t index, int readers) {
  segment_.control(slot()).loans[index].readers.store(static_cast<std::uint32_t>(readers), std::memory_order_relaxed);
}

void Endpoint::release(int from, std::uint32_t index) {
  if (segment_.control(slot_of(from)).loans[index].readers.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ring_bell(segment_, slot_of(from), Sleep::kForFramesOrSpace);
}

std::uint64_t Endpoint::place_of(const void* data, std::uint64_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const auto base = reinterpret_cast<std::uintptr_t>(segment_.arenas());
  if (address < base || address - base > limits_.arenas_bytes) return kPrivatePlace;
  const std::uint64_t place = address - base;
  return bytes <= limits_.arenas_bytes - place ? place : kPrivatePlace;
}

Peer Endpoint::peer(int rank) const {
  const Life life = life_of(segment_, slot_of(rank));
  if (life == Life::kDead) return Peer::kDead;
  const bool here = segment_.control(slot_of(rank)).generation.load(std::memory_order_acquire) == generation_;
  return life == Life::kAlive && here ? Peer::kHere : Peer::kLeft;
}

void Endpoint::rest(std::uint32_t looks, bool wants_space, const std::function<bool()>& look) {
  if (!backoff_.is_over(looks)) return backoff_.spend(looks);
  SlotControl& mine = segment_.control(slot());
  const std::uint32_t seen = mine.bell.load(std::memory_order_acquire);
  const Sleep reason = wants_space ? Sleep::kForFramesOrSpace : Sleep::kForFrames;
  mine.sleeping.store(static_cast<std::uint32_t>(reason), std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool all_alive = true;
  std::array<FutexWait, kSlotsMax + 1> waits;
  std::size_t count = 0;
  waits[count++] = {reinterpret_cast<const std::uint32_t*>(&mine.bell), seen};
  for (const int worker : workers_) {
    if (worker == slot()) continue;
    const FutexWait end = wait_for_end(segment_, worker);
    // Read after the word: an event that ends the worker now changes the word from the value that we sleep on.
    if (life_of(segment_, worker) == Life::kAlive) waits[count++] = end;
    all_alive = all_alive && life_of(segment_, worker) != Life::kDead;
  }
  if (all_alive && !look()) futex_wait_any(std::span(waits).first(count), kSleepMax);
  mine.sleeping.store(0, std::memory_order_relaxed);
}

}  // namespace orrery::elastic
