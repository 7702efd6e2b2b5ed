#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "simulate/data_file.h"
#include "simulate/readers/application.h"

namespace orrery::simulate {

// Fills applications from the files of a folder.
class ApplicationReader {
 public:
  ApplicationReader(env::Files& files, std::string folder, std::string_view gpu)
      : files_(files), folder_(std::move(folder)), gpu_(gpu) {}

  Result<Applications> read() {
    ORRERY_TRY(const CsvTable limits, read_csv_file(files_, folder_ + "/applications.csv"));
    Applications result;
    for (const CsvRow& row : limits.rows) {
      ORRERY_TRY(Application application, read_limits(limits, row));
      ORRERY_TRY_VOID(read_placements(application));
      ORRERY_TRY_VOID(read_validations(application));
      std::string name = application.name_;
      result.emplace(std::move(name), std::move(application));
    }
    ORRERY_TRY_VOID(read_grid(result));
    return result;
  }

 private:
  static Result<int> whole(const CsvTable& table, const CsvRow& row, std::string_view column) {
    ORRERY_TRY(const double value, number_field(table, row, column));
    if (value < 1 || value > 1e9) {
      return Error::invalid(fmt::format("line {}: {}: expected 1 to 1e9 instead of {}", row.line, column, value));
    }
    return static_cast<int>(value);
  }

  static Result<Application> read_limits(const CsvTable& table, const CsvRow& row) {
    Application result;
    ORRERY_TRY(result.name_, text_field(table, row, "application"));
    ORRERY_TRY(result.init_batch_, whole(table, row, "init_batch_size"));
    ORRERY_TRY(result.max_batch_, whole(table, row, "max_batch_size"));
    ORRERY_TRY(result.min_local_, whole(table, row, "min_local_bsz"));
    ORRERY_TRY(result.max_local_, whole(table, row, "max_local_bsz"));
    ORRERY_TRY(result.epochs_, whole(table, row, "max_epochs"));
    return result;
  }

  std::string measured(const Application& application) const { return folder_ + "/measured/" + application.name_; }

  Status read_placements(Application& application) {
    const std::string path = fmt::format("{}/placements-{}.csv", measured(application), gpu_);
    ORRERY_TRY(const CsvTable table, read_csv_file(files_, path));
    struct Row {
      double per_gpu, step_s, sync_s;
    };
    std::map<std::string, std::vector<Row>> rows;
    for (const CsvRow& row : table.rows) {
      ORRERY_TRY(const std::string placement, text_field(table, row, "placement"));
      ORRERY_TRY(const double per_gpu, number_field(table, row, "local_bsz"));
      ORRERY_TRY(const double step, number_field(table, row, "step_time"));
      ORRERY_TRY(const double sync, number_field(table, row, "sync_time"));
      rows[placement].push_back({per_gpu, step, sync});
    }
    for (auto& [placement, points] : rows) {
      std::stable_sort(points.begin(), points.end(), [](const Row& a, const Row& b) { return a.per_gpu < b.per_gpu; });
      Application::Measured& target = application.placements_[placement];
      for (const Row& point : points) {
        target.per_gpu.push_back(point.per_gpu);
        target.step_s.push_back(point.step_s);
        target.sync_s.push_back(point.sync_s);
      }
    }
    return {};
  }

  Status read_validations(Application& application) {
    ORRERY_TRY(const std::vector<std::string> names, files_.list(measured(application)));
    constexpr std::string_view kPrefix = "validation-";
    for (const std::string& name : names) {
      if (!name.starts_with(kPrefix)) continue;
      const auto batch = parse_number(name.substr(kPrefix.size(), name.find('.') - kPrefix.size()));
      if (!batch) continue;
      const std::string path = measured(application) + "/" + name;
      ORRERY_TRY(const CsvTable table, read_csv_file(files_, path));
      Application::Validation validation;
      validation.batch = static_cast<int>(*batch);
      for (const CsvRow& row : table.rows) {
        ORRERY_TRY(validation.progress.emplace_back(), number_field(table, row, "progress"));
        ORRERY_TRY(validation.iteration.emplace_back(), number_field(table, row, "iteration"));
        ORRERY_TRY(validation.grad_sqr.emplace_back(), number_field(table, row, "grad_sqr"));
        ORRERY_TRY(validation.grad_var.emplace_back(), number_field(table, row, "grad_var"));
      }
      if (static_cast<int>(table.rows.size()) < application.epochs_) {
        return Error::invalid(
            fmt::format("{}: {} epochs, applications.csv says {}", path, table.rows.size(), application.epochs_));
      }
      application.validations_.push_back(std::move(validation));
    }
    if (application.validations_.empty()) {
      return Error::not_found(fmt::format("{}: no validation-B.csv", measured(application)));
    }
    std::sort(application.validations_.begin(), application.validations_.end(),
              [](const auto& a, const auto& b) { return a.batch < b.batch; });
    return {};
  }

  Status read_grid(Applications& applications) {
    const std::string path = fmt::format("{}/{}_interpolated_grid.csv", folder_, gpu_);
    ORRERY_TRY(const CsvTable table, read_csv_file(files_, path));
    for (const CsvRow& row : table.rows) {
      ORRERY_TRY(const std::string name, text_field(table, row, "application"));
      const auto found = applications.find(name);
      if (found == applications.end()) continue;
      ORRERY_TRY(const int nodes, whole(table, row, "num_nodes"));
      ORRERY_TRY(const int gpus, whole(table, row, "num_replicas"));
      ORRERY_TRY(const int per_gpu, whole(table, row, "atomic_bsz"));
      StepTime time;
      ORRERY_TRY(time.step_s, number_field(table, row, "step_time_s"));
      ORRERY_TRY(time.sync_s, number_field(table, row, "sync_time_s"));
      found->second.grid_[{nodes, gpus, per_gpu}] = time;
    }
    return {};
  }

  env::Files& files_;
  std::string folder_;
  std::string gpu_;
};

Result<Applications> read_applications(env::Files& files, const std::string& folder, std::string_view gpu) {
  auto result = ApplicationReader(files, folder, gpu).read();
  if (!result) return std::move(result).error().with_context("reading applications of " + folder);
  return result;
}

}  // namespace orrery::simulate
