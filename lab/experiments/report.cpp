#include "lab/experiments/report.h"

#include <fmt/format.h>

namespace orrery::lab {

namespace {

Table findings_table(const std::vector<Finding>& findings) {
  Table table({{"claim", "published"}, {"agrees", "agrees"}, {"ours", "ours"}});
  for (const Finding& finding : findings) table.add({finding.claim, finding.agrees, finding.ours});
  return table;
}

}  // namespace

std::string ExperimentReport::to_text() const {
  std::string text;
  for (const ReportTable& part : tables) text += fmt::format("{}\n\n{}\n", part.title, part.table.to_text());
  for (const Finding& finding : findings) {
    text +=
        fmt::format("published: {}\n  {}: {}\n", finding.claim, finding.agrees ? "agrees" : "disagrees", finding.ours);
  }
  return text;
}

std::string ExperimentReport::to_json() const {
  std::string json = "{\n";
  for (const ReportTable& part : tables) json += fmt::format("\"{}\": {},\n", part.key, part.table.to_json());
  return json + fmt::format("\"findings\": {}\n}}\n", findings_table(findings).to_json());
}

}  // namespace orrery::lab
