#include "predict/driple/op_frequencies.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"

namespace orrery::predict {

Result<OpFrequencies> OpFrequencies::parse(std::string_view csv) {
  ORRERY_TRY(const CsvTable table, parse_csv(csv));
  if (table.header.size() < 2) return Error::invalid("expected two columns, operator and share");
  OpFrequencies frequencies;
  // The published table has no header: its first line is one more operator.
  if (const auto share = parse_number(table.header[1])) frequencies.shares_[table.header[0]] = *share;
  for (const CsvRow& row : table.rows) {
    const auto share = parse_number(row.fields[1]);
    if (!share || *share < 0 || *share > 1) {
      return Error::invalid(
          fmt::format("line {}: expected a share from 0 to 1, got {}", row.line, quote(row.fields[1])));
    }
    frequencies.shares_[row.fields[0]] = *share;
  }
  return frequencies;
}

Result<OpFrequencies> OpFrequencies::read(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string text, files.read(path, kOpFrequenciesMax));
  auto parsed = parse(text);
  if (!parsed) return std::move(parsed).error().with_context(path);
  return parsed;
}

OpFrequencies OpFrequencies::of_counts(const std::map<std::string, std::size_t>& counts) {
  double all = 0;
  for (const auto& [op, count] : counts) all += static_cast<double>(count);
  OpFrequencies frequencies;
  for (const auto& [op, count] : counts) frequencies.shares_[op] = static_cast<double>(count) / all;
  return frequencies;
}

void OpFrequencies::write(ByteWriter& out) const {
  out.u32(static_cast<std::uint32_t>(shares_.size()));
  for (const auto& [op, share] : shares_) {
    out.text(op);
    out.f64(share);
  }
}

Result<OpFrequencies> OpFrequencies::read(ByteReader& in) {
  constexpr std::size_t kOpsMax = 1'000'000, kNameMax = 4096;
  ORRERY_TRY(const std::size_t count, in.count(12, kOpsMax));
  OpFrequencies frequencies;
  for (std::size_t i = 0; i < count; ++i) {
    ORRERY_TRY(std::string op, in.text(kNameMax));
    ORRERY_TRY(const double share, in.f64());
    if (!(share >= 0 && share <= 1)) return Error::invalid("the share of an operator is not 0 to 1");
    frequencies.shares_[std::move(op)] = share;
  }
  return frequencies;
}

std::optional<double> OpFrequencies::find(std::string_view op) const {
  const auto found = shares_.find(op);
  if (found == shares_.end()) return std::nullopt;
  return found->second;
}

}  // namespace orrery::predict
