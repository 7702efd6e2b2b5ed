// Any bytes are a frame header that encodes back to the same bytes, or an error; any text of /proc and any report of a
// process likewise gives a value or an error.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "profile/distributed/frame.h"
#include "profile/distributed/report.h"
#include "profile/proc_text.h"

namespace {

template <class T>
void require_reason(const orrery::Result<T>& result) {
  if (!result && result.error().message().empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::profile;
  constexpr std::uint64_t kLimit = 1 << 20;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  FrameHeaderBytes bytes{};
  std::copy_n(text.begin(), std::min(size, bytes.size()), bytes.begin());
  const auto header = decode(bytes, kLimit);
  require_reason(header);
  if (header && (header->length > kLimit || encode(*header) != bytes)) std::abort();
  require_reason(parse_worker_report(text));
  require_reason(parse_server_report(text));
  require_reason(parse_cpu(text));
  require_reason(parse_process_ticks(text));
  require_reason(parse_process_id(text));
  require_reason(parse_resident(text));
  require_reason(parse_interfaces(text));
  require_reason(parse_process_disk(text));
  require_reason(parse_disks(text));
  return 0;
}
