#pragma once
// The messages between a launcher and the agents of hosts, over one channel per job and host (env/channel).
//
//   launcher                      agent
//   OpenJob            ------->   makes memory, reserves ports
//                      <-------   JobOpened: where processes on this host can be reached
//   StartOrder         ------->   Started, and later HasEnded
//   EndOrder, Posted   ------->
//                      <-------   Printed, Posted
//   CloseJob           ------->   ends what is left
//
// A broken connection ends nothing: processes continue, and the launcher opens the job again when it can. The agent
// then tells it once more which processes have ended.

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/codec.h"
#include "base/units.h"
#include "elastic/membership/membership.h"

namespace orrery::elastic {

// What channels for orders are about; the number is the version of the orders.
inline constexpr std::string_view kOrdersAbout = "orders 3";
inline constexpr std::size_t kOrderBytesMax = 1 << 20;
// A machine that does not answer for so long is not reached.
inline constexpr Seconds kOrdersSilenceMax{5};

struct OpenJob {
  std::string job{};        // its name on that host
  std::uint64_t run = 0;    // distinguishes launchers that use the same name
  std::uint32_t slots = 1;  // for processes on that host at the same time
  std::uint64_t arena_bytes = 0;
  void exchange(Codec& fields) { fields(job, run, slots, arena_bytes); }
  friend bool operator==(const OpenJob&, const OpenJob&) = default;
};
struct JobOpened {
  std::string problem{};                 // empty: it is open
  std::vector<std::string> addresses{};  // by slot
  void exchange(Codec& fields) { fields(problem, addresses); }
  friend bool operator==(const JobOpened&, const JobOpened&) = default;
};
struct StartOrder {
  WorkerId worker = 0;
  std::vector<std::string> argv{};
  std::map<std::string, std::string> environment{};  // the agent adds where its memory is
  void exchange(Codec& fields) {
    fields(worker, argv, environment);
    fields.expect(!argv.empty(), "an order to start nothing");
  }
  friend bool operator==(const StartOrder&, const StartOrder&) = default;
};
struct Started {
  WorkerId worker = 0;
  std::uint64_t process = 0;
  std::string problem{};  // empty: it runs
  void exchange(Codec& fields) { fields(worker, process, problem); }
  friend bool operator==(const Started&, const Started&) = default;
};
struct EndOrder {
  WorkerId worker = 0;
  std::uint32_t signal = 9;
  void exchange(Codec& fields) {
    fields(worker, signal);
    fields.expect(signal == 9 || signal == 15, "another signal than 9 and 15");
  }
  friend bool operator==(const EndOrder&, const EndOrder&) = default;
};
struct HasEnded {
  WorkerId worker = 0;
  std::uint32_t code = 0, signal = 0;
  void exchange(Codec& fields) {
    fields(worker, code, signal);
    fields.expect(code <= 255 && signal <= 64, "an end that no process has");
  }
  friend bool operator==(const HasEnded&, const HasEnded&) = default;
};
struct Printed {  // whole lines, or a part of a long one
  bool is_error = false;
  std::string text{};
  void exchange(Codec& fields) { fields(is_error, text); }
  friend bool operator==(const Printed&, const Printed&) = default;
};
struct Posted {  // a note, to or from a mailbox of that host
  std::uint64_t name = 0;
  std::string bytes{};
  void exchange(Codec& fields) { fields(name, bytes); }
  friend bool operator==(const Posted&, const Posted&) = default;
};
struct CloseJob {
  void exchange(Codec&) {}
  friend bool operator==(const CloseJob&, const CloseJob&) = default;
};

using Order = std::variant<OpenJob, JobOpened, StartOrder, Started, EndOrder, HasEnded, Printed, Posted, CloseJob>;

std::string encode(const Order& order);
// Any bytes give an order that encodes to the same bytes, or an error.
Result<Order> decode_order(std::string_view bytes);

}  // namespace orrery::elastic
