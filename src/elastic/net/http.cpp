#include "elastic/net/http.h"

#include <algorithm>
#include <fmt/format.h>

namespace orrery::elastic::net {

namespace {

constexpr std::string_view kEnd = "\r\n\r\n";

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// RFC 9110, 5.6.2.
bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter_or_digit(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The part before the first `mark`; `rest` is what follows it, empty if there is none.
std::string_view cut(std::string_view text, std::string_view mark, std::string_view& rest) {
  const std::size_t at = text.find(mark);
  rest = at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
  return text.substr(0, at);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0) return std::nullopt;
    result += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return result;
}

bool read_query(std::string_view text, HttpRequest& into) {
  while (!text.empty()) {
    std::string_view value;
    const std::string_view one = cut(text, "&", text);
    const auto name = decoded(cut(one, "=", value));
    const auto content = decoded(value);
    if (!name || name->empty() || !content || !into.query.emplace(*name, *content).second) return false;
  }
  return true;
}

// "GET /job?a=b HTTP/1.1".
std::optional<HttpAnswer> read_first_line(std::string_view line, HttpRequest& into) {
  std::string_view rest, version, query;
  into.method = cut(line, " ", rest);
  const std::string_view target = cut(rest, " ", version);
  if (!is_token(into.method) || !target.starts_with('/') || !is_visible(target)) {
    return HttpAnswer{400, "the first line is none of HTTP: expected METHOD /PATH HTTP/1.1\n"};
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return HttpAnswer{505, "only HTTP/1.1 and 1.0 are spoken here\n"};
  const auto path = decoded(cut(target, "?", query));
  if (!path || !read_query(query, into)) return HttpAnswer{400, "a path or query that cannot be read\n"};
  into.path = *path;
  return std::nullopt;
}

std::optional<HttpAnswer> read_header(std::string_view line, HttpRequest& into) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  // A line that begins with a space would continue the one before: the standard has withdrawn this, and it is refused
  // here.
  if (colon == std::string_view::npos || !is_token(name)) return HttpAnswer{400, "a header without a sound name\n"};
  const std::string_view value = trimmed(line.substr(colon + 1));
  const bool is_sound = std::all_of(value.begin(), value.end(), [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
  });
  if (!is_sound) return HttpAnswer{400, "a header with a value that is no text\n"};
  if (into.headers.size() == kHttpHeadersMax) return HttpAnswer{431, "too many headers\n"};
  if (!into.headers.emplace(lower(name), value).second) return HttpAnswer{400, "a header twice\n"};
  return std::nullopt;
}

std::string_view reason(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

}  // namespace

std::string HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

HttpRead read_http(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kHttpRequestBytesMax).find(kEnd);
  if (end == std::string_view::npos) {
    if (bytes.size() < kHttpRequestBytesMax) return {};
    return {.refusal = HttpAnswer{431, fmt::format("more than {} bytes of headers\n", kHttpRequestBytesMax)}};
  }
  HttpRequest request;
  std::string_view rest;
  auto refusal = read_first_line(cut(bytes.substr(0, end), "\r\n", rest), request);
  while (!refusal && !rest.empty()) refusal = read_header(cut(rest, "\r\n", rest), request);
  const std::string length = request.header("content-length");
  if (!refusal && ((!length.empty() && length != "0") || request.headers.contains("transfer-encoding"))) {
    refusal = HttpAnswer{413, "requests have no body here\n"};
  }
  if (refusal) return {.refusal = std::move(refusal)};
  return {.request = std::move(request)};
}

std::string to_bytes(const HttpAnswer& answer) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: "
      "close\r\n\r\n{}",
      answer.code, reason(answer.code), answer.type, answer.body.size(), answer.body);
}

}  // namespace orrery::elastic::net
