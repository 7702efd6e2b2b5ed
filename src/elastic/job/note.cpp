#include "elastic/job/note.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::elastic {

namespace {

// A message of workers begins with the id of its sender, which is not 0. The last byte is the version of notes.
constexpr std::string_view kMark("\0\0\0\0\0\0\0\0\2", 9);
constexpr std::array<std::string_view, 6> kStates = {"starting", "waiting", "joining", "worker", "leaving", "ended"};

}  // namespace

std::string_view to_string(ProcessState state) {
  return kStates[static_cast<std::size_t>(state)];
}

std::string encode(const Note& note) {
  return std::string(kMark) + orrery::encode(note);
}

bool is_note(std::string_view bytes) {
  return bytes.starts_with(kMark);
}

Result<Note> decode_note(std::string_view bytes) {
  if (!is_note(bytes)) return Error::invalid("not a note of this version");
  return decode<Note>(bytes.substr(kMark.size()));
}

Status check_job_name(std::string_view name) {
  constexpr std::size_t kLongest = 40;
  const bool is_sound = !name.empty() && name.size() <= kLongest && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  });
  if (is_sound) return {};
  return Error::invalid(fmt::format("a job cannot be called {}; expected 1 to {} letters, digits, '.', '-' and '_'",
                                    quote(name), kLongest));
}

}  // namespace orrery::elastic
