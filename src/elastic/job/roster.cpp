#include "elastic/job/roster.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/text.h"
#include "elastic/host/segment.h"

namespace orrery::elastic {

namespace {

constexpr int kRefused = 2;  // exit code, as of a command that was given wrong options

std::int64_t whole(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

std::string how_it_ended(const env::ProcessExit& exit) {
  return exit.signal != 0 ? "was " + env::to_string(exit) : "ended with " + env::to_string(exit);
}

}  // namespace

Status check(const RosterOptions& options) {
  ORRERY_TRY_VOID(check_job_name(options.job));
  if (options.size_min < 1 || options.size_max < options.size_min) {
    return Error::invalid(fmt::format("a job of {} to {} workers; expected at least 1, and no more than the most",
                                      options.size_min, options.size_max));
  }
  if (options.size < options.size_min || options.size > options.size_max) {
    return Error::invalid(
        fmt::format("{} workers; expected {} to {}", options.size, options.size_min, options.size_max));
  }
  const auto hosts = static_cast<int>(std::max<std::size_t>(1, options.addresses.size()));
  if (options.size_max + options.standby > hosts * options.slots || options.slots > kSlotsMax) {
    return Error::invalid(fmt::format("{} workers and {} standby; at most {} processes fit on one host",
                                      options.size_max, options.standby, kSlotsMax));
  }
  return {};
}

Roster::Roster(const RosterOptions& options) : options_(options), wanted_(options.size) {
  for (int i = 0; i < options_.size; ++i) start(true, false);
  balance();
}

std::optional<WorkerRecord> Roster::free_place() const {
  std::optional<WorkerRecord> best;
  std::ptrdiff_t fewest = 0;
  for (std::uint32_t host = 0; host < hosts(); ++host) {
    if (lost_hosts_.contains(host)) continue;
    std::vector<bool> taken(static_cast<std::size_t>(options_.slots));
    for (const auto& [id, entry] : entries_) {
      if (entry.lives() && entry.record.host == host) taken[entry.record.slot] = true;
    }
    const auto free = std::find(taken.begin(), taken.end(), false);
    const auto processes = std::count(taken.begin(), taken.end(), true);
    if (free == taken.end() || (best && processes >= fewest)) continue;
    fewest = processes;
    best = WorkerRecord{0, host, static_cast<std::uint32_t>(free - taken.begin())};
    if (!options_.addresses.empty()) best->address = options_.addresses[host][best->slot];
  }
  return best;
}

void Roster::start(bool is_initial, bool is_standby) {
  const std::optional<WorkerRecord> place = free_place();
  // Leaving workers keep their slots until they have ended; their ends cause another check.
  if (!place) return;
  Entry entry{.record = *place, .is_initial = is_initial, .is_standby = is_standby};
  entry.record.id = next_++;
  if (is_initial) initial_workers_.push_back(entry.record);
  actions_.push_back(StartProcess{entry.record, is_initial});
  entries_.emplace(entry.record.id, entry);
}

void Roster::started(WorkerId worker, std::int64_t process) {
  const auto found = entries_.find(worker);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.process = process;
  actions_.push_back(Happened{"started",
                              {{"worker", whole(worker)},
                               {"process", process},
                               {"host", whole(entry.record.host)},
                               {"as", std::string(entry.is_initial   ? "initial_worker"
                                                  : entry.is_standby ? "standby"
                                                                     : "joining_worker")}}});
}

void Roster::host_lost(std::uint32_t host) {
  if (!lost_hosts_.insert(host).second) return;
  actions_.push_back(Happened{"host_lost", {{"host", whole(host)}}, fmt::format("host {} cannot be reached", host)});
  for (auto& [id, entry] : entries_) {
    if (!entry.lives() || entry.record.host != host) continue;
    const bool counted = entry.counts();
    entry.is_lost = true;
    if (!counted || is_finishing_ || is_stopping_) continue;
    if (replaced_ < options_.replacements) {
      replaced_ += 1;
    } else {
      wanted_ -= 1;
      entry.made_smaller = true;
    }
  }
  balance();
}

void Roster::host_found(std::uint32_t host) {
  if (lost_hosts_.erase(host) == 0) return;
  actions_.push_back(Happened{"host_found", {{"host", whole(host)}}, fmt::format("host {} is back", host)});
  for (auto& [id, entry] : entries_) {
    if (entry.lives() && entry.record.host == host) found_again(entry);
  }
  balance();
}

void Roster::found_again(Entry& entry) {
  if (!entry.is_lost) return;
  entry.is_lost = false;
  if (std::exchange(entry.made_smaller, false)) wanted_ = std::min(options_.size_max, wanted_ + 1);
}

std::vector<WorkerRecord> Roster::contacts_for(WorkerId worker) const {
  std::vector<WorkerRecord> contacts;
  for (const auto& [id, entry] : entries_) {
    if (entry.lives() && entry.has_state() && id != worker) contacts.push_back(entry.record);
  }
  return contacts;
}

void Roster::ask_to_join(Entry& entry) {
  entry.is_standby = false;
  if (entry.state != ProcessState::kWaiting && entry.state != ProcessState::kJoining) return;
  entry.state = ProcessState::kJoining;
  tell(entry.record.id, JoinNow{contacts_for(entry.record.id)});
}

void Roster::ask_to_leave(Entry& entry) {
  entry.state = ProcessState::kLeaving;
  // A process that is not yet a worker has nothing to hand over.
  if (entry.has_state()) {
    tell(entry.record.id, LeaveNow{});
  } else {
    actions_.push_back(EndProcess{entry.record.id});
  }
}

void Roster::on(const Ready& note) {
  const auto found = entries_.find(note.worker);
  if (found == entries_.end() || !found->second.lives()) return;
  Entry& entry = found->second;
  if (entry.state == ProcessState::kStarting) entry.state = ProcessState::kWaiting;
  // It is asked again while it joins: the workers it knew may be gone.
  if (!entry.is_standby && !is_stopping_ && entry.state != ProcessState::kLeaving) ask_to_join(entry);
  balance();
}

void Roster::note_membership(const Report& report) {
  step_ = std::max(step_, report.step);
  epoch_ = std::max(epoch_, report.epoch);
  // At the end, workers that are a little behind see the others go; such memberships are no part of the training.
  if (membership_.generation == 0 || (report.has_committed && report.generation >= membership_.generation))
    membership_ = report;
  if (report.pause_s <= 0 || report.generation <= resized_) return;
  resized_ = report.generation;
  pause_s_ = report.pause_s;
  actions_.push_back(
      Happened{"resized",
               {{"generation", whole(report.generation)},
                {"size", whole(report.workers.size())},
                {"workers", report.workers},
                {"step", whole(report.step)},
                {"pause_s", report.pause_s}},
               fmt::format("{} workers ({}) from step {} on; {} between two steps", report.workers.size(),
                           fmt::join(report.workers, ", "), report.step, format_seconds(Seconds(report.pause_s)))});
}

void Roster::refuse_if_fixed(const Report& report) {
  if (!report.is_fixed || is_fixed_) return;
  is_fixed_ = true;
  if (options_.standby == 0 && options_.replacements == 0) return;
  is_refused_ = true;
  actions_.push_back(Happened{"stopped",
                              {},
                              "no process can join this training later, as in a script with DistributedDataParallel: "
                              "start it without standby and replacements"});
  kill_all();
}

void Roster::on(const Report& note) {
  const auto found = entries_.find(note.worker);
  if (found == entries_.end() || !found->second.lives()) return;
  Entry& entry = found->second;
  entry.last = note;
  refuse_if_fixed(note);
  note_membership(note);
  if (entry.state != ProcessState::kWorker && entry.state != ProcessState::kLeaving) {
    entry.state = ProcessState::kWorker;
    entry.is_standby = false;
    actions_.push_back(
        Happened{"joined",
                 {{"worker", whole(note.worker)}, {"generation", whole(note.generation)}, {"step", whole(note.step)}}});
  }
  if (note.is_leaving && entry.state == ProcessState::kWorker) {
    // It left by its own request. Another process is started if the job would be too small.
    entry.state = ProcessState::kLeaving;
    wanted_ = std::max(options_.size_min, wanted_ - 1);
  }
  // The request may have been lost.
  if (is_stopping_) {
    tell(note.worker, StopNow{});
  } else if (entry.state == ProcessState::kLeaving && !note.is_leaving) {
    tell(note.worker, LeaveNow{});
  }
  balance();
}

void Roster::ended(WorkerId worker, const env::ProcessExit& exit) {
  const auto found = entries_.find(worker);
  if (found == entries_.end() || !found->second.lives()) return;
  Entry& entry = found->second;
  const bool counted = entry.counts();
  const bool was_asked = entry.state == ProcessState::kLeaving;
  entry.state = ProcessState::kEnded;
  entry.exit = exit;
  const Facts facts = {
      {"worker", whole(worker)}, {"code", std::int64_t{exit.code}}, {"signal", std::int64_t{exit.signal}}};
  if (exit.ok() || (was_asked && !entry.has_state())) {
    actions_.push_back(Happened{"left", facts});
    // It reached its end by itself, so the others will too.
    if (counted && entry.has_state()) is_finishing_ = came_to_the_end_ = true;
  } else {
    actions_.push_back(Happened{"died", facts, fmt::format("worker {} {}", worker, how_it_ended(exit))});
    failed_.push_back(worker);
  }
  // Workers notice it by themselves, unless it never became one.
  for (const auto& [id, other] : entries_) {
    if (other.lives()) tell(id, Died{worker});
  }
  const bool is_replaced = !exit.ok() && replaced_ < options_.replacements;
  if (counted && !is_finishing_ && !is_stopping_) {
    replaced_ += is_replaced ? 1 : 0;
    wanted_ -= is_replaced ? 0 : 1;
  } else if (entry.is_standby && !was_asked && options_.standby > 0) {
    // A program that ended by itself would do so again.
    options_.standby -= 1;
  }
  balance();
}

void Roster::remind() {
  for (const WorkerRecord& initial_worker : initial_workers_) {
    if (entries_.at(initial_worker.id).lives()) continue;
    for (const auto& [id, entry] : entries_) {
      if (entry.lives() && entry.last.generation == 0) tell(id, Died{initial_worker.id});
    }
  }
}

int Roster::count() const {
  return static_cast<int>(
      std::count_if(entries_.begin(), entries_.end(), [](const auto& one) { return one.second.counts(); }));
}

void Roster::balance() {
  const auto any = [&](auto is) {
    return std::any_of(entries_.begin(), entries_.end(), [&](const auto& one) { return is(one.second); });
  };
  if (!reaches_any_host()) return;
  // If no process has the model, none can join.
  if (!any([](const Entry& entry) { return entry.lives() && entry.has_state(); })) is_finishing_ = true;
  if (is_finishing_ || is_stopping_) return end_idle();
  if (wanted_ < options_.size_min) {
    is_too_small_ = true;
    actions_.push_back(
        Happened{"stopped", {}, fmt::format("fewer than {} workers are left: the job is stopped", options_.size_min)});
    return stop();
  }
  for (auto& [id, entry] : entries_) {
    if (count() < wanted_ && entry.is_standby && entry.lives()) ask_to_join(entry);
  }
  while (count() < wanted_ && free_place()) start(false, false);
  for (auto entry = entries_.rbegin(); count() > wanted_ && entry != entries_.rend(); ++entry) {
    if (entry->second.counts()) ask_to_leave(entry->second);
  }
  // Starting a process takes processor time from workers that wait for one to join.
  if (any([](const Entry& entry) { return entry.state == ProcessState::kJoining; })) return;
  const auto standby = [&] {
    return std::count_if(entries_.begin(), entries_.end(),
                         [](const auto& one) { return one.second.is_standby && one.second.lives(); });
  };
  while (standby() < options_.standby && free_place()) start(false, true);
}

// They have no state that could be lost.
void Roster::end_idle() {
  for (auto& [id, entry] : entries_) {
    if (!entry.lives() || entry.has_state() || entry.state == ProcessState::kLeaving) continue;
    entry.state = ProcessState::kLeaving;
    actions_.push_back(EndProcess{id});
  }
}

Status Roster::resize(std::uint64_t size) {
  if (is_stopping_ || is_finishing_) return Error::unavailable(fmt::format("job \"{}\" is ending", options_.job));
  if (size < static_cast<std::uint64_t>(options_.size_min) || size > static_cast<std::uint64_t>(options_.size_max)) {
    return Error::invalid(
        fmt::format("job \"{}\" can have {} to {} workers, not {}; `orrery run --elastic` sets the bounds",
                    options_.job, options_.size_min, options_.size_max, size));
  }
  if (is_fixed_ && size != static_cast<std::uint64_t>(wanted_)) {
    return Error::unsupported(
        fmt::format("job \"{}\" cannot be resized: no process can join its training later, as in a script with "
                    "DistributedDataParallel",
                    options_.job));
  }
  wanted_ = static_cast<int>(size);
  balance();
  return {};
}

void Roster::stop() {
  is_stopping_ = true;
  for (const auto& [id, entry] : entries_) {
    if (!entry.lives()) continue;
    tell(id, StopNow{});
    // It may be a program that does not use this library.
    if (entry.is_initial && entry.last.generation == 0) actions_.push_back(EndProcess{id, env::Signal::kTerminate});
  }
  balance();
}

Status Roster::stop(WorkerId worker) {
  const auto found = entries_.find(worker);
  if (found == entries_.end() || !found->second.lives()) {
    return Error::not_found(
        fmt::format("job \"{}\" has no worker {}; it has {}", options_.job, worker, workers_text()));
  }
  if (is_stopping_ || is_finishing_ || found->second.state == ProcessState::kLeaving) return {};
  if (found->second.is_standby) return Error::invalid(fmt::format("process {} is a standby, no worker", worker));
  if (wanted_ <= options_.size_min) {
    return Error::infeasible(fmt::format("job \"{}\" needs at least {} workers; stop the whole job, or resize it first",
                                         options_.job, options_.size_min));
  }
  wanted_ -= 1;
  ask_to_leave(found->second);
  balance();
  return {};
}

void Roster::kill_all() {
  is_stopping_ = is_finishing_ = true;
  for (const auto& [id, entry] : entries_) {
    if (entry.lives()) actions_.push_back(EndProcess{id});
  }
}

bool Roster::is_over() const {
  return std::none_of(entries_.begin(), entries_.end(), [&](const auto& one) {
    return one.second.lives() && (!one.second.is_lost || !reaches_any_host());
  });
}

int Roster::exit_code() const {
  if (is_refused_) return kRefused;
  for (const WorkerId id : failed_) {
    const bool was_worker_at_the_end =
        std::find(membership_.workers.begin(), membership_.workers.end(), id) != membership_.workers.end();
    if (came_to_the_end_ && !is_too_small_ && !was_worker_at_the_end && membership_.generation > 0) continue;
    const env::ProcessExit& exit = entries_.at(id).exit;
    return exit.signal != 0 ? 128 + exit.signal : exit.code;
  }
  // No process failed: too few were left, or all left before any reached the end.
  return is_too_small_ || !(came_to_the_end_ || is_stopping_) ? 1 : 0;
}

std::string Roster::workers_text() const {
  std::vector<WorkerId> ids;
  for (const auto& [id, entry] : entries_) {
    if (entry.lives() && !entry.is_standby) ids.push_back(id);
  }
  return ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", "));
}

JobStatus Roster::status() const {
  JobStatus status{.job = options_.job,
                   .size = static_cast<std::uint64_t>(std::max(0, wanted_)),
                   .size_min = static_cast<std::uint64_t>(options_.size_min),
                   .size_max = static_cast<std::uint64_t>(options_.size_max),
                   .generation = membership_.generation,
                   .step = step_,
                   .epoch = epoch_,
                   .workers = membership_.workers,
                   .pause_s = pause_s_,
                   .is_stopping = is_stopping_ || is_finishing_};
  for (const auto& [id, entry] : entries_) {
    if (!entry.lives()) continue;
    const Report& last = entry.last;
    status.processes.push_back({id, entry.process, entry.state, last.generation, last.step, last.step_s, last.vote_s});
  }
  return status;
}

std::string Roster::summary() const {
  const auto died = failed_.size();
  const int code = exit_code();
  std::string text = code == 0 ? "ended well" : fmt::format("ended with code {}", code);
  if (membership_.generation > 0)
    text += fmt::format(" after step {} with {} workers", step_, membership_.workers.size());
  text += fmt::format("; {} {} in all", entries_.size(), entries_.size() == 1 ? "process" : "processes");
  if (died > 0) text += fmt::format(", {} died", died);
  if (replaced_ > 0) text += fmt::format(", {} replaced", replaced_);
  return fmt::format("{}: {}", options_.job, text);
}

}  // namespace orrery::elastic
