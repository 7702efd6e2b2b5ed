// Any bytes are an order between launcher and agent that encodes back to the same bytes, or an error; any stream of
// bytes is cut into messages, or refused.

#include <cstdint>
#include <cstdlib>

#include "elastic/job/order.h"
#include "elastic/net/stream.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::elastic;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto order = decode_order(bytes);
  if (order && encode(*order) != bytes) std::abort();
  if (!order && order.error().message().empty()) std::abort();
  net::Splitter splitter(1000);
  for (std::size_t at = 0; at < size; at += 7) {
    splitter.push(bytes.substr(at, 7));
    for (auto message = splitter.take(); message && *message; message = splitter.take()) {
      if ((*message)->empty() || (*message)->size() > 1000) std::abort();
    }
  }
  return 0;
}
