// Any bytes are an order between launcher and agent that encodes back to the same bytes, or an error.

#include <cstdint>
#include <cstdlib>

#include "elastic/job/order.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::elastic;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto order = decode_order(bytes);
  if (order && encode(*order) != bytes) std::abort();
  if (!order && order.error().message().empty()) std::abort();
  return 0;
}
