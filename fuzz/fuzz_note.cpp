// Any bytes are a note between a launcher and its processes that encodes to them, or an error with a reason; and no
// note makes a launcher's books fall over.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "elastic/host/mailbox.h"
#include "elastic/job/roster.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::elastic;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)open_mailboxes(text);
  (void)check_job_name(text);
  const auto note = decode_note(std::string(8, '\0') + '\2' + std::string(text));
  if (!note && note.error().message().empty()) std::abort();
  if (!note) return 0;
  if (encode(*note).substr(9) != text) std::abort();
  Roster roster({.job = "fuzz", .size = 2, .size_max = 4, .standby = 1, .slots = 9});
  if (const auto* const ready = std::get_if<Ready>(&*note)) roster.on(*ready);
  if (const auto* const report = std::get_if<Report>(&*note)) roster.on(*report);
  if (const auto* const ask = std::get_if<AskLauncher>(&*note)) {
    (void)roster.resize(ask->size);
    (void)roster.stop(ask->worker);
  }
  if (roster.take_actions().empty()) std::abort();
  return 0;
}
