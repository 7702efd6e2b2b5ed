#include "elastic/net/schedule.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>

namespace orrery::elastic::net {

void Schedule::clear() {
  ranges_.clear();
  first_.clear();
  steps_.clear();
}

void Schedule::begin_part(Range range) {
  ranges_.push_back(range);
  first_.push_back(static_cast<std::uint32_t>(steps_.size()));
}

std::span<const Step> Schedule::steps(std::uint32_t part) const {
  const std::size_t begin = first_[part], end = part + 1 < parts() ? first_[part + 1] : steps_.size();
  return std::span(steps_).subspan(begin, end - begin);
}

std::uint64_t part_bytes(const Plan& plan) {
  constexpr std::uint64_t kLine = 64;
  return std::max(kLine, plan.chunk_bytes / kLine * kLine);
}

namespace {

// Follows one part over all ranks: when each message is sent, counted in messages on the longest path to it.
class Follower {
 public:
  Follower(std::span<const Schedule> schedules, std::uint32_t part)
      : schedules_(schedules), part_(part), at_(schedules.size()), time_(schedules.size()) {}

  Result<int> steps() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < schedules_.size(); ++rank) {
        while (step(rank)) moved = true;
      }
    }
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) {
      if (at_[rank] < schedules_[rank].steps(part_).size()) {
        return Error::internal(fmt::format("part {}: rank {} waits for ever", part_, rank));
      }
    }
    for (const auto& [pair, times] : on_the_way_) {
      if (!times.empty()) {
        return Error::internal(
            fmt::format("part {}: rank {} never takes what rank {} sends", part_, pair.second, pair.first));
      }
    }
    return *std::max_element(time_.begin(), time_.end());
  }

 private:
  bool step(std::size_t rank) {
    const auto steps = schedules_[rank].steps(part_);
    if (at_[rank] == steps.size()) return false;
    const Step next = steps[at_[rank]];
    if (next.kind == StepKind::kSend) {
      on_the_way_[{rank, next.peer}].push_back(time_[rank] + 1);
    } else if (next.kind != StepKind::kFold) {
      auto& arriving = on_the_way_[{next.peer, rank}];
      if (arriving.empty()) return false;
      time_[rank] = std::max(time_[rank], arriving.front());
      arriving.pop_front();
    }
    at_[rank] += 1;
    return true;
  }

  std::span<const Schedule> schedules_;
  std::uint32_t part_;
  std::vector<std::size_t> at_;
  std::vector<int> time_;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<int>> on_the_way_;  // from, to
};

}  // namespace

Result<Cost> cost_of(std::span<const Schedule> schedules) {
  Cost cost;
  std::vector<std::uint64_t> sent(schedules.size()), received(schedules.size());
  for (std::uint32_t part = 0; part < schedules[0].parts(); ++part) {
    ORRERY_TRY(const int steps, Follower(schedules, part).steps());
    cost.steps = std::max(cost.steps, steps);
    for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
      if (schedules[rank].parts() != schedules[0].parts() || schedules[rank].range(part) != schedules[0].range(part)) {
        return Error::internal(fmt::format("rank {} has other parts than rank 0", rank));
      }
      for (const Step& step : schedules[rank].steps(part)) {
        const std::uint64_t bytes = schedules[rank].range(part).size();
        if (step.kind == StepKind::kSend) {
          sent[rank] += bytes;
          cost.messages += 1;
        } else if (step.kind != StepKind::kFold) {
          received[rank] += bytes;
        }
      }
    }
  }
  cost.sent_bytes_max = *std::max_element(sent.begin(), sent.end());
  cost.received_bytes_max = *std::max_element(received.begin(), received.end());
  return cost;
}

}  // namespace orrery::elastic::net
