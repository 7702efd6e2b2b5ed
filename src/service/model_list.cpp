#include "service/model_list.h"

#include <fmt/format.h>

#include "base/text.h"

namespace orrery::service {

const Fields<ModelsRequest>& models_fields() {
  using M = ModelsRequest;
  static const auto kFields =
      Fields<M>()
          .add(&M::text, text_option("text", "", "list only models with this in their name or family").word())
          .add(&M::aliases, flag_option("aliases", "also show alternative names"));
  return kFields;
}

Result<std::vector<ListedModel>> list_models(const ModelsRequest& request) {
  const std::string wanted = to_lower(request.text);
  std::vector<ListedModel> models;
  for (const workload::ModelVariant& variant : workload::model_variants()) {
    if (!variant.listed && !request.aliases) continue;
    if (variant.name.find(wanted) == std::string::npos && variant.family.find(wanted) == std::string::npos) continue;
    ORRERY_TRY(const workload::TrainingGraph graph, workload::build_model(variant.name));
    models.push_back({variant.name, variant.family, graph.parameter_count(), graph.macs(), graph.operators().size()});
  }
  if (models.empty()) return Error::not_found(fmt::format("no model or family contains \"{}\"", wanted));
  return models;
}

Table model_table(const std::vector<ListedModel>& models) {
  Table table({{"model", "model"},
               {"family", "family"},
               {"parameters", "parameters", CellFormat::kCount},
               {"macs", "MACs", CellFormat::kCount},
               {"operators", "operators", CellFormat::kInteger},
               {"summary", "family is"}});
  for (const ListedModel& model : models) {
    table.add({model.name, model.family, model.parameters, model.macs, static_cast<std::int64_t>(model.operators),
               workload::find_family(model.family)->summary});
  }
  return table;
}

}  // namespace orrery::service
