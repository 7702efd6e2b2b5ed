#pragma once
// What a provider asks for a machine with devices.
//
// The built-in list is a snapshot of public on-demand list prices, each with the month it was noted. Prices move, and
// shapes are withdrawn (the K80 ones are): treat it as an example with realistic ratios. A plan that spends money
// should be given a current catalogue instead.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace orrery::hardware {

// From the built-in list or from a catalogue (catalog.h).
struct Offer {
  std::string provider;
  std::string instance;
  std::string device;                  // a name of device.h; empty: a device that is not in our table
  int device_count = 1;                // whole devices; 0: a slice of one, see device_share
  DollarsPerHour price;                // of the whole machine, on demand
  std::optional<DollarsPerHour> spot;  // may be taken away. Empty: not sold, or an auction
  int vcpus = 0;                       // 0: not given
  Bytes memory;                        // of the host; 0: not given
  std::string region;                  // empty: not given
  std::string date;                    // YYYY-MM or YYYY-MM-DD; empty: not given
  std::string accelerator = {};        // what the provider calls the device; empty: as we do
  double device_share = 1;             // of a slice: which part of the device it is; otherwise 1
  Bytes device_memory = {};            // of one device or slice; 0: not given, or as in our table
  bool odd_price = false;              // too far from other offers to be plausible
};

std::span<const Offer> built_in_offers();

// Of a slice: what the whole device would cost at its rate.
DollarsPerHour price_per_device(const Offer& offer);
std::optional<DollarsPerHour> spot_per_device(const Offer& offer);

// Machines of this offer, which has whole devices, needed for `devices` devices (> 0), and what they cost together.
int machines_needed(const Offer& offer, int devices);
DollarsPerHour price_for(const Offer& offer, int devices);

// The built-in offers of a device (name or alias), cheapest per device first; ties by provider, then instance.
Result<std::vector<Offer>> offers_for(std::string_view device);

// The offer that gives at least `devices` devices for the least money in whole machines; ties go to the one with
// fewer machines, then to the order of offers_for.
Result<Offer> cheapest_offer(std::string_view device, int devices);

}  // namespace orrery::hardware
