#include "elastic/model_transfer.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"

namespace orrery::elastic {

namespace {

constexpr std::uint64_t kPieceMin = 64 << 10, kPieceMax = 1ULL << 30;
constexpr std::uint64_t kAlignment = 64;  // no element is cut in two
constexpr Seconds kPieceTimeMin{0.001};

// What ranks have to agree on, and the position of each.
struct TransferTerms {
  std::uint64_t bytes = 0, lanes = 0;
  ModelTransfer::Position position = 0;
};

Status wait_all(Collectives& session, const std::vector<Ticket>& tickets) {
  Status all;
  for (const Ticket& ticket : tickets) {
    Status one = session.wait(ticket);
    if (all) all = std::move(one);
  }
  return all;
}

}  // namespace

std::uint64_t next_piece_bytes(std::uint64_t bytes, Seconds piece, Seconds step) {
  const Seconds most = std::max(kPieceTimeMin, Seconds(0.1 * step.value()));
  if (piece > most) return std::max(bytes / 2, kPieceMin);
  if (piece < Seconds(0.4 * most.value())) return std::min(bytes * 2, kPieceMax);
  return bytes;
}

ModelTransfer::ModelTransfer(std::span<std::byte> state, std::uint64_t lanes, std::vector<bool> has_model,
                             Position position)
    : state_(state),
      lanes_(std::max<std::uint64_t>(1, lanes)),
      lane_bytes_(state.size() / lanes_),
      has_model_(std::move(has_model)),
      position_(position),
      piece_bytes_(kPieceMin) {
  for (std::size_t rank = 0; rank < has_model_.size(); ++rank) {
    if (has_model_[rank]) sources_.push_back(static_cast<int>(rank));
  }
  ORRERY_CHECK(!sources_.empty());
}

Result<ModelTransfer> ModelTransfer::begin(Collectives& session, std::span<std::byte> state, std::uint64_t lanes,
                                           std::vector<bool> has_model, Position position) {
  const auto rank = static_cast<std::size_t>(session.rank()), ranks = static_cast<std::size_t>(session.size());
  const TransferTerms own{state.size(), lanes, position};
  std::vector<TransferTerms> terms(ranks);
  constexpr std::size_t kWords = sizeof(TransferTerms) / sizeof(std::uint64_t);
  ORRERY_TRY(const Ticket ticket, session.all_gather("orrery: model", {&own, kWords, DataType::kI64},
                                                     {terms.data(), kWords * ranks, DataType::kI64}));
  ORRERY_TRY_VOID(session.wait(ticket));
  // A rank that has the whole model has no position.
  Position least = has_model[rank] ? ~Position{0} : position;
  for (std::size_t other = 0; other < ranks; ++other) {
    if (terms[other].bytes != own.bytes || terms[other].lanes != own.lanes) {
      return Error::invalid(fmt::format("models differ: rank {} has {} bytes in {} lanes, rank {} has {} in {}", rank,
                                        own.bytes, own.lanes, other, terms[other].bytes, terms[other].lanes));
    }
    if (!has_model[other]) least = std::min(least, terms[other].position);
  }
  if (lanes > 0 && state.size() % lanes != 0) {
    return Error::invalid(fmt::format("a model of {} bytes in {} lanes of equal length", state.size(), lanes));
  }
  return ModelTransfer(state, lanes, std::move(has_model), least);
}

std::span<std::byte> ModelTransfer::part(std::uint64_t lane, std::uint64_t begin, std::uint64_t end) const {
  return state_.subspan(lane * lane_bytes_ + begin, end - begin);
}

Status ModelTransfer::copy(Collectives& session, std::uint64_t begin, std::uint64_t end) {
  std::vector<Ticket> tickets;
  const std::uint64_t sources = sources_.size();
  const std::uint64_t slice = ((end - begin) / sources + kAlignment) / kAlignment * kAlignment;
  Status started;
  for (std::uint64_t lane = 0; lane < lanes_ && started; ++lane) {
    for (std::uint64_t i = 0; i < sources && started && begin + i * slice < end; ++i) {
      const std::span<std::byte> bytes = part(lane, begin + i * slice, std::min(end, begin + (i + 1) * slice));
      const auto ticket = session.broadcast("orrery: model", {bytes.data(), bytes.size(), DataType::kI8},
                                            sources_[static_cast<std::size_t>(i)]);
      if (ticket) {
        tickets.push_back(*ticket);
      } else {
        started = ticket.error();
      }
    }
  }
  Status moved = wait_all(session, tickets);
  return started ? std::move(moved) : started;
}

Status ModelTransfer::compare(Collectives& session, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t lane = 0; lane < lanes_; ++lane) {
    bool agreed = false;
    ORRERY_TRY(const Ticket ticket, session.consensus("orrery: model", part(lane, begin, end), agreed));
    ORRERY_TRY_VOID(session.wait(ticket));
    if (agreed || has_model(session.rank())) continue;
    return Error::invalid(
        fmt::format("the model that this process got between steps differs from that of the others in bytes {} to {}: "
                    "steps that take effect element by element, in {} lanes, were promised",
                    lane * lane_bytes_ + begin, lane * lane_bytes_ + end, lanes_));
  }
  return {};
}

Status ModelTransfer::move_all(Collectives& session) {
  // Positions refer to steps; here there are none.
  ORRERY_TRY_VOID(copy(session, 0, lane_bytes_));
  position_ = 2 * lane_bytes_;
  return {};
}

Status ModelTransfer::move_piece(const env::Clock& clock, Collectives& session, Seconds step) {
  const Seconds start = clock.monotonic();
  const bool is_copied = position_ >= lane_bytes_;
  const std::uint64_t begin = is_copied ? position_ - lane_bytes_ : position_;
  const std::uint64_t end = std::min(lane_bytes_, begin + piece_bytes_);
  ORRERY_TRY_VOID(is_copied ? compare(session, begin, end) : copy(session, begin, end));
  position_ += end - begin;
  std::uint64_t next = next_piece_bytes(piece_bytes_, clock.monotonic() - start, step);
  ORRERY_TRY(const Ticket ticket, session.broadcast("orrery: piece", {&next, 1, DataType::kI64}, sources_[0]));
  ORRERY_TRY_VOID(session.wait(ticket));
  // Values from other processes are checked against bounds.
  piece_bytes_ = std::clamp(next, kPieceMin, kPieceMax);
  return {};
}

}  // namespace orrery::elastic
