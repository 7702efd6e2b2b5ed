#pragma once
// Regressions of a table of measurements: a campaign is its file and the table that it names.

#include "base/fields.h"
#include "base/table.h"
#include "env/env.h"
#include "predict/regression/campaign.h"

namespace orrery::service {

struct ReadCampaign {
  predict::Campaign campaign;
  predict::Prepared data;
};

// The table is beside the campaign's file, or as it stands.
Result<ReadCampaign> read_campaign(env::Files& files, const std::string& path);

struct RegressRequest {
  FieldNames names;
  std::string config;

  friend bool operator==(const RegressRequest&, const RegressRequest&) = default;
};
const Fields<RegressRequest>& regress_fields();

struct RegressAnswer {
  std::string target;
  predict::CampaignResult result;
};
Result<RegressAnswer> regress(env::Env env, const RegressRequest& request);

// One row per technique, best first.
Table regress_table(const RegressAnswer& answer);
std::string regress_text(const RegressAnswer& answer);

}  // namespace orrery::service
