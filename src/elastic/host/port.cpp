#include "elastic/host/port.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <set>

#include "base/check.h"
#include "env/real_clock.h"

namespace orrery::elastic {

namespace {

constexpr int kFramesPerCall = 64;  // of one peer, before others have their turn
// A sleeper looks by itself this often: the one wake-up at a peer's end may go to a process that is stopped.
constexpr Seconds kSleepMax{0.02};

std::vector<int> others(const std::vector<int>& members, int me) {
  std::vector<int> slots = members;
  std::erase(slots, me);
  return slots;
}

}  // namespace

Port::Port(Seat& seat, const PortOptions& options, int rank)
    : segment_(seat.segment()),
      epoch_(options.epoch),
      members_(options.members),
      rank_(rank),
      open_max_(options.open_max),
      meanwhile_(options.meanwhile),
      limits_{options.epoch,
              static_cast<int>(options.members.size()),
              segment_.options().inline_bytes,
              segment_.options().block_bytes,
              segment_.options().blocks,
              segment_.arenas_bytes()},
      patience_(static_cast<int>(options.members.size()), available_cores()) {}

Result<std::unique_ptr<Port>> Port::open(Seat& seat, const PortOptions& options) {
  const std::vector<int>& members = options.members;
  const auto mine = std::find(members.begin(), members.end(), seat.slot());
  if (mine == members.end()) {
    return Error::invalid(fmt::format("slot {} is no member of epoch {}", seat.slot(), options.epoch));
  }
  if (std::set<int>(members.begin(), members.end()).size() != members.size()) {
    return Error::invalid(fmt::format("epoch {} names a member twice", options.epoch));
  }
  for (const int slot : members) {
    if (slot < 0 || slot >= seat.segment().options().slots) {
      return Error::invalid(fmt::format("slot {} of {}", slot, seat.segment().options().slots));
    }
  }
  SlotControl& control = seat.control();
  if (control.epoch.load() != 0) return Error::invalid("the seat is in an epoch already; close that port first");
  if (options.epoch <= control.ring_epoch.load()) {
    return Error::invalid(fmt::format("epoch {} after epoch {}", options.epoch, control.ring_epoch.load()));
  }
  std::unique_ptr<Port> port(new Port(seat, options, static_cast<int>(mine - members.begin())));
  control.epoch.store(options.epoch, std::memory_order_seq_cst);
  ORRERY_TRY_VOID(port->wait_for_the_past());
  port->writer_.emplace(seat.segment(), seat.slot(), others(members, seat.slot()));
  for (SlotControl::Loan& loan : control.loans) loan.readers.store(0, std::memory_order_relaxed);
  control.ring_epoch.store(options.epoch, std::memory_order_seq_cst);
  port->tell_all(Sleep::kForFrames);
  ORRERY_TRY_VOID(port->wait_for_members());
  port->readers_.resize(members.size());
  for (int rank = 0; rank < port->size(); ++rank) {
    if (rank == port->rank_) continue;
    port->readers_[static_cast<std::size_t>(rank)].emplace(seat.segment(), port->slot_of(rank), seat.slot());
  }
  return port;
}

Port::~Port() {
  segment_.control(slot()).epoch.store(0, std::memory_order_seq_cst);
  // Anyone may wait for us to be gone, also those who are no members.
  for (int other = 0; other < segment_.options().slots; ++other) ring_bell(segment_, other, Sleep::kForFrames);
}

template <class Ready>
Status Port::wait_until(const char* what, Ready ready) {
  const env::RealClock clock;
  const Seconds end = clock.monotonic() + open_max_;
  for (std::uint32_t looks = 0;; ++looks) {
    ORRERY_TRY(const bool is_ready, ready());
    if (is_ready) return {};
    if (revoked()) return Error::unavailable(fmt::format("epoch {} was revoked", epoch_));
    if (meanwhile_ && looks % 16 == 15) ORRERY_TRY_VOID(meanwhile_());
    if (looks % 64 == 63 && clock.monotonic() > end) {
      return Error::unavailable(fmt::format("epoch {}: {} within {} s", epoch_, what, open_max_.value()));
    }
    rest(looks, false, [&] {
      const auto now = ready();
      return !now || *now || revoked();
    });
  }
}

Status Port::wait_for_the_past() {
  return wait_until("some process did not leave the epoch before", [&]() -> Result<bool> {
    for (int other = 0; other < segment_.options().slots; ++other) {
      if (other == slot() || life_of(segment_, other) != Life::kAlive) continue;
      const std::uint64_t epoch = segment_.control(other).epoch.load(std::memory_order_seq_cst);
      if (epoch != 0 && epoch < epoch_) return false;
    }
    return true;
  });
}

Status Port::wait_for_members() {
  return wait_until("not all members came", [&]() -> Result<bool> {
    bool all = true;
    for (const int member : members_) {
      const std::uint64_t epoch = segment_.control(member).ring_epoch.load(std::memory_order_acquire);
      if (epoch == epoch_) continue;
      if (epoch > epoch_) return Error::unavailable(fmt::format("epoch {} has begun without us", epoch));
      all = false;
      if (life_of(segment_, member) == Life::kDead) elastic::revoke(segment_, epoch_);
    }
    return all;
  });
}

void Port::tell_all(Sleep news) {
  for (const int member : members_) {
    if (member != slot()) ring_bell(segment_, member, news);
  }
}

bool Port::post(Frame frame, std::span<const std::byte> payload) {
  frame.epoch = epoch_;
  if (!writer_->send(frame, payload)) return false;
  has_posted_ = true;
  return true;
}

bool Port::send(Frame frame, std::span<const std::byte> payload) {
  if (!post(frame, payload)) return false;
  wake_all();
  return true;
}

void Port::wake_all() {
  // Orders frames before the look at who sleeps; a sleeper does the reverse.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  tell_all(Sleep::kForFrames);
  has_posted_ = false;
}

Result<int> Port::receive(const Take& take) {
  int taken = 0;
  std::uint64_t heard = 0;  // bits by rank
  has_no_block_ = false;
  for (int from = 0; from < size(); ++from) {
    if (from == rank_) continue;
    OutboxReader& reader = *readers_[static_cast<std::size_t>(from)];
    int of_peer = 0;
    for (; of_peer < kFramesPerCall; ++of_peer) {
      ORRERY_TRY(const std::optional<OutboxReader::Received> received, reader.peek());
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
    ring_bell(segment_, slot_of(std::countr_zero(heard)), Sleep::kForFramesOrRoom);
  }
  return taken;
}

std::optional<std::uint32_t> Port::free_block() {
  if (has_no_block_) return std::nullopt;
  SlotControl& control = segment_.control(slot());
  // Always the first: memory that was used a moment ago is still in the caches.
  for (std::uint32_t index = 0; index < limits_.blocks; ++index) {
    if (control.loans[index].readers.load(std::memory_order_acquire) == 0) return index;
  }
  has_no_block_ = true;
  return std::nullopt;
}

void Port::lend(std::uint32_t index, int readers) {
  segment_.control(slot()).loans[index].readers.store(static_cast<std::uint32_t>(readers), std::memory_order_relaxed);
}

void Port::release(int from, std::uint32_t index) {
  if (segment_.control(slot_of(from)).loans[index].readers.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ring_bell(segment_, slot_of(from), Sleep::kForFramesOrRoom);
}

std::uint64_t Port::place_of(const void* data, std::uint64_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const auto base = reinterpret_cast<std::uintptr_t>(segment_.arenas());
  if (address < base || address - base > limits_.arenas_bytes) return kPrivatePlace;
  const std::uint64_t place = address - base;
  return bytes <= limits_.arenas_bytes - place ? place : kPrivatePlace;
}

Peer Port::peer(int rank) const {
  const Life life = life_of(segment_, slot_of(rank));
  if (life == Life::kDead) return Peer::kDead;
  const bool here = segment_.control(slot_of(rank)).epoch.load(std::memory_order_acquire) == epoch_;
  return life == Life::kAlive && here ? Peer::kHere : Peer::kLeft;
}

void Port::rest(std::uint32_t looks, bool wants_room, const std::function<bool()>& look) {
  if (!patience_.is_over(looks)) return patience_.spend(looks);
  SlotControl& mine = segment_.control(slot());
  const std::uint32_t seen = mine.bell.load(std::memory_order_acquire);
  const Sleep reason = wants_room ? Sleep::kForFramesOrRoom : Sleep::kForFrames;
  mine.sleeping.store(static_cast<std::uint32_t>(reason), std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool everyone_lives = true;
  std::array<FutexWait, kSlotsMax + 1> waits;
  std::size_t count = 0;
  waits[count++] = {reinterpret_cast<const std::uint32_t*>(&mine.bell), seen};
  for (const int member : members_) {
    if (member == slot()) continue;
    const FutexWait end = wait_for_end(segment_, member);
    // Read after the word: whatever ends the member now changes the word from what we sleep on.
    if (life_of(segment_, member) == Life::kAlive) waits[count++] = end;
    everyone_lives = everyone_lives && life_of(segment_, member) != Life::kDead;
  }
  if (everyone_lives && !look()) futex_wait_any(std::span(waits).first(count), kSleepMax);
  mine.sleeping.store(0, std::memory_order_relaxed);
}

}  // namespace orrery::elastic
