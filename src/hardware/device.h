#pragma once
// One accelerator as its maker describes it, and the built-in table of them.
//
// All values are peaks of ONE device as software sees it: a board with two GPUs (K80, M60, MI250) or four (A16) is
// given per GPU, its power divided likewise. Peaks are dense, never the doubled "with sparsity" values, and at the
// boost clock the maker quotes them at.
//
// 16-bit peaks are for products accumulated in fp32, which is what training uses. On GeForce cards of the Turing and
// later generations that is half the rate that is usually advertised (fp16 accumulate); data-centre and workstation
// cards run both at full rate. P100 and the Vega cards have no such path: their figure is packed fp16 arithmetic.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/precision.h"
#include "base/result.h"
#include "base/units.h"

namespace orrery::hardware {

enum class DeviceKind { kGpu, kAccelerator, kCpu };

std::string_view to_string(DeviceKind kind);

struct Device {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view vendor;
  std::string_view architecture;
  int year = 0;  // of announcement
  DeviceKind kind = DeviceKind::kGpu;

  // Dense matrix peaks. 0: no path faster than fp32, or not supported. Never 0 for fp32.
  FlopsPerSecond fp32;
  FlopsPerSecond tf32;
  FlopsPerSecond fp16;
  FlopsPerSecond bf16;
  // Without matrix units: what element-wise work can reach. 2 × sms × fp32_lanes_per_sm × boost_mhz.
  FlopsPerSecond fp32_vector;

  Bytes memory;
  BytesPerSecond memory_bandwidth;
  int sms = 0;  // streaming multiprocessors, compute units or cores
  int fp32_lanes_per_sm = 0;
  double boost_mhz = 0;
  Bytes l2;  // last-level on-chip memory shared by all sms; 0: not published

  std::string_view link;          // device-to-device link, a name of link.h; empty: none, peers talk over pcie
  BytesPerSecond link_bandwidth;  // per direction, all ports of one device together
  std::string_view pcie;          // link to the host, a name of link.h; empty: the device is the host
  Watts tdp;                      // 0: not published
  std::string_view source;
};

// Every known device, oldest generation first. The same objects for the life of the program.
std::span<const Device> all_devices();

// Finds a device by name or alias. Ignores case, spaces, dashes and leading brand words, so that what a driver prints
// ("Tesla V100-SXM2-16GB", "NVIDIA GeForce RTX 3090") is found too.
Result<const Device*> find_device(std::string_view name);
// The same without a message: null if there is none.
const Device* find_device_or_null(std::string_view name);

// Whether matrix products in this precision run on a path of their own.
bool supports(const Device& device, Precision precision);

// The peak a matrix product in this precision can reach; an unsupported precision runs at the rate of fp32.
FlopsPerSecond matrix_peak(const Device& device, Precision precision);

}  // namespace orrery::hardware
