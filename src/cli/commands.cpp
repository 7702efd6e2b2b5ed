#include "cli/commands.h"

namespace orrery::cli {

namespace {

constexpr std::string_view kPredict = "predict";
constexpr std::string_view kDescribe = "describe";
constexpr std::string_view kMeasure = "measure";
constexpr std::string_view kSchedule = "schedule";
constexpr std::string_view kRun = "run";
constexpr std::string_view kHelp = "help";

constexpr CommandEntry kCommands[] = {
    {kPredict, "predict", "time, memory, cost and resources of a training", predict_command},
    {kPredict, "memory", "memory by part, and the largest batch that fits", memory_command},
    {kPredict, "choose", "which machines to rent for it, and why not the others", choose_command},
    {kPredict, "whatif", "another device, number of devices, batch or network", whatif_command},
    {kPredict, "estimate-steps", "how many steps it needs, from the losses so far", estimate_steps_command},

    {kDescribe, "models", "the models of the zoo", models_command},
    {kDescribe, "model show", "size and operators of a model, nodes of a GraphDef", model_show_command},
    {kDescribe, "model export", "", model_export_command},
    {kDescribe, "job check", "job files: check one, or print their schema", job_check_command},
    {kDescribe, "job schema", "", job_schema_command},
    {kDescribe, "devices", "GPUs and CPUs, and their peaks", devices_command},
    {kDescribe, "offers", "machines for rent and their prices", offers_command},
    {kDescribe, "cluster show", "machines of a cluster file", cluster_show_command},

    {kMeasure, "profile", "train a few steps: every operator, or several workers", profile_command},
    {kHidden, "profile role", "", profile_role_command},
    {kMeasure, "sample", "utilisation of the machine while a command runs", sample_command},
    {kMeasure, "bursts", "bursts and idle times in samples", bursts_command},
    {kMeasure, "trace show", "execution traces: list, sum up, compare, convert", trace_show_command},
    {kMeasure, "trace summary", "", trace_summary_command},
    {kMeasure, "trace compare", "", trace_compare_command},
    {kMeasure, "trace convert", "", trace_convert_command},
    {kMeasure, "dataset build", "measure many configurations into one file", dataset_build_command},
    {kMeasure, "dataset show", "", dataset_show_command},
    {kMeasure, "dataset jobs", "", dataset_jobs_command},
    {kMeasure, "fit", "learn a predictor from measurements", fit_command},
    {kMeasure, "observe", "correct predictions by a measured run", observe_command},
    {kMeasure, "regress", "fit and judge regressions of a table", regress_command},

    {kSchedule, "plan", "which machines to rent for which jobs, with a bound", plan_command},
    {kSchedule, "simulate", "a job trace on a cluster under scheduling policies", simulate_command},
    {kSchedule, "simulate compare", "", simulate_compare_command},
    {kSchedule, "simulate estimate", "", simulate_estimate_command},
    {kSchedule, "simulate whatif", "", simulate_whatif_command},
    {kSchedule, "jobtrace show", "job traces: sum up, convert, generate", jobtrace_show_command},
    {kSchedule, "jobtrace convert", "", jobtrace_convert_command},
    {kSchedule, "jobtrace generate", "", jobtrace_generate_command},

    {kRun, "run", "an elastic training job of several workers", run_command},
    {kRun, "train", "an image classifier, alone or as a worker of run", train_command},
    {kRun, "ps", "jobs that run on this host", ps_command},
    {kRun, "resize", "change the number of workers of a job", resize_command},
    {kRun, "stop", "stop a job or one of its workers", stop_command},
    {kRun, "agent", "start processes on this host for other hosts", agent_command},

    {kHelp, "completion", "for bash, zsh or fish", completion_command},
    {kHelp, "reference", "this reference as a page, or as JSON Schema", reference_command},
};

}  // namespace

std::span<const CommandEntry> orrery_commands() {
  return kCommands;
}

}  // namespace orrery::cli
