#pragma once
// Which of a job trace's types of devices a cluster has.
//
// Case is ignored in names; a longer name is of the type whose name it begins with, up to a dash, a space or an
// underscore ("V100-SXM2-16GB" is a "v100").

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "simulate/job_trace.h"

namespace orrery::simulate {

bool is_same_device(std::string_view a, std::string_view b);

// Speeds of the job trace's classes on the cluster's types, for EngineOptions::speeds; empty if the job trace does not
// distinguish types, or the cluster does not name its own: then every GPU is of the type on which a job is fastest. An
// error if no type of the cluster is one of the job trace's.
Result<std::vector<std::vector<double>>> speeds_on(const JobTrace& job_trace, const std::vector<std::string>& devices);

}  // namespace orrery::simulate
