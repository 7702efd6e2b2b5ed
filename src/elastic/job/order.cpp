#include "elastic/job/order.h"

#include <fmt/format.h>

namespace orrery::elastic {

std::string encode(const Order& order) {
  return orrery::encode(order);
}

Result<Order> decode_order(std::string_view bytes) {
  if (bytes.size() > kOrderBytesMax) return Error::invalid(fmt::format("an order of {} bytes", bytes.size()));
  return decode<Order>(bytes);
}

}  // namespace orrery::elastic
