#include "env/peer_user.h"

#include <array>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "base/text.h"
#include "env/real_files.h"

namespace orrery::env {

namespace {

constexpr Bytes kTableMax = mebibytes(256);
constexpr std::string_view kEstablished = "01";

// One end of a connection.
struct End {
  std::array<std::uint32_t, 4> words{};  // the address, as it lies in memory
  std::size_t count = 0;                 // of words: 1 or 4
  std::uint16_t port = 0;
};

std::optional<End> end_of(const sockaddr_storage& address) {
  End end;
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    end.count = 1;
    end.words[0] = four.sin_addr.s_addr;
    end.port = ntohs(four.sin_port);
    return end;
  }
  if (address.ss_family != AF_INET6) return std::nullopt;
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  end.port = ntohs(six.sin6_port);
  std::memcpy(end.words.data(), &six.sin6_addr, sizeof six.sin6_addr);
  end.count = 4;
  if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) end = {{end.words[3]}, 1, end.port};
  return end;
}

std::string text_of(const End& end, bool as_mapped) {
  std::string text;
  if (as_mapped) text = fmt::format("{:08X}{:08X}{:08X}", 0, 0, htonl(0xffff));
  for (std::size_t i = 0; i < end.count; ++i) text += fmt::format("{:08X}", end.words[i]);
  return fmt::format("{}:{:04X}", text, end.port);
}

bool is_loopback(const End& end) {
  if (end.count == 1) return (ntohl(end.words[0]) >> 24) == 127;
  return std::memcmp(end.words.data(), &in6addr_loopback, sizeof in6addr_loopback) == 0;
}

std::optional<End> own_end(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return std::nullopt;
  return end_of(address);
}

std::optional<End> other_end(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return std::nullopt;
  return end_of(address);
}

std::optional<std::uint32_t> number_in(const std::string& word) {
  std::uint32_t number = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
  return failure == std::errc() && end == word.data() + word.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> owner_in(std::string_view table, std::string_view local, std::string_view remote) {
  for (const std::string& line : split(table, '\n')) {
    if (line.find(local) == std::string::npos) continue;
    std::vector<std::string> words;
    for (std::string& word : split(line, ' ')) {
      if (!word.empty()) words.push_back(std::move(word));
    }
    // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
    if (words.size() < 10 || words[1] != local || words[2] != remote) continue;
    if (words[3] != kEstablished || words[9] == "0") continue;
    return number_in(words[7]);
  }
  return std::nullopt;
}

std::optional<std::uint32_t> peer_user(int socket) {
  const std::optional<End> own = own_end(socket), other = other_end(socket);
  if (!own || !other || !is_loopback(*own) || !is_loopback(*other) || own->count != other->count) return std::nullopt;
  RealFiles files;
  const auto look = [&](const char* path, bool as_mapped) -> std::optional<std::uint32_t> {
    const auto table = files.read(path, kTableMax);
    return table ? owner_in(*table, text_of(*other, as_mapped), text_of(*own, as_mapped)) : std::nullopt;
  };
  if (own->count == 4) return look("/proc/net/tcp6", false);
  const std::optional<std::uint32_t> found = look("/proc/net/tcp", false);
  return found ? found : look("/proc/net/tcp6", true);
}

bool is_peer_our_user(int socket) {
  return peer_user(socket) == std::optional<std::uint32_t>(::geteuid());
}

bool is_bound_to_loopback(int socket) {
  const std::optional<End> own = own_end(socket);
  return own && is_loopback(*own);
}

}  // namespace orrery::env
