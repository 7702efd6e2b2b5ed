#include "profile/dataset/configurations.h"

#include <fmt/format.h>

#include "workload/cost.h"
#include "workload/zoo/zoo.h"

namespace orrery::profile {

namespace {

struct Choices {
  std::string_view parameter;
  std::vector<std::string_view> values;
};

struct Recipe {
  std::string_view family;
  std::vector<std::string_view> variants;
  std::vector<Choices> choices;
};

const std::vector<std::string_view> kImages = {"32", "48", "64", "80", "96", "112", "128", "160"};
const std::vector<std::string_view> kClasses = {"3", "10", "37", "100", "257", "500", "1000"};
const std::vector<std::string_view> kVocabularies = {"500", "1000", "2000", "5000", "10000"};
const std::vector<std::string_view> kWidths = {"0.5", "0.75", "1", "1.25"};

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> kRecipes = {
      {"alexnet", {"alexnet"}, {{"input", {"64", "96", "128", "160"}}, {"classes", kClasses}}},
      {"bert",
       {"bert_tiny", "bert_mini"},
       {{"layers", {"1", "2", "3", "4"}},
        {"seq", {"16", "32", "64", "128"}},
        {"vocab", kVocabularies},
        {"attention", {"explicit", "fused"}}}},
      {"convnext",
       {"convnext_tiny"},
       {{"width", {"24", "32", "48", "64"}}, {"input", {"32", "64", "96"}}, {"classes", kClasses}}},
      {"deepspeech",
       {"deepspeech"},
       {{"cell", {"rnn", "lstm", "gru"}}, {"hidden", {"64", "128", "256"}}, {"frames", {"20", "50", "100"}}}},
      {"deepspeech2",
       {"deepspeech2"},
       {{"cell", {"rnn", "lstm", "gru"}},
        {"hidden", {"64", "128", "256"}},
        {"frames", {"40", "80", "120"}},
        {"layers", {"1", "2", "3"}}}},
      {"densenet",
       {"densenet121"},
       {{"growth", {"8", "12", "16", "24", "32"}}, {"input", {"32", "48", "64", "96"}}, {"classes", kClasses}}},
      {"dlrm",
       {"dlrm"},
       {{"tables", {"4", "8", "16"}}, {"rows", {"100", "1000", "10000"}}, {"embedding", {"16", "32", "64"}}}},
      {"efficientnet", {"efficientnet_b0"}, {{"width", kWidths}, {"input", kImages}, {"classes", kClasses}}},
      {"efficientnet_lite", {"efficientnet_lite0"}, {{"width", kWidths}, {"input", kImages}, {"classes", kClasses}}},
      {"googlenet", {"googlenet"}, {{"aux", {"true", "false"}}, {"input", {"64", "96", "128"}}, {"classes", kClasses}}},
      {"gpt2",
       {"gpt2"},
       {{"layers", {"1", "2", "3", "4"}},
        {"hidden", {"64", "128", "192", "256"}},
        {"heads", {"2", "4"}},
        {"seq", {"16", "32", "64", "128"}},
        {"vocab", kVocabularies},
        {"attention", {"explicit", "fused"}}}},
      {"lenet", {"lenet"}, {{"input", {"28", "32", "48", "64"}}, {"classes", kClasses}}},
      {"llama",
       {"tinyllama_1.1b"},
       {{"layers", {"1", "2", "3"}},
        {"hidden", {"64", "128", "256"}},
        {"heads", {"4"}},
        {"key_heads", {"1", "2", "4"}},
        {"mlp", {"128", "256", "512"}},
        {"seq", {"16", "32", "64"}},
        {"vocab", kVocabularies}}},
      {"mlp",
       {"mlp"},
       {{"features", {"64", "256", "784"}},
        {"hidden", {"64", "256", "512", "1024", "2048"}},
        {"layers", {"1", "2", "3", "5", "8"}},
        {"classes", kClasses}}},
      {"mnasnet", {"mnasnet1_0"}, {{"width", kWidths}, {"input", kImages}, {"classes", kClasses}}},
      {"mobilenet_v2", {"mobilenet_v2"}, {{"width", kWidths}, {"input", kImages}, {"classes", kClasses}}},
      {"mobilenet_v3",
       {"mobilenet_v3_small", "mobilenet_v3_large"},
       {{"width", kWidths}, {"input", kImages}, {"classes", kClasses}}},
      {"nmt",
       {"nmt"},
       {{"cell", {"rnn", "lstm", "gru"}},
        {"hidden", {"64", "128", "256"}},
        {"layers", {"1", "2"}},
        {"seq", {"8", "16", "32"}},
        {"vocab", kVocabularies}}},
      {"regnet",
       {"regnet_y_400mf", "regnet_x_400mf", "regnet_y_800mf", "regnet_x_800mf"},
       {{"input", kImages}, {"classes", kClasses}}},
      {"resnet", {"resnet18", "resnet34", "resnet50", "resnext50_32x4d"}, {{"input", kImages}, {"classes", kClasses}}},
      {"resnet_cifar",
       {"resnet20_cifar", "resnet32_cifar", "resnet44_cifar"},
       {{"width", {"1", "2", "4"}}, {"input", {"24", "32", "48"}}}},
      {"rnn",
       {"rnn"},
       {{"cell", {"rnn", "lstm", "gru"}},
        {"hidden", {"64", "128", "256"}},
        {"layers", {"1", "2", "3"}},
        {"seq", {"8", "16", "35"}},
        {"vocab", kVocabularies}}},
      {"shufflenet",
       {"shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "shufflenet_v2_x1_5"},
       {{"input", kImages}, {"classes", kClasses}}},
      {"squeezenet",
       {"squeezenet1_0", "squeezenet1_1"},
       {{"input", {"64", "96", "128", "160"}}, {"classes", kClasses}}},
      {"swin",
       {"swin_t"},
       {{"hidden", {"24", "48"}}, {"window", {"7"}}, {"input", {"56", "112", "224"}}, {"classes", kClasses}}},
      {"transformer",
       {"transformer"},
       {{"layers", {"1", "2", "3"}},
        {"hidden", {"64", "128", "256"}},
        {"heads", {"2", "4"}},
        {"mlp", {"128", "256", "512"}},
        {"seq", {"16", "32", "64"}},
        {"vocab", kVocabularies}}},
      {"vae", {"vae"}, {{"width", {"8", "16", "32"}}, {"latent", {"32", "64", "128"}}, {"input", {"32", "64"}}}},
      {"vgg",
       {"vgg11", "vgg13", "vgg16"},
       {{"hidden", {"128", "256", "512"}},
        {"norm", {"none", "batch"}},
        {"input", {"32", "48", "64", "96"}},
        {"classes", kClasses}}},
      {"vit",
       {"vit_b_16"},
       {{"layers", {"1", "2", "3", "4"}},
        {"hidden", {"64", "128", "192", "256"}},
        {"heads", {"2", "4"}},
        {"mlp", {"256", "512"}},
        {"patch", {"8", "16"}},
        {"input", {"32", "64", "96", "128"}},
        {"classes", kClasses}}},
  };
  return kRecipes;
}

const Recipe& random_graphs() {
  static const Recipe kRecipe = {"randwire",
                                 {"randwire_small"},
                                 {{"width", {"8", "12", "16", "24", "32", "48"}},
                                  {"nodes", {"6", "8", "12", "16", "20", "24", "32"}},
                                  {"neighbours", {"2", "4"}},
                                  {"rewired", {"0.25", "0.5", "0.75", "0.9"}},
                                  {"input", {"32", "48", "64", "96", "112"}},
                                  {"classes", kClasses}}};
  return kRecipe;
}

template <class T>
const T& pick(const std::vector<T>& values, Random& random) {
  return values[random.below(values.size())];
}

Configuration draw_once(const Recipe& recipe, Random& random) {
  Configuration drawn;
  drawn.family = recipe.family;
  drawn.model = std::string(pick(recipe.variants, random)) + ":";
  for (const Choices& choice : recipe.choices) {
    drawn.model += fmt::format("{}={},", choice.parameter, pick(choice.values, random));
  }
  if (recipe.family == "randwire") drawn.model += fmt::format("seed={},", random.below(1'000'000));
  drawn.model.pop_back();
  drawn.batch = std::int64_t{1} << random.below(6);
  const auto optimizers = workload::optimizers();
  drawn.optimizer = optimizers[random.below(optimizers.size())].optimizer;
  return drawn;
}

bool is_affordable(const workload::TrainingRun& run, const ConfigurationLimits& limits) {
  if (run.graph.operators().size() > limits.operators_max) return false;
  Flops flops;
  Bytes bytes;
  for (const workload::PhaseStep step : run.graph.execution_order()) {
    const auto cost = operator_cost(run.graph, step, run.cost_options());
    flops += cost.flops();
    bytes += cost.bytes();
  }
  return flops <= limits.flops && bytes <= limits.bytes;
}

}  // namespace

std::string Configuration::key() const {
  return fmt::format("{} batch {} {}", model, batch, to_string(optimizer));
}

std::vector<std::string> dataset_families() {
  std::vector<std::string> families = {std::string(random_graphs().family)};
  for (const Recipe& recipe : recipes()) families.emplace_back(recipe.family);
  return families;
}

Result<workload::TrainingRun> run_of(const Configuration& configuration) {
  ORRERY_TRY(const workload::TrainingGraph single, workload::build_model(configuration.model));
  ORRERY_TRY(workload::TrainingGraph graph, single.with_batch(configuration.batch));
  workload::TrainingRun run{std::move(graph)};
  run.optimizer = configuration.optimizer;
  return run;
}

Result<Configuration> draw_configuration(std::uint64_t seed, std::uint64_t number, const ConfigurationLimits& limits) {
  constexpr std::uint64_t kRandomGraphEvery = 4;
  constexpr int kMostTries = 200;
  const bool is_random_graph = number % kRandomGraphEvery == kRandomGraphEvery - 1;
  const std::uint64_t turn = number - number / kRandomGraphEvery;
  const Recipe& recipe = is_random_graph ? random_graphs() : recipes()[turn % recipes().size()];
  Random random = Random(seed).split(number);
  Configuration drawn = draw_once(recipe, random);
  for (int i = 0; i < kMostTries; ++i) {
    const auto run = run_of(drawn);
    if (run && is_affordable(*run, limits)) return drawn;
    const bool can_shrink = run && drawn.batch > 1;
    if (can_shrink) {
      drawn.batch /= 2;
    } else {
      drawn = draw_once(recipe, random);
    }
  }
  return Error::infeasible(fmt::format("no configuration of {} is within the limits", recipe.family));
}

}  // namespace orrery::profile
