#include "hardware/catalog.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

#include "base/csv.h"
#include "base/text.h"
#include "hardware/device.h"
#include "hardware/name_key.h"
#include "hardware/placement.h"

namespace orrery::hardware {
namespace {

using Kind = CatalogProblemKind;

enum ColumnId {
  kProvider,
  kInstance,
  kAccelerator,
  kCount,
  kVcpus,
  kMemory,
  kDeviceMemory,
  kRegion,
  kPrice,
  kSpot,
  kDate,
  kColumnCount
};

struct ColumnName {
  ColumnId id;
  std::string_view common;
  std::string_view skypilot;  // empty: SkyPilot has no such column
  bool required;
};

// SkyPilot has one file per provider, so its files do not name it.
constexpr ColumnName kColumns[] = {
    {kProvider, "provider", {}, false},
    {kInstance, "instance_type", "InstanceType", true},
    {kAccelerator, "accelerator", "AcceleratorName", true},
    {kCount, "count", "AcceleratorCount", true},
    {kVcpus, "vcpus", "vCPUs", false},
    {kMemory, "memory_gib", "MemoryGiB", false},
    {kDeviceMemory, "gpu_memory_gib", {}, false},
    {kRegion, "region", "Region", false},
    {kPrice, "price_usd_h", "Price", true},
    {kSpot, "spot_usd_h", "SpotPrice", false},
    {kDate, "date", {}, false},
};

struct Spelling {
  std::string_view catalogue;
  std::string_view device;
};

// What catalogues call devices that find_device does not know by that name.
constexpr Spelling kSpellings[] = {
    {"A100-80GB-SXM", "A100 80GB"},
    {"A100-80G", "A100 80GB"},
    {"A100-80G-SXM4", "A100 80GB"},
    {"A100-80G-PCIe", "A100 PCIe 80GB"},
    {"A100-80GB-PCIe", "A100 PCIe 80GB"},
    {"A100-80G-PCIe-NVLink", "A100 PCIe 80GB"},
    {"H100-80G-SXM5", "H100"},
    {"H100-80GB-SXM", "H100"},
    {"H100-MEGA", "H100"},
    {"H100-NVLINK", "H100"},
    {"H100-80G-PCIe", "H100 PCIe"},
    {"H100-80GB-PCIe", "H100 PCIe"},
    {"H100-80G-PCIe-NVLink", "H100 PCIe"},
    {"H100-NVL-94GB", "H100 NVL"},
    {"GH200-96GB", "GH200"},
    {"T4g", "T4"},
    {"V100-16GB-SXM", "V100"},
    {"V100-32GB-SXM", "V100 32GB"},
    {"RTX3090", "RTX 3090"},
    {"RTX-A6000-48GB", "A6000"},
    {"HL-225-96GB", "Gaudi2"},
};

// Devices that are sold under one name with either memory.
struct Variant {
  std::string_view device;
  std::string_view larger;
};
constexpr Variant kVariants[] = {
    {"A100", "A100 80GB"}, {"A100 PCIe", "A100 PCIe 80GB"}, {"V100", "V100 32GB"}, {"V100 PCIe", "V100S"}};

constexpr double kMemoryTolerance = 0.2;
constexpr double kPriceMax = 1e6;
// A price per device this many times off the median of at least this many offers is odd. Real ones differ by a factor
// of 20.
constexpr double kOddPriceFactor = 30;
constexpr std::size_t kOffersForMedian = 5;
constexpr double kVcpusMax = 1e6;
constexpr double kMemoryGibMax = 1e7;

const Device* device_of(std::string_view accelerator) {
  if (const Device* device = find_device_or_null(accelerator)) return device;
  const std::string key = name_key(accelerator);
  for (const Spelling& spelling : kSpellings) {
    if (name_key(spelling.catalogue) == key) return find_device_or_null(spelling.device);
  }
  return nullptr;
}

bool near(double gib, const Device& device, double share) {
  const double ours = device.memory.value() / gibibytes(1).value() * share;
  return std::abs(gib - ours) <= kMemoryTolerance * ours;
}

class CatalogReader {
 public:
  CatalogReader(std::string_view csv, std::string_view date) : csv_(csv, kCatalogFieldBytesMax), date_(date) {}

  Result<Catalog> read() {
    ORRERY_TRY_VOID(read_header());
    while (!csv_.at_end()) {
      if (catalog_.rows == kCatalogRowsMax) {
        return Error::invalid(fmt::format("more than {} rows", format_whole(kCatalogRowsMax)));
      }
      ++catalog_.rows;
      read_row();
    }
    report_deviceless();
    report_unknown_devices();
    report_odd_prices();
    std::stable_sort(catalog_.problems.begin(), catalog_.problems.end(),
                     [](const CatalogProblem& a, const CatalogProblem& b) { return a.line < b.line; });
    for (const Offer& offer : catalog_.offers) catalog_.date = std::max(catalog_.date, offer.date);
    return std::move(catalog_);
  }

 private:
  struct KnownName {
    const Device* device = nullptr;
    std::size_t first_line = 0;
    std::size_t rows = 0;
  };

  Status read_header() {
    if (csv_.at_end()) return Error::invalid("empty: expected a header line");
    ORRERY_TRY_VOID(csv_.next(row_));
    header_size_ = row_.fields.size();
    for (const ColumnName& column : kColumns) {
      for (std::size_t i = 0; i < header_size_ && !places_[column.id]; ++i) {
        const std::string_view name = trim(row_.fields[i]);
        if (name == column.common || (name == column.skypilot && !name.empty())) {
          places_[column.id] = i;
          names_[column.id] = name;
        }
      }
      if (column.required && !places_[column.id]) return missing_column(column);
    }
    return {};
  }

  Error missing_column(const ColumnName& column) const {
    std::vector<std::string> names;
    for (const std::string& field : row_.fields) {
      if (names.size() < 20) names.push_back(quote(trim(field), 40));
    }
    return Error::invalid(fmt::format("line 1: no column \"{}\" (SkyPilot: \"{}\"); the header has {}", column.common,
                                      column.skypilot, fmt::join(names, ", ")));
  }

  void read_row() {
    if (const Status status = csv_.next(row_); !status) {
      std::string_view what = status.error().message();
      what.remove_prefix(std::min(what.find(": ") + 2, what.size()));
      return lose(Kind::kUnreadable, "", std::string(what));
    }
    if (row_.fields.size() != header_size_) {
      return lose(Kind::kUnreadable, "", fmt::format("{} fields, the header has {}", row_.fields.size(), header_size_));
    }
    Offer offer;
    if (!read_texts(offer) || !read_count(offer) || !read_price(offer)) return;
    if (is_duplicate(offer)) return lose(Kind::kDuplicate, "", duplicate_text(offer));
    // From here on the row is an offer, whatever else is wrong with it.
    read_extras(offer);
    read_device(offer);
    catalog_.offers.push_back(std::move(offer));
    lines_.push_back(row_.line);
  }

  bool read_texts(Offer& offer) {
    const std::pair<ColumnId, std::string*> fields[] = {{kProvider, &offer.provider},
                                                        {kInstance, &offer.instance},
                                                        {kAccelerator, &offer.accelerator},
                                                        {kRegion, &offer.region}};
    for (const auto& [id, target] : fields) {
      const std::string_view text = field(id);
      if (!is_printable(text)) {
        lose(Kind::kBadText, names_[id], fmt::format("{} is not printable UTF-8", quote(text)));
        return false;
      }
      if (id == kAccelerator && text.empty()) {
        lose_deviceless();
        return false;
      }
      const bool needed = id != kRegion && places_[id];
      if (needed && text.empty()) {
        lose(Kind::kMissing, names_[id], "empty");
        return false;
      }
      target->assign(text);
    }
    return true;
  }

  bool read_count(Offer& offer) {
    const auto devices = required_number(kCount, kDevicesMax);
    if (!devices) return false;
    if (*devices == std::floor(*devices) && *devices > 0) {
      offer.device_count = static_cast<int>(*devices);
      return true;
    }
    if (*devices <= 0 || *devices > 1) {
      lose(Kind::kOutOfRange, names_[kCount],
           fmt::format("{} is neither a number of devices nor a part of one", field(kCount)));
      return false;
    }
    offer.device_count = 0;
    offer.device_share = *devices;
    return true;
  }

  bool read_price(Offer& offer) {
    if (field(kPrice).empty()) {
      lose(Kind::kNoPrice, names_[kPrice], "no price");
      return false;
    }
    const auto price = required_number(kPrice, kPriceMax);
    if (!price) return false;
    if (*price == 0) {
      lose(Kind::kNoPrice, names_[kPrice], "a price of 0");
      return false;
    }
    offer.price = DollarsPerHour(*price);
    return true;
  }

  void read_extras(Offer& offer) {
    const double spot = optional_number(kSpot, kPriceMax);
    if (spot > 0) offer.spot = DollarsPerHour(spot);
    offer.vcpus = static_cast<int>(optional_number(kVcpus, kVcpusMax));
    offer.memory = gibibytes(optional_number(kMemory, kMemoryGibMax));
    const std::string_view date = field(kDate);
    if (is_date(date)) {
      offer.date = date;
    } else {
      offer.date = date_;
      if (!date.empty()) note(Kind::kNotANumber, names_[kDate], fmt::format("{} is not a date", quote(date)));
    }
    if (offer.device_count == 0) {
      note(Kind::kFraction, names_[kCount],
           fmt::format("{} of a device: listed, but no run is predicted on it", offer.device_share));
    }
  }

  void read_device(Offer& offer) {
    const auto [found, is_new] = names_seen_.try_emplace(offer.accelerator);
    KnownName& name = found->second;
    if (is_new) {
      name.device = device_of(offer.accelerator);
      name.first_line = row_.line;
    }
    ++name.rows;
    const double gib = optional_number(kDeviceMemory, kMemoryGibMax);
    offer.device_memory = gibibytes(gib);
    if (name.device == nullptr) return;
    const Device& device = check_memory(*name.device, gib, offer);
    offer.device = device.name;
    offer.device_memory = device.memory * offer.device_share;
  }

  // The device, or its variant with the memory of the row; a problem if neither has it.
  const Device& check_memory(const Device& device, double gib, const Offer& offer) {
    const double share = offer.device_share;
    if (gib == 0 || near(gib, device, share)) return device;
    const Device* larger = nullptr;
    for (const Variant& variant : kVariants) {
      if (variant.device == device.name) larger = find_device_or_null(variant.larger);
    }
    // Some providers state the sum of all devices. 80 GiB of two A100 may be either; the smaller value is the safer
    // one.
    const auto is_sum = [&](const Device& one) {
      return offer.device_count > 1 && near(gib / offer.device_count, one, 1);
    };
    const bool sum = is_sum(device);
    if (!sum && larger != nullptr && near(gib, *larger, share)) return *larger;
    const bool larger_sum = !sum && larger != nullptr && is_sum(*larger);
    const Device& chosen = larger_sum ? *larger : device;
    note(Kind::kMemoryDiffers, names_[kDeviceMemory],
         fmt::format("{} GiB, but {} has {}{}", gib, chosen.name, format_bytes(chosen.memory * share),
                     sum || larger_sum ? fmt::format("; {} is the sum of all {}", gib, offer.device_count) : ""));
    return chosen;
  }

  bool is_duplicate(const Offer& offer) { return !keys_.insert(key(offer)).second; }

  // The length in front of each part keeps ("ab", "c") and ("a", "bc") apart.
  static std::string key(const Offer& offer) {
    std::string key = fmt::format("{} {}", offer.device_count, offer.device_share);
    for (const std::string* part : {&offer.provider, &offer.instance, &offer.region, &offer.accelerator}) {
      key += fmt::format(" {} {}", part->size(), *part);
    }
    return key;
  }

  static std::string duplicate_text(const Offer& offer) {
    return fmt::format("{} {} in {} is listed before", quote(offer.provider), quote(offer.instance),
                       quote(offer.region));
  }

  // The number in a field, which is not empty. nullopt: the row is lost.
  std::optional<double> required_number(ColumnId id, double most) {
    if (field(id).empty()) {
      lose(Kind::kMissing, names_[id], "empty");
      return std::nullopt;
    }
    const auto [number, kind, what] = number_in(field(id), most);
    if (!number) lose(kind, names_[id], what);
    return number;
  }

  // 0 for an empty field; also for a wrong one, which becomes a problem.
  double optional_number(ColumnId id, double most) {
    if (field(id).empty()) return 0;
    const auto [number, kind, what] = number_in(field(id), most);
    if (!number) note(kind, names_[id], what);
    return number.value_or(0);
  }

  struct NumberField {
    std::optional<double> number;
    Kind kind = Kind::kNotANumber;
    std::string what;
  };
  static NumberField number_in(std::string_view text, double most) {
    const auto number = parse_number(text);
    if (!number) return {{}, Kind::kNotANumber, fmt::format("{} is not a number", quote(text))};
    if (*number < 0 || *number > most) {
      return {{}, Kind::kOutOfRange, fmt::format("{} is out of range; expected 0 to {}", *number, most)};
    }
    return {number, Kind::kNotANumber, {}};
  }

  std::string_view field(ColumnId id) const {
    return places_[id] ? trim(row_.fields[*places_[id]]) : std::string_view();
  }

  Catalog::Count& count(Kind kind) { return catalog_.problem_counts[static_cast<std::size_t>(kind)]; }

  void lose(Kind kind, std::string_view field_name, std::string what) {
    ++catalog_.rows_lost;
    ++count(kind).lost;
    list({row_.line, kind, true, std::string(field_name), std::move(what)});
  }

  // Lists of all machines of a provider have thousands of these.
  void lose_deviceless() {
    ++catalog_.rows_lost;
    if (count(Kind::kNoDevice).lost++ == 0) first_deviceless_line_ = row_.line;
  }

  void note(Kind kind, std::string_view field_name, std::string what) {
    ++count(kind).kept;
    list({row_.line, kind, false, std::string(field_name), std::move(what)});
  }

  void list(CatalogProblem problem) {
    if (catalog_.problems.size() < kCatalogProblemsMax) catalog_.problems.push_back(std::move(problem));
  }

  void report_deviceless() {
    const std::size_t rows = count(Kind::kNoDevice).lost;
    if (rows == 0) return;
    list({first_deviceless_line_, Kind::kNoDevice, true, names_[kAccelerator],
          fmt::format("empty; {} machine{} without a device", rows, rows == 1 ? "" : "s")});
  }

  void report_unknown_devices() {
    std::vector<std::pair<std::string_view, const KnownName*>> unknown;
    for (const auto& [name, known] : names_seen_) {
      if (known.device == nullptr) unknown.emplace_back(name, &known);
    }
    std::sort(unknown.begin(), unknown.end(),
              [](const auto& a, const auto& b) { return a.second->first_line < b.second->first_line; });
    for (const auto& [name, known] : unknown) {
      count(Kind::kUnknownDevice).kept += known->rows;
      list({known->first_line, Kind::kUnknownDevice, false, std::string(names_[kAccelerator]),
            fmt::format("no specifications of {}; {} row{} listed, but not predicted", quote(name), known->rows,
                        known->rows == 1 ? "" : "s")});
    }
  }

  // Placeholders and reserve prices of auctions look like prices. They are recognised because all other offers ask far
  // more.
  void report_odd_prices() {
    std::map<std::string_view, std::vector<std::size_t>> by_device;
    for (std::size_t i = 0; i < catalog_.offers.size(); ++i) {
      if (!catalog_.offers[i].device.empty()) by_device[catalog_.offers[i].device].push_back(i);
    }
    for (auto& [device, indices] : by_device) {
      if (indices.size() < kOffersForMedian) continue;
      const auto price = [this](std::size_t i) { return price_per_device(catalog_.offers[i]); };
      const auto middle = indices.begin() + static_cast<std::ptrdiff_t>(indices.size() / 2);
      std::nth_element(indices.begin(), middle, indices.end(),
                       [&](std::size_t a, std::size_t b) { return price(a) < price(b); });
      const DollarsPerHour median = price(*middle);
      std::sort(indices.begin(), indices.end());
      for (const std::size_t i : indices) {
        if (price(i) * kOddPriceFactor >= median && price(i) <= median * kOddPriceFactor) continue;
        catalog_.offers[i].odd_price = true;
        ++count(Kind::kOddPrice).kept;
        list({lines_[i], Kind::kOddPrice, false, names_[kPrice],
              fmt::format("${:.4g} per device and hour; half of all offers of {} ask ${:.4g} or more", price(i).value(),
                          device, median.value())});
      }
    }
  }

  CsvReader csv_;
  std::string_view date_;
  std::vector<std::size_t> lines_;  // of the offers
  CsvRow row_;
  std::size_t header_size_ = 0;
  std::size_t first_deviceless_line_ = 0;
  std::array<std::optional<std::size_t>, kColumnCount> places_;
  std::array<std::string, kColumnCount> names_;
  // Ordered, because a hostile file could choose names that hash alike.
  std::map<std::string, KnownName> names_seen_;
  std::set<std::string> keys_;
  Catalog catalog_;
};

std::string override_key(const Offer& offer) {
  return to_lower(fmt::format("{} {} {} {} {}", offer.provider.size(), offer.provider, offer.instance.size(),
                              offer.instance, offer.region));
}

}  // namespace

std::string_view to_string(CatalogProblemKind kind) {
  switch (kind) {
    case Kind::kUnreadable:
      return "unreadable row";
    case Kind::kMissing:
      return "missing field";
    case Kind::kNoDevice:
      return "no device";
    case Kind::kBadText:
      return "bad text";
    case Kind::kNotANumber:
      return "not a number";
    case Kind::kOutOfRange:
      return "out of range";
    case Kind::kNoPrice:
      return "no price";
    case Kind::kDuplicate:
      return "duplicate";
    case Kind::kUnknownDevice:
      return "unknown device";
    case Kind::kFraction:
      return "slice of a device";
    case Kind::kOddPrice:
      return "odd price";
    case Kind::kMemoryDiffers:
      return "memory differs";
  }
  return "unreadable row";
}

bool is_date(std::string_view text) {
  if (text.size() != 7 && text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  }
  const int month = (text[5] - '0') * 10 + text[6] - '0';
  const int day = text.size() == 10 ? (text[8] - '0') * 10 + text[9] - '0' : 1;
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

Result<Catalog> read_catalog(std::string_view csv, std::string_view date) {
  if (!date.empty() && !is_date(date)) {
    return Error::invalid(fmt::format("{} is not a date; expected YYYY-MM or YYYY-MM-DD", quote(date)));
  }
  if (static_cast<double>(csv.size()) > kCatalogBytesMax.value()) {
    return Error::invalid(fmt::format("larger than {}", format_bytes(kCatalogBytesMax)));
  }
  return CatalogReader(csv, date).read();
}

Catalog built_in_catalog() {
  Catalog catalog;
  catalog.offers.assign(built_in_offers().begin(), built_in_offers().end());
  catalog.rows = catalog.offers.size();
  for (Offer& offer : catalog.offers) {
    catalog.date = std::max(catalog.date, offer.date);
    if (const Device* device = find_device_or_null(offer.device)) offer.device_memory = device->memory;
  }
  return catalog;
}

Catalog with_overrides(Catalog base, const Catalog& changes) {
  std::set<std::string> replaced;
  for (const Offer& offer : changes.offers) replaced.insert(override_key(offer));
  std::erase_if(base.offers, [&](const Offer& offer) { return replaced.contains(override_key(offer)); });
  base.offers.insert(base.offers.end(), changes.offers.begin(), changes.offers.end());
  base.date = std::max(base.date, changes.date);
  return base;
}

}  // namespace orrery::hardware
