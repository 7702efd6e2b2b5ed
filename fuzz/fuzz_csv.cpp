// Any bytes are a table or an error; a table that was read is written and read back the same.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/csv.h"
#include "base/table.h"
#include "lab/evaluate/memory_suite.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = parse_csv(text);
  if (!table) {
    if (table.error().message().empty()) std::abort();
    return 0;
  }
  std::vector<Column> columns;
  for (const std::string& key : table->header) columns.push_back({key, key});
  Table copy(std::move(columns));
  for (const CsvRow& row : table->rows) copy.add(std::vector<Cell>(row.fields.begin(), row.fields.end()));
  const auto again = parse_csv(copy.to_csv());
  // A row of one empty field looks like a blank line, which readers skip.
  if (!again || again->header != table->header || again->rows.size() > table->rows.size()) std::abort();
  (void)lab::score_memory(text);
  return 0;
}
