#include "lab/evaluate/polimi_suite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>

#include "base/statistics.h"
#include "lab/evaluate/left_out.h"
#include "lab/evaluate/polimi_layers.h"
#include "lab/evaluate/polimi_runs.h"

namespace orrery::lab {

namespace {

constexpr const char* kSlides = "Politecnico's slides";
constexpr double kNewGpuCountMax = 2;
constexpr const char* kPeeking = ", form chosen on the answers";

// Means over the cells the slides give, in per cent; of the new GPU the figure itself, 0: none.
struct Network {
  const char* file;
  const char* name;
  double batch, gpus, new_gpu;
};
constexpr Network kNetworks[] = {{"alexnet_pt", "AlexNet PyTorch", 3.63, 8.12, 8.28},
                                 {"alexnet_tf", "AlexNet TensorFlow", 5.07, 16.93, 5.08},
                                 {"resnet50_pt", "ResNet-50 PyTorch", 9.01, 8.64, 18.09},
                                 {"resnet50_tf", "ResNet-50 TensorFlow", 6.21, 16.47, 10.10},
                                 {"vgg19_pt", "VGG-19 PyTorch", 15.25, 17.44, 0},
                                 {"vgg19_tf", "VGG-19 TensorFlow", 10.82, 12.00, 0},
                                 {"deepspeech_tf", "DeepSpeech TensorFlow", 9.95, 16.77, 10.14}};
constexpr double kBatchMedian = 6.63, kGpusMedian = 12.2;  // over 94 and 21 cells

struct Modules {
  int gpus;
  double modules_max;
  double published;
};
constexpr Modules kModules[] = {{1, 4, 23.51}, {1, 5, 24.85}, {1, 6, 26.76}, {1, 8, 17.06},
                                {2, 4, 27.95}, {2, 5, 25.11}, {2, 6, 20.40}, {2, 8, 7.93},
                                {4, 4, 17.40}, {4, 5, 16.75}, {4, 6, 16.63}, {4, 8, 15.99}};

constexpr double kSharpness[] = {1, 4};  // one after the other, or side by side

std::vector<RunForm> forms_of(RunTerms terms) {
  std::vector<RunForm> forms;
  for (const double sharpness : kSharpness) forms.push_back({terms, sharpness});
  return forms;
}

// Overlap and hosts by rows; whether a network's iterations wait for the host, the device or both by columns.
std::vector<std::vector<RunForm>> device_forms() {
  constexpr DeviceTerms kJobs[] = {
      {.device = false, .images = true}, {.device = true}, {.device = true, .images = true}};
  std::vector<std::vector<RunForm>> grid;
  for (const double sharpness : kSharpness) {
    for (const bool hosts : {false, true}) {
      for (const bool loading : {false, true}) {
        std::vector<RunForm>& row = grid.emplace_back();
        for (DeviceTerms terms : kJobs) {
          terms.hosts = hosts;
          terms.host_loading = loading;
          row.push_back({RunTerms::kDevice, sharpness, terms});
        }
      }
    }
  }
  return grid;
}

struct Question {
  std::string group;  // of the report
  std::string fold;   // whose errors do not calibrate it
  RunSplit split;
  std::optional<RunSplit> inner{};  // the same kind of question inside what is known, of this network alone
};

// A part of the suite: its questions, and the same kind of questions inside what is known.
struct Part {
  std::vector<RunForm> forms;
  std::vector<Question> questions{};
  std::vector<RunSplit> inner{};
};

struct Tables {
  std::vector<PolimiRun> known, asked;
};

Result<Tables> read_tables(const SuiteInput& input, const std::string& file) {
  Tables tables;
  ORRERY_TRY(tables.known, read_polimi_runs(input.files, training_folder(input, "polimi_gpu_training"), file));
  tables.asked = tables.known;
  if (!input.test.empty()) {
    ORRERY_TRY(tables.asked, read_polimi_runs(input.files, input.test, file));
  }
  return tables;
}

using RunsByGpu = std::map<std::string, std::vector<MeasuredRun>>;

RunsByGpu by_gpu(const std::vector<PolimiRun>& runs) {
  RunsByGpu found;
  for (const PolimiRun& run : runs) found[run.gpu].push_back(run.run);
  return found;
}

Status add_batches_and_gpus(const SuiteInput& input, Part& batches, Part& gpus) {
  for (const Network& network : kNetworks) {
    ORRERY_TRY(const Tables tables, read_tables(input, fmt::format("{}.csv", network.file)));
    const RunsByGpu known = by_gpu(tables.known);
    for (const auto& [gpu, asked] : by_gpu(tables.asked)) {
      const auto found = known.find(gpu);
      if (found == known.end()) continue;
      std::vector<CellSplit> cells = largest_batch_splits(found->second, asked);
      if (!cells.empty()) {
        const std::vector<MeasuredRun>& smaller = cells.front().split.known;
        for (CellSplit& cell : largest_batch_splits(smaller, smaller)) batches.inner.push_back(std::move(cell.split));
      }
      for (CellSplit& cell : cells) {
        batches.questions.push_back({fmt::format("batch, {}", network.name), network.name, std::move(cell.split)});
      }
      auto split = most_gpus_split(found->second, asked);
      if (!split) continue;
      if (auto inner = most_gpus_split(split->known, split->known)) gpus.inner.push_back(std::move(*inner));
      gpus.questions.push_back({fmt::format("GPUs, {}", network.name), network.name, std::move(*split)});
    }
  }
  return {};
}

std::vector<MeasuredRun> on_few_gpus(const std::vector<PolimiRun>& runs) {
  std::vector<MeasuredRun> few;
  for (const PolimiRun& run : runs) {
    if (run.run.gpus <= kNewGpuCountMax) few.push_back(run.run);
  }
  return few;
}

Status add_new_gpu(const SuiteInput& input, std::vector<Question>& questions) {
  for (const Network& network : kNetworks) {
    ORRERY_TRY(const Tables known, read_tables(input, fmt::format("{}.csv", network.file)));
    ORRERY_TRY(const Tables asked, read_tables(input, fmt::format("extrapolation_P_{}.csv", network.file)));
    auto split = fastest_gpu_split(on_few_gpus(known.known), on_few_gpus(asked.asked));
    if (!split) continue;
    auto inner = fastest_gpu_split(split->known, split->known);
    questions.push_back({fmt::format("new GPU, {}", network.name), network.name, std::move(*split), std::move(inner)});
  }
  return {};
}

std::string modules_group(const Modules& modules) {
  return fmt::format("inner modules above {}, {} M60", modules.modules_max, modules.gpus);
}

std::vector<MeasuredRun> plain(const std::vector<PolimiRun>& runs) {
  std::vector<MeasuredRun> found;
  for (const PolimiRun& run : runs) found.push_back(run.run);
  return found;
}

Status add_modules(const SuiteInput& input, Part& part) {
  for (const Modules& modules : kModules) {
    ORRERY_TRY(const Tables tables, read_tables(input, fmt::format("extrapolation_N_resnet_{}.csv", modules.gpus)));
    auto split = modules_split(plain(tables.known), plain(tables.asked), modules.modules_max);
    if (!split) continue;
    auto inner = modules_split(split->known, split->known, modules.modules_max - 1);
    if (inner) part.inner.push_back(*inner);
    part.questions.push_back(
        {modules_group(modules), std::to_string(modules.gpus), std::move(*split), std::move(inner)});
  }
  return {};
}

// Every run asked about, by a law of this form.
Result<std::vector<LeftOut>> answer(const Question& question, const RunForm& form) {
  const RunSplit& split = question.split;
  ORRERY_TRY(const RunLaw law, RunLaw::fit(split.known, split.weights, form));
  std::vector<LeftOut> answers;
  for (const MeasuredRun& run : split.asked) {
    answers.push_back(left_out_of(question.group, run.seconds, law.seconds(run), question.fold));
  }
  return answers;
}

double mean_error(const std::vector<LeftOut>& answers) {
  double sum = 0;
  for (const LeftOut& one : answers) sum += std::abs(one.one.predicted / one.one.measured - 1);
  return sum / static_cast<double>(answers.size());
}

// Answers with the form that answered the inner questions best, with intervals from the errors on other networks.
// `errors` gets the mean error of every question.
Status answer_all(const Part& part, SuiteReport& report, double seconds, std::vector<double>& errors) {
  ORRERY_TRY(const RunForm form, choose_form(part.forms, part.inner));
  std::vector<LeftOut> left_out;
  for (const Question& question : part.questions) {
    ORRERY_TRY(const std::vector<LeftOut> answers, answer(question, form));
    errors.push_back(mean_error(answers));
    left_out.insert(left_out.end(), answers.begin(), answers.end());
  }
  ORRERY_TRY(const std::vector<Case> cases, calibrated_cases(left_out, Folds::kUnlike));
  report.add(cases, seconds);
  return {};
}

// The same with each question's intervals from the errors on its own inner question: runs on one GPU scatter, those on
// several hardly do.
Status answer_modules(const Part& part, SuiteReport& report, double seconds) {
  ORRERY_TRY(const RunForm form, choose_form(part.forms, part.inner));
  std::vector<Case> cases;
  for (const Question& question : part.questions) {
    if (!question.inner) continue;
    ORRERY_TRY(const std::vector<LeftOut> answers, answer(question, form));
    ORRERY_TRY(const std::vector<LeftOut> inside, answer({"", "", *question.inner}, form));
    ORRERY_TRY(const Conformal conformal, calibrate(inside));
    for (const LeftOut& one : answers) cases.push_back(with_interval(one.one, conformal));
  }
  report.add(cases, seconds);
  return {};
}

// Errors of a form on a question inside what is known, in both directions: that one GPU is faster than its peak says
// does not make the next one so.
Result<std::vector<LeftOut>> errors_inside(const Question& question, const RunForm& form) {
  ORRERY_TRY(std::vector<LeftOut> errors, answer({"", question.fold, *question.inner}, form));
  const std::size_t count = errors.size();
  for (std::size_t i = 0; i < count; ++i) {
    LeftOut turned = errors[i];
    std::swap(turned.one.measured, turned.one.predicted);
    errors.push_back(std::move(turned));
  }
  return errors;
}

// Answers each network with its own form (choose_forms()). Nobody may have seen runs on the new GPU, so the intervals
// come from the errors on a network's inner question, or on those of all networks if it has none.
Status answer_new_gpu(const std::vector<Question>& questions, SuiteReport& report, double seconds) {
  std::vector<RunSplit> inner;
  for (const Question& question : questions) {
    if (question.inner) inner.push_back(*question.inner);
  }
  ORRERY_TRY(const FormChoice choice, choose_forms(device_forms(), inner));
  std::vector<LeftOut> inside;
  auto form = choice.of_split.begin();
  for (const Question& question : questions) {
    if (!question.inner) continue;
    ORRERY_TRY(const std::vector<LeftOut> known, errors_inside(question, *form++));
    inside.insert(inside.end(), known.begin(), known.end());
  }
  ORRERY_TRY(const Conformal of_others, calibrate(inside, Folds::kUnlike));
  std::vector<Case> cases;
  form = choice.of_split.begin();
  for (const Question& question : questions) {
    const RunForm& own = question.inner ? *form++ : choice.otherwise;
    Conformal conformal = of_others;
    if (question.inner) {
      ORRERY_TRY(const std::vector<LeftOut> known, errors_inside(question, own));
      ORRERY_TRY(conformal, calibrate(known));
    }
    ORRERY_TRY(const std::vector<LeftOut> answers, answer(question, own));
    for (const LeftOut& one : answers) cases.push_back(with_interval(one.one, conformal));
  }
  report.add(cases, seconds);
  return {};
}

// The same as the library behind the slides chose: by the errors on the answers themselves.
Status answer_peeking(const std::vector<Question>& questions, SuiteReport& report, double seconds) {
  std::vector<Case> cases;
  std::vector<RunForm> forms;
  for (const std::vector<RunForm>& row : device_forms()) forms.insert(forms.end(), row.begin(), row.end());
  for (const Question& question : questions) {
    ORRERY_TRY(const RunForm form, choose_form(forms, {&question.split, 1}));
    ORRERY_TRY(const std::vector<LeftOut> answers, answer(question, form));
    for (const LeftOut& one : answers) {
      Case& peeked = cases.emplace_back(one.one);
      peeked.group += kPeeking;
      peeked.low = peeked.high = std::numeric_limits<double>::quiet_NaN();
    }
  }
  report.add(cases, seconds);
  return {};
}

void add_cells(SuiteReport& report, const std::string& part, const std::vector<double>& errors, double published) {
  if (errors.empty()) return;
  std::vector<Case> cases;
  std::copy_if(report.cases.begin(), report.cases.end(), std::back_inserter(cases),
               [&](const Case& c) { return c.group.starts_with(part + ", "); });
  Score score = score_of(cases);
  score.cases = errors.size();
  score.mre = 0;
  for (const double error : errors) score.mre += error / static_cast<double>(errors.size());
  score.median = median(errors);
  score.p90 = quantile(errors, 0.9);
  report.rows.push_back({part + ", over cells", score, published / 100, fmt::format("{}, median", kSlides)});
}

Status score_runs(const SuiteInput& input, SuiteReport& report) {
  const double begin = input.now_s();
  const auto seconds = [&] { return input.now_s() - begin; };
  Part batches{forms_of(RunTerms::kScale)}, gpus = batches;
  std::vector<Question> new_gpu;
  Part modules{forms_of(RunTerms::kModules)};
  ORRERY_TRY_VOID(add_batches_and_gpus(input, batches, gpus));
  ORRERY_TRY_VOID(add_new_gpu(input, new_gpu));
  ORRERY_TRY_VOID(add_modules(input, modules));
  std::vector<double> errors;
  ORRERY_TRY_VOID(answer_all(batches, report, seconds(), errors));
  add_cells(report, "batch", errors, kBatchMedian);
  errors.clear();
  ORRERY_TRY_VOID(answer_all(gpus, report, seconds(), errors));
  add_cells(report, "GPUs", errors, kGpusMedian);
  ORRERY_TRY_VOID(answer_new_gpu(new_gpu, report, seconds()));
  ORRERY_TRY_VOID(answer_peeking(new_gpu, report, seconds()));
  ORRERY_TRY_VOID(answer_modules(modules, report, seconds()));
  for (const Network& network : kNetworks) {
    const std::string mean = fmt::format("{}, mean of cells", kSlides);
    report.publish(fmt::format("batch, {}", network.name), network.batch / 100, mean);
    report.publish(fmt::format("GPUs, {}", network.name), network.gpus / 100, mean);
    if (network.new_gpu <= 0) continue;
    for (const char* how : {"", kPeeking}) {
      report.publish(fmt::format("new GPU, {}{}", network.name, how), network.new_gpu / 100, kSlides);
    }
  }
  for (const Modules& one : kModules) report.publish(modules_group(one), one.published / 100, kSlides);
  return {};
}

// Whether a folder holds layers; one that cannot be listed does not, and whoever reads it says what is wrong.
bool has_layers(env::Files& files, const std::string& folder) {
  const auto names = files.list(folder);
  return names &&
         std::any_of(names->begin(), names->end(), [](const std::string& name) { return is_layer_file(name); });
}

}  // namespace

Result<SuiteReport> run_polimi_suite(const SuiteInput& input) {
  const double begin = input.now_s();
  SuiteReport report{.suite = "polimi", .seed = input.seed};
  const std::string& given = input.test.empty() ? input.train : input.test;
  const bool only_layers = !given.empty() && has_layers(input.files, given);
  if (!only_layers) ORRERY_TRY_VOID(score_runs(input, report));
  if (given.empty() || only_layers) {
    ORRERY_TRY(const std::vector<Case> cases, layer_cases(input));
    report.add(cases, input.now_s() - begin);
  }
  return report;
}

}  // namespace orrery::lab
