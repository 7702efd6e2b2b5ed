#pragma once
// The content of the kernel's files under /proc, from their text (proc(5)). Any text gives a value or an error that
// names the field; nothing is read here.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace orrery::profile {

// Clock ticks of all cores since the start of the machine. Waiting for the disk counts as idle.
struct CpuTicks {
  double busy = 0;
  double total = 0;
  int cores = 0;
};

// Bytes since the start of whatever counts them.
struct Traffic {
  double in = 0;   // received, read
  double out = 0;  // transmitted, written

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

Result<CpuTicks> parse_cpu(std::string_view text);                               // /proc/stat
Result<double> parse_process_ticks(std::string_view text);                       // /proc/PID/stat: utime + stime
Result<std::int64_t> parse_process_id(std::string_view text);                    // /proc/PID/stat: the first field
Result<Bytes> parse_resident(std::string_view text);                             // /proc/PID/status: VmRSS
Result<std::map<std::string, Traffic>> parse_interfaces(std::string_view text);  // /proc/PID/net/dev
Result<Traffic> parse_process_disk(std::string_view text);                       // /proc/PID/io: what reached a disk
// /proc/diskstats: the sum over physical disks. Partitions, loop and memory disks, and disks made of other disks (dm,
// md) are left out: their bytes are counted where they end up.
Result<Traffic> parse_disks(std::string_view text);

}  // namespace orrery::profile
