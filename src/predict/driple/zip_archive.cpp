#include "predict/driple/zip_archive.h"

#include <fmt/format.h>
#include <zlib.h>

#include "base/text.h"

namespace orrery::predict {

namespace {

// APPNOTE.TXT of PKWARE, sections 4.3.7 (local header), 4.3.12 (directory), 4.3.16 (end of directory).
constexpr std::string_view kLocal = "PK\x03\x04", kEntry = "PK\x01\x02", kEnd = "PK\x05\x06";
constexpr std::size_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22;
constexpr std::size_t kCommentMax = 65'535;
constexpr std::uint64_t kStored = 0, kEncrypted = 1;

// A little-endian number of `size` bytes. Precondition: it is inside.
std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

bool holds(std::string_view bytes, std::size_t at, std::size_t size) {
  return at <= bytes.size() && size <= bytes.size() - at;
}

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

struct Entry {
  std::string name;
  std::string_view content;
  std::size_t next = 0;  // where the directory continues
};

Result<Entry> read_entry(std::string_view bytes, std::size_t at) {
  if (!holds(bytes, at, kEntryBytes) || bytes.substr(at, 4) != kEntry) {
    return Error::invalid(fmt::format("the archive's directory is damaged at byte {}", at));
  }
  const std::size_t name_bytes = number(bytes, at + 28, 2);
  const std::size_t rest = number(bytes, at + 30, 2) + number(bytes, at + 32, 2);
  if (!holds(bytes, at + kEntryBytes, name_bytes + rest)) return Error::invalid("the archive's directory is cut");
  Entry entry;
  entry.name = bytes.substr(at + kEntryBytes, name_bytes);
  entry.next = at + kEntryBytes + name_bytes + rest;
  if ((number(bytes, at + 8, 2) & kEncrypted) != 0 || number(bytes, at + 10, 2) != kStored) {
    return Error::unsupported(fmt::format("{} is packed or encrypted", quote(entry.name)));
  }
  const std::size_t size = number(bytes, at + 20, 4), local = number(bytes, at + 42, 4);
  if (!holds(bytes, local, kLocalBytes) || bytes.substr(local, 4) != kLocal) {
    return Error::invalid(fmt::format("{} is not where the archive's directory says", quote(entry.name)));
  }
  const std::size_t begin = local + kLocalBytes + number(bytes, local + 26, 2) + number(bytes, local + 28, 2);
  if (!holds(bytes, begin, size)) return Error::invalid(fmt::format("{} is cut", quote(entry.name)));
  entry.content = bytes.substr(begin, size);
  if (checksum(entry.content) != number(bytes, at + 16, 4)) {
    return Error::invalid(fmt::format("{} is damaged: its checksum differs", quote(entry.name)));
  }
  return entry;
}

}  // namespace

Result<std::map<std::string, std::string_view>> parse_zip(std::string_view bytes) {
  const std::size_t first = bytes.size() > kEndBytes + kCommentMax ? bytes.size() - kEndBytes - kCommentMax : 0;
  const std::size_t end = bytes.rfind(kEnd);
  if (end == std::string_view::npos || end < first || !holds(bytes, end, kEndBytes)) {
    return Error::invalid("not a ZIP archive, or cut short");
  }
  const std::size_t count = number(bytes, end + 10, 2);
  std::size_t at = number(bytes, end + 16, 4);
  std::map<std::string, std::string_view> files;
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ORRERY_TRY(Entry entry, read_entry(bytes, at));
    at = entry.next;
    // Entries may not share bytes: a small file must not cause a large amount of work.
    total += entry.content.size();
    if (total > bytes.size()) return Error::invalid("the archive's files overlap");
    const std::string name = entry.name;
    if (!files.emplace(std::move(entry.name), entry.content).second) {
      return Error::invalid(fmt::format("two files are named {}", quote(name)));
    }
  }
  return files;
}

}  // namespace orrery::predict
