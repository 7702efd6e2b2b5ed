#include "profile/proc_text.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "base/text.h"

namespace orrery::profile {

namespace {

constexpr double kSectorBytes = 512;  // of /proc/diskstats, whatever the disk's own are

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos) return words;
    line.remove_prefix(start);
    words.push_back(line.substr(0, line.find_first_of(" \t")));
    line.remove_prefix(words.back().size());
  }
}

// Takes the next line off `text`.
std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

Result<double> counter(const std::vector<std::string_view>& words, std::size_t index, std::string_view field) {
  if (index >= words.size()) return Error::invalid(fmt::format("{} is missing", field));
  std::uint64_t value = 0;
  const std::string_view word = words[index];
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc() || end != word.data() + word.size()) {
    return Error::invalid(fmt::format("{}: expected a count, found {}", field, quote(word)));
  }
  return static_cast<double>(value);
}

// "name: 12 kB" or "name: 12"
Result<double> named_counter(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.substr(0, colon) != name) continue;
    return counter(words_of(line.substr(colon + 1)), 0, name);
  }
  return Error::invalid(fmt::format("{} is missing", name));
}

Result<CpuTicks> cpu_line(std::string_view line) {
  constexpr std::size_t kFields = 8;  // user nice system idle iowait irq softirq steal; guests are inside user and nice
  constexpr std::size_t kIdle = 3, kWaiting = 4;
  const auto words = words_of(line);
  CpuTicks ticks;
  for (std::size_t i = 0; i < kFields; ++i) {
    ORRERY_TRY(const double value, counter(words, i + 1, "cpu"));
    ticks.total += value;
    if (i != kIdle && i != kWaiting) ticks.busy += value;
  }
  return ticks;
}

// A name may contain spaces and parentheses: the fields begin behind the last one.
Result<std::vector<std::string_view>> fields_behind_name(std::string_view text) {
  const std::size_t end = text.rfind(')');
  if (end == std::string_view::npos) return Error::invalid("the process has no name in parentheses");
  text.remove_prefix(end + 1);
  return words_of(next_line(text));
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// sda1 is a partition of sda, nvme0n1p2 of nvme0n1.
bool is_partition(std::string_view name, const std::vector<std::string_view>& disks) {
  return std::any_of(disks.begin(), disks.end(), [&](std::string_view disk) {
    if (!name.starts_with(disk)) return false;
    const std::string_view rest = name.substr(disk.size());
    return is_number(rest) || (rest.starts_with('p') && is_number(rest.substr(1)));
  });
}

bool is_virtual(std::string_view name) {
  constexpr std::string_view kVirtual[] = {"loop", "ram", "zram", "dm-", "md"};
  return std::any_of(std::begin(kVirtual), std::end(kVirtual), [&](auto start) { return name.starts_with(start); });
}

}  // namespace

Result<CpuTicks> parse_cpu(std::string_view text) {
  std::optional<CpuTicks> all;
  int cores = 0;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (line.starts_with("cpu ")) {
      ORRERY_TRY(all, cpu_line(line));
    } else if (line.starts_with("cpu")) {
      ++cores;
    }
  }
  if (!all || cores == 0) return Error::invalid("no line of all cores (\"cpu …\") and of each (\"cpu0 …\")");
  all->cores = cores;
  return *all;
}

Result<double> parse_process_ticks(std::string_view text) {
  constexpr std::size_t kUser = 11, kSystem = 12;  // fields 14 and 15 of proc(5), behind the name
  ORRERY_TRY(const auto fields, fields_behind_name(text));
  ORRERY_TRY(const double user, counter(fields, kUser, "utime"));
  ORRERY_TRY(const double system, counter(fields, kSystem, "stime"));
  return user + system;
}

Result<std::int64_t> parse_process_id(std::string_view text) {
  ORRERY_TRY(const double id, counter(words_of(next_line(text)), 0, "pid"));
  constexpr double kIdMax = 1 << 30;
  if (id < 1 || id > kIdMax) return Error::invalid("pid is out of range");
  return static_cast<std::int64_t>(id);
}

Result<Bytes> parse_resident(std::string_view text) {
  ORRERY_TRY(const double size, named_counter(text, "VmRSS"));
  return kibibytes(size);
}

Result<std::map<std::string, Traffic>> parse_interfaces(std::string_view text) {
  constexpr std::size_t kReceived = 0, kTransmitted = 8;
  std::map<std::string, Traffic> interfaces;
  next_line(text);  // two lines of headings
  next_line(text);
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const std::size_t colon = line.rfind(':');  // aliases have one in their name
    if (colon == std::string_view::npos) continue;
    const auto words = words_of(line.substr(colon + 1));
    Traffic traffic;
    ORRERY_TRY(traffic.in, counter(words, kReceived, "received bytes"));
    ORRERY_TRY(traffic.out, counter(words, kTransmitted, "transmitted bytes"));
    interfaces[std::string(trim(line.substr(0, colon)))] = traffic;
  }
  return interfaces;
}

Result<Traffic> parse_process_disk(std::string_view text) {
  Traffic traffic;
  ORRERY_TRY(traffic.in, named_counter(text, "read_bytes"));
  ORRERY_TRY(traffic.out, named_counter(text, "write_bytes"));
  return traffic;
}

Result<Traffic> parse_disks(std::string_view text) {
  constexpr std::size_t kName = 2, kRead = 5, kWritten = 9;
  Traffic sum;
  std::vector<std::string_view> disks;  // a disk comes before its partitions
  while (!text.empty()) {
    const auto words = words_of(next_line(text));
    if (words.size() <= kName || is_virtual(words[kName]) || is_partition(words[kName], disks)) continue;
    disks.push_back(words[kName]);
    ORRERY_TRY(const double read, counter(words, kRead, "sectors read"));
    ORRERY_TRY(const double written, counter(words, kWritten, "sectors written"));
    sum.in += read * kSectorBytes;
    sum.out += written * kSectorBytes;
  }
  return sum;
}

}  // namespace orrery::profile
