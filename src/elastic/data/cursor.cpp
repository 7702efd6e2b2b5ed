#include "elastic/data/cursor.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "base/check.h"
#include "base/random.h"

namespace orrery::elastic {

Status check(const DataCursor& cursor) {
  if (cursor.samples == 0) return Error::invalid("a data set without samples");
  if (cursor.offset >= cursor.samples) {
    return Error::invalid(fmt::format("a data cursor at {} of {} samples", cursor.offset, cursor.samples));
  }
  return {};
}

DataRange next_batch(const DataCursor& cursor, std::uint64_t batch) {
  const std::uint64_t size = std::min(std::max<std::uint64_t>(batch, 1), cursor.samples - cursor.offset);
  return {cursor.offset, cursor.offset + size};
}

DataCursor advanced(const DataCursor& cursor, std::uint64_t batch) {
  DataCursor next = cursor;
  next.offset = next_batch(cursor, batch).end;
  if (next.offset == next.samples) {
    next.offset = 0;
    next.epoch += 1;
  }
  return next;
}

std::vector<DataRange> split_batch(const DataRange& batch, std::span<const std::uint64_t> shares) {
  __extension__ typedef unsigned __int128 Wide;
  const auto total =
      std::accumulate(shares.begin(), shares.end(), Wide{0}, [](Wide sum, std::uint64_t share) { return sum + share; });
  ORRERY_CHECK(total > 0);
  std::vector<DataRange> parts;
  Wide before = 0;
  const auto cut = [&](Wide at) { return batch.begin + static_cast<std::uint64_t>(at * batch.size() / total); };
  for (const std::uint64_t share : shares) {
    parts.push_back({cut(before), cut(before + share)});
    before += share;
  }
  return parts;
}

Permutation order_of(const DataCursor& cursor) {
  return Permutation(cursor.samples, mix64(cursor.seed ^ mix64(cursor.epoch)));
}

}  // namespace orrery::elastic
