#pragma once
// A data set of measured training iterations in one file; docs/reference/formats/dataset.md.
//
// Lines of JSON, gzipped: a header, then one line per configuration with the execution time and gap of every operator,
// as on a quiet core (speed_probe.h). A later line of the same configuration replaces the earlier one.
// Graphs are not stored: the zoo builds them from the configuration's name. While a data set is being built the lines
// are in an append-only log beside it, each one durable before the next configuration is measured.

#include <string>
#include <string_view>
#include <vector>

#include "profile/dataset/configurations.h"
#include "profile/profiler.h"
#include "profile/speed_probe.h"

namespace orrery::profile {

inline constexpr int kDatasetVersion = 2;
inline constexpr Bytes kDatasetMax = gigabytes(1);  // unpacked

struct DatasetHeader {
  std::string machine;  // processor, cores, memory
  std::string library;  // what ran the models
  int threads = 1;
  std::uint64_t seed = 0;
  CoreReading quiet{};  // of the speed probe; the core for which all times are stated

  // Measurements under both may be in one file.
  bool is_same_bench(const DatasetHeader& other) const;
};

struct MeasuredOperator {
  workload::OperatorIndex index;
  workload::Phase phase = workload::Phase::kForward;
  Seconds execution;
  Seconds gap;
};

inline constexpr double kVisitsDisagree = 0.20;

// Visits are measurements minutes apart. The iteration is their median, operators' times are means.
struct DatasetEntry {
  Configuration configuration;
  std::vector<Seconds> visits{};  // the iteration without tracing, in each
  double overhead = 0;            // of tracing
  std::vector<MeasuredOperator> operators{};

  Seconds iteration() const;
  double spread() const;  // twice the median distance of a visit from the iteration; of two: how far they are apart
  bool is_noisy() const { return spread() > kVisitsDisagree; }  // not to be learned from
};

struct Dataset {
  DatasetHeader header;
  std::vector<DatasetEntry> entries;
};

// Adds a visit. Fails if it ran other operators.
Status add_visit(DatasetEntry& entry, const Profile& profile);

std::string header_line(const DatasetHeader& header);
std::string entry_line(const DatasetEntry& entry);

// A last line without its end was being written when the builder died; it is left out if `may_be_cut`.
Result<Dataset> parse_dataset(std::string_view lines, bool may_be_cut);

// Reads a finished file, packed or not.
Result<Dataset> read_dataset(env::Files& files, const std::string& path);

}  // namespace orrery::profile
