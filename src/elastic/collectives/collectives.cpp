#include "elastic/collectives/collectives.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fmt/format.h>

#include "base/random.h"
#include "base/text.h"

namespace orrery::elastic {

namespace {

// Two sums of different kinds, each over every fourth word, so that the processor works on four words at a time.
struct DigestLane {
  std::uint64_t mixed = 0x9e3779b97f4a7c15ULL, turned = 0xcbf29ce484222325ULL;

  void add(std::uint64_t word) {
    mixed = (mixed ^ word) * 0xbf58476d1ce4e5b9ULL;
    mixed ^= mixed >> 29;
    turned = (std::rotl(turned, 23) ^ word) * 0x94d049bb133111ebULL;
  }
};

std::array<std::byte, kDigestBytes> digest(std::span<const std::byte> bytes) {
  constexpr std::size_t kLanes = 4;
  std::array<DigestLane, kLanes> lanes;
  std::array<std::uint64_t, kLanes> words{};
  std::size_t at = 0;
  for (; at + sizeof words <= bytes.size(); at += sizeof words) {
    std::memcpy(words.data(), bytes.data() + at, sizeof words);
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i].add(words[i]);
  }
  words = {};
  if (at < bytes.size()) std::memcpy(words.data(), bytes.data() + at, bytes.size() - at);
  std::array<std::uint64_t, 2> both = {mix64(bytes.size()), 0};
  for (std::size_t i = 0; i < kLanes; ++i) {
    lanes[i].add(words[i]);
    both = {mix64(both[0] ^ lanes[i].mixed), mix64(both[1] ^ lanes[i].turned)};
  }
  std::array<std::byte, kDigestBytes> result;
  std::memcpy(result.data(), both.data(), sizeof both);
  return result;
}

Buffers in_place(const TensorView& tensor) {
  auto* const data = static_cast<std::byte*>(tensor.data);
  return {data, data};
}

// Sets kSum and root 0 where they have no meaning, so that descriptions can be compared.
Descriptor describe(Collective collective, const ConstTensorView& tensor, ReduceOp op = ReduceOp::kSum, int root = 0) {
  return {collective, tensor.type, op, static_cast<std::uint16_t>(root), tensor.count};
}

Status check_output(const ConstTensorView& tensor, const TensorView& all, int ranks) {
  if (all.type != tensor.type || all.count != tensor.count * static_cast<std::size_t>(ranks)) {
    return Error::invalid(fmt::format("space for {} {}; the tensors of {} ranks are {} {}", all.count,
                                      to_string(all.type), ranks, tensor.count * static_cast<std::size_t>(ranks),
                                      to_string(tensor.type)));
  }
  return {};
}

}  // namespace

Result<Ticket> Collectives::all_reduce(std::string_view name, TensorView tensor, ReduceOp op) {
  return start(name, describe(Collective::kAllReduce, tensor, op), in_place(tensor), nullptr);
}

Result<Ticket> Collectives::reduce_scatter(std::string_view name, TensorView tensor, ReduceOp op) {
  return start(name, describe(Collective::kReduceScatter, tensor, op), in_place(tensor), nullptr);
}

Result<Ticket> Collectives::reduce(std::string_view name, TensorView tensor, ReduceOp op, int root) {
  ORRERY_TRY_VOID(check_root(root, size()));
  return start(name, describe(Collective::kReduce, tensor, op, root), in_place(tensor), nullptr);
}

Result<Ticket> Collectives::all_gather(std::string_view name, ConstTensorView tensor, TensorView all) {
  ORRERY_TRY_VOID(check_output(tensor, all, size()));
  return start(name, describe(Collective::kAllGather, tensor),
               {static_cast<const std::byte*>(tensor.data), static_cast<std::byte*>(all.data)}, nullptr);
}

Result<Ticket> Collectives::gather(std::string_view name, ConstTensorView tensor, TensorView all, int root) {
  ORRERY_TRY_VOID(check_root(root, size()));
  if (rank() == root) ORRERY_TRY_VOID(check_output(tensor, all, size()));
  return start(name, describe(Collective::kGather, tensor, ReduceOp::kSum, root),
               {static_cast<const std::byte*>(tensor.data), static_cast<std::byte*>(all.data)}, nullptr);
}

Result<Ticket> Collectives::broadcast(std::string_view name, TensorView tensor, int root) {
  ORRERY_TRY_VOID(check_root(root, size()));
  return start(name, describe(Collective::kBroadcast, tensor, ReduceOp::kSum, root), in_place(tensor), nullptr);
}

Result<Ticket> Collectives::barrier(std::string_view name) {
  return start(name, describe(Collective::kBarrier, {}), {}, nullptr);
}

Result<Ticket> Collectives::consensus(std::string_view name, std::span<const std::byte> bytes, bool& agreed) {
  const auto own = digest(bytes);
  return start(name, {Collective::kConsensus, DataType::kI8, ReduceOp::kSum, 0, own.size()}, {own.data(), nullptr},
               &agreed);
}

bool Collectives::is_overdue(std::optional<env::Deadline>& since) const {
  if (!longest_) return false;
  if (!since) since.emplace(*longest_);
  return since->passed();
}

Error Collectives::overdue_error(Ticket ticket) const {
  const std::vector<int> late = missing(ticket);
  return Error::io(fmt::format("operation \"{}\" has not ended within {}{}", name_of(ticket.key),
                               format_seconds(longest_.value_or(Seconds(0))),
                               late.empty() ? "" : fmt::format("; rank {} has not started it", fmt::join(late, ", "))));
}

Result<OperationKey> Collectives::next_key(std::string_view name) {
  const std::uint64_t hash = hash64(name);
  const auto [entry, is_new] = names_.try_emplace(hash);
  if (is_new) entry->second.text = name;
  if (entry->second.text != name) {
    return Error::invalid(
        fmt::format("the names \"{}\" and \"{}\" have the same hash; change one", entry->second.text, name));
  }
  return OperationKey{hash, entry->second.started++};
}

Status check_root(int root, int ranks) {
  if (root >= 0 && root < ranks) return {};
  return Error::invalid(fmt::format("root {} of {} ranks", root, ranks));
}

Status check_request(std::string_view name, const Descriptor& descriptor, const Buffers& buffers, int ranks) {
  ORRERY_TRY_VOID(check(descriptor, ranks));
  if (descriptor.bytes() == 0 || buffers.input != nullptr) return {};
  return Error::invalid(fmt::format("\"{}\": a tensor of {} elements without memory", name, descriptor.count));
}

}  // namespace orrery::elastic
