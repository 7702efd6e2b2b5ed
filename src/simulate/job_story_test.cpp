#include "simulate/job_story.h"

#include "simulate/generate.h"
#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

RunSetup logged(std::size_t machines, int gpus) {
  RunSetup setup = setup_of(machines, gpus);
  setup.engine.keep_log = true;
  return setup;
}

std::vector<std::string> told(const std::vector<StoryLine>& story) {
  std::vector<std::string> lines;
  for (const StoryLine& line : story) lines.push_back(line.what + ": " + line.why);
  return lines;
}

// The long job runs until the short one comes, and continues when that has ended.
TEST(JobStory, TellsEveryDecisionWithItsReason) {
  JobTrace job_trace = job_trace_of({job_of(0, 100, 1), job_of(10, 20, 1)});
  job_trace.jobs[JobIndex(0)].id = "long";
  job_trace.jobs[JobIndex(1)].id = "short";
  const RunResult result = run(job_trace, logged(1, 1), "srtf");
  const std::vector<StoryLine> story = story_of(job_trace, result, JobIndex(0));
  EXPECT_EQ(
      told(story),
      (std::vector<std::string>{
          "is submitted: 1 GPU, 100 s of work", "starts on 1 GPU of machine 0: next in order (key 100)",
          "is suspended: a job before it in the order needs its GPUs",
          "waits 20.0 s: one other job got GPUs meanwhile; the first was short: next in order (key 20)",
          "starts on 1 GPU of machine 0: next in order (key 90)",
          "ends: 2.00 min after its submission, 100 s of it on GPUs; started 2 times, moved or resized 0 times"}));
  EXPECT_EQ(story[2].at_ns, schedule::from_seconds(10));
}

TEST(JobStory, EveryPolicyExplainsEveryJob) {
  const JobTrace job_trace = generate({.jobs = 60, .rate_per_h = 120, .tenants = 3, .seed = 5});
  for (const schedule::PolicyRecord& policy : schedule::all_policies()) {
    RunSetup setup = logged(2, 8);
    for (schedule::MachineView& machine : setup.machines) machine.servers = 8;
    const RunResult result = run(job_trace, setup, policy.name);
    std::size_t decisions = 0;
    for (const JobIndex job : job_trace.jobs.indices()) {
      const std::vector<StoryLine> story = story_of(job_trace, result, job);
      ASSERT_GE(story.size(), 3u) << policy.name;
      EXPECT_EQ(story.front().what, "is submitted");
      EXPECT_EQ(story.back().what, "ends") << policy.name;
      for (std::size_t i = 0; i < story.size(); ++i) {
        EXPECT_FALSE(story[i].what.empty() || story[i].why.empty()) << policy.name;
        if (i > 0) {
          EXPECT_GE(story[i].at_ns, story[i - 1].at_ns) << policy.name;
        }
        if (i > 0 && i + 1 < story.size() && !story[i].what.starts_with("waits")) ++decisions;
      }
    }
    EXPECT_EQ(decisions, result.log.size()) << policy.name;
  }
}

TEST(JobStory, SaysWhyAJobNeverRan) {
  const JobTrace job_trace = job_trace_of({job_of(0, 10, 1), job_of(0, 10, 9)});
  const RunResult result = run(job_trace, logged(1, 4), "fifo");
  EXPECT_EQ(told(story_of(job_trace, result, JobIndex(1))).back(),
            "is refused: asks for more GPUs than the cluster or its quota has");
}

TEST(JobStory, LostGpusAreTold) {
  RunSetup setup = logged(2, 1);
  setup.engine.outages = {{schedule::from_seconds(5), schedule::from_seconds(50), MachineIndex(0)}};
  const JobTrace job_trace = job_trace_of({job_of(0, 10, 1)});
  const std::vector<std::string> lines = told(story_of(job_trace, run(job_trace, setup, "fifo"), JobIndex(0)));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[2], "loses its GPUs: machine 0 failed or was taken back");
}

TEST(JobStory, NamesTheNearestJob) {
  JobTrace job_trace = job_trace_of({job_of(0, 10, 1)});
  job_trace.jobs[JobIndex(0)].id = "job-1";
  EXPECT_EQ(*find_job(job_trace, "job-1"), JobIndex(0));
  EXPECT_NE(find_job(job_trace, "jb-1").error().to_string().find("job-1"), std::string::npos);
}

}  // namespace
}  // namespace orrery::simulate
