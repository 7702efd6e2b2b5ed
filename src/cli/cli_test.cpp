#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/main.h"
#include "env/sim_env.h"
#include "workload/import/graphdef/models.h"

namespace orrery::cli {
namespace {

Outcome call(const std::string& line) {
  env::SimEnv sim;
  return run(split(line, ' '), sim.env());
}

nlohmann::json json_of(const std::string& line) {
  const Outcome outcome = call(line);
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.errors;
  return nlohmann::json::parse(outcome.output);
}

TEST(Cli, HelpExplainsCommandsByName) {
  EXPECT_EQ(call("help").output, call("--help").output);
  for (const Command& command : make_commands(orrery_commands())) {
    EXPECT_EQ(call("help " + command.name).output, call(command.name + " --help").output) << command.name;
  }
  EXPECT_NE(call("help model").output.find("orrery model show"), std::string::npos);
  const Outcome unknown = call("help predct");
  EXPECT_EQ(unknown.exit_code, kBadInput);
  EXPECT_NE(unknown.errors.find("did you mean \"predict\"?"), std::string::npos);
}

TEST(Cli, TheListOfCommandsFitsOneScreen) {
  const auto lines = split(call("--help").output, '\n');
  EXPECT_LE(lines.size(), 42U);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 100U) << line;
}

TEST(Cli, CommandsAreFoundByTheNameTheyShow) {
  for (const CommandEntry& entry : orrery_commands()) EXPECT_EQ(entry.make().name, entry.name);
}

TEST(Cli, ErrorsAreJsonWhereAnswersWouldBe) {
  for (const auto& [line, code, exit_code] : std::vector<std::tuple<std::string, std::string, int>>{
           {"predict resnet5O --json", "not_found", kBadInput},
           {"predict resnet50 --devce V100 --json", "invalid_argument", kBadInput},
           {"predct --json", "invalid_argument", kBadInput},
           {"predict --json no-such-file.onnx", "not_found", kBadInput}}) {
    const Outcome outcome = call(line);
    EXPECT_EQ(outcome.exit_code, exit_code) << line;
    EXPECT_EQ(outcome.output, "") << line;
    const auto error = nlohmann::json::parse(outcome.errors, nullptr, false);
    ASSERT_TRUE(error.is_object()) << line << ": " << outcome.errors;
    EXPECT_EQ(error["error"]["code"], code) << line;
    EXPECT_EQ(error["error"]["exit_code"], exit_code);
    EXPECT_FALSE(error["error"]["message"].get<std::string>().empty());
  }
  // The words after "--" are for another program.
  EXPECT_TRUE(call("run -n 0 -- program --json").errors.starts_with("orrery run: "));
}

TEST(Cli, CompletionKnowsThreeShells) {
  EXPECT_TRUE(call("completion zsh").output.starts_with("autoload"));
  const std::string fish = call("completion fish").output;
  EXPECT_NE(fish.find("complete -c orrery -f -n __orrery_first -a predict"), std::string::npos);
  EXPECT_NE(fish.find("complete -c orrery -f -n '__orrery_second model' -a show"), std::string::npos);
  EXPECT_NE(fish.find("complete -c orrery -n '__orrery_is predict' -l device"), std::string::npos);
  EXPECT_EQ(call("completion fsh").exit_code, kBadInput);
}

TEST(CliTest, MistakesAreNamedWithTheNearestMatch) {
  struct Case {
    std::string line, message;
  };
  for (const Case& c : std::vector<Case>{
           {"predct", "orrery: unknown command \"predct\"; did you mean \"predict\"?\n"},
           {"model", "orrery: incomplete command \"model\"; try `orrery model show MODEL`\n"},
           {"predict resnet5O", "orrery predict: unknown model \"resnet5O\"; did you mean \"resnet50\"?\n"},
           {"predict resnet50 --device V10O", "orrery predict: unknown device \"V10O\"; did you mean \"V100\"?\n"},
           {"predict resnet50 --devce V100",
            "orrery predict: unknown option \"--devce\"; did you mean \"--device\"?\n`orrery predict --help` shows "
            "what it "
            "takes.\n"},
           {"predict resnet50 --batch 0",
            "orrery predict: --batch: 0 is out of range; expected 1 to 16777216\n`orrery predict --help` shows what it "
            "takes.\n"},
           {"predict", "orrery predict: expected MODEL…\n`orrery predict --help` shows what it takes.\n"},
           {"predict resnet50 --epochs 3", "orrery predict: --epochs: needs --dataset-size\n"},
           {"predict resnet50 --count 6 --tensor 4",
            "orrery predict: 6 devices are not a multiple of tensor 4 × pipeline 1\n"}}) {
    const Outcome outcome = call(c.line);
    EXPECT_EQ(outcome.exit_code, kBadInput) << c.line;
    EXPECT_EQ(outcome.errors, c.message);
    EXPECT_EQ(outcome.output, "");
  }
}

TEST(CliTest, ALetterStandsForItsOption) {
  EXPECT_NE(call("run --help").output.find("-n, --workers N"), std::string::npos);
  EXPECT_EQ(call("run -n 0 -- true").errors,
            "orrery run: --workers: 0 is out of range; expected 1 to 64\n`orrery run --help` shows what it takes.\n");
  EXPECT_EQ(call("run -n=2 -- none -n 3").errors, "orrery run: there is no program \"none\" in PATH\n");
  EXPECT_EQ(call("run -x 2 -- none").exit_code, kBadInput);
}

TEST(CliTest, JobsThatDoNotRunAreNamed) {
  EXPECT_EQ(call("ps").output, "no job is running; `orrery run` starts one\n");
  EXPECT_EQ(json_of("ps --json"), nlohmann::json::array());
  for (const char* line : {"resize --local nobody 2", "stop --local nobody", "ps nobody"}) {
    const Outcome outcome = call(line);
    EXPECT_EQ(outcome.exit_code, kBadInput) << line;
    EXPECT_NE(outcome.errors.find("no job \"nobody\" is running; `orrery ps` lists them"), std::string::npos) << line;
  }
  EXPECT_EQ(call("resize --local nobody two").errors,
            "orrery resize: WORKERS: expected a whole number, not \"two\"\n"
            "`orrery resize --help` shows what it takes.\n");
}

TEST(CliTest, TrainingRefusesWhatItCannotCut) {
  EXPECT_EQ(call("train lenet --batch 100 --micro-batch 16").errors,
            "orrery train: --batch 100 is no multiple of --micro-batch 16\n");
  EXPECT_NE(call("train lenet --data fashion-mnist").errors.find("install the Debian package dataset-fashion-mnist"),
            std::string::npos);
}

TEST(CliTest, EveryCommandExplainsItselfWithExamples) {
  for (const Command& command : make_commands(orrery_commands())) {
    const Outcome outcome = call(command.name + " --help");
    EXPECT_EQ(outcome.exit_code, kDone);
    EXPECT_NE(outcome.output.find("usage: orrery " + command.name), std::string::npos);
    EXPECT_FALSE(command.examples.empty()) << command.name;
    EXPECT_FALSE(command.summary.empty()) << command.name;
  }
}

TEST(CliTest, ExamplesParse) {
  for (const Command& command : make_commands(orrery_commands())) {
    for (const std::string& example : command.examples) {
      if (example.find('>') != std::string::npos || example.find('<') != std::string::npos) continue;
      const std::string prefix = "orrery " + command.name;
      ASSERT_TRUE(example.starts_with(prefix)) << example;
      const std::string rest = example.substr(prefix.size());
      const auto words = rest.empty() ? std::vector<std::string>() : split(rest.substr(1), ' ');
      const auto arguments = parse_arguments(command, words);
      EXPECT_TRUE(arguments) << example;
    }
  }
}

TEST(CliTest, ModelShowCarriesParametersAndMacs) {
  const auto json = json_of("model show resnet50 --json");
  EXPECT_EQ(json["parameters"], 25557032);
  EXPECT_NEAR(json["macs"].get<double>(), 4.089e9, 0.001e9);
  EXPECT_EQ(json["operators"][1]["name"], "conv1");
}

TEST(CliTest, ModelFilesAreReadLikeNames) {
  env::SimEnv sim;
  ASSERT_EQ(run(split("model export lenet --output lenet.json", ' '), sim.env()).exit_code, kDone);
  const Outcome named = run(split("predict lenet --batch 8 --columns iteration_s,memory_bytes --csv", ' '), sim.env());
  const Outcome read =
      run(split("predict lenet.json --batch 8 --columns iteration_s,memory_bytes --csv", ' '), sim.env());
  EXPECT_EQ(read.exit_code, kDone) << read.errors;
  EXPECT_EQ(read.output, named.output);

  EXPECT_EQ(run(split("predict ./none.json", ' '), sim.env()).exit_code, kBadInput);
  ASSERT_TRUE(sim.files.write_atomically("noise", "handshake"));
  EXPECT_EQ(run(split("predict noise", ' '), sim.env()).errors,
            "orrery predict: noise: not a model: expected ONNX, a TensorFlow GraphDef or a graph in JSON\n");
}

TEST(CliTest, GraphDefsAreCountedAndPredictedInBothForms) {
  env::SimEnv sim;
  const auto file = workload::import::graphdef_lenet({});
  ASSERT_TRUE(sim.files.write_atomically("lenet.pb", file.binary()));
  ASSERT_TRUE(sim.files.write_atomically("lenet.pbtxt", file.text()));
  const Outcome binary = run(split("model show lenet.pb --nodes --json", ' '), sim.env());
  EXPECT_EQ(binary.output, run(split("model show lenet.pbtxt --nodes --json", ' '), sim.env()).output);
  const auto facts = nlohmann::json::parse(binary.output);
  EXPECT_EQ(facts["optimizers"], nlohmann::json({"Momentum"}));
  EXPECT_EQ(facts["trained_parameters"], 61706);
  EXPECT_EQ(facts["phases"]["backward"], 14);
  EXPECT_EQ(run(split("predict lenet.pb", ' '), sim.env()).exit_code, kDone);
}

TEST(CliTest, ResourcesOfAGraphDefNeedWeightsSharesAndTwelveMaxima) {
  env::SimEnv sim;
  ASSERT_TRUE(sim.env().files.write_atomically("w", std::string("PK\x03\x04 and no more")));
  ASSERT_TRUE(sim.env().files.write_atomically("m", "orrery-uses\nx"));
  const auto error = [&](const std::string& options) {
    return run(split("predict g.pbtxt --resources" + options, ' '), sim.env()).errors;
  };
  EXPECT_NE(error("").find("`orrery fit SOURCE --form driple --out FILE`"), std::string::npos);
  EXPECT_NE(error(" --predictor w").find("--frequencies FILE is needed"), std::string::npos);
  EXPECT_EQ(error(" --predictor w --frequencies f --maxima 1,2"),
            "orrery predict: --maxima: expected 12 numbers above 0, got \"1,2\"\n");
  EXPECT_NE(error(" --predictor w --frequencies f").find("w"), std::string::npos);
  EXPECT_EQ(
      error(" --predictor m"),
      "orrery predict: m: a model of jobs, which does not predict resources; orrery profile --workers N --predict "
      "--predictor FILE reads it\n");
}

TEST(CliTest, AModelFileOfAnotherKindIsNamed) {
  env::SimEnv sim;
  for (const auto& [begin, noun] : {std::pair{"orrery-resources\n", "a network that predicts resources"},
                                    std::pair{"orrery-uses\n", "a model of jobs"},
                                    std::pair{"orrery-training\n", "the checkpoint of a training"}}) {
    ASSERT_TRUE(sim.env().files.write_atomically("m", begin));
    const std::string errors = run(split("predict resnet18 --predictor m", ' '), sim.env()).errors;
    EXPECT_NE(errors.find(fmt::format("m: {}, which does not predict times", noun)), std::string::npos) << errors;
  }
  ASSERT_TRUE(sim.env().files.write_atomically("m", "handshake"));
  EXPECT_EQ(run(split("predict resnet18 --predictor m", ' '), sim.env()).errors,
            "orrery predict: m: not a model of this program (orrery fit makes one)\n");
}

TEST(CliTest, StepsToATargetComeFromTheLossesWithAnInterval) {
  env::SimEnv sim;
  std::string csv = "step,loss\n";
  for (int step = 100; step <= 3000; step += 100) csv += fmt::format("{},{}\n", step, 2 / (0.002 * step + 0.5) + 0.4);
  ASSERT_TRUE(sim.env().files.write_atomically("losses.csv", csv));
  const auto say = [&](const std::string& line) { return run(split(line, ' '), sim.env()); };
  const auto answer = nlohmann::json::parse(
      say("estimate-steps losses.csv --target 0.6 --steps-per-epoch 100 --json --plot losses.svg").output)[0];
  EXPECT_NEAR(answer["steps"].get<double>(), 4750, 50);  // 2 / (0.002 k + 0.5) = 0.2
  EXPECT_NEAR(answer["epochs"].get<double>(), 47.5, 0.5);
  EXPECT_LE(answer["low"], answer["steps"]);
  EXPECT_GE(answer["high"], answer["steps"]);
  EXPECT_EQ(answer["seed"], 1);
  EXPECT_TRUE(sim.env().files.exists("losses.svg"));
  EXPECT_NE(say("estimate-steps losses.csv --target 0.3").output.find("never: the curve levels off"),
            std::string::npos);
  ASSERT_TRUE(sim.env().files.write_atomically("bad.csv", "step,loss\n1,2\n2,x\n"));
  EXPECT_EQ(say("estimate-steps bad.csv").errors,
            "orrery estimate-steps: bad.csv:3: expected a loss above 0, got \"x\"\n");

  const std::string observe = "observe o.jsonl lenet --device V100 --batch 8 --measured 3ms --losses ";
  EXPECT_NE(say(observe + "losses.csv --target 0.6").output.find("the losses say 4,75"), std::string::npos);
  EXPECT_NE(sim.env().files.read("o.jsonl", mebibytes(1))->find("\"losses\":{\"unit\":\"steps\""), std::string::npos);
  EXPECT_EQ(say(observe + "bad.csv").exit_code, kBadInput);
  EXPECT_EQ(say("predict lenet --device V100 --batch 8 --observed o.jsonl").exit_code, kDone);
}

TEST(CliTest, ARegressionOfATablePredictsRuns) {
  env::SimEnv sim;
  std::string csv = "batch,gpus,disk,step_ms\n";
  for (int batch = 4; batch <= 64; batch += 4) {
    for (const int gpus : {1, 2}) csv += fmt::format("{},{},{},{}\n", batch, gpus, batch % 3, 5 + 2.0 * batch / gpus);
  }
  ASSERT_TRUE(sim.env().files.write_atomically("t.csv", csv));
  ASSERT_TRUE(sim.env().files.write_atomically(
      "t.ini",
      "[General]\ntechniques = ['NNLS']\ny = step_ms\n[DataPreparation]\ninput_path = t.csv\nskip_columns = ['disk']\n"
      "inverse = ['gpus']\nselected_products = ['batch inverse_gpus']\n"));
  const auto say = [&](const std::string& line) { return run(split(line, ' '), sim.env()); };
  ASSERT_EQ(say("fit t.ini --form regression --out t.model").exit_code, kDone);
  const auto row = nlohmann::json::parse(
      say("predict lenet --device V100 --count 2 --batch-per-gpu 10 --predictor t.model --json").output)[0];
  EXPECT_NEAR(row["iteration_s"].get<double>(), 0.025, 1e-6);
  EXPECT_EQ(row["in_domain"], true);
  EXPECT_NE(
      say("predict lenet --predictor t.model --fact batch=handshake").errors.find("is a number, not \"handshake\""),
      std::string::npos);
  EXPECT_NE(say("predict lenet --predictor analytic --fact batch=1").errors.find("--fact: is for a regression"),
            std::string::npos);
  EXPECT_NE(say("fit t.ini --form operators").errors.find("needs a folder of measured operators"), std::string::npos);
}

TEST(CliTest, PredictSweepsEveryCombination) {
  const auto rows = json_of("predict resnet18 resnet50 --device V100,A100 --count 1,2 --batch-per-gpu 8,16,32 --json");
  ASSERT_EQ(rows.size(), 2 * 2 * 2 * 3U);
  for (const auto& row : rows) {
    EXPECT_GT(row["iteration_s"].get<double>(), 0);
    EXPECT_LT(row["iteration_low_s"], row["iteration_s"]);
    EXPECT_GT(row["memory_bytes"].get<double>(), 0);
    EXPECT_GT(row["cost_usd"].get<double>(), 0);
    EXPECT_EQ(row["calibrated"], false);
  }
  EXPECT_EQ(call("predict resnet18 --columns device,iteration_s --csv").output.substr(0, 20), "device,iteration_s\r\n");
}

TEST(CliTest, PredictSaysWhatIsOutsideOfWhatWasLearned) {
  const auto rows =
      json_of("predict gpt2 resnet50 --device RTX2080Ti --batch 16 --optimizer momentum --precision fp32 --json");
  EXPECT_EQ(rows[0]["in_domain"], false);
  EXPECT_EQ(rows[0]["calibrated"], false);
  EXPECT_GE(rows[0]["iteration_high_s"].get<double>() / rows[0]["iteration_s"].get<double>(), 2 - 1e-9);
  EXPECT_EQ(rows[1]["in_domain"], true);
  EXPECT_GT(rows[1]["learned_share"].get<double>(), 0.9);
  for (const auto& configuration : json_of("choose gpt2 --batch-per-gpu 8 --nodes 1 --all --json")) {
    EXPECT_TRUE(configuration["in_domain"].is_boolean());
    const double reach = configuration["time_high_s"].get<double>() / configuration["time_s"].get<double>();
    EXPECT_TRUE(configuration["in_domain"] == true || reach >= 2 - 1e-9) << reach;
  }
}

// Two machines of eight have eight adapters each: a step of one more machine is no many times longer.
TEST(CliTest, AStepOnTwoBoardsIsNotManyTimesThatOnOne) {
  const auto rows = json_of("predict gpt2 --device H100 --count 8,16 --batch-per-gpu 8 --precision bf16 --json");
  EXPECT_LT(rows[1]["iteration_s"].get<double>() / rows[0]["iteration_s"].get<double>(), 2);
  EXPECT_TRUE(rows[0]["network"].is_null());
  EXPECT_EQ(rows[1]["network"], "8 × Ethernet 100G");
  EXPECT_NE(call("predict gpt2 --device H100 --count 16 --batch-per-gpu 8").output.find("8 × Ethernet 100G, assumed"),
            std::string::npos);
}

TEST(CliTest, ModelShowHasTheDefaultsOfTheVariant) {
  const std::string shown = call("model show llama3_8b").output;
  EXPECT_NE(shown.find("128256"), std::string::npos) << shown;
  EXPECT_NE(shown.find("8192"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("32000"), std::string::npos) << shown;
  EXPECT_NE(call("model show llama3_8b:seq=512").output.find("8192"), std::string::npos)
      << "the variant's, not the given";
}

TEST(CliTest, MemoryShowsTheNumberOfDevices) {
  EXPECT_NE(call("memory resnet18 --count 1,2 --batch-per-gpu 8").output.find("devices"), std::string::npos);
  EXPECT_NE(call("memory resnet18 --count 4 --batch-per-gpu 8").output.find("devices"), std::string::npos);
  EXPECT_EQ(call("memory resnet18 --batch 8").output.find("devices"), std::string::npos);
}

TEST(CliTest, ObserveRefusesTimesThatAreNotAboveZero) {
  for (const char* time : {"-5ms", "0s"}) {
    const Outcome outcome = call(fmt::format("observe runs.jsonl resnet18 --measured={}", time));
    EXPECT_EQ(outcome.exit_code, kBadInput) << time;
    EXPECT_NE(outcome.errors.find("measured"), std::string::npos) << outcome.errors;
  }
}

TEST(CliTest, APredictedTraceComparesWithAnother) {
  env::SimEnv sim;
  const auto predicted = [&](const std::string& with, const std::string& file) {
    const Outcome outcome = run(
        split("predict resnet18:input=64 --device T4 --batch 8 --json --predictor " + with + " --trace " + file, ' '),
        sim.env());
    EXPECT_EQ(outcome.exit_code, kDone) << outcome.errors;
    return nlohmann::json::parse(outcome.output)[0]["iteration_s"].get<double>();
  };
  const double learned = predicted("auto", "a.trace.json"), formulas = predicted("analytic", "b.trace.json");
  const Outcome compared = run(split("trace compare a.trace.json b.trace.json --json --plot both.svg", ' '), sim.env());
  ASSERT_EQ(compared.exit_code, kDone) << compared.errors;
  const auto total = nlohmann::json::parse(compared.output).back();
  EXPECT_NEAR(total["execution_a_s"].get<double>() / learned, 1, 0.02);
  EXPECT_NEAR(total["execution_b_s"].get<double>() / formulas, 1, 0.02);
  EXPECT_NE(sim.files.read("both.svg", mebibytes(10)).value().find("a.trace.json"), std::string::npos);
}

TEST(CliTest, FiveObservedRunsCorrectThePrediction) {
  env::SimEnv sim;
  const std::string what = " resnet50 --device V100 --json --batch ";
  const auto iteration = [&](const std::string& more) {
    const Outcome outcome = run(split("predict" + what + more, ' '), sim.env());
    EXPECT_EQ(outcome.exit_code, kDone) << outcome.errors;
    return nlohmann::json::parse(outcome.output)[0]["iteration_s"].get<double>();
  };
  for (const int batch : {8, 16, 32, 48, 64}) {
    const double measured_ms = 1e3 * 1.4 * iteration(std::to_string(batch));
    const Outcome outcome =
        run(split(fmt::format("observe runs.jsonl{}{} --measured {}ms", what, batch, measured_ms), ' '), sim.env());
    ASSERT_EQ(outcome.exit_code, kDone) << outcome.errors;
    EXPECT_EQ(nlohmann::json::parse(outcome.output)[0]["factor"].is_null(), batch != 64);
  }
  EXPECT_NEAR(iteration("96 --observed runs.jsonl") / iteration("96"), 1.4, 0.01);
  EXPECT_EQ(run(split("observe runs.jsonl resnet50 --device V100", ' '), sim.env()).exit_code, kBadInput);
}

TEST(CliTest, GenerationsBecomeSteps) {
  const auto rows = json_of("predict resnet18 --epochs 2 --dataset-size 1000 --batch-per-gpu 64 --count 2 --json");
  EXPECT_EQ(rows[0]["steps"], 16);  // ceil(2000 / 128)
  EXPECT_NEAR(rows[0]["total_s"].get<double>(), 16 * rows[0]["iteration_s"].get<double>(), 1e-9);
}

TEST(CliTest, MemoryFindsTheLargestBatchThatFits) {
  const auto row = json_of("memory resnet50 --device T4 --batch 1 --json")[0];
  const auto largest = row["largest_batch_per_gpu"].get<std::int64_t>();
  ASSERT_GT(largest, 1);
  EXPECT_EQ(json_of(fmt::format("memory resnet50 --device T4 --batch {} --json", largest))[0]["fits"], true);
  EXPECT_EQ(json_of(fmt::format("memory resnet50 --device T4 --batch {} --json", largest + 1))[0]["fits"], false);
}

TEST(CliTest, ChooseShowsTheParetoFrontAndTheReasonsForTheRest) {
  const auto all = json_of("choose resnet50 --batch-per-gpu 64 --nodes 1 --all --json");
  const auto front = json_of("choose resnet50 --batch-per-gpu 64 --nodes 1 --json");
  ASSERT_GT(front.size(), 0U);
  // Brute force: a choice is on the front if nothing is as fast and cheaper, or faster and as cheap.
  std::size_t expected = 0;
  for (const auto& a : all) {
    if (a["why"].get<std::string>().starts_with("does not fit")) continue;
    bool beaten = false;
    for (const auto& b : all) {
      if (b["why"].get<std::string>().starts_with("does not fit")) continue;
      const bool no_worse = b["time_s"] <= a["time_s"] && b["cost_usd"] <= a["cost_usd"];
      const bool better = b["time_s"] < a["time_s"] || b["cost_usd"] < a["cost_usd"];
      beaten = beaten || (no_worse && better);
    }
    EXPECT_EQ(a["pareto"].get<bool>(), !beaten) << a["instance"];
    expected += beaten ? 0 : 1;
    EXPECT_FALSE(a["why"].get<std::string>().empty());
  }
  EXPECT_EQ(front.size(), expected);
}

constexpr std::string_view kPrices =
    "provider,instance_type,accelerator,count,vcpus,memory_gib,gpu_memory_gib,region,price_usd_h,spot_usd_h\n"
    "acme,one,V100,1,8,61,16,north,2,0.5\n"
    "acme,one,V100,1,8,61,16,south,3,\n"
    "acme,eight,H100-SXM,8,96,1024,80,north,20,\n"
    "zeta,slice,L4,0.5,4,16,12,north,0.3,\n"
    "zeta,odd,Abacus,1,4,16,300,north,0.1,\n"
    "zeta,free,T4,1,4,16,16,north,0,\n";

// Runs a command line beside the file prices.csv, and ours.csv, which changes one price.
Outcome call_with_prices(const std::string& line) {
  env::SimEnv sim;
  EXPECT_TRUE(sim.files.write_atomically("prices.csv", kPrices));
  EXPECT_TRUE(sim.files.write_atomically("ours.csv",
                                         "provider,instance_type,accelerator,count,region,price_usd_h,date\n"
                                         "acme,one,V100,1,south,0.25,2026-05\n"));
  return run(split(line, ' '), sim.env());
}

nlohmann::json json_with_prices(const std::string& line) {
  const Outcome outcome = call_with_prices(line);
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.errors;
  return nlohmann::json::parse(outcome.output);
}

TEST(CliTest, OffersAreSortedByPricePerDevice) {
  const auto rows = json_with_prices("offers --catalog prices.csv --json");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0]["instance"], "odd");
  EXPECT_EQ(rows[0]["known_device"], false);
  EXPECT_EQ(rows[0]["device_memory_bytes"].get<double>(), gibibytes(300).value());
  EXPECT_EQ(rows[1]["devices"], 0.5);
  EXPECT_EQ(rows[1]["price_per_device_usd_per_h"], 0.6);
  EXPECT_EQ(rows[2]["price_usd_per_h"], 2);
  EXPECT_EQ(rows[2]["spot_usd_per_h"], 0.5);
  EXPECT_TRUE(rows[2]["price_date"].is_null());
  EXPECT_EQ(rows[3]["instance"], "eight");
  EXPECT_EQ(call_with_prices("offers --catalog prices.csv --limit 1 --columns instance").output,
            "instance\nodd\n\nshown 1 of 5; prices: date unknown (--date says it); 3 problems in the list, 1 rows "
            "unusable (orrery offers --problems)\n");
}

TEST(CliTest, OffersAreFiltered) {
  const auto count = [](const std::string& options) {
    return json_with_prices("offers --catalog prices.csv --json " + options).size();
  };
  EXPECT_EQ(count("--device v100"), 2U);
  EXPECT_EQ(count("--device h100,abacus"), 2U);
  EXPECT_EQ(count("--provider ZETA"), 2U);
  EXPECT_EQ(count("--region sou"), 1U);
  EXPECT_EQ(count("--spot"), 1U);
  EXPECT_EQ(count("--count 2"), 1U);
  EXPECT_EQ(count("--max-price 2"), 3U);
  EXPECT_EQ(count("--min-memory 80"), 2U);
  EXPECT_EQ(call_with_prices("offers --catalog prices.csv --provider acne").errors,
            "orrery offers: no provider \"acne\" in this list; did you mean \"acme\"?\n");
  EXPECT_EQ(call_with_prices("offers --catalog prices.csv --count 99").output.substr(0, 30),
            "shown 0 of 0 (5 offers in the ");
  EXPECT_EQ(call_with_prices("offers --catalog prizes.csv").exit_code, kBadInput);
}

TEST(CliTest, OverridesChangePrices) {
  const auto rows = json_with_prices("offers --catalog prices.csv --override ours.csv --device V100 --json");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["price_usd_per_h"], 0.25);
  EXPECT_EQ(rows[0]["price_date"], "2026-05");
  EXPECT_EQ(rows[1]["price_usd_per_h"], 2);
}

TEST(CliTest, PriceListsAreChecked) {
  const Outcome outcome = call_with_prices("offers --catalog prices.csv --check");
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_EQ(outcome.errors, "orrery offers: 1 of 6 rows are unusable; --problems lists them\n");
  EXPECT_EQ(outcome.output,
            "problem            rows lost  rows kept\n"
            "no price                   1          0\n"
            "unknown device             0          1\n"
            "slice of a device          0          1\n"
            "\n6 rows read, 5 usable, 1 unusable\n");
  EXPECT_EQ(call_with_prices("offers --catalog ours.csv --check").exit_code, kDone);
  const auto problems = json_with_prices("offers --catalog prices.csv --problems --json");
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_EQ(problems[2]["line"], 7);
  EXPECT_EQ(problems[2]["field"], "price_usd_h");
  EXPECT_EQ(problems[2]["row_lost"], true);
  EXPECT_EQ(call("offers --check").exit_code, kBadInput);
}

TEST(CliTest, ChooseUsesACatalogue) {
  const auto rows = json_with_prices("choose resnet18 --batch-per-gpu 32 --nodes 1 --catalog prices.csv --all --json");
  ASSERT_EQ(rows.size(), 3U);
  for (const auto& row : rows) {
    if (row["region"] != "south") continue;
    EXPECT_EQ(row["why"], "same device and number, no dearer at acme one in north");
  }
  const Outcome text = call_with_prices("choose resnet18 --batch-per-gpu 32 --nodes 1 --catalog prices.csv");
  EXPECT_NE(text.output.find("left out: 1 unknown device, 1 slice of a device (--all"), std::string::npos)
      << text.output;
  const auto changed =
      json_with_prices("choose resnet18 --batch-per-gpu 32 --nodes 1 --catalog prices.csv --override ours.csv --json");
  EXPECT_EQ(changed.back()["region"], "south");
}

TEST(CliTest, ClusterFilesAreShown) {
  env::SimEnv sim;
  ASSERT_TRUE(sim.files.write_atomically("c.yaml", "name: lab\nmachines:\n- {device: V100, devices: 4, count: 2}\n"));
  const Outcome text = run({"cluster", "show", "c.yaml"}, sim.env());
  EXPECT_TRUE(text.output.starts_with("lab: 2 machines, 8 devices with 128 GiB of memory")) << text.output;
  const auto rows = nlohmann::json::parse(run({"cluster", "show", "c.yaml", "--json"}, sim.env()).output);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["devices"], 8);
  EXPECT_EQ(rows[0]["network"], "Ethernet 100G");
  ASSERT_TRUE(sim.files.write_atomically("c.yaml", "machines:\n- {devcie: V100}\n"));
  const Outcome wrong = run({"cluster", "show", "c.yaml"}, sim.env());
  EXPECT_EQ(wrong.exit_code, kBadInput);
  EXPECT_EQ(wrong.errors,
            "orrery cluster show: c.yaml:2: machines[0].devcie: unknown field; did you mean \"device\"?\n");
}

TEST(CliTest, PlotsAreWrittenWhereAsked) {
  env::SimEnv sim;
  ASSERT_TRUE(sim.files.make_directory("out"));
  const Outcome outcome = run(split("predict resnet18 --batch 1,2,4 --plot out/sweep.svg", ' '), sim.env());
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.errors;
  EXPECT_NE(outcome.output.find("wrote out/sweep.svg"), std::string::npos);
  EXPECT_TRUE(sim.files.read("out/sweep.svg", mebibytes(1))->starts_with("<"));
}

TEST(CliTest, SchemaOfEveryCommandIsJson) {
  const auto schema = json_of("reference --format schema");
  EXPECT_EQ(schema["predict"]["properties"]["zero"]["maximum"], 3);
}

TEST(CliTest, AnyWordsGiveAnAnswerOrAnError) {
  const bool holds = rc::check("no command line crashes", [](std::vector<std::string> words) {
    words.insert(words.begin(), *rc::gen::element<std::string>("predict", "memory", "model", "devices", "models"));
    env::SimEnv sim;
    const Outcome outcome = run(words, sim.env());
    RC_ASSERT(outcome.exit_code >= 0 && outcome.exit_code <= 2);
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace orrery::cli
