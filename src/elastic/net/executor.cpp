#include "elastic/net/executor.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "elastic/reduce/kernels.h"

namespace orrery::elastic::net {

void Executor::begin(const Plan& plan, const Buffers& buffers, const Schedule& schedule, Blocks& blocks) {
  schedule_ = &schedule;
  blocks_ = &blocks;
  descriptor_ = plan.descriptor;
  rank_ = plan.rank;
  parts_.resize(schedule.parts());
  base_ = buffers.output;
  const Range own = published(descriptor_, plan.rank, plan.ranks);
  const bool gathers =
      descriptor_.collective == Collective::kAllGather || descriptor_.collective == Collective::kGather;
  if (!gathers || own.size() == 0) return;
  if (!receives(descriptor_, plan.rank)) {
    // Here only our own tensor is touched, and it is only read.
    base_ = const_cast<std::byte*>(buffers.input);
    origin_ = own.begin;
  } else if (buffers.input != base_ + own.begin) {
    std::memcpy(base_ + own.begin, buffers.input, own.size());
  }
}

void Executor::reset() {
  for (Part& part : parts_) {
    for (auto* const held : {&part.parked, &part.taken}) {
      for (Held& one : *held) blocks_->give_back(std::move(one.block));
    }
  }
  parts_.clear();
  schedule_ = nullptr;
  origin_ = 0;
  running_ = false;
  finished_ = 0;
}

void Executor::run_early(Outlet& outlet) {
  for (std::uint32_t index = 0; index < parts_.size(); ++index) {
    const auto steps = schedule_->steps(index);
    Part& part = parts_[index];
    while (part.at < steps.size() && steps[part.at].kind == StepKind::kSend) {
      part.sending += 1;
      if (!outlet.send_early(steps[part.at].peer, index, bytes(index))) {
        part.sending -= 1;
        break;
      }
      part.at += 1;
    }
  }
}

void Executor::run(Outlet& outlet) {
  running_ = true;
  for (std::uint32_t index = 0; index < parts_.size(); ++index) advance(index, outlet);
}

bool Executor::expects(int from, std::uint32_t part, std::size_t bytes) const {
  if (part >= parts_.size() || bytes != schedule_->range(part).size()) return false;
  const auto is_from = [from](const Step& step) {
    return (step.kind == StepKind::kTake || step.kind == StepKind::kCopy) && step.peer == from;
  };
  const Part& state = parts_[part];
  const auto left = schedule_->steps(part).subspan(state.at);
  const auto parked =
      std::count_if(state.parked.begin(), state.parked.end(), [from](const Held& held) { return held.from == from; });
  return std::count_if(left.begin(), left.end(), is_from) > parked + (state.in_place ? 1 : 0);
}

std::byte* Executor::place(int from, std::uint32_t part) {
  Part& state = parts_[part];
  const auto steps = schedule_->steps(part);
  const bool is_next =
      running_ && state.at < steps.size() && steps[state.at] == Step{StepKind::kCopy, static_cast<std::uint8_t>(from)};
  if (!is_next || state.sending > 0 || state.in_place) return nullptr;
  state.in_place = true;
  return address(part);
}

void Executor::arrived_in_place(std::uint32_t part, Outlet& outlet) {
  parts_[part].in_place = false;
  parts_[part].at += 1;
  outlet.reached(Moment::kCopied);
  advance(part, outlet);
}

void Executor::arrived(int from, std::uint32_t part, Block block, Outlet& outlet) {
  parts_[part].parked.push_back({from, std::move(block)});
  outlet.reached(Moment::kTook);
  if (running_) advance(part, outlet);
}

Block Executor::unpark(Part& part, int from) {
  const auto found =
      std::find_if(part.parked.begin(), part.parked.end(), [from](const Held& held) { return held.from == from; });
  if (found == part.parked.end()) return {};
  Block block = std::move(found->block);
  part.parked.erase(found);
  return block;
}

void Executor::fold(Part& part, std::uint32_t index) {
  std::sort(part.taken.begin(), part.taken.end(), [](const Held& a, const Held& b) { return a.from < b.from; });
  std::array<const void*, kReduceInputsMax> inputs{};
  std::size_t count = 0;
  bool own_is_in = false;
  for (const Held& held : part.taken) {
    if (!own_is_in && held.from > rank_) {
      inputs[count++] = address(index);
      own_is_in = true;
    }
    inputs[count++] = held.block.data.get();
  }
  if (!own_is_in) inputs[count++] = address(index);
  void* const output = address(index);
  reduce(descriptor_.type, descriptor_.op, std::span(inputs).first(count), {&output, 1},
         schedule_->range(index).size() / element_bytes(descriptor_.type));
  for (Held& held : part.taken) blocks_->give_back(std::move(held.block));
  part.taken.clear();
}

void Executor::advance(std::uint32_t index, Outlet& outlet) {
  Part& part = parts_[index];
  const auto steps = schedule_->steps(index);
  if (!running_ || part.in_place) return;
  for (; part.at < steps.size(); ++part.at) {
    const Step& step = steps[part.at];
    switch (step.kind) {
      case StepKind::kSend:
        part.sending += 1;
        outlet.send(step.peer, index, bytes(index));
        outlet.reached(Moment::kSent);
        break;
      case StepKind::kTake: {
        Block block = unpark(part, step.peer);
        if (block.data == nullptr) return;
        part.taken.push_back({step.peer, std::move(block)});
        break;
      }
      case StepKind::kFold:
        if (part.sending > 0) return;
        fold(part, index);
        outlet.reached(Moment::kFolded);
        break;
      case StepKind::kCopy: {
        if (part.sending > 0) return;
        Block block = unpark(part, step.peer);
        if (block.data == nullptr) return;
        std::memcpy(address(index), block.data.get(), schedule_->range(index).size());
        blocks_->give_back(std::move(block));
        outlet.reached(Moment::kCopied);
        break;
      }
    }
  }
  if (part.sending > 0 || part.finished) return;
  part.finished = true;
  finished_ += 1;
}

}  // namespace orrery::elastic::net
