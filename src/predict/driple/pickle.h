#pragma once
// Reads Python pickles (protocol 2, as PyTorch writes them) as data. Nothing is executed: a call is kept as the name of
// what would be called and its arguments.
//
// The result is a list of nodes that refer to each other by place; a pickle may refer to itself, so code that walks it
// must bound the depth. Memory is linear in the size of the pickle.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace orrery::predict {

enum class PickleKind { kNone, kBool, kInteger, kNumber, kText, kTuple, kList, kDict, kGlobal, kCall, kPersistent };

struct PickleNode {
  PickleKind kind = PickleKind::kNone;
  std::int64_t integer = 0;  // kInteger; kBool: 0 or 1
  double number = 0;
  std::string text{};  // kText; kGlobal: "module name"
  // kTuple, kList: the elements. kCall: what is called, then the tuple of its arguments. kPersistent: the identity.
  std::vector<std::uint32_t> items{};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> entries{};  // of kDict, or of the kCall that made a dictionary
};

struct Pickle {
  std::vector<PickleNode> nodes;
  std::uint32_t root = 0;
};

inline constexpr std::size_t kPickleTextMax = 4096;
inline constexpr std::size_t kPickleNodesMax = 1 << 20;

// Errors name the offset. An instruction PyTorch does not use is kUnsupported.
Result<Pickle> parse_pickle(std::string_view bytes);

}  // namespace orrery::predict
