#include "lab/commands/experiment_report.h"

#include "env/files.h"

namespace orrery::lab {

std::vector<OptionRecord> report_options() {
  return {text_option("plots", "", "write the figures as SVG into this folder").in("DIR"),
          flag_option("json", "print one JSON object: every table, and what agrees with what was published")};
}

Status print_report(Context& context, const ExperimentReport& report, const OptionValues& options) {
  context.print(options.flag("json") ? report.to_json() : report.to_text());
  if (!options.has("plots")) return {};
  const std::string& folder = options.text("plots");
  ORRERY_TRY_VOID(context.env.files.make_directory(folder));
  for (const ExperimentFigure& figure : report.figures) {
    const std::string path = folder + "/" + figure.file;
    ORRERY_TRY_VOID(context.env.files.write_atomically(path, figure.svg));
    if (!options.flag("json")) context.print("wrote " + path + "\n");
  }
  return {};
}

}  // namespace orrery::lab
