#include "elastic/host/segment.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

namespace orrery::elastic {

namespace {

constexpr std::uint64_t kMagic = 0x314c455945525245ULL;  // "ERREYEL1"
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kPage = 4096;

constexpr std::uint64_t pages(std::uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

constexpr std::uint64_t kHeaderBytes = pages(sizeof(SegmentHeader));
constexpr std::uint64_t kControlBytes = pages(sizeof(SlotControl));

std::uint64_t rings_at(const SegmentOptions& options) {
  return kHeaderBytes + kControlBytes * static_cast<std::uint64_t>(options.slots);
}

std::uint64_t blocks_at(const SegmentOptions& options) {
  return rings_at(options) + options.ring_bytes * static_cast<std::uint64_t>(options.slots);
}

std::uint64_t arenas_at(const SegmentOptions& options) {
  return blocks_at(options) + options.block_bytes * options.blocks * static_cast<std::uint64_t>(options.slots);
}

bool is_power_between(std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  return std::has_single_bit(value) && value >= low && value <= high;
}

Result<std::byte*> map(const env::FileDescriptor& file, std::uint64_t bytes) {
  void* const base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (base == MAP_FAILED) return env::posix_error(errno, "cannot map the shared memory of the job");
  // Helper processes that a program forks (data loaders) are not workers and must not keep or touch the memory. Large
  // pages help where the machine allows them for shared memory.
  ::madvise(base, bytes, MADV_DONTFORK);
  ::madvise(base, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(base);
}

void initialise(SlotControl* at) {
  auto* const control = new (at) SlotControl;
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const int failed = ::pthread_mutex_init(&control->life, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  ORRERY_CHECK(failed == 0);
}

}  // namespace

Result<std::uint64_t> segment_bytes(const SegmentOptions& options) {
  if (options.slots < 1 || options.slots > kSlotsMax) {
    return Error::invalid(fmt::format("a segment for {} processes; expected 1 to {}", options.slots, kSlotsMax));
  }
  if (!is_power_between(options.ring_bytes, 64 << 10, 64 << 20)) {
    return Error::invalid(
        fmt::format("rings of {} bytes; expected a power of two from 64 KiB to 64 MiB", options.ring_bytes));
  }
  if (options.inline_bytes > options.ring_bytes / 4) {
    return Error::invalid(fmt::format("tensors of {} bytes in frames; at most a quarter of the ring's {}",
                                      options.inline_bytes, options.ring_bytes));
  }
  if (!is_power_between(options.block_bytes, 4 << 10, 16 << 20)) {
    return Error::invalid(
        fmt::format("blocks of {} bytes; expected a power of two from 4 KiB to 16 MiB", options.block_bytes));
  }
  if (options.blocks < 2 || options.blocks > kBlocksMax) {
    return Error::invalid(fmt::format("{} blocks per process; expected 2 to {}", options.blocks, kBlocksMax));
  }
  if (options.arena_bytes % kPage != 0 || options.arena_bytes > (1ULL << 40)) {
    return Error::invalid(
        fmt::format("arenas of {} bytes; expected a multiple of {} up to 1 TiB", options.arena_bytes, kPage));
  }
  return arenas_at(options) + options.arena_bytes * static_cast<std::uint64_t>(options.slots);
}

Result<std::shared_ptr<Segment>> Segment::create(const SegmentOptions& options) {
  ORRERY_TRY(const std::uint64_t bytes, segment_bytes(options));
  env::FileDescriptor file(::memfd_create("orrery-elastic", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.open()) return env::posix_error(errno, "cannot create shared memory");
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    return env::posix_error(errno, fmt::format("cannot size shared memory to {} bytes", bytes));
  }
  // No process can truncate it while another has it mapped.
  ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  ORRERY_TRY(std::byte* const base, map(file, bytes));
  std::shared_ptr<Segment> segment(new Segment(std::move(file), options, base, bytes));
  for (int slot = 0; slot < options.slots; ++slot) initialise(&segment->control(slot));
  auto* const header = new (base) SegmentHeader;
  header->version = kVersion;
  header->options = options;
  header->total_bytes = bytes;
  header->magic = kMagic;
  return segment;
}

Result<std::shared_ptr<Segment>> Segment::open(env::FileDescriptor file) {
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return env::posix_error(errno, "cannot look at the shared memory of the job");
  const auto bytes = static_cast<std::uint64_t>(facts.st_size);
  if (bytes < kHeaderBytes) return Error::invalid(fmt::format("not the memory of a job: it has {} bytes", bytes));
  alignas(SegmentHeader) std::byte copy[sizeof(SegmentHeader)];
  if (::pread(file.get(), copy, sizeof copy, 0) != static_cast<ssize_t>(sizeof copy)) {
    return env::posix_error(errno, "cannot read the shared memory of the job");
  }
  const auto& header = *reinterpret_cast<const SegmentHeader*>(copy);
  if (header.magic != kMagic) return Error::invalid("not the memory of a job: it has another beginning");
  if (header.version != kVersion) {
    return Error::unsupported(
        fmt::format("memory of a job in version {}; this program has {}: start all processes from "
                    "the same program",
                    header.version, kVersion));
  }
  ORRERY_TRY(const std::uint64_t expected, segment_bytes(header.options));
  if (header.total_bytes != expected || bytes != expected) {
    return Error::invalid(fmt::format("the memory of a job has {} bytes; its layout needs {}", bytes, expected));
  }
  ORRERY_TRY(std::byte* const base, map(file, bytes));
  return std::shared_ptr<Segment>(new Segment(std::move(file), header.options, base, bytes));
}

Result<std::shared_ptr<Segment>> Segment::open(const std::string& path) {
  env::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.open()) return env::posix_error(errno, fmt::format("cannot open the memory of the job at \"{}\"", path));
  return open(std::move(file));
}

Segment::~Segment() {
  ::munmap(base_, bytes_);
}

std::string Segment::path() const {
  return fmt::format("/proc/{}/fd/{}", static_cast<long>(::getpid()), file_.get());
}

SlotControl& Segment::control(int slot) {
  ORRERY_CHECK(slot >= 0 && slot < options_.slots);
  return *reinterpret_cast<SlotControl*>(base_ + kHeaderBytes + kControlBytes * static_cast<std::uint64_t>(slot));
}

std::byte* Segment::ring(int slot) {
  return base_ + rings_at(options_) + options_.ring_bytes * static_cast<std::uint64_t>(slot);
}

std::byte* Segment::block(int slot, std::uint32_t index) {
  ORRERY_CHECK(index < options_.blocks);
  const std::uint64_t number = static_cast<std::uint64_t>(slot) * options_.blocks + index;
  return base_ + blocks_at(options_) + options_.block_bytes * number;
}

std::byte* Segment::arenas() {
  return base_ + arenas_at(options_);
}

}  // namespace orrery::elastic
