#include "slurm/sbatch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "env/env.h"
#include "env/sim_processes.h"

namespace orrery::slurm {
namespace {

const JobArray kArray{
    .name = "sweep", .script = "s/task.sh", .output = "s/log-%a", .tasks = 3, .words = {"-p", "main"}};

TEST(Sbatch, SubmitsTheArrayAndWaits) {
  env::SimClock clock;
  env::SimProcesses processes(clock);
  std::vector<std::string> words;
  processes.add_program("sbatch", [&](const env::ProcessSpec& spec) {
    words = spec.argv;
    return env::SimRun{.duration = Seconds(10000)};
  });
  ASSERT_TRUE(run_array(kArray, processes));
  EXPECT_EQ(words, (std::vector<std::string>{"sbatch", "--wait", "--parsable", "--job-name", "sweep", "--output",
                                             "s/log-%a", "--array=0-2", "-p", "main", "s/task.sh"}));
}

TEST(Sbatch, RepeatsWhatSlurmSaid) {
  env::SimClock clock;
  env::SimProcesses processes(clock);
  processes.add_program("sbatch", [](const env::ProcessSpec&) {
    return env::SimRun{.exit_code = 1, .standard_error = "invalid partition\n"};
  });
  const Status failed = run_array(kArray, processes);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().to_string(), "the Slurm array failed (exit code 1): invalid partition");
}

TEST(Sbatch, NamesTheCommandThatIsMissing) {
  env::SimClock clock;
  env::SimProcesses processes(clock);
  const Status failed = run_array(kArray, processes);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(failed.error().to_string().starts_with("sbatch: ")) << failed.error().to_string();
}

// The oracle is a real shell.
RC_GTEST_PROP(Sbatch, QuotedTextIsOneWordOfAShell, ()) {
  const std::string text = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
  env::Env real = env::make_real_env();
  const env::ProcessSpec spec{.argv = {"/bin/sh", "-c", "printf %s " + shell_quoted(text)},
                              .output = env::Output::kCapture};
  auto process = real.processes.spawn(spec);
  RC_ASSERT(process.has_value());
  for (;;) {
    const auto exit = (*process)->wait(Seconds(60));
    RC_ASSERT(exit.has_value());
    if (*exit) break;
  }
  RC_ASSERT((*process)->standard_output() == text);
}

}  // namespace
}  // namespace orrery::slurm
