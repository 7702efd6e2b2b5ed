#pragma once
// Runs a regression campaign: which technique, with which hyper-parameters and columns, predicts best what it was not
// fitted on.
//
// For each run and each validation split (outside in): the training rows choose hyper-parameters (mean error over the
// hp_selection splits) and columns, the chosen model is fitted on all training rows and scored once on the validation
// rows. The best technique is the one with the least hp_selection error: the validation rows choose nothing. Over folds
// and runs errors are means.

#include "predict/regression/preparation.h"
#include "predict/regression/techniques.h"

namespace orrery::predict {

struct TechniqueResult {
  std::string technique;
  Hyperparameters hyperparameters{};   // of the last split
  std::vector<std::string> columns{};  // chosen in the last split
  double selection_error = 0;          // mean percentage error where hyper-parameters were chosen
  double validation_error = 0;         // and where nothing was chosen
  double validation_rmse = 0;
  std::size_t validation_rows = 0;  // of one split
  std::string formula{};            // fitted on every row with the last choice
};

struct CampaignResult {
  std::vector<TechniqueResult> techniques;  // best first
  std::size_t rows = 0, features = 0;
};

// `progress(done, all)` is called after each technique of each split; it may be empty.
Result<CampaignResult> run_campaign(const Campaign& campaign, const Prepared& data,
                                    const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace orrery::predict
