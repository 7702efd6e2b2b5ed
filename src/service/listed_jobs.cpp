#include "service/listed_jobs.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/yaml.h"
#include "env/files.h"
#include "service/models.h"
#include "service/predictors.h"
#include "service/training_fields.h"

namespace orrery::service {

const Fields<ListingFields>& listing_fields() {
  using L = ListingFields;
  static const auto kFields =
      Fields<L>()
          .add(&L::catalog, catalog_fields())
          .add(&L::nodes, integer_option("nodes", 4, "most machines rented at the same time").bounds(1, 1000))
          .add(&L::spot, flag_option("spot", "rent at spot prices; predicted times include the expected interruptions"))
          .add(&L::predictor, predictor_option());
  return kFields;
}

namespace {

Result<ListedFile> read_one(env::Env env, const std::string& path, const std::vector<plan::VmType>& types,
                            int machines_max, const predict::Predictor& predictor) {
  ORRERY_TRY(const workload::JobFile file, read_job_file(env, path));
  ORRERY_TRY(const NamedModel model, load_model(env, file));
  ORRERY_TRY(TrainingFields training, training_fields().defaults());
  complete(training, file.spec);
  ORRERY_TRY(const predict::RunSpec spec, run_spec(training, FieldNames::of_words()));
  auto configurations = plan::predicted_configurations(file.spec, model.graph, spec, training.batch_per_gpu->front(),
                                                       types, machines_max, predictor);
  if (!configurations) return std::move(configurations).error().with_context(path);
  return ListedFile{file.spec, std::move(*configurations)};
}

Result<std::vector<plan::VmType>> rented_types(env::Env env, const Listing& listing, const ListingFields& fields,
                                               const FieldNames& names) {
  ORRERY_TRY(const OfferList offers, load_offers(env, fields.catalog));
  const bool spot = fields.spot;
  if (listing.list.spot && !spot)
    return Error::invalid(fmt::format("{}: spot: machines are rented on demand; give {}", listing.path, names("spot")));
  ORRERY_TRY(std::vector<plan::VmType> types, plan::vm_types_of(offers.offers, spot));
  if (spot)
    for (plan::VmType& type : types) type.spot = listing.list.spot.value_or(plan::SpotRules());
  ORRERY_TRY_VOID(plan::apply_limits(listing.list.limits, listing.path, types));
  std::erase_if(types, [](const plan::VmType& type) { return type.nodes_max == 0; });
  if (types.empty()) return Error::infeasible(fmt::format("{}: limits: they leave no VM type", listing.path));
  return types;
}

}  // namespace

std::string Listing::place(std::size_t line) const {
  return fmt::format("{}:{}", path, line);
}

std::string PredictedTimes::text() const {
  return fmt::format("{} of {} predicted times are inside what was learned, the others formulas at least in part",
                     in_domain, all);
}

PredictedTimes Listing::predicted() const {
  PredictedTimes times;
  for (const auto& [name, file] : files) {
    for (const plan::PredictedConfiguration& configuration : file.configurations) {
      ++times.all;
      times.in_domain += configuration.in_domain ? 1 : 0;
    }
  }
  return times;
}

bool Listing::is_limited(const plan::VmType& type) const {
  return type.nodes_max < plan::kNodesMax ||
         std::any_of(list.limits.quotas.begin(), list.limits.quotas.end(),
                     [&](const plan::ListedQuota& quota) { return plan::matches(type, quota.match); });
}

Result<Listing> load_listing(env::Env env, const std::string& path, const ListingFields& fields, int machines_max,
                             const FieldNames& names) {
  Listing listing;
  listing.path = path;
  ORRERY_TRY(const std::string yaml, env.files.read(path, kYamlBytesMax));
  ORRERY_TRY(listing.list, plan::read_job_list(yaml, path));
  ORRERY_TRY(listing.types, rented_types(env, listing, fields, names));
  ORRERY_TRY(const auto predictor, make_predictor(env, {fields.predictor, {}}, names));
  const auto load = [&](const std::string& file, std::size_t line) -> Status {
    if (listing.files.contains(file)) return {};
    auto one = read_one(env, beside(path, file), listing.types, machines_max, *predictor);
    if (!one) return std::move(one).error().with_context(listing.place(line));
    listing.files.emplace(file, std::move(*one));
    return {};
  };
  for (const plan::ListedJob& job : listing.list.jobs) ORRERY_TRY_VOID(load(job.file, job.line));
  for (const plan::ListedForecast& forecast : listing.list.forecasts)
    ORRERY_TRY_VOID(load(forecast.file, forecast.line));
  return listing;
}

void name_apart(const std::vector<std::string*>& ids) {
  std::map<std::string, int> counts, seen;
  for (const std::string* id : ids) ++counts[*id];
  for (std::string* id : ids)
    if (counts[*id] > 1) {
      const std::string name = *id;
      *id += fmt::format("-{}", ++seen[name]);
    }
}

}  // namespace orrery::service
