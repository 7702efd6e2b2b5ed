#include "workload/zoo/zoo.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/check.h"
#include "base/text.h"
#include "workload/zoo/families.h"
#include "workload/zoo/timm.h"

namespace orrery::workload {

namespace zoo {

void Catalog::family(std::string name, std::string summary, std::vector<OptionRecord> parameters,
                     Result<TrainingGraph> (*build)(const std::string&, const OptionValues&)) {
  families.push_back({std::move(name), std::move(summary), std::move(parameters), build});
}

void Catalog::variant(std::string name, std::string_view family, std::string_view parameters) {
  ModelVariant made{std::move(name), std::string(family), {}, true};
  for (const std::string& assignment : split(parameters, ',')) {
    if (assignment.empty()) continue;
    const auto parts = split(assignment, '=');
    ORRERY_CHECK(parts.size() == 2);
    made.parameters.emplace_back(parts[0], parts[1]);
  }
  variants.push_back(std::move(made));
}

void Catalog::alias(std::string name, std::string_view family, std::string_view parameters) {
  variant(std::move(name), family, parameters);
  variants.back().listed = false;
}

OptionRecord size_parameter(std::string name, std::int64_t default_value, std::string help) {
  return integer_option(std::move(name), default_value, std::move(help)).bounds(1, 1 << 20);
}

OptionRecord classes_parameter(std::int64_t default_value) {
  return size_parameter("classes", default_value, "classes to tell apart");
}

OptionRecord image_parameter(std::int64_t default_value) {
  return size_parameter("input", default_value, "height and width of the input image").in("PIXELS");
}

OptionRecord channels_parameter(std::int64_t default_value) {
  return size_parameter("channels", default_value, "channels of the input image");
}

Value image_input(GraphBuilder& g, const OptionValues& p) {
  const std::int64_t side = p.integer("input");
  auto shape = Shape::make(std::array<std::int64_t, 4>{1, p.integer("channels"), side, side});
  if (!shape) {
    g.fail(std::move(shape).error().with_context("input"));
    return {};
  }
  return g.input("input", *shape);
}

namespace {

struct Zoo {
  Catalog catalog;
  std::map<std::string, const ModelFamily*, std::less<>> family_by_name;
  std::map<std::string, const ModelVariant*, std::less<>> variant_by_name;
};

const Zoo& the_zoo() {
  static const Zoo kZoo = [] {
    Zoo zoo;
    Catalog& catalog = zoo.catalog;
    register_alexnet(catalog);
    register_dense(catalog);
    register_language(catalog);
    register_recurrent(catalog);
    register_resnet(catalog);
    register_swin(catalog);
    register_vit(catalog);
    register_lenet(catalog);
    register_vgg(catalog);
    register_densenet(catalog);
    register_inception(catalog);
    register_squeezenet(catalog);
    register_mobilenet(catalog);
    register_mnasnet(catalog);
    register_efficientnet(catalog);
    register_shufflenet(catalog);
    register_regnet(catalog);
    register_convnext(catalog);
    register_randwire(catalog);
    register_vae(catalog);
    std::sort(catalog.families.begin(), catalog.families.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    std::stable_sort(catalog.variants.begin(), catalog.variants.end(),
                     [](const auto& a, const auto& b) { return a.family < b.family; });
    for (const ModelFamily& family : catalog.families) {
      const bool is_new = zoo.family_by_name.emplace(family.name, &family).second;
      ORRERY_CHECK(is_new);
    }
    for (const ModelVariant& variant : catalog.variants) {
      const bool is_new = zoo.variant_by_name.emplace(variant.name, &variant).second;
      ORRERY_CHECK(is_new && zoo.family_by_name.count(variant.family) == 1);
    }
    return zoo;
  }();
  return kZoo;
}

// The model of the zoo that a name of TIMM means.
std::optional<std::string> timm_model(std::string_view name) {
  name = without_timm_tag(name);
  if (auto model = timm_cnn_model(name)) return model;
  if (auto model = timm_transformer_model(name)) return model;
  return std::nullopt;
}

Error unknown_model(std::string_view name) {
  std::vector<std::string> names;
  for (const ModelVariant& variant : model_variants()) names.push_back(variant.name);
  for (const ModelFamily& family : model_families()) names.push_back(family.name);
  const std::string hint = did_you_mean(name, names);
  return Error::not_found(
      fmt::format("unknown model \"{}\"{}", name, hint.empty() ? "; `orrery models` lists them" : hint));
}

}  // namespace

}  // namespace zoo

std::span<const ModelFamily> model_families() {
  return zoo::the_zoo().catalog.families;
}

std::span<const ModelVariant> model_variants() {
  return zoo::the_zoo().catalog.variants;
}

const ModelFamily* find_family(std::string_view name) {
  const auto& families = zoo::the_zoo().family_by_name;
  const auto found = families.find(name);
  return found == families.end() ? nullptr : found->second;
}

Result<ModelSpec> parse_model(std::string_view text) {
  constexpr std::string_view kTimmPrefix = "timm/";
  const std::size_t colon = text.find(':');
  const std::string name(trim(text.substr(0, colon)));
  const auto& variants = zoo::the_zoo().variant_by_name;
  const auto variant = variants.find(name);
  const ModelFamily* family = find_family(variant == variants.end() ? name : variant->second->family);
  if (family == nullptr) {
    const bool says_so = name.starts_with(kTimmPrefix);
    const auto meant = zoo::timm_model(std::string_view(name).substr(says_so ? kTimmPrefix.size() : 0));
    if (!meant) return zoo::unknown_model(name);
    std::string full = *meant;
    if (colon != std::string_view::npos) {
      full += full.find(':') == std::string::npos ? ':' : ',';
      full += text.substr(colon + 1);
    }
    ORRERY_TRY(ModelSpec spec, parse_model(full));
    spec.name = std::string(text);
    return spec;
  }

  ModelSpec spec{family, std::string(text), OptionValues(family->parameters)};
  if (variant != variants.end()) {
    for (const auto& [key, value] : variant->second->parameters) {
      const Status status = spec.parameters.set(key, value);
      ORRERY_CHECK(status.has_value());
    }
  }
  if (colon == std::string_view::npos) return spec;
  for (const std::string& assignment : split(text.substr(colon + 1), ',')) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      return Error::invalid(fmt::format("model {}: \"{}\" is not parameter=value", name, assignment));
    }
    Status status =
        spec.parameters.set(trim(std::string_view(assignment).substr(0, equals)), assignment.substr(equals + 1));
    if (!status) return std::move(status).error().with_context("model " + name);
  }
  return spec;
}

Result<TrainingGraph> build_model(const ModelSpec& spec) {
  return spec.family->build(spec.name, spec.parameters);
}

Result<TrainingGraph> build_model(std::string_view text) {
  ORRERY_TRY(const ModelSpec spec, parse_model(text));
  return build_model(spec);
}

}  // namespace orrery::workload
