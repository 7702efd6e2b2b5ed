#include "cli/campaigns.h"

#include "base/csv.h"
#include "env/files.h"

namespace orrery::cli {

namespace {

constexpr Bytes kCampaignMax = mebibytes(1);
constexpr Bytes kTableMax = mebibytes(256);

std::string input_path(env::Files& files, const std::string& campaign, const std::string& input) {
  const std::size_t slash = campaign.rfind('/');
  const std::string beside = slash == std::string::npos ? input : campaign.substr(0, slash + 1) + input;
  return files.exists(beside) ? beside : input;
}

}  // namespace

Result<ReadCampaign> read_campaign(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string text, files.read(path, kCampaignMax));
  auto campaign = predict::parse_campaign(text);
  if (!campaign) return std::move(campaign).error().with_context(path);
  const std::string input = input_path(files, path, campaign->input);
  ORRERY_TRY(const std::string rows, files.read(input, kTableMax));
  auto table = parse_csv(rows);
  if (!table) return std::move(table).error().with_context(input);
  auto data = predict::prepare(*table, *campaign);
  if (!data) return std::move(data).error().with_context(input);
  return ReadCampaign{std::move(*campaign), std::move(*data)};
}

}  // namespace orrery::cli
