#pragma once
// Measured costs of sharing and of distance, from files; what was not measured follows the curve (speed_model.h).
//
// Interference: CSV with the columns model1, speed1, model2, speed2: speeds of two jobs on the same GPUs, relative to
// running alone. Other columns are ignored; several rows of a pair are averaged; the order of the two does not matter.
// Locality: CSV with the columns model, gpus, machines, speed: speed of a job spread over this many machines, relative
// to the best placement. An empty model holds for all that have no rows of their own.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/csv.h"
#include "base/result.h"
#include "simulate/job_trace.h"
#include "simulate/readers/columns.h"
#include "simulate/speed_model.h"

namespace orrery::simulate {

inline constexpr std::size_t kTableRowsMax = 1'000'000;

// A table of measurements that has these columns; an error names the file and what is missing.
Result<CsvTable> read_measured_table(std::string_view csv, const std::string& file,
                                     const std::vector<std::string>& needed);
// Of GPUs or machines.
bool is_count(double value);

class InterferenceTable {
 public:
  // A row that is wrong is an error, with its line.
  static Result<InterferenceTable> parse(std::string_view csv, const std::string& file);
  // Speed of `model` beside `other`, relative to running alone; no value if the pair was not measured.
  std::optional<double> speed(std::string_view model, std::string_view other) const;
  bool empty() const { return speeds_.empty(); }

 private:
  struct Mean {
    double sum = 0;
    int rows = 0;
  };
  std::map<std::pair<std::string, std::string>, Mean, std::less<>> speeds_;
};

class LocalityTable {
 public:
  static Result<LocalityTable> parse(std::string_view csv, const std::string& file);
  // Nothing if neither this model nor all models were measured so.
  std::optional<double> speed(std::string_view model, int gpus, int machines) const;
  bool empty() const { return speeds_.empty(); }

 private:
  std::map<std::tuple<std::string, int, int>, double> speeds_;
};

// The curve, corrected by what was measured. Everything is borrowed.
class TableSpeed : public SpeedModel {
 public:
  TableSpeed(const CurveSpeed& curve, const JobTrace& job_trace, const InterferenceTable& interference,
             const LocalityTable& locality)
      : curve_(curve), job_trace_(job_trace), interference_(interference), locality_(locality) {}

  double rate(const schedule::ClusterView& view, schedule::JobIndex job,
              const schedule::Allocation& allocation) const override;
  double packed_share(const schedule::ClusterView& view, schedule::JobIndex job,
                      schedule::JobIndex other) const override;
  double batch_gain(const schedule::ClusterView& view, schedule::JobIndex job, const schedule::Allocation& allocation,
                    double factor) const override {
    return curve_.batch_gain(view, job, allocation, factor);
  }

 private:
  const std::string& model_of(schedule::JobIndex job) const { return job_trace_.jobs[job].model; }

  const CurveSpeed& curve_;
  const JobTrace& job_trace_;
  const InterferenceTable& interference_;
  const LocalityTable& locality_;
};

}  // namespace orrery::simulate
