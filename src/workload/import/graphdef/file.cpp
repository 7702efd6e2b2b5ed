#include "workload/import/graphdef/file.h"

#include <algorithm>
#include <array>

namespace orrery::workload {

bool looks_like_graphdef_text(std::string_view beginning) {
  constexpr std::string_view kSpace = " \t\r\n";
  while (true) {
    beginning.remove_prefix(std::min(beginning.find_first_not_of(kSpace), beginning.size()));
    if (!beginning.starts_with('#')) break;
    beginning.remove_prefix(std::min(beginning.find('\n'), beginning.size()));
  }
  for (const std::string_view field : {"node", "versions", "version", "library"}) {
    if (!beginning.starts_with(field) || beginning.size() == field.size()) continue;
    const char next = beginning[field.size()];
    if (next == '{' || next == ':' || kSpace.find(next) != std::string_view::npos) return true;
  }
  return false;
}

bool is_binary_file(std::string_view beginning) {
  return std::any_of(beginning.begin(), beginning.end(),
                     [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r'; });
}

Result<GraphDef> read_graphdef(env::Files& files, const std::string& path) {
  ORRERY_TRY(const auto file, files.open(path));
  std::array<char, 4096> beginning{};
  ORRERY_TRY(const std::size_t got, file->read_at(0, beginning));
  // Errors of a text name the line, so whatever is text is read as such.
  if (!is_binary_file(std::string_view(beginning.data(), got))) {
    ORRERY_TRY(const std::string text, files.read(path, kGraphDefTextFileMax));
    return parse_graphdef_text(text);
  }
  import::ByteSource source(*file);
  return parse_graphdef_binary(source);
}

}  // namespace orrery::workload
