#include "elastic/job/note.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "elastic/membership/message.h"

namespace orrery::elastic {
namespace {

TEST(Note, EveryKindComesBackAsItWas) {
  JobStatus status{.job = "demo",
                   .launcher = 41,
                   .size = 3,
                   .size_min = 1,
                   .size_max = 8,
                   .generation = 4,
                   .step = 17,
                   .epoch = 2,
                   .workers = {1, 5, 6},
                   .pause_s = 0.0042,
                   .is_stopping = true,
                   .processes = {{5, 1234, ProcessState::kLeaving, 4, 17, 0.5, 0.25}}};
  for (const Note& note :
       std::vector<Note>{JoinNow{{{1, 0, 0}, {2, 1, 3, "10.0.0.1:7000"}}}, LeaveNow{}, StopNow{}, Died{7}, Ready{9},
                         Report{3, 4, 5, 6, {3, 9}, 0.25, true, true, true, 0.5, 0.125},
                         AskLauncher{1ULL << 63, 2, LauncherRequest::kResize, 4, 0},
                         AskLauncher{0, 0, LauncherRequest::kStop, 0, 12}, Answer{2, "no", status}}) {
    const std::string bytes = encode(note);
    ASSERT_TRUE(is_note(bytes));
    const auto read = decode_note(bytes);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(*read, note);
  }
}

TEST(Note, IsNoMessageOfWorkersAndTheOtherWayRound) {
  EXPECT_FALSE(is_note(encode(Message{123, 4, Query{1}})));
  EXPECT_FALSE(decode_note(encode(Message{123, 4, Query{1}})));
}

RC_GTEST_PROP(Note, AnyBytesGiveANoteThatEncodesToThemOrAnError, ()) {
  std::string bytes = encode(Report{3, 4, 5, 6, {3, 9}, 0.25, true, true, true, 0.5, 0.125});
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[at] = *rc::gen::arbitrary<char>();
  const auto read = decode_note(bytes);
  if (read) RC_ASSERT(encode(*read) == bytes);
}

TEST(Note, AnotherVersionIsNoNote) {
  std::string bytes = encode(Ready{9});
  bytes[8] = 1;
  EXPECT_EQ(decode_note(bytes).error().message(), "not a note of this version");
}

TEST(JobName, IsShortAndPlain) {
  EXPECT_TRUE(check_job_name("lenet-3.b_1"));
  for (const char* name : {"", "a b", "a/b", "über", "01234567890123456789012345678901234567890"}) {
    EXPECT_FALSE(check_job_name(name)) << name;
  }
}

}  // namespace
}  // namespace orrery::elastic
