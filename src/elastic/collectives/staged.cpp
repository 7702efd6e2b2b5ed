#include "elastic/collectives/staged.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "elastic/reduce/kernels.h"

namespace orrery::elastic {

namespace {

constexpr std::uint32_t kKept = ~0u;  // instead of a block

Error damaged(const Staged::Piece& piece) {
  return Error::invalid(fmt::format("rank {} sent {} bytes at {}, which the operation does not have", piece.from,
                                    piece.bytes, piece.offset));
}

}  // namespace

void Staged::begin(const Descriptor& descriptor, const Buffers& buffers, int rank, int ranks,
                   std::uint64_t block_bytes) {
  descriptor_ = descriptor;
  buffers_ = buffers;
  rank_ = rank;
  ranks_ = ranks;
  block_bytes_ = block_bytes;
  begun_ = true;
  scatter_round_ = scatter_rounds_ = 0;
  scatter_step_ = 1;
  for (int target = 0; target < ranks; ++target) {
    if (target != rank) scatter_rounds_ = std::max(scatter_rounds_, pieces_of(owned(descriptor, target, ranks)));
  }
  combined_ = published_ = 0;
  to_combine_ = pieces_of(owned(descriptor, rank, ranks));
  inputs_.assign(to_combine_ * static_cast<std::uint64_t>(ranks), 0);
  inputs_count_.assign(to_combine_, 0);

  const bool someone_receives =
      !has_root(descriptor.collective) || descriptor.collective == Collective::kBroadcast || rank != descriptor.root;
  to_publish_ = ranks > 1 && someone_receives ? pieces_of(published(descriptor, rank, ranks)) : 0;
  taken_bytes_ = to_take_bytes_ = 0;
  if (!receives(descriptor, rank)) return;
  for (int from = 0; from < ranks; ++from) {
    if (from != rank) to_take_bytes_ += published(descriptor, from, ranks).size();
  }
  // The pieces that we would publish to ourselves.
  const Range own = published(descriptor, rank, ranks);
  if (!reduces(descriptor.collective) && own.size() > 0 && buffers.input != buffers.output + own.begin) {
    copy(buffers.output + own.begin, buffers.input, own.size());
  }
}

void Staged::reset() {
  begun_ = false;
  inbox_.clear();
  kept_.clear();
}

Range Staged::piece(Range range, std::uint64_t index) const {
  const std::uint64_t begin = range.begin + index * block_bytes_;
  return {begin, std::min(range.end, begin + block_bytes_)};
}

void Staged::skip_finished_targets() {
  while (scatter_round_ < scatter_rounds_) {
    if (scatter_step_ == ranks_) {
      scatter_step_ = 1;
      ++scatter_round_;
      continue;
    }
    const int target = (rank_ + scatter_step_) % ranks_;
    if (scatter_round_ < pieces_of(owned(descriptor_, target, ranks_))) return;
    ++scatter_step_;
  }
}

bool Staged::scatter(Endpoint& endpoint, const Frame& name, std::uint32_t* early, const Probe& probe) {
  bool moved = false;
  for (skip_finished_targets(); scatter_round_ < scatter_rounds_; skip_finished_targets()) {
    if (early != nullptr && *early == 0) return moved;
    const auto block = endpoint.free_block();
    if (!block) return moved;
    const int target = (rank_ + scatter_step_) % ranks_;
    const Range slice = owned(descriptor_, target, ranks_);
    const Range part = piece(slice, scatter_round_);
    copy(endpoint.block(*block), buffers_.input + part.begin, part.size());
    Frame frame = name;
    frame.kind = FrameKind::kScatter;
    frame.target = static_cast<std::uint16_t>(target);
    frame.bytes = static_cast<std::uint32_t>(part.size());
    frame.place = *block;
    frame.offset = part.begin - slice.begin;
    endpoint.lend(*block, 1);
    if (!endpoint.send(frame)) {
      endpoint.lend(*block, 0);
      return moved;
    }
    if (early != nullptr) --*early;
    ++scatter_step_;
    moved = true;
    if (probe) probe(CutPoint::kStaged);
  }
  return moved;
}

Status Staged::take(Endpoint& endpoint, const Piece& piece) {
  const Range place = published(descriptor_, piece.from, ranks_);
  if (!receives(descriptor_, rank_) || piece.offset + piece.bytes > place.size()) return damaged(piece);
  copy(buffers_.output + place.begin + piece.offset, endpoint.peer_block(piece.from, piece.block), piece.bytes);
  endpoint.release(piece.from, piece.block);
  taken_bytes_ += piece.bytes;
  return {};
}

Status Staged::sort_inbox(Endpoint& endpoint, const Probe& probe) {
  for (const Piece& piece : inbox_) {
    if (piece.kind == FrameKind::kPublish) {
      ORRERY_TRY_VOID(take(endpoint, piece));
      if (probe) probe(CutPoint::kTook);
      continue;
    }
    const std::uint64_t index = piece.offset / block_bytes_;
    const Range slice = owned(descriptor_, rank_, ranks_);
    if (index >= to_combine_ || piece.offset % block_bytes_ != 0) return damaged(piece);
    if (this->piece(slice, index).size() != piece.bytes) return damaged(piece);
    std::uint32_t& input = inputs_[index * static_cast<std::uint64_t>(ranks_) + static_cast<std::uint64_t>(piece.from)];
    if (input != 0) return damaged(piece);
    input = piece.block + 1;
    ++inputs_count_[index];
  }
  inbox_.clear();
  return {};
}

const void* Staged::input(Endpoint& endpoint, std::uint64_t index, int from) const {
  if (inputs_[index] == kKept) return kept_.at(index).data();
  return endpoint.peer_block(from, inputs_[index] - 1);
}

void Staged::relieve(Endpoint& endpoint) {
  if (!begun_) return;
  const Range slice = owned(descriptor_, rank_, ranks_);
  for (std::uint64_t index = combined_ * static_cast<std::uint64_t>(ranks_); index < inputs_.size(); ++index) {
    if (inputs_[index] == 0 || inputs_[index] == kKept) continue;
    const auto from = static_cast<int>(index % static_cast<std::uint64_t>(ranks_));
    const std::byte* const block = endpoint.peer_block(from, inputs_[index] - 1);
    kept_[index].assign(block, block + piece(slice, index / static_cast<std::uint64_t>(ranks_)).size());
    endpoint.release(from, inputs_[index] - 1);
    inputs_[index] = kKept;
  }
}

bool Staged::combine(Endpoint& endpoint, const Frame& name, const Probe& probe) {
  bool moved = false;
  const Range slice = owned(descriptor_, rank_, ranks_);
  for (; combined_ < to_combine_; ++combined_) {
    if (inputs_count_[combined_] != static_cast<std::uint32_t>(ranks_ - 1)) return moved;
    const Range part = piece(slice, combined_);
    const std::uint64_t first = combined_ * static_cast<std::uint64_t>(ranks_);
    std::array<const void*, kReduceInputsMax> inputs{};
    for (int from = 0; from < ranks_; ++from) {
      inputs[static_cast<std::size_t>(from)] =
          from == rank_ ? buffers_.input + part.begin : input(endpoint, first + static_cast<std::uint64_t>(from), from);
    }
    // If a block is available, the same traversal writes the result there; otherwise publish() copies it later.
    const auto block = published_ == combined_ && published_ < to_publish_ ? endpoint.free_block() : std::nullopt;
    void* const outputs[] = {buffers_.output + part.begin, block ? endpoint.block(*block) : nullptr};
    reduce(descriptor_.type, descriptor_.op, std::span(inputs).first(static_cast<std::size_t>(ranks_)),
           std::span(outputs).first(block ? 2 : 1), part.size() / element_bytes(descriptor_.type));
    for (int from = 0; from < ranks_; ++from) {
      const std::uint64_t index = first + static_cast<std::uint64_t>(from);
      if (from == rank_) continue;
      if (inputs_[index] == kKept) {
        kept_.erase(index);
      } else {
        endpoint.release(from, inputs_[index] - 1);
      }
    }
    moved = true;
    if (probe) probe(CutPoint::kCombined);
    if (block && send_published(endpoint, name, *block)) ++published_;
    if (block && probe) probe(CutPoint::kPublished);
  }
  return moved;
}

bool Staged::send_published(Endpoint& endpoint, const Frame& name, std::uint32_t block) {
  const Range range = published(descriptor_, rank_, ranks_);
  const Range part = piece(range, published_);
  const bool to_root = has_root(descriptor_.collective) && descriptor_.collective != Collective::kBroadcast;
  Frame frame = name;
  frame.kind = FrameKind::kPublish;
  frame.target = to_root ? descriptor_.root : kToAll;
  frame.bytes = static_cast<std::uint32_t>(part.size());
  frame.place = block;
  frame.offset = part.begin - range.begin;
  endpoint.lend(block, to_root ? 1 : ranks_ - 1);
  if (endpoint.send(frame)) return true;
  endpoint.lend(block, 0);
  return false;
}

bool Staged::publish(Endpoint& endpoint, const Frame& name, const Probe& probe) {
  const bool combines = reduces(descriptor_.collective);
  const std::uint64_t ready = combines ? std::min(combined_, to_publish_) : to_publish_;
  const Range range = published(descriptor_, rank_, ranks_);
  bool moved = false;
  for (; published_ < ready; ++published_) {
    const auto block = endpoint.free_block();
    if (!block) return moved;
    const Range part = piece(range, published_);
    const std::byte* const source =
        combines ? buffers_.output + part.begin : buffers_.input + (part.begin - range.begin);
    copy(endpoint.block(*block), source, part.size());
    if (!send_published(endpoint, name, *block)) return moved;
    moved = true;
    if (probe) probe(CutPoint::kPublished);
  }
  return moved;
}

Result<bool> Staged::advance(Endpoint& endpoint, const Frame& name, std::uint32_t* early, const Probe& probe) {
  if (early != nullptr) return reduces(descriptor_.collective) && scatter(endpoint, name, early, probe);
  bool moved = !inbox_.empty();
  ORRERY_TRY_VOID(sort_inbox(endpoint, probe));
  // Results come first: they free the blocks of other ranks and end the operation.
  moved = combine(endpoint, name, probe) || moved;
  moved = publish(endpoint, name, probe) || moved;
  if (reduces(descriptor_.collective)) moved = scatter(endpoint, name, nullptr, probe) || moved;
  return moved;
}

bool Staged::wants_blocks() const {
  if (!begun_) return false;
  const std::uint64_t ready = reduces(descriptor_.collective) ? std::min(combined_, to_publish_) : to_publish_;
  return scatter_round_ < scatter_rounds_ || published_ < ready;
}

bool Staged::complete() const {
  return begun_ && scatter_round_ >= scatter_rounds_ && combined_ == to_combine_ && published_ == to_publish_ &&
         taken_bytes_ == to_take_bytes_;
}

void Staged::drop(Endpoint& endpoint) {
  for (const Piece& piece : inbox_) endpoint.release(piece.from, piece.block);
  inbox_.clear();
}

}  // namespace orrery::elastic
