#pragma once
// SHA-256 (FIPS 180-4), and HMAC (RFC 2104) on it, the proof that one knows a secret.

#include <string>
#include <string_view>

namespace orrery {

inline constexpr std::size_t kSha256Bytes = 32;

// kSha256Bytes bytes.
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// Takes as long for texts that differ as for those that do not.
bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace orrery
