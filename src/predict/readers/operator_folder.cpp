#include "predict/readers/operator_folder.h"

#include "predict/readers/data_files.h"

namespace orrery::predict {

Result<std::vector<OperatorMeasurement>> read_operators(env::Files& files, const std::string& folder,
                                                        OperatorClass operator_class) {
  const std::string name = operator_file(operator_class);
  ORRERY_TRY(const std::string csv, read_data(files, folder, name));
  auto measurements = parse_operators(csv, operator_class);
  if (!measurements) return std::move(measurements).error().with_context(folder + "/" + name);
  return measurements;
}

Result<std::vector<OperatorWork>> read_operator_work(env::Files& files, const std::string& folder) {
  ORRERY_TRY(const std::string csv, read_data(files, folder, "devices.csv"));
  ORRERY_TRY(const std::vector<ListedDevice> devices, parse_devices(csv));
  std::vector<OperatorWork> classes;
  for (const OperatorClass operator_class : kOperatorClasses) {
    OperatorWorkBuilder builder(operator_class, devices);
    ORRERY_TRY(const auto measured, read_operators(files, folder, operator_class));
    ORRERY_TRY_VOID(builder.add(measured, true));
    classes.push_back(std::move(builder).take());
  }
  return classes;
}

}  // namespace orrery::predict
