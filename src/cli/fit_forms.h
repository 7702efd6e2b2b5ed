#pragma once
// The forms of `orrery fit`, each in a file of its own.

#include "cli/command.h"

namespace orrery::cli {

// A folder of launch traces of GPUs, and the check that --device says which of them.
bool is_trace_folder(env::Files& files, const std::string& source);
Status check_device(const OptionValues& options);

Status fit_ets_form(Context& context, const Arguments& arguments);         // --form ets-network
Status fit_driple_form(Context& context, const Arguments& arguments);      // --form driple
Status fit_regression_form(Context& context, const Arguments& arguments);  // --form regression

}  // namespace orrery::cli
