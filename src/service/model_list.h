#pragma once
// The models of the zoo.

#include "base/fields.h"
#include "base/table.h"
#include "workload/zoo/zoo.h"

namespace orrery::service {

struct ModelsRequest {
  FieldNames names;
  std::string text;      // in the name of the model or its family; empty: all models
  bool aliases = false;  // also other names of listed models

  bool operator==(const ModelsRequest&) const = default;
};
const Fields<ModelsRequest>& models_fields();

struct ListedModel {
  std::string name, family;
  std::int64_t parameters = 0;
  double macs = 0;
  std::size_t operators = 0;
};
// An error if no model matches.
Result<std::vector<ListedModel>> list_models(const ModelsRequest& request);

Table model_table(const std::vector<ListedModel>& models);

}  // namespace orrery::service
