// The same expectations of the real and the simulated file system, and what a simulated crash leaves.

#include "env/files.h"

#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>
#include <unistd.h>

#include "env/posix.h"
#include "env/real_files.h"
#include "env/sim_files.h"

namespace orrery::env {
namespace {

constexpr Bytes kLimit = mebibytes(1);

class FilesTest : public testing::TestWithParam<bool> {
 protected:
  FilesTest() {
    if (GetParam()) {
      files_ = std::make_unique<RealFiles>();
      constexpr std::size_t kPlaces = 6;  // mkdtemp replaces as many X at the end by what makes the name new
      std::string pattern =
          (std::filesystem::temp_directory_path() / "orrery-files-").string() + std::string(kPlaces, 'X');
      root_ = ::mkdtemp(pattern.data());
    } else {
      files_ = std::make_unique<SimFiles>();
      root_ = "/data";
      EXPECT_TRUE(files_->make_directory(root_));
    }
  }
  ~FilesTest() override {
    if (GetParam()) std::filesystem::remove_all(root_);
  }
  std::string path(const std::string& name) const { return root_ + "/" + name; }

  std::unique_ptr<Files> files_;
  std::string root_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, FilesTest, testing::Bool(),
                         [](const auto& world) { return world.param ? "real" : "simulated"; });

TEST_P(FilesTest, WritesAtomicallyAndReadsBack) {
  const std::string bytes("a\0b\n", 4);
  ASSERT_TRUE(files_->write_atomically(path("f"), "old"));
  ASSERT_TRUE(files_->write_atomically(path("f"), bytes));
  EXPECT_EQ(*files_->read(path("f"), kLimit), bytes);
  EXPECT_EQ(*files_->size(path("f")), Bytes(4));
  EXPECT_EQ(*files_->list(root_), std::vector<std::string>{"f"}) << "no temporary file is left";
}

// Of the machine only: a simulated disk has neither links nor devices.
class RealFilesTest : public FilesTest {
 protected:
  static mode_t mode_of(const std::string& path) {
    struct stat facts {};
    EXPECT_EQ(::lstat(path.c_str(), &facts), 0) << path;
    return facts.st_mode;
  }
};
INSTANTIATE_TEST_SUITE_P(Machine, RealFilesTest, testing::Values(true));

TEST_P(RealFilesTest, KeepsTheRightsOfAFileThatItReplaces) {
  ASSERT_TRUE(files_->write_atomically(path("f"), "old"));
  ASSERT_EQ(::chmod(path("f").c_str(), 0600), 0);
  ASSERT_TRUE(files_->write_atomically(path("f"), "new"));
  EXPECT_EQ(mode_of(path("f")) & 07777, 0600u);
}

TEST_P(RealFilesTest, FollowsLinksAlsoThoseThatPointNowhereYet) {
  ASSERT_TRUE(files_->make_directory(path("d")));
  std::filesystem::create_symlink("d/f", path("relative"));
  std::filesystem::create_symlink(path("relative"), path("absolute"));
  for (const char* content : {"first", "second"}) {
    ASSERT_TRUE(files_->write_atomically(path("absolute"), content));
    EXPECT_EQ(*files_->read(path("d/f"), kLimit), content);
    EXPECT_TRUE(S_ISLNK(mode_of(path("absolute"))));
    EXPECT_TRUE(S_ISLNK(mode_of(path("relative"))));
    EXPECT_EQ(*files_->list(path("d")), std::vector<std::string>{"f"});
  }
  std::filesystem::create_symlink("circle", path("circle"));
  EXPECT_FALSE(files_->write_atomically(path("circle"), "x"));
}

TEST_P(RealFilesTest, WritesIntoWhatHasSeveralNamesOrIsNoFile) {
  ASSERT_TRUE(files_->write_atomically(path("f"), "a long old content"));
  std::filesystem::create_hard_link(path("f"), path("g"));
  ASSERT_TRUE(files_->write_atomically(path("f"), "new"));
  EXPECT_EQ(*files_->read(path("g"), kLimit), "new");
  // A pipe has a reader.
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const FileDescriptor reader(::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(files_->write_atomically(path("pipe"), "through"));
  std::string got(16, ' ');
  EXPECT_EQ(::read(reader.get(), got.data(), got.size()), 7);
  EXPECT_TRUE(S_ISFIFO(mode_of(path("pipe"))));
  EXPECT_TRUE(files_->write_atomically("/dev/null", "nothing"));
  EXPECT_TRUE(S_ISCHR(mode_of("/dev/null")));
  EXPECT_FALSE(files_->write_atomically("/dev/full", "too much"));
  EXPECT_FALSE(files_->write_atomically(root_, "a folder"));
  EXPECT_TRUE(S_ISDIR(mode_of(root_)));
}

TEST_P(RealFilesTest, WritesIntoWhatIsOpenWhereTheNameIsOneOfTheKernels) {
  const FileDescriptor open_file(::open(path("f").c_str(), O_RDWR | O_CREAT, 0644));
  ASSERT_TRUE(files_->write_atomically(fmt::format("/proc/self/fd/{}", open_file.get()), "there"));
  struct stat before {
  }, after{};
  ASSERT_EQ(::fstat(open_file.get(), &before), 0);
  ASSERT_EQ(::stat(path("f").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(*files_->read(path("f"), kLimit), "there");
}

TEST_P(FilesTest, ReadingMoreThanTheLimitIsAnError) {
  ASSERT_TRUE(files_->write_atomically(path("f"), std::string(100, 'x')));
  EXPECT_TRUE(files_->read(path("f"), Bytes(100)));
  const auto result = files_->read(path("f"), Bytes(99));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message().find("larger than the limit of 99 B"), std::string::npos);
}

TEST_P(FilesTest, ReadsPartsInAnyOrder) {
  ASSERT_TRUE(files_->write_atomically(path("f"), "0123456789"));
  const auto handle = files_->open(path("f"));
  ASSERT_TRUE(handle);
  EXPECT_EQ((*handle)->size(), 10U);
  std::string buffer(4, ' ');
  EXPECT_EQ(*(*handle)->read_at(6, buffer), 4U);
  EXPECT_EQ(buffer, "6789");
  EXPECT_EQ(*(*handle)->read_at(0, buffer), 4U);
  EXPECT_EQ(buffer, "0123");
  EXPECT_EQ(*(*handle)->read_at(8, buffer), 2U);
  EXPECT_EQ(buffer.substr(0, 2), "89");
  EXPECT_EQ(*(*handle)->read_at(11, buffer), 0U) << "beyond the end";
}

TEST_P(FilesTest, MissingThingsAreNotFound) {
  EXPECT_EQ(files_->open(path("no")).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files_->read(path("no"), kLimit).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files_->write_atomically(path("no/f"), "x").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files_->open_log(path("no/f")).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files_->list(path("no")).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files_->remove(path("no")).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files_->rename(path("no"), path("f")).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files_->size(path("no")).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files_->sync_directory(path("no")).error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(files_->exists(path("no")));
}

TEST_P(FilesTest, AFileIsNotADirectory) {
  ASSERT_TRUE(files_->make_directory(path("d")));
  ASSERT_TRUE(files_->write_atomically(path("f"), ""));
  EXPECT_EQ(files_->read(path("d"), kLimit).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(files_->size(path("d")).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(files_->open(path("d")).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(files_->open_log(path("d")).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(files_->write_atomically(path("d"), "").error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(files_->rename(path("d"), path("e")).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(files_->rename(path("f"), path("d")).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(files_->list(path("f")).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(files_->make_directory(path("f")).error().code(), ErrorCode::kIo);
  EXPECT_EQ(*files_->list(root_), (std::vector<std::string>{"d", "f"}));
}

TEST_P(FilesTest, ALogGrowsOverReopening) {
  {
    auto log = files_->open_log(path("log"));
    ASSERT_TRUE(log);
    EXPECT_TRUE((*log)->append("one "));
    EXPECT_TRUE((*log)->append("two "));
    EXPECT_TRUE((*log)->sync());
  }
  auto log = files_->open_log(path("log"));
  ASSERT_TRUE(log);
  EXPECT_TRUE((*log)->append("three"));
  EXPECT_EQ(*files_->read(path("log"), kLimit), "one two three");
}

TEST_P(FilesTest, ANewDirectoryIsMadeOnce) {
  EXPECT_TRUE(files_->make_new_directory(path("fresh")));
  EXPECT_TRUE(files_->exists(path("fresh")));
  EXPECT_EQ(files_->make_new_directory(path("fresh")).error().code(), ErrorCode::kInvalidArgument);
  ASSERT_TRUE(files_->write_atomically(path("file"), "x"));
  EXPECT_EQ(files_->make_new_directory(path("file")).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(files_->make_new_directory(path("none/fresh")).error().code(), ErrorCode::kNotFound);
}

TEST_P(FilesTest, DirectoriesAreMadeWithTheirParentsAndListedInOrder) {
  ASSERT_TRUE(files_->make_directory(path("a/b/c")));
  ASSERT_TRUE(files_->make_directory(path("a/b")));
  ASSERT_TRUE(files_->write_atomically(path("a/z"), ""));
  ASSERT_TRUE(files_->write_atomically(path("a/m"), ""));
  EXPECT_EQ(*files_->list(path("a")), (std::vector<std::string>{"b", "m", "z"}));
  EXPECT_TRUE(files_->exists(path("a/b/c")));
}

TEST_P(FilesTest, RenameReplacesAndRemoveRemoves) {
  ASSERT_TRUE(files_->write_atomically(path("a"), "A"));
  ASSERT_TRUE(files_->write_atomically(path("b"), "B"));
  ASSERT_TRUE(files_->rename(path("a"), path("b")));
  EXPECT_FALSE(files_->exists(path("a")));
  EXPECT_EQ(*files_->read(path("b"), kLimit), "A");
  ASSERT_TRUE(files_->remove(path("b")));
  EXPECT_TRUE(files_->sync_directory(root_));
  EXPECT_EQ(files_->list(root_)->size(), 0u);
  ASSERT_TRUE(files_->make_directory(path("d/e")));
  EXPECT_EQ(files_->remove(path("d")).error().code(), ErrorCode::kInvalidArgument) << "not empty";
  EXPECT_TRUE(files_->remove(path("d/e")));
}

TEST(SimFilesTest, ACrashLosesWhatWasNotSyncedAndNothingElse) {
  SimFiles files;
  auto log = *files.open_log("/log");
  ASSERT_TRUE(log->append("kept"));
  ASSERT_TRUE(log->sync());
  ASSERT_TRUE(log->append("lost"));
  ASSERT_TRUE(files.write_atomically("/atomic", "whole"));
  EXPECT_EQ(files.unsynced(), Bytes(4));

  files.crash();
  EXPECT_EQ(*files.read("/log", kLimit), "kept");
  EXPECT_EQ(*files.read("/atomic", kLimit), "whole");
  EXPECT_FALSE(log->append("x")) << "the log was opened before the crash";
  EXPECT_FALSE(log->sync());
  EXPECT_TRUE((*files.open_log("/log"))->append("x"));
}

TEST(SimFilesTest, ACrashUndoesUnsyncedRenamesAndRemovals) {
  SimFiles files;
  ASSERT_TRUE(files.make_directory("/d"));
  ASSERT_TRUE(files.write_atomically("/d/a", "A"));
  ASSERT_TRUE(files.write_atomically("/d/b", "B"));
  ASSERT_TRUE(files.rename("/d/a", "/d/c"));
  ASSERT_TRUE(files.sync_directory("/d"));
  ASSERT_TRUE(files.rename("/d/c", "/d/e"));
  ASSERT_TRUE(files.remove("/d/b"));

  files.crash();
  EXPECT_EQ(*files.list("/d"), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(*files.read("/d/c", kLimit), "A");
}

TEST(SimFilesTest, SyncingOneDirectoryLeavesTheOtherUnsynced) {
  SimFiles files;
  ASSERT_TRUE(files.make_directory("/p"));
  ASSERT_TRUE(files.make_directory("/q"));
  ASSERT_TRUE(files.write_atomically("/p/x", ""));
  ASSERT_TRUE(files.write_atomically("/q/y", ""));
  ASSERT_TRUE(files.remove("/p/x"));
  ASSERT_TRUE(files.remove("/q/y"));
  ASSERT_TRUE(files.sync_directory("/q"));
  files.crash();
  EXPECT_TRUE(files.exists("/p/x"));
  EXPECT_FALSE(files.exists("/q/y"));
}

TEST(SimFilesTest, ABrokenDiskRefusesToWrite) {
  SimFiles files;
  auto log = *files.open_log("/log");
  files.set_broken(true);
  EXPECT_EQ(log->append("x").error().code(), ErrorCode::kIo);
  EXPECT_EQ(log->sync().error().code(), ErrorCode::kIo);
  EXPECT_EQ(files.write_atomically("/f", "x").error().code(), ErrorCode::kIo);
  files.set_broken(false);
  EXPECT_TRUE(log->append("x"));
}

TEST(SimFilesTest, ASeededCrashKeepsAPrefixThatContainsEverythingSynced) {
  EXPECT_TRUE(rc::check([](const std::string& synced, const std::string& unsynced, std::uint64_t seed) {
    const auto run = [&] {
      SimFiles files;
      auto log = *files.open_log("/log");
      RC_ASSERT(log->append(synced).has_value());
      RC_ASSERT(log->sync().has_value());
      RC_ASSERT(log->append(unsynced).has_value());
      files.crash(seed);
      return *files.read("/log", kLimit);
    };
    const std::string left = run();
    RC_ASSERT(left.size() >= synced.size());
    RC_ASSERT((synced + unsynced).starts_with(left));
    RC_ASSERT(left == run());
  }));
}

TEST(SimFilesTest, AReplacementIsTheOldOrTheNewContentWhateverTheSeed) {
  bool saw_old = false, saw_new = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimFiles files;
    EXPECT_TRUE(files.write_atomically("/state", "old"));
    EXPECT_TRUE(files.write_atomically("/next", "new"));
    EXPECT_TRUE(files.rename("/next", "/state"));
    files.crash(seed);
    const std::string content = *files.read("/state", kLimit);
    EXPECT_EQ(files.exists("/next"), content == "old");
    saw_old = saw_old || content == "old";
    saw_new = saw_new || content == "new";
  }
  EXPECT_TRUE(saw_old && saw_new);
}

}  // namespace
}  // namespace orrery::env
