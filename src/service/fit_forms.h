#pragma once
// The forms of a fit that have a file of their own.

#include "env/files.h"
#include "service/fit.h"

namespace orrery::service {

// A folder of launch traces of GPUs, and the check that the request says which of them.
bool is_trace_folder(env::Files& files, const std::string& source);
Status check_device(const FitRequest& request);

Result<FitAnswer> fit_ets_form(env::Env env, const FitRequest& request, Watch& watch);
Result<FitAnswer> fit_driple_form(env::Env env, const FitRequest& request, Watch& watch);
Result<FitAnswer> fit_regression_form(env::Env env, const FitRequest& request, Watch& watch);

}  // namespace orrery::service
