#pragma once
// What a long operation tells while it runs, and how it is asked to stop. One that nobody watches gets a Watch as it is.

#include <cstdint>
#include <string>

namespace orrery::service {

// Called from threads of the operation, one at a time.
class Watch {
 public:
  virtual ~Watch() = default;

  // `total` is the amount of work; 0: it is not known. A unit is "visits", "steps".
  virtual void begin(const std::string& /*activity*/, std::int64_t /*total*/, const std::string& /*unit*/) {}
  // So much is done by now, of it so much by an earlier run.
  virtual void at(std::int64_t /*done*/, std::int64_t /*earlier*/ = 0) {}
  virtual void finish() {}
  // A line for people about something that the answer does not hold.
  virtual void note(const std::string& /*line*/) {}
  virtual bool stopped() { return false; }
};

}  // namespace orrery::service
