#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "elastic/policy/shipped.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/terminal.h"
#include "service/models.h"
#include "train/trainer.h"

namespace orrery::cli {

using profile::ImageSet;
using train::Strategy, train::TrainedStep, train::Trainer, train::TrainerOptions;

namespace {

constexpr std::int64_t kTestBatch = 100;
constexpr std::uint64_t kMadeUpTraining = 6000, kMadeUpTest = 1000;

// The setup of a training, and what it prints.
struct Setup {
  env::Env env;
  const OptionValues& options;
  std::string model;
  workload::TrainingGraph graph;  // at batch 1
  bool is_synthetic = false;

  std::int64_t micro_batch() const { return options.integer("micro-batch"); }
  bool adapts() const { return options.has("policy"); }
  void say(const std::string& text) const { env.terminal.write_error(text + "\n"); }
};

Result<bool> data_is_synthetic(env::Env env, const OptionValues& options) {
  const std::string& name = options.text("data");
  const bool is_there = env.files.exists(profile::kFashionMnistFolder);
  if (name == "fashion-mnist" && !is_there) {
    return Error::not_found(
        fmt::format("{} is missing; install the Debian package dataset-fashion-mnist, or give "
                    "--data synthetic",
                    profile::kFashionMnistFolder));
  }
  return name == "synthetic" || !is_there;
}

Result<std::unique_ptr<profile::LabelledData>> open_data(const Setup& setup, ImageSet set) {
  if (!setup.is_synthetic) return profile::read_images(setup.env.files, profile::kFashionMnistFolder, set);
  const auto seed = static_cast<std::uint64_t>(setup.options.integer("seed"));
  return profile::make_up_images(set == ImageSet::kTraining ? kMadeUpTraining : kMadeUpTest, seed, set);
}

Result<std::unique_ptr<profile::Executor>> open_executor(const Setup& setup, const workload::TrainingGraph& graph) {
  workload::TrainingRun run{graph};
  run.optimizer = workload::Optimizer::kSgd;
  profile::ExecutorOptions how;
  how.threads = static_cast<int>(setup.options.integer("threads"));
  how.seed = static_cast<std::uint64_t>(setup.options.integer("seed"));
  return profile::make_executor(run, how, setup.env.clock);
}

// The share of test samples that the model gets right.
Result<double> accuracy(const Setup& setup, const std::vector<float>& parameters) {
  ORRERY_TRY(const auto data, open_data(setup, ImageSet::kTest));
  ORRERY_TRY(const workload::TrainingGraph graph, setup.graph.with_batch(kTestBatch));
  ORRERY_TRY(const auto executor, open_executor(setup, graph));
  ORRERY_TRY_VOID(executor->set_parameters(parameters));
  std::uint64_t right = 0, seen = 0;
  std::vector<std::uint64_t> samples(static_cast<std::size_t>(kTestBatch));
  while (seen + samples.size() <= data->samples()) {
    for (std::uint64_t& sample : samples) sample = seen++;
    ORRERY_TRY_VOID(data->feed_samples(*executor, graph, samples));
    ORRERY_TRY(const std::vector<float> scores, executor->scores());
    const auto classes = static_cast<std::ptrdiff_t>(scores.size() / samples.size());
    auto row = scores.begin();
    for (const std::uint64_t sample : samples) {
      right += std::max_element(row, row + classes) - row == data->label(sample) ? 1 : 0;
      row += classes;
    }
  }
  return static_cast<double>(right) / static_cast<double>(seen);
}

std::string adaptation(const TrainedStep& step) {
  const std::string noise = step.noise_scale ? fmt::format("{:.0f}", *step.noise_scale) : "-";
  return fmt::format("  batch {}  rate x{:.3g}  noise scale {}", step.end - step.begin, step.learning_rate_scale,
                     noise);
}

// "batch 256, learning_rate_scale 1.8".
std::string to_text(const elastic::Proposal& proposal) {
  std::string text;
  for (const auto& [name, value] : proposal.values) {
    text += fmt::format("{}{} {:.6g}", text.empty() ? "" : ", ", name, value);
  }
  if (!proposal.strategy.empty()) text += fmt::format("{}strategy {}", text.empty() ? "" : ", ", proposal.strategy);
  return text;
}

// From 1 to a billion.
std::optional<std::uint64_t> whole_number(std::string_view text) {
  const std::optional<double> number = parse_number(text);
  if (!number || !(*number >= 1 && *number <= 1e9) || *number != std::floor(*number)) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

// A strategy until a step.
struct StrategyPart {
  Strategy strategy = Strategy::kSynchronous;
  std::uint64_t until_step = 0;
};

// "synchronous:500,pair": 500 steps, then others to the end.
Result<std::vector<StrategyPart>> strategies_of(const OptionValues& options) {
  const std::string& text = options.text("strategy");
  const auto wrong = [&] {
    return Error::invalid(
        fmt::format("--strategy: expected NAME:STEPS,…,NAME of synchronous, local, pair, server and server-async, "
                    "not {}",
                    quote(text)));
  };
  std::vector<StrategyPart> plan;
  const auto parts = split(text, ',');
  std::uint64_t step = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto words = split(parts[i], ':');
    const bool is_last = i + 1 == parts.size();
    const std::optional<Strategy> known = train::strategy_named(words[0]);
    if (!known || words.size() != (is_last ? 1U : 2U)) return wrong();
    if (is_last) {
      step = std::numeric_limits<std::uint64_t>::max();
    } else {
      const std::optional<std::uint64_t> count = whole_number(words[1]);
      if (!count) return wrong();
      step += *count;
    }
    plan.push_back({*known, step});
  }
  return plan;
}

Result<elastic::PolicySet> policies_of(const OptionValues& options) {
  std::vector<std::unique_ptr<elastic::Policy>> policies;
  if (options.has("policy")) {
    // A comma may also belong to the arguments of a policy: schedule:2:100,4:200.
    std::vector<std::string> names;
    for (const std::string_view part : split(options.text("policy"), ',')) {
      const bool goes_on = !part.empty() && part.front() >= '0' && part.front() <= '9' && !names.empty();
      if (goes_on) {
        names.back() += fmt::format(",{}", part);
      } else {
        names.emplace_back(part);
      }
    }
    for (const std::string& name : names) {
      ORRERY_TRY(policies.emplace_back(), elastic::make_policy(name));
    }
  }
  return elastic::PolicySet(std::move(policies));
}

// What workers report while they train: rank 0 to people, each into its own file.
class Journal {
 public:
  static Result<Journal> open(const Setup& setup, const Trainer& trainer, std::uint64_t worker) {
    Journal journal(setup, trainer);
    if (!setup.options.has("log")) return journal;
    ORRERY_TRY_VOID(setup.env.files.make_directory(setup.options.text("log")));
    ORRERY_TRY(journal.log_,
               setup.env.files.open_log(fmt::format("{}/worker-{}.jsonl", setup.options.text("log"), worker)));
    return journal;
  }

  Status add(const TrainedStep& step, bool speaks) {
    samples_ += step.end - step.begin;
    const bool is_due =
        step.step % static_cast<std::uint64_t>(setup_.options.integer("report")) == 0 || step.ends_training;
    if (speaks && is_due) {
      const Seconds time = setup_.env.clock.monotonic();
      const double rate = static_cast<double>(samples_) / (time - start_).value();
      setup_.say(fmt::format("{}  loss {:.4f}  {:.0f} samples/s  {} workers{}", place_of(step), step.loss, rate,
                             step.workers, setup_.adapts() ? adaptation(step) : ""));
    }
    if (is_due) {
      start_ = setup_.env.clock.monotonic();
      samples_ = 0;
    }
    if (!log_) return {};
    nlohmann::ordered_json line = {
        {"time_s", setup_.env.clock.wall().value()},
        {"step", step.step},
        {"generation", step.generation},
        {"epoch", step.epoch},
        {"begin", step.begin},
        {"end", step.end},
        {"own_samples", step.own_samples ? nlohmann::ordered_json(*step.own_samples) : nlohmann::ordered_json()},
        {"workers", step.workers},
        {"repeats", step.repeats},
        {"strategy", train::name_of(step.strategy)},
        {"loss", step.loss},
        {"learning_rate_scale", step.learning_rate_scale},
        {"noise_scale", step.noise_scale ? nlohmann::ordered_json(*step.noise_scale) : nlohmann::ordered_json()},
        {"model", fmt::format("{:016x}", trainer_.digest())}};
    if (speaks && step.ends_epoch && setup_.options.flag("evaluate")) {
      ORRERY_TRY(const double share, accuracy(setup_, trainer_.parameters()));
      line["accuracy"] = share;
    }
    append(line.dump() + "\n");
    return {};
  }

 private:
  Journal(const Setup& setup, const Trainer& trainer)
      : setup_(setup), trainer_(trainer), start_(setup.env.clock.monotonic()) {}

  // A log that cannot be written is no reason to end a training.
  void append(std::string line) {
    if (cannot_write_) line.insert(0, "\n");  // the last one may be cut off
    const Status appended = log_->append(line);
    if (!appended && !std::exchange(cannot_write_, true)) {
      setup_.env.terminal.write_error(
          fmt::format("orrery: {}; the training continues\n", appended.error().to_string()));
    }
    cannot_write_ = !appended;
  }

  // "step 20/30  epoch 1", "step 20  epoch 1/3".
  std::string place_of(const TrainedStep& step) const {
    const OptionValues& options = setup_.options;
    if (options.has("steps"))
      return fmt::format("step {}/{}  epoch {}", step.step, options.integer("steps"), step.epoch);
    return fmt::format("step {}  epoch {}/{}", step.step, step.epoch + 1, options.integer("epochs"));
  }

  const Setup& setup_;
  const Trainer& trainer_;
  std::unique_ptr<env::AppendLog> log_;
  bool cannot_write_ = false;
  Seconds start_;
  std::uint64_t samples_ = 0;
};

Status write_model(const Setup& setup, const std::vector<float>& parameters) {
  const std::string_view bytes(reinterpret_cast<const char*>(parameters.data()), parameters.size() * sizeof(float));
  return setup.env.files.write_atomically(setup.options.text("output"), bytes);
}

Status finish(Context& context, const Setup& setup, const Trainer& trainer, bool speaks) {
  context.print(fmt::format("model {:016x} after step {}\n", trainer.digest(), trainer.step()));
  if (!speaks) return {};
  if (setup.options.has("output")) ORRERY_TRY_VOID(write_model(setup, trainer.parameters()));
  ORRERY_TRY(const double share, accuracy(setup, trainer.parameters()));
  context.print(fmt::format("accuracy {:.2f} % of the test images\n", 100 * share));
  return {};
}

Result<TrainerOptions> trainer_options(const OptionValues& options) {
  TrainerOptions trainer;
  trainer.micro_batch = static_cast<std::uint64_t>(options.integer("micro-batch"));
  trainer.batch = static_cast<std::uint64_t>(options.integer("batch"));
  trainer.seed = static_cast<std::uint64_t>(options.integer("seed"));
  trainer.learning_rate = options.number("learning-rate");
  trainer.momentum = options.number("momentum");
  trainer.period = static_cast<std::uint64_t>(options.integer("period"));
  trainer.servers = static_cast<std::uint64_t>(options.integer("servers"));
  trainer.pace = options.duration("pace");
  if (options.has("slow")) {
    const auto words = split(options.text("slow"), ':');
    const std::optional<std::uint64_t> worker = whole_number(words[0]);
    const std::optional<double> factor = words.size() == 2 ? parse_number(words[1]) : std::nullopt;
    if (!worker || !factor || !(*factor >= 1 && *factor <= 1000)) {
      return Error::invalid(
          fmt::format("--slow: expected WORKER:FACTOR, such as 2:3, not {}", quote(options.text("slow"))));
    }
    trainer.slow_worker = *worker;
    trainer.slowdown = *factor;
  }
  if (trainer.batch % trainer.micro_batch == 0) return trainer;
  return Error::invalid(
      fmt::format("--batch {} is no multiple of --micro-batch {}", trainer.batch, trainer.micro_batch));
}

Status run_train(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const TrainerOptions how, trainer_options(options));
  ORRERY_TRY(elastic::PolicySet policies, policies_of(options));
  ORRERY_TRY(const std::vector<StrategyPart> plan, strategies_of(options));
  if (options.has("policy") && plan.size() > 1) {
    return Error::invalid("with --policy give one --strategy; policies can change it (straggler, strategy-by-size)");
  }
  ORRERY_TRY(service::NamedModel model, service::load_model(context.env, options.text("model")));
  ORRERY_TRY(const bool is_synthetic, data_is_synthetic(context.env, options));
  const Setup setup{context.env, options, model.name, std::move(model.graph), is_synthetic};
  ORRERY_TRY(const workload::TrainingGraph graph, setup.graph.with_batch(setup.micro_batch()));
  ORRERY_TRY(const auto executor, open_executor(setup, graph));
  ORRERY_TRY(const auto data, open_data(setup, ImageSet::kTraining));
  Trainer trainer(*executor, graph, *data, how, context.env);
  trainer.set_strategy(plan.front().strategy);
  ORRERY_TRY_VOID(trainer.join());
  train::TrainingGoal goal;
  std::uint64_t& count = options.has("steps") ? goal.steps : goal.epochs;
  const char* const unit = options.has("steps") ? "steps" : "epochs";
  count = static_cast<std::uint64_t>(options.integer(unit));
  bool speaks = trainer.worker().rank() == 0;
  if (speaks && trainer.step() == 0) {
    setup.say(fmt::format("{} on {} {} images, {} per step, {} {}", setup.model, data->samples(),
                          is_synthetic ? "synthetic" : "Fashion-MNIST", how.batch, count, unit));
    if (is_synthetic && options.text("data") == "auto") {
      setup.say("Fashion-MNIST is not installed (Debian package dataset-fashion-mnist): the images are synthetic");
    }
  }
  ORRERY_TRY(Journal journal, Journal::open(setup, trainer, trainer.worker().id()));
  const auto after_step = [&](const TrainedStep& step) {
    speaks = trainer.worker().rank() == 0;
    if (plan.size() > 1) {
      const auto part =
          std::find_if(plan.begin(), plan.end(), [&](const StrategyPart& one) { return step.step < one.until_step; });
      trainer.set_strategy(part->strategy);
    }
    return journal.add(step, speaks);
  };
  const auto adapted = [&](const elastic::Agreement& agreement) {
    if (!agreement.agreed.empty()) {
      setup.say(fmt::format("after step {}: {}", trainer.step(), to_text(agreement.agreed)));
    }
    for (const std::string& reason : agreement.refused) setup.say("refused: " + reason);
  };
  ORRERY_TRY_VOID(trainer.train(goal, after_step, policies, adapted));
  const bool is_last = trainer.worker().membership().has(trainer.worker().id()) && trainer.worker().rank() == 0;
  trainer.part();
  return finish(context, setup, trainer, is_last);
}

}  // namespace

Command train_command() {
  return {"train",
          "train an image classifier, alone or as a worker of `orrery run`",
          {text_option("model", "", "image classifier of the zoo, or a model file").word().required(),
           choice_option("data", "auto", {"auto", "fashion-mnist", "synthetic"},
                         "data set; auto: Fashion-MNIST if it is installed, otherwise synthetic"),
           optional_integer("steps", "steps of the whole job, instead of --epochs").bounds(1, 1e9),
           integer_option("epochs", 1, "epochs to train").bounds(1, 1e6),
           integer_option("batch", 128, "samples per step of the whole job; a multiple of --micro-batch")
               .bounds(1, 1 << 20),
           integer_option("micro-batch", 16,
                          "samples of one forward pass: the smallest part of a step that a worker can have")
               .bounds(1, 4096),
           number_option("learning-rate", 0.02, "learning rate of SGD").bounds(0, 1e3),
           number_option("momentum", 0.9, "momentum of SGD").bounds(0, 1),
           text_option("strategy", "synchronous",
                       "how workers synchronise: synchronous, local, pair, server or server-async; NAME:STEPS,… "
                       "switches after that many steps")
               .in("NAME"),
           integer_option("period", 8,
                          "local steps after which local, pair and server-async agree on one model; together they are "
                          "one step of the job")
               .bounds(1, 1e6),
           integer_option("servers", 1,
                          "workers that serve parameters (server, server-async); at most as many as there are workers")
               .bounds(1, 1024),
           duration_option("pace", "0s",
                           "for experiments: shortest time of a micro-batch, as if every worker had its own processor")
               .bounds(0, 60),
           text_option("slow", "", "for experiments: this worker is slower by this factor").in("WORKER:FACTOR"),
           text_option(
               "policy", "",
               "adaptation policies, which change batch, learning rate, workers or strategy during training: "
               "gns[:BATCH_MAX], "
               "gns-workers:PER_WORKER[:WORKERS_MAX], adascale, goodput[:WORKERS_MAX[:BATCH_MAX]], straggler[:FACTOR], "
               "uneven[:FACTOR], interference[:FACTOR], strategy-by-size:WORKERS_MAX, schedule:SIZE:STEPS,…, "
               "timetable:SIZE:SECONDS,…")
               .in("NAME,…"),
           integer_option("seed", 1, "seed of the initial parameters, the order of samples and synthetic data")
               .bounds(0, 1e15),
           integer_option("threads", 1, "threads inside operators").bounds(1, 1024),
           integer_option("report", 50, "steps between two progress lines").bounds(1, 1e9),
           flag_option("evaluate", "also write the test accuracy after every epoch to the log of rank 0"),
           text_option("log", "", "write each committed step to worker-N.jsonl in this folder").in("DIR"),
           text_option("output", "", "write the final parameters: float32 in the order of the graph").in("FILE")},
          {"orrery train lenet --steps 300", "orrery train lenet --batch 64 --epochs 3 --policy gns:1024,adascale",
           "orrery train lenet --data synthetic --steps 20 --log steps --output lenet.f32"},
          run_train};
}

}  // namespace orrery::cli
