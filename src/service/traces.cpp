#include "service/traces.h"

#include <fmt/format.h>

#include "env/files.h"
#include "trace/chrome_reader.h"
#include "trace/trace_writers.h"

namespace orrery::service {

namespace {

constexpr Bytes kOwnFileMax = gibibytes(1);

struct Source {
  trace::EventLog log;
  std::optional<trace::TraceFile> ours;
};

Result<Source> read_source(env::Files& files, const std::string& path, const trace::ChromeReadOptions& options) {
  ORRERY_TRY(const auto handle, files.open(path));
  char head[256] = {};
  ORRERY_TRY(const std::size_t got, handle->read_at(0, head));
  if (!trace::is_trace_file({head, got})) {
    ORRERY_TRY(trace::EventLog log, trace::read_chrome_trace(*handle, options));
    return Source{std::move(log), std::nullopt};
  }
  ORRERY_TRY(const std::string text, files.read(path, kOwnFileMax));
  ORRERY_TRY(trace::TraceFile ours, trace::parse_trace_file(text));
  return Source{trace::events_of(ours), std::move(ours)};
}

Result<TraceForm> parse_form(const std::string& name) {
  if (name == "orrery") return TraceForm::kOrrery;
  return name == "perfetto" ? TraceForm::kPerfetto : TraceForm::kChrome;
}

Result<Source> open_source(env::Env env, const std::string& path, const trace::ChromeReadOptions& options) {
  auto source = read_source(env.files, path, options);
  if (!source) return std::move(source).error().with_context(path);
  return source;
}

}  // namespace

OptionRecord trace_option(std::string name) {
  return text_option(std::move(name), "", "execution trace: Chrome's JSON, also gzipped, or Orrery's own")
      .in("FILE")
      .required()
      .word();
}

Result<LoadedTrace> load_trace(env::Env env, const std::string& path) {
  ORRERY_TRY(Source source, open_source(env, path, {}));
  LoadedTrace loaded{std::move(source.log), {}, {}, {}, false};
  const trace::Analysis analysis(loaded.log);
  if (analysis.iterations().list.empty()) {
    return Error::invalid(path + ": the trace has neither work of a device nor operators");
  }
  loaded.rule = analysis.iterations().rule;
  loaded.on_device = analysis.iterations().on_device;
  for (const trace::Iteration& iteration : analysis.iterations().list) {
    loaded.summaries.push_back(analysis.summary(iteration));
    if (source.ours) continue;
    loaded.file.names.push_back(iteration.name);
    loaded.file.iterations.push_back(analysis.execution_trace(iteration));
  }
  if (source.ours) loaded.file = std::move(*source.ours);
  return loaded;
}

Result<trace::EventLog> load_events(env::Env env, const std::string& path) {
  trace::ChromeReadOptions everything;
  everything.keep_python = true;
  ORRERY_TRY(Source source, open_source(env, path, everything));
  return std::move(source.log);
}

std::vector<std::string> warning_lines(const std::string& path, const trace::EventLog& log) {
  std::vector<std::string> lines;
  for (const trace::TraceWarning& warning : log.warnings) {
    lines.push_back(
        fmt::format("{}: {}: {}, the first at byte {}\n", path, warning.what, warning.count, warning.first_offset));
  }
  return lines;
}

Result<TraceForm> trace_form(const std::string& path) {
  if (path.ends_with(".trace.json")) return TraceForm::kOrrery;
  if (path.ends_with(".pftrace") || path.ends_with(".perfetto-trace")) return TraceForm::kPerfetto;
  if (path.ends_with(".json")) return TraceForm::kChrome;
  return Error::invalid(path + ": cannot tell its form; end it in .json, .pftrace or .trace.json");
}

std::string write_trace(const trace::TraceFile& file, TraceForm form) {
  if (form == TraceForm::kOrrery) return trace::write_trace_file(file);
  const trace::EventLog log = trace::events_of(file);
  return form == TraceForm::kPerfetto ? trace::write_perfetto_trace(log) : trace::write_chrome_trace(log);
}

const Fields<TraceConvertRequest>& trace_convert_fields() {
  using T = TraceConvertRequest;
  static const auto kFields = Fields<T>()
                                  .add(&T::file, trace_option())
                                  .add(&T::to,
                                       choice_option("to", "", {"chrome", "perfetto", "orrery"},
                                                     "format of OUT (default: by its ending, .json, .pftrace or "
                                                     ".trace.json)"),
                                       parse_form);
  return kFields;
}

Result<std::string> convert_trace(env::Env env, const TraceConvertRequest& request) {
  if (!request.to) return request.names.error("to", "missing; expected chrome, perfetto or orrery");
  if (request.to == TraceForm::kOrrery) {
    ORRERY_TRY(const LoadedTrace loaded, load_trace(env, request.file));
    return trace::write_trace_file(loaded.file);
  }
  ORRERY_TRY(const trace::EventLog log, load_events(env, request.file));
  return request.to == TraceForm::kPerfetto ? trace::write_perfetto_trace(log) : trace::write_chrome_trace(log);
}

}  // namespace orrery::service
