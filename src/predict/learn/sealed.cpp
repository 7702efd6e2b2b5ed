#include "predict/learn/sealed.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/random.h"

namespace orrery::predict {

std::string seal(const SealedKind& kind, std::string_view body) {
  ByteWriter head;
  head.u32(kind.version);
  head.u64(body.size());
  head.u64(hash64(body));
  return fmt::format("{}\n{}{}", kind.name, head.bytes(), body);
}

namespace {

struct Opened {
  std::string_view body;
  std::uint64_t hash = 0;
};

Result<Opened> open(const SealedKind& kind, std::string_view bytes) {
  if (!bytes.starts_with(kind.name) || !bytes.substr(kind.name.size()).starts_with('\n')) {
    return Error::invalid(fmt::format("not a {} of this program ({} makes one)", kind.noun, kind.made_by));
  }
  bytes.remove_prefix(kind.name.size() + 1);
  ByteReader head(bytes);
  ORRERY_TRY(const std::uint32_t version, head.u32());
  if (version != kind.version) {
    return Error::unsupported(
        fmt::format("a {} of version {}; this program reads version {}", kind.noun, version, kind.version));
  }
  ORRERY_TRY(const std::uint64_t size, head.u64());
  ORRERY_TRY(const std::uint64_t hash, head.u64());
  bytes.remove_prefix(head.offset());
  if (bytes.size() != size) return Error::invalid(fmt::format("cut: {} bytes of {}", bytes.size(), size));
  return Opened{bytes, hash};
}

}  // namespace

Result<std::string_view> unseal(const SealedKind& kind, std::string_view bytes) {
  ORRERY_TRY(const Opened opened, open(kind, bytes));
  if (hash64(opened.body) != opened.hash) return Error::invalid("damaged: its bytes do not match their hash");
  return opened.body;
}

Result<std::string_view> peek(const SealedKind& kind, std::string_view bytes) {
  ORRERY_TRY(const Opened opened, open(kind, bytes));
  return opened.body;
}

}  // namespace orrery::predict
