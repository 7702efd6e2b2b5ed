#pragma once
// A data set of measured training iterations in one file; docs/formats/dataset.md.
//
// Lines of JSON, gzipped: a header, then one line per configuration with the execution time and gap of every operator.
// Graphs are not stored: the zoo builds them from the configuration's name. While a data set is being built the lines
// are in an append-only log beside it, each one durable before the next configuration is measured.

#include <string>
#include <string_view>
#include <vector>

#include "profile/dataset/configurations.h"
#include "profile/profiler.h"

namespace orrery::profile {

inline constexpr int kDatasetVersion = 1;
inline constexpr Bytes kDatasetMax = gigabytes(1);  // unpacked

struct DatasetHeader {
  std::string machine;  // processor, cores, memory
  std::string library;  // what ran the models
  int threads = 1;
  std::uint64_t seed = 0;

  bool operator==(const DatasetHeader&) const = default;
};

struct MeasuredOperator {
  std::int32_t node = 0;
  workload::Phase phase = workload::Phase::kForward;
  Seconds execution;
  Seconds gap;
};

struct DatasetEntry {
  Configuration configuration;
  Seconds iteration;  // without tracing
  double spread = 0;
  double overhead = 0;
  double load = 0;
  bool is_noisy = false;
  std::vector<MeasuredOperator> operators;
};

struct Dataset {
  DatasetHeader header;
  std::vector<DatasetEntry> entries;
};

DatasetEntry entry_of(const Configuration& configuration, const Profile& profile);

std::string header_line(const DatasetHeader& header);
std::string entry_line(const DatasetEntry& entry);

// A last line without its end was being written when the builder died; it is left out if `may_be_cut`.
Result<Dataset> parse_dataset(std::string_view lines, bool may_be_cut);

// Reads a finished file, packed or not.
Result<Dataset> read_dataset(env::Files& files, const std::string& path);

}  // namespace orrery::profile
