#include "cli/traces.h"

#include <fmt/format.h>

#include "env/files.h"
#include "trace/chrome_reader.h"
#include "trace/trace_writers.h"

namespace orrery::cli {

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

Result<Source> open_source(Context& context, const std::string& path, const trace::ChromeReadOptions& options) {
  auto source = read_source(context.env.files, path, options);
  if (!source) return std::move(source).error().with_context(path);
  return source;
}

}  // namespace

Result<LoadedTrace> load_trace(Context& context, const std::string& path) {
  ORRERY_TRY(Source source, open_source(context, path, {}));
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

Result<trace::EventLog> load_events(Context& context, const std::string& path) {
  trace::ChromeReadOptions everything;
  everything.keep_python = true;
  ORRERY_TRY(Source source, open_source(context, path, everything));
  return std::move(source.log);
}

void print_warnings(Context& context, const std::string& path, const trace::EventLog& log,
                    const OptionValues& options) {
  if (!for_people(options)) return;
  for (const trace::TraceWarning& warning : log.warnings) {
    context.print(
        fmt::format("{}: {}: {}, the first at byte {}\n", path, warning.what, warning.count, warning.first_offset));
  }
}

Result<std::string> trace_form(const std::string& path) {
  if (path.ends_with(".trace.json")) return std::string("orrery");
  if (path.ends_with(".pftrace") || path.ends_with(".perfetto-trace")) return std::string("perfetto");
  if (path.ends_with(".json")) return std::string("chrome");
  return Error::invalid(path + ": cannot tell its form; end it in .json, .pftrace or .trace.json");
}

std::string write_trace_as(const trace::TraceFile& file, const std::string& form) {
  if (form == "orrery") return trace::write_trace_file(file);
  const trace::EventLog log = trace::events_of(file);
  return form == "perfetto" ? trace::write_perfetto_trace(log) : trace::write_chrome_trace(log);
}

}  // namespace orrery::cli
