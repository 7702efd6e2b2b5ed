#pragma once
// SHA-256, and HMAC on it: the proof that a process knows a secret. OpenSSL behind a header without it.

#include <string>
#include <string_view>

namespace orrery {

inline constexpr std::size_t kSha256Bytes = 32;

// kSha256Bytes bytes.
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// Takes the same time for texts that differ as for texts that do not.
bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace orrery
