#include "lab/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lab/reference/kinds.h"

namespace orrery::lab {

double ReferenceCase::deviation() const {
  return expected == 0 ? ours - expected : ours / expected - 1;
}

bool ReferenceCase::passed() const {
  switch (target) {
    case Target::kEqual:
    case Target::kWithin:
      return std::abs(deviation()) <= tolerance;
    case Target::kAtMost:
      return ours <= expected * (1 + tolerance);
    case Target::kShown:
    case Target::kNone:
      return true;
  }
  return false;
}

std::size_t ReferenceReport::failed() const {
  return static_cast<std::size_t>(
      std::count_if(cases.begin(), cases.end(), [](const ReferenceCase& c) { return !c.passed(); }));
}

std::size_t ReferenceReport::not_run() const {
  return static_cast<std::size_t>(
      std::count_if(cases.begin(), cases.end(), [](const ReferenceCase& c) { return c.target == Target::kNone; }));
}

std::optional<std::string> stem_of(const std::string& name, std::string_view suffix) {
  std::string_view text = name;
  if (text.ends_with(".gz")) text.remove_suffix(3);
  if (!text.ends_with(suffix)) return std::nullopt;
  text.remove_suffix(suffix.size());
  return std::string(text);
}

namespace {

std::vector<std::string> folders_of(const ReferenceInput& input, const std::string& subfolder) {
  std::vector<std::string> folders = {input.folder};
  for (const std::string& root : {input.data, input.fallback}) {
    if (root.empty()) continue;
    folders.push_back(root);
    folders.push_back(root + "/" + subfolder);
  }
  return folders;
}

}  // namespace

Result<std::string> find_input_named(const ReferenceInput& input, const std::string& subfolder,
                                     std::string_view prefix) {
  const std::vector<std::string> folders = folders_of(input, subfolder);
  for (const std::string& folder : folders) {
    const auto names = input.files.list(folder);
    if (!names) continue;
    for (const std::string& name : *names) {
      if (name.starts_with(prefix) && stem_of(name, ".csv")) return folder + "/" + name;
    }
  }
  return Error::not_found(
      fmt::format("no {}*.csv in {}; give the folder of inputs with --data", prefix, fmt::join(folders, ", ")));
}

Result<std::string> find_input(const ReferenceInput& input, const std::string& subfolder,
                               const std::vector<std::string>& paths) {
  const std::vector<std::string> folders = folders_of(input, subfolder);
  for (const std::string& folder : folders) {
    for (const std::string& path : paths) {
      const std::string full = folder + "/" + path;
      if (input.files.exists(full) || input.files.exists(full + ".gz")) return full;
    }
  }
  return Error::not_found(fmt::format("no {} in {}; give the folder of inputs with --data", fmt::join(paths, " or "),
                                      fmt::join(folders, ", ")));
}

Result<ReferenceReport> run_reference(const ReferenceInput& input) {
  ORRERY_TRY(const std::vector<std::string> names, input.files.list(input.folder));
  const auto any = [&](const auto& is) { return std::any_of(names.begin(), names.end(), is); };
  ReferenceReport report;
  if (any([](const std::string& name) { return stem_of(name, ".expected_end_times.csv").has_value(); })) {
    report.kind = "tiresias";
    ORRERY_TRY(report.cases, run_tiresias_results(input, names));
  } else if (any([](const std::string& name) { return stem_of(name, "expected_jct.csv").has_value(); })) {
    report.kind = "pollux";
    ORRERY_TRY(report.cases, run_pollux_results(input));
  } else if (any([](const std::string& name) { return stem_of(name, ".jct.csv").has_value(); })) {
    report.kind = "gavel";
    ORRERY_TRY(report.cases, run_gavel_results(input, names));
  } else if (any([](const std::string& name) { return stem_of(name, "colocate_pairs.csv").has_value(); })) {
    report.kind = "colocation";
    ORRERY_TRY(report.cases, run_colocation_results(input));
  } else if (any([](const std::string& name) { return stem_of(name, "jct_list.csv").has_value(); })) {
    report.kind = "shockwave";
    ORRERY_TRY(report.cases, run_shockwave_results(input));
  } else if (any([](const std::string& name) { return name.starts_with("published_"); })) {
    report.kind = "allox-hydra";
    ORRERY_TRY(report.cases, run_batch_results(input, names));
  } else if (any([](const std::string& name) {
               return name.starts_with("testbed_") || name.starts_with("simulated.csv");
             })) {
    report.kind = "muri";
    ORRERY_TRY(report.cases, run_muri_results(input, names));
  } else {
    return Error::invalid(
        fmt::format("{}: no folder of published results; expected files such as NAME.expected_end_times.csv, "
                    "expected_jct.csv, published_NAME.csv or testbed_NAME.csv",
                    input.folder));
  }
  return report;
}

namespace {

std::string_view bar_name(Target target) {
  switch (target) {
    case Target::kEqual:
      return "equal";
    case Target::kWithin:
      return "within";
    case Target::kAtMost:
      return "at most";
    case Target::kShown:
      return "shown";
    case Target::kNone:
      return "not run";
  }
  return "";
}

}  // namespace

Table to_table(const ReferenceReport& report) {
  Table table({{"instance", "instance"},
               {"policy", "policy"},
               {"metric", "metric"},
               {"expected", "expected", CellFormat::kNumber},
               {"ours", "ours", CellFormat::kNumber},
               {"deviation", "deviation", CellFormat::kNumber},
               {"target", "target"},
               {"tolerance", "tolerance", CellFormat::kNumber},
               {"passed", "passed"},
               {"run_s", "time", CellFormat::kSeconds},
               {"note", "note"}});
  for (const ReferenceCase& c : report.cases) {
    const bool run = c.target != Target::kNone;
    table.add({c.instance, c.policy, c.metric, c.expected, run ? Cell(c.ours) : Cell(),
               run ? Cell(c.deviation()) : Cell(), std::string(bar_name(c.target)), run ? Cell(c.tolerance) : Cell(),
               run ? Cell(c.passed()) : Cell(), run ? Cell(c.seconds) : Cell(),
               c.note.empty() ? Cell() : Cell(c.note)});
  }
  return table;
}

std::string to_json(const ReferenceReport& report) {
  nlohmann::ordered_json json;
  json["kind"] = report.kind;
  json["cases"] = nlohmann::ordered_json::parse(to_table(report).to_json());
  json["failed"] = report.failed();
  json["not_run"] = report.not_run();
  return json.dump(2) + "\n";
}

}  // namespace orrery::lab
