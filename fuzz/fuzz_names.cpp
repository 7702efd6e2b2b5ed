// Whatever a user types as the name of a device, link or machine gets an answer: a match or an error with a message.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hardware/offer.h"
#include "hardware/placement.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::hardware;
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const auto device = find_device(name);
  if (!device && device.error().message().empty()) std::abort();
  // Every known device can be placed, and what is offered can be priced.
  if (device && !make_placement(**device, 16, 8)) std::abort();
  if (device.has_value() != offers_for(name).has_value()) std::abort();
  if (find_link(name) && !make_placement("T4", 2, 1, {.inside = "", .between = name})) std::abort();
  if (const auto machine = find_machine(name); machine && !make_placement(**machine, 3)) std::abort();
  return 0;
}
