#include "service/devices.h"

#include "cli/commands.h"

namespace orrery::cli {

namespace {

Status run_devices(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::DevicesRequest request, service::devices_fields().read(options));
  ORRERY_TRY(const auto devices, service::list_devices(request));
  return context.print_table(service::device_table(devices, options.flag("sources")), options);
}

}  // namespace

Command devices_command() {
  return {"devices",
          "list the devices and their peaks",
          join(join(service::devices_fields().records(), {flag_option("sources", "show the source of every number")}),
               table_options()),
          {"orrery devices", "orrery devices hopper --sources", "orrery devices --json"},
          run_devices};
}

}  // namespace orrery::cli
