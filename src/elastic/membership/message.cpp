#include "elastic/membership/message.h"

#include <fmt/format.h>

namespace orrery::elastic {

std::string encode(const Message& message) {
  return orrery::encode(message);
}

Result<Message> decode_message(std::string_view bytes) {
  if (bytes.size() > kMessageBytesMax) {
    return Error::invalid(fmt::format("a message of {} bytes; at most {}", bytes.size(), kMessageBytesMax));
  }
  return decode<Message>(bytes);
}

}  // namespace orrery::elastic
