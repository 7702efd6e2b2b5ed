#include "hardware/offer.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "base/check.h"
#include "hardware/device.h"

namespace orrery::hardware {

namespace {

double devices_of(const Offer& offer) {
  return offer.device_count > 0 ? offer.device_count : offer.device_share;
}

}  // namespace

DollarsPerHour price_per_device(const Offer& offer) {
  return offer.price / devices_of(offer);
}

std::optional<DollarsPerHour> spot_per_device(const Offer& offer) {
  if (!offer.spot) return std::nullopt;
  return *offer.spot / devices_of(offer);
}

int machines_needed(const Offer& offer, int devices) {
  ORRERY_CHECK(devices > 0 && offer.device_count > 0);
  return (devices - 1) / offer.device_count + 1;
}

DollarsPerHour price_for(const Offer& offer, int devices) {
  return offer.price * machines_needed(offer, devices);
}

Result<std::vector<Offer>> offers_for(std::string_view device) {
  ORRERY_TRY(const Device* found, find_device(device));
  std::vector<Offer> offers;
  for (const Offer& offer : built_in_offers()) {
    if (offer.device == found->name) offers.push_back(offer);
  }
  const auto order = [](const Offer& offer) {
    return std::tuple(price_per_device(offer).value(), std::string_view(offer.provider),
                      std::string_view(offer.instance));
  };
  std::sort(offers.begin(), offers.end(), [&](const Offer& a, const Offer& b) { return order(a) < order(b); });
  return offers;
}

Result<Offer> cheapest_offer(std::string_view device, int devices) {
  if (devices < 1) return Error::invalid(fmt::format("devices: {} is out of range; expected at least 1", devices));
  ORRERY_TRY(const std::vector<Offer> offers, offers_for(device));
  if (offers.empty()) return Error::not_found(fmt::format("no provider in the built-in list offers {}", device));
  const auto cost = [devices](const Offer& offer) {
    return std::tuple(price_for(offer, devices).value(), machines_needed(offer, devices));
  };
  return *std::min_element(offers.begin(), offers.end(),
                           [&](const Offer& a, const Offer& b) { return cost(a) < cost(b); });
}

}  // namespace orrery::hardware
