#pragma once
// Regression campaigns as commands read them: the configuration and the table it names.

#include "cli/command.h"
#include "predict/regression/campaign.h"

namespace orrery::cli {

struct ReadCampaign {
  predict::Campaign campaign;
  predict::Prepared data;
};

// The table is beside the campaign's file, or as it stands.
Result<ReadCampaign> read_campaign(env::Files& files, const std::string& path);

}  // namespace orrery::cli
