#include "elastic/job/note.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace orrery::elastic {

namespace {

using Json = nlohmann::ordered_json;

// A message of workers begins with the id of its sender, which is not 0.
constexpr std::string_view kMark("\0\0\0\0\0\0\0\0", 8);
constexpr std::array<std::string_view, 6> kStates = {"starting", "waiting", "joining", "worker", "leaving", "ended"};
constexpr std::array<std::string_view, 3> kLauncherRequests = {"status", "resize", "stop"};

Json to_json(const JoinNow& note) {
  Json contacts = Json::array();
  for (const WorkerRecord& worker : note.contacts) {
    contacts.push_back(
        {{"worker", worker.id}, {"host", worker.host}, {"slot", worker.slot}, {"address", worker.address}});
  }
  return {{"note", "join"}, {"contacts", std::move(contacts)}};
}
Json to_json(const LeaveNow&) {
  return {{"note", "leave"}};
}
Json to_json(const StopNow&) {
  return {{"note", "stop"}};
}
Json to_json(const Died& note) {
  return {{"note", "died"}, {"worker", note.worker}};
}
Json to_json(const Ready& note) {
  return {{"note", "ready"}, {"worker", note.worker}};
}
Json to_json(const Report& note) {
  return {{"note", "report"},        {"worker", note.worker},      {"generation", note.generation},
          {"step", note.step},       {"epoch", note.epoch},        {"workers", note.workers},
          {"pause_s", note.pause_s}, {"leaving", note.is_leaving}, {"committed", note.has_committed},
          {"fixed", note.is_fixed},  {"step_s", note.step_s},      {"vote_s", note.vote_s}};
}
Json to_json(const AskLauncher& note) {
  return {{"note", "ask"},         {"from", note.from},
          {"number", note.number}, {"request", kLauncherRequests[static_cast<int>(note.request)]},
          {"size", note.size},     {"worker", note.worker}};
}
Json to_json(const ProcessStatus& process) {
  return {{"worker", process.worker},         {"process", process.process}, {"state", to_string(process.state)},
          {"generation", process.generation}, {"step", process.step},       {"step_s", process.step_s},
          {"vote_s", process.vote_s}};
}
Json to_json(const JobStatus& status) {
  Json processes = Json::array();
  for (const ProcessStatus& process : status.processes) processes.push_back(to_json(process));
  return {{"job", status.job},           {"launcher", status.launcher},    {"size", status.size},
          {"size_min", status.size_min}, {"size_max", status.size_max},    {"generation", status.generation},
          {"step", status.step},         {"epoch", status.epoch},          {"workers", status.workers},
          {"pause_s", status.pause_s},   {"stopping", status.is_stopping}, {"processes", processes}};
}
Json to_json(const Answer& note) {
  return {{"note", "answer"}, {"number", note.number}, {"problem", note.problem}, {"status", to_json(note.status)}};
}

// Reads fields of an object and remembers the first that is missing or has the wrong type.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  void read(const char* name, std::uint64_t& into) {
    if (const Json* field = find(name, [](const Json& json) { return json.is_number_unsigned(); })) into = *field;
  }
  void read(const char* name, std::int64_t& into) {
    if (const Json* field = find(name, [](const Json& json) { return json.is_number_integer(); })) into = *field;
  }
  void read(const char* name, double& into) {
    if (const Json* field = find(name, [](const Json& json) { return json.is_number(); })) into = *field;
  }
  void read(const char* name, bool& into) {
    if (const Json* field = find(name, [](const Json& json) { return json.is_boolean(); })) into = *field;
  }
  void read(const char* name, std::string& into) {
    if (const Json* field = find(name, [](const Json& json) { return json.is_string(); })) into = *field;
  }
  void read(const char* name, std::vector<WorkerId>& into) {
    const Json* const field = find(name, [](const Json& json) {
      return json.is_array() && json.size() <= Membership::kWorkersMax &&
             std::all_of(json.begin(), json.end(), [](const Json& id) { return id.is_number_unsigned(); });
    });
    if (field != nullptr) into = field->get<std::vector<WorkerId>>();
  }
  template <class Names, class Value>
  void read(const char* name, const Names& names, Value& into) {
    std::string text;
    read(name, text);
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) return miss(name);
    into = static_cast<Value>(found - names.begin());
  }

  void miss(const char* name) {
    if (missing_.empty()) missing_ = name;
  }
  Status status() const {
    return missing_.empty() ? Status() : Error::invalid(fmt::format("a note without a sound \"{}\"", missing_));
  }

 private:
  template <class IsRight>
  const Json* find(const char* name, IsRight is_right) {
    const auto field = object_.find(name);
    if (field != object_.end() && is_right(*field)) return &*field;
    miss(name);
    return nullptr;
  }

  const Json& object_;
  std::string missing_;
};

Result<ProcessStatus> read_process(const Json& json) {
  if (!json.is_object()) return Error::invalid("a process that is no object");
  ProcessStatus process;
  Fields fields(json);
  fields.read("worker", process.worker);
  fields.read("process", process.process);
  fields.read("state", kStates, process.state);
  fields.read("generation", process.generation);
  fields.read("step", process.step);
  fields.read("step_s", process.step_s);
  fields.read("vote_s", process.vote_s);
  ORRERY_TRY_VOID(fields.status());
  return process;
}

Result<JobStatus> read_status(const Json& json) {
  JobStatus status;
  Fields fields(json);
  fields.read("job", status.job);
  fields.read("launcher", status.launcher);
  fields.read("size", status.size);
  fields.read("size_min", status.size_min);
  fields.read("size_max", status.size_max);
  fields.read("generation", status.generation);
  fields.read("step", status.step);
  fields.read("epoch", status.epoch);
  fields.read("workers", status.workers);
  fields.read("pause_s", status.pause_s);
  fields.read("stopping", status.is_stopping);
  ORRERY_TRY_VOID(fields.status());
  const auto processes = json.find("processes");
  if (processes == json.end() || !processes->is_array()) return Error::invalid("a status without processes");
  for (const Json& one : *processes) {
    ORRERY_TRY(ProcessStatus process, read_process(one));
    status.processes.push_back(process);
  }
  return status;
}

Result<Note> read_answer(const Json& json, Fields& fields) {
  Answer answer;
  fields.read("number", answer.number);
  fields.read("problem", answer.problem);
  const auto status = json.find("status");
  if (status == json.end() || !status->is_object()) return Error::invalid("an answer without a status");
  ORRERY_TRY(answer.status, read_status(*status));
  ORRERY_TRY_VOID(fields.status());
  return Note(std::move(answer));
}

Result<Note> read_join(const Json& json) {
  const auto contacts = json.find("contacts");
  if (contacts == json.end() || !contacts->is_array() || contacts->size() > Membership::kWorkersMax) {
    return Error::invalid("a note without sound contacts");
  }
  JoinNow note;
  for (const Json& one : *contacts) {
    if (!one.is_object()) return Error::invalid("a contact that is no object");
    WorkerRecord worker;
    std::uint64_t host = 0, slot = 0;
    Fields fields(one);
    fields.read("worker", worker.id);
    fields.read("host", host);
    fields.read("slot", slot);
    fields.read("address", worker.address);
    ORRERY_TRY_VOID(fields.status());
    worker.host = static_cast<std::uint32_t>(host);
    worker.slot = static_cast<std::uint32_t>(slot);
    note.contacts.push_back(std::move(worker));
  }
  return Note(std::move(note));
}

template <class T>
Result<Note> finished(T note, const Fields& fields) {
  ORRERY_TRY_VOID(fields.status());
  return Note(std::move(note));
}

}  // namespace

std::string_view to_string(ProcessState state) {
  return kStates[static_cast<std::size_t>(state)];
}

std::string encode(const Note& note) {
  const Json json = std::visit([](const auto& one) { return to_json(one); }, note);
  return std::string(kMark) + json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_note(std::string_view bytes) {
  return bytes.starts_with(kMark);
}

Result<Note> decode_note(std::string_view bytes) {
  if (!is_note(bytes)) return Error::invalid("not a note");
  const Json json = Json::parse(bytes.substr(kMark.size()), nullptr, false);
  if (!json.is_object()) return Error::invalid("a note that is no JSON object");
  Fields fields(json);
  std::string kind;
  fields.read("note", kind);
  if (kind == "leave") return Note(LeaveNow{});
  if (kind == "stop") return Note(StopNow{});
  if (kind == "join") {
    return read_join(json);
  }
  if (kind == "died") {
    Died note;
    fields.read("worker", note.worker);
    return finished(note, fields);
  }
  if (kind == "ready") {
    Ready note;
    fields.read("worker", note.worker);
    return finished(note, fields);
  }
  if (kind == "report") {
    Report note;
    fields.read("worker", note.worker);
    fields.read("generation", note.generation);
    fields.read("step", note.step);
    fields.read("epoch", note.epoch);
    fields.read("workers", note.workers);
    fields.read("pause_s", note.pause_s);
    fields.read("leaving", note.is_leaving);
    fields.read("committed", note.has_committed);
    fields.read("fixed", note.is_fixed);
    fields.read("step_s", note.step_s);
    fields.read("vote_s", note.vote_s);
    return finished(std::move(note), fields);
  }
  if (kind == "ask") {
    AskLauncher note;
    fields.read("from", note.from);
    fields.read("number", note.number);
    fields.read("request", kLauncherRequests, note.request);
    fields.read("size", note.size);
    fields.read("worker", note.worker);
    return finished(note, fields);
  }
  if (kind == "answer") return read_answer(json, fields);
  return Error::invalid(fmt::format("an unknown kind of note {}", quote(kind)));
}

Status check_job_name(std::string_view name) {
  constexpr std::size_t kLongest = 40;
  const bool is_sound = !name.empty() && name.size() <= kLongest && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  });
  if (is_sound) return {};
  return Error::invalid(fmt::format("a job cannot be called {}; expected 1 to {} letters, digits, '.', '-' and '_'",
                                    quote(name), kLongest));
}

}  // namespace orrery::elastic
