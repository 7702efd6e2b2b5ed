#include "cli/commands.h"

namespace orrery::cli {

const std::vector<Command>& all_commands() {
  static const std::vector<Command> kCommands = {predict_command(),
                                                 memory_command(),
                                                 profile_command(),
                                                 sample_command(),
                                                 distributed_command(),
                                                 distributed_predict_command(),
                                                 distributed_role_command(),
                                                 dataset_build_command(),
                                                 dataset_show_command(),
                                                 dataset_check_command(),
                                                 dataset_jobs_command(),
                                                 compare_command(),
                                                 whatif_command(),
                                                 job_check_command(),
                                                 job_schema_command(),
                                                 models_command(),
                                                 model_show_command(),
                                                 model_export_command(),
                                                 graphdef_show_command(),
                                                 graphdef_figures_command(),
                                                 devices_command(),
                                                 offers_command(),
                                                 cluster_show_command(),
                                                 trace_show_command(),
                                                 trace_summary_command(),
                                                 trace_compare_command(),
                                                 trace_convert_command(),
                                                 bursts_command(),
                                                 fit_command(),
                                                 observe_command(),
                                                 regress_command(),
                                                 evaluate_command(),
                                                 simulate_command(),
                                                 simulate_compare_command(),
                                                 workload_show_command(),
                                                 workload_convert_command(),
                                                 workload_generate_command(),
                                                 plan_command(),
                                                 run_command(),
                                                 jobs_command(),
                                                 resize_command(),
                                                 drain_command(),
                                                 train_command(),
                                                 completion_command(),
                                                 reference_command()};
  return kCommands;
}

}  // namespace orrery::cli
