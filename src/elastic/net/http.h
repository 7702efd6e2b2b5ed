#pragma once
// The part of HTTP/1.1 (RFC 9112) that a status page and a few requests need: one request without a body per
// connection, then one answer, then the end. It is strict and bounded: everything doubtful is refused. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::elastic::net {

inline constexpr std::size_t kHttpRequestBytesMax = 8 << 10;
inline constexpr std::size_t kHttpHeadersMax = 64;

struct HttpRequest {
  std::string method{};                          // "GET"
  std::string path{};                            // "/job", decoded
  std::map<std::string, std::string> query{};    // decoded, each name once
  std::map<std::string, std::string> headers{};  // names in lower case, each once
  bool is_from_our_user = false;                 // as the kernel reports it (peer_user.h)

  // Empty if there is none.
  std::string header(const std::string& name) const;
};

struct HttpAnswer {
  int code = 200;
  std::string body{};
  std::string type = "text/plain; charset=utf-8";
};

// The state of the bytes so far: incomplete, a request, or why they are refused.
struct HttpRead {
  std::optional<HttpRequest> request{};
  std::optional<HttpAnswer> refusal{};
};
HttpRead read_http(std::string_view bytes);

// The whole answer with its headers.
std::string to_bytes(const HttpAnswer& answer);

}  // namespace orrery::elastic::net
