#pragma once
// What `compare` and `choose` share: the configurations of machines for one run, from the words of a command line.

#include "cli/catalogs.h"
#include "cli/runs.h"
#include "plan/choice.h"

namespace orrery::cli {

// --machines, --device, --network, --deadline, --budget, --all, --plot, beside those of training and catalogues.
std::vector<OptionRecord> choice_options(bool several_batches);

// Every configuration does the same work: the samples of --epochs, or --steps steps of one replica's batch; the steps
// of a job are of its global batch.
Result<double> samples_wanted(const RunRequest& request);

// The space of the options that both commands have, on demand.
Result<plan::ChoiceSpace> choice_space(const RunRequest& request);
Result<plan::Limits> limits_of(const OptionValues& options);

// All are borrowed; nothing is judged yet. kInfeasible if no offer can be used.
Result<plan::Choices> all_choices(const RunRequest& request, const OfferList& list, const plan::ChoiceSpace& space,
                                  const predict::Predictor& predictor);

// Which predictors predicted how many of them.
std::string calibration_of(const std::vector<plan::Choice>& choices);

// Time against cost, with the Pareto front.
std::string choice_plot(const std::vector<plan::Choice>& choices, const std::string& model);

}  // namespace orrery::cli
