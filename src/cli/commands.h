#pragma once
// The commands, one function per file of this folder. orrery_commands() is the list the program, its completion and
// its reference page are made from.

#include "cli/main.h"

namespace orrery::cli {

Command models_command();
Command model_show_command();
Command model_export_command();
Command devices_command();
Command offers_command();
Command cluster_show_command();
Command job_check_command();
Command job_schema_command();
Command predict_command();
Command memory_command();
Command profile_command();
Command sample_command();
Command profile_role_command();
Command dataset_build_command();
Command dataset_show_command();
Command dataset_jobs_command();
Command choose_command();
Command whatif_command();
Command fit_command();
Command estimate_steps_command();
Command observe_command();
Command regress_command();
Command trace_show_command();
Command trace_summary_command();
Command trace_compare_command();
Command trace_convert_command();
Command bursts_command();
Command simulate_command();
Command simulate_compare_command();
Command simulate_estimate_command();
Command simulate_whatif_command();
Command jobtrace_show_command();
Command jobtrace_convert_command();
Command jobtrace_generate_command();
Command plan_command();
Command run_command();
Command agent_command();
Command ps_command();
Command resize_command();
Command stop_command();
Command train_command();
Command completion_command();
Command reference_command();

std::span<const CommandEntry> orrery_commands();

// The commands of a program as a page of Markdown, from their records.
std::string reference_of(std::string_view program, const std::vector<Command>& commands);

}  // namespace orrery::cli
