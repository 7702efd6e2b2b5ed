#pragma once
// The envelope of files of learned models (docs/reference/formats/model.md): the kind's name and a line feed, version,
// length and FNV-1a hash of the rest as little-endian numbers, then the rest. unseal returns what was given to seal.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace orrery::predict {

struct SealedKind {
  std::string_view name;     // "orrery-model"
  std::uint32_t version;     // no other is read
  std::string_view noun;     // "model", for messages
  std::string_view made_by;  // the command that makes one
};

std::string seal(const SealedKind& kind, std::string_view body);
// A view into `bytes`. Another kind or version, cut, damaged or with bytes behind its end: an error that names the
// problem.
Result<std::string_view> unseal(const SealedKind& kind, std::string_view bytes);
// The same without the hash, which is most of the work: for what is only looked at, to find out whether it is wanted.
Result<std::string_view> peek(const SealedKind& kind, std::string_view bytes);

}  // namespace orrery::predict
