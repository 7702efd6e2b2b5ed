#include "env/sockets.h"

#include <charconv>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::env {

std::string to_string(const Address& address) {
  return fmt::format("{}:{}", address.host, address.port);
}

Result<Address> parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  Address address;
  if (colon != std::string_view::npos && colon > 0) {
    address.host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    const auto [end, failure] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (failure == std::errc() && end == port.data() + port.size()) return address;
  }
  return Error::invalid(fmt::format("{}: expected HOST:PORT", quote(text)));
}

Error timed_out(const std::string& what, Seconds timeout) {
  return Error::unavailable(fmt::format("{}: timed out after {}", what, format_seconds(timeout)));
}

Status receive_exactly(Connection& connection, std::span<char> buffer, Seconds timeout) {
  const std::size_t wanted = buffer.size();
  while (!buffer.empty()) {
    ORRERY_TRY(const std::size_t got, connection.receive(buffer, timeout));
    if (got == 0)
      return Error::unavailable(fmt::format("{} closed the connection after {} of {} bytes",
                                            to_string(connection.peer()), wanted - buffer.size(), wanted));
    buffer = buffer.subspan(got);
  }
  return {};
}

}  // namespace orrery::env
