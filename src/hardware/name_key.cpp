#include "hardware/name_key.h"

#include <array>

#include "base/text.h"

namespace orrery::hardware {
namespace {

constexpr std::array<std::string_view, 10> kBrandWords = {"nvidia", "tesla", "geforce",  "quadro", "amd",
                                                          "radeon", "intel", "instinct", "google", "habana"};

// The brand word with which `key` starts, or nothing.
std::string_view leading_brand(std::string_view key) {
  for (const std::string_view brand : kBrandWords) {
    if (key.starts_with(brand)) return brand;
  }
  return {};
}

}  // namespace

std::string name_key(std::string_view name) {
  std::string key = to_lower(name);
  std::erase_if(key, [](char c) { return std::string_view(" -_()/").find(c) != std::string_view::npos; });
  for (std::string_view brand = leading_brand(key); !brand.empty(); brand = leading_brand(key)) {
    key.erase(0, brand.size());
  }
  return key;
}

}  // namespace orrery::hardware
