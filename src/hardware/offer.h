#pragma once
// What a provider asks for a machine with devices.
//
// The built-in list is a snapshot of public on-demand list prices, each with the month it was noted. Prices move, and
// shapes are withdrawn (the K80 ones are): treat it as an example with realistic ratios. A plan that spends money
// should be given a current catalogue instead.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace orrery::hardware {

struct Offer {
  std::string_view provider;
  std::string_view instance;
  std::string_view device;  // a name of device.h
  int device_count = 1;
  DollarsPerHour price;                // of the whole machine, on demand
  std::optional<DollarsPerHour> spot;  // may be taken away. Empty: not sold, or an auction
  int vcpus = 0;
  Bytes memory;
  std::string_view region;
  std::string_view date;  // YYYY-MM
};

std::span<const Offer> built_in_offers();

DollarsPerHour price_per_device(const Offer& offer);

// Machines of this offer needed for `devices` devices (> 0), and what they cost together.
int machines_needed(const Offer& offer, int devices);
DollarsPerHour price_for(const Offer& offer, int devices);

// The built-in offers of a device (name or alias), cheapest per device first; ties by provider, then instance.
Result<std::vector<Offer>> offers_for(std::string_view device);

// The offer that gives at least `devices` devices for the least money in whole machines; ties go to the one with
// fewer machines, then to the order of offers_for.
Result<Offer> cheapest_offer(std::string_view device, int devices);

}  // namespace orrery::hardware
