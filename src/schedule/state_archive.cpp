#include "schedule/state_archive.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/random.h"
#include "schedule/policy.h"

namespace orrery::schedule {

namespace {

constexpr std::uint32_t kMagic = 0x01507253;  // "SrP" and the version of the envelope
constexpr std::size_t kNameMax = 64;
constexpr std::size_t kChecksumBytes = 4;

// Doubles: 0 and small whole numbers, which most are, take few bytes.
constexpr std::uint64_t kRaw = 0;               // 8 bytes follow
constexpr double kWholeMax = 9007199254740992;  // 2^53: beyond, neighbours are not whole numbers apart

std::uint32_t checksum(std::string_view bytes) {
  return crc32c(0, std::as_bytes(std::span(bytes.data(), bytes.size())));
}

// Of the moment: restored state is about exactly these jobs, in exactly these states.
std::uint64_t fingerprint(const ClusterView& view, const Event& untold) {
  std::uint64_t hash = mix64(static_cast<std::uint64_t>(view.now()));
  const auto mix = [&hash](std::uint64_t value) { hash = mix64(hash ^ value); };
  mix(view.machines().size());
  for (const JobIndex job : view.known_jobs()) {
    if (is_live(view, job)) mix(job.place() << 8 | static_cast<std::uint64_t>(view.progress(job).state));
  }
  for (const auto& jobs : {untold.arrived, untold.ended, untold.evicted, untold.withdrawn, untold.revised}) {
    mix(jobs.size());
    for (const JobIndex job : jobs) mix(job.place());
  }
  mix(untold.machines_changed ? 1 : 0);
  return hash;
}

}  // namespace

bool is_live(const ClusterView& view, JobIndex job) {
  const JobState state = view.progress(job).state;
  return state == JobState::kWaiting || state == JobState::kRunning || state == JobState::kSuspended;
}

std::vector<JobIndex> own_jobs(const ClusterView& view) {
  std::vector<JobIndex> jobs;
  for (const JobIndex job : view.known_jobs()) {
    if (is_live(view, job) && !view.progress(job).is_withheld) jobs.push_back(job);
  }
  return jobs;
}

StateArchive::StateArchive(const ClusterView& view, const Event& untold) : view_(view), is_reading_(false) {
  for (const JobIndex job : untold.arrived) untold_[job] = Known::kNo;
  for (const JobIndex job : untold.withdrawn) untold_[job] = Known::kWaits;
  for (const JobIndex job : untold.ended) untold_[job] = Known::kRuns;
  for (const JobIndex job : untold.evicted) untold_[job] = Known::kRuns;
}

StateArchive::StateArchive(const ClusterView& view, const Event& untold, std::string_view bytes)
    : StateArchive(view, untold) {
  is_reading_ = true;
  bytes_ = bytes;
}

StateArchive::Known StateArchive::known_state(JobIndex job) const {
  const auto changed = untold_.find(job);
  if (changed != untold_.end()) return changed->second;
  if (!is_live(view_, job) || view_.progress(job).is_withheld) return Known::kNo;
  return view_.is_running(job) ? Known::kRuns : Known::kWaits;
}

std::vector<JobIndex> StateArchive::jobs() const {
  std::vector<JobIndex> jobs = view_.known_jobs();
  std::erase_if(jobs, [this](JobIndex job) { return !knows(job); });
  return jobs;
}

void StateArchive::refuse(std::string_view what) {
  if (!ok_) return;
  ok_ = false;
  mistake_ = fmt::format("byte {}: {}", at_, what);
  at_ = bytes_.size();
}

void StateArchive::expect(bool holds, std::string_view what) {
  if (is_reading_ && !holds) refuse(what);
}

Status StateArchive::error() const {
  if (!ok_) return Error::invalid(mistake_);
  if (is_reading_ && at_ < bytes_.size()) return Error::invalid(fmt::format("{} bytes too many", bytes_.size() - at_));
  return {};
}

void StateArchive::varint(std::uint64_t& number) {
  constexpr std::uint64_t kMore = 0x80;
  if (!is_reading_) {
    std::uint64_t left = number;
    for (; left >= kMore; left >>= 7) written_.push_back(static_cast<char>(left | kMore));
    written_.push_back(static_cast<char>(left));
    return;
  }
  number = 0;
  for (int shift = 0; shift < 64 && ok_; shift += 7) {
    if (at_ == bytes_.size()) return refuse("the bytes end too early");
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    number |= (byte & (kMore - 1)) << shift;
    if (byte < kMore) return;
  }
  number = 0;
  refuse("a number has too many bytes");
}

// Signs alternate, so that small negative numbers are short as well.
void StateArchive::integer(std::int64_t& number) {
  const auto sign = [](std::uint64_t bits) { return bits >> 63 != 0 ? ~std::uint64_t{0} : 0; };
  const auto bits = static_cast<std::uint64_t>(number);
  std::uint64_t zigzag = bits << 1 ^ sign(bits);
  varint(zigzag);
  if (is_reading_) number = static_cast<std::int64_t>(zigzag >> 1 ^ (0 - (zigzag & 1)));
}

void StateArchive::real(double& number) {
  const bool is_whole = std::fabs(number) < kWholeMax && number == std::trunc(number) &&
                        std::bit_cast<std::uint64_t>(number) != std::bit_cast<std::uint64_t>(-0.0);
  std::int64_t whole = is_whole ? static_cast<std::int64_t>(number) : 0;
  // A whole number, moved away from the mark of others.
  if (!is_reading_ && is_whole) {
    whole += whole >= 0 ? 1 : 0;
    return integer(whole);
  }
  if (!is_reading_) {
    std::uint64_t mark = kRaw;
    varint(mark);
    const auto bits = std::bit_cast<std::uint64_t>(number);
    for (int i = 0; i < 8; ++i) written_.push_back(static_cast<char>(bits >> (8 * i)));
    return;
  }
  integer(whole);
  number = 0;
  if (whole != 0) {
    expect(std::llabs(whole) <= static_cast<std::int64_t>(kWholeMax), "a number is out of range");
    if (ok_) number = static_cast<double>(whole > 0 ? whole - 1 : whole);
    return;
  }
  if (bytes_.size() - at_ < 8) return refuse("the bytes end too early");
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits |= std::uint64_t{static_cast<unsigned char>(bytes_[at_++])} << (8 * i);
  const auto raw = std::bit_cast<double>(bits);
  expect(std::isfinite(raw), "a number is not finite");
  if (ok_) number = raw;
}

void StateArchive::maybe(JobIndex& job) {
  std::uint64_t number = job.valid() ? job.place() + 1 : 0;
  varint(number);
  if (!is_reading_) return;
  job = kNoJob;
  if (number == 0) return;
  expect(number <= view_.jobs() && knows(JobIndex(number - 1)), "a job is not live");
  if (ok_) job = JobIndex(number - 1);
}

void StateArchive::field(JobIndex& job) {
  maybe(job);
  expect(job.valid(), "a job is missing");
}

void StateArchive::field(MachineIndex& machine) {
  std::uint64_t number = machine.valid() ? machine.place() : 0;
  varint(number);
  if (!is_reading_) return;
  expect(number < view_.machines().size(), "there is no such machine");
  machine = ok_ ? MachineIndex(number) : MachineIndex();
}

void StateArchive::field(OrderKey& key) {
  (*this)(key.value, key.kind, key.rank, key.first, key.second, key.job);
}

void StateArchive::expect_once(const std::vector<JobIndex>& listed, bool may_wait, bool may_run) {
  if (!is_reading_ || !ok_) return;
  std::vector<JobIndex> sorted = listed;
  std::sort(sorted.begin(), sorted.end());
  expect(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "a job is there twice");
  for (const JobIndex job : listed) {
    const Known state = known_state(job);
    expect((state == Known::kRuns && may_run) || (state == Known::kWaits && may_wait), "a job is in another state");
  }
}

void StateArchive::expect_none_missing(const std::vector<JobIndex>& listed) {
  if (!is_reading_ || !ok_) return;
  const auto running_in = [this](const std::vector<JobIndex>& jobs) {
    return std::count_if(jobs.begin(), jobs.end(), [this](JobIndex job) { return runs(job); });
  };
  expect(running_in(listed) == running_in(jobs()), "a running job is missing");
}

void StateArchive::expect_waiting(const std::vector<JobIndex>& jobs) {
  expect_once(jobs, true, false);
}
void StateArchive::expect_running(const std::vector<JobIndex>& jobs) {
  expect_once(jobs, false, true);
}
void StateArchive::expect_all_running(const std::vector<JobIndex>& jobs) {
  expect_once(jobs, false, true);
  expect_none_missing(jobs);
}
void StateArchive::expect_active(const std::vector<JobIndex>& jobs) {
  expect_once(jobs, true, true);
  expect_none_missing(jobs);
}

std::string save(Policy& policy, const ClusterView& view, const Event& untold) {
  StateArchive state(view, untold);
  policy.exchange(state);
  ByteWriter out;
  out.u32(kMagic);
  out.text(policy.name());
  out.u32(policy.state_format());
  out.u64(fingerprint(view, untold));
  out.text(std::move(state).take());
  out.u32(checksum(out.bytes()));
  return std::move(out).take();
}

Status restore(Policy& policy, std::string_view bytes, const ClusterView& view, const Event& untold) {
  const std::string what = fmt::format("the saved state of {}", policy.name());
  const auto garbage = [&what](Error error) { return std::move(error).with_context(what); };
  if (bytes.size() < kChecksumBytes) return garbage(Error::invalid("too short"));
  const std::string_view body = bytes.substr(0, bytes.size() - kChecksumBytes);
  ByteReader end(bytes.substr(body.size()));
  if (end.u32().value_or(0) != checksum(body)) return garbage(Error::invalid("the checksum is wrong"));
  ByteReader in(body);
  const auto magic = in.u32();
  if (!magic || *magic != kMagic) return garbage(Error::invalid("these are no bytes of a policy"));
  auto name = in.text(kNameMax);
  if (!name) return garbage(std::move(name).error());
  if (*name != policy.name()) return garbage(Error::unsupported(fmt::format("it is of the policy {}", *name)));
  const auto format = in.u32();
  if (!format) return garbage(format.error());
  if (*format != policy.state_format()) {
    return garbage(Error::unsupported(
        fmt::format("it has format {}, this program reads format {}", *format, policy.state_format())));
  }
  const auto moment = in.u64();
  if (!moment) return garbage(moment.error());
  if (*moment != fingerprint(view, untold)) {
    return garbage(Error::unsupported("it is of another moment: the time, the machines or the live jobs differ"));
  }
  auto payload = in.text(bytes.size());
  if (!payload) return garbage(std::move(payload).error());
  if (!in.at_end()) return garbage(Error::invalid("bytes follow the end"));
  StateArchive state(view, untold, *payload);
  policy.exchange(state);
  if (auto read = state.error(); !read) return garbage(std::move(read).error());
  return {};
}

}  // namespace orrery::schedule
