#pragma once
// How common each TensorFlow operator is in a corpus of graphs: Driple's encoding of a node's type.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/units.h"
#include "env/files.h"

namespace orrery::predict {

inline constexpr Bytes kOpFrequenciesMax = mebibytes(16);

class OpFrequencies {
 public:
  // Lines "operator,share", with or without a header. A share is 0 to 1; errors name the line.
  static Result<OpFrequencies> parse(std::string_view csv);
  static Result<OpFrequencies> read(env::Files& files, const std::string& path);
  // The share of each operator among all that were counted.
  static OpFrequencies of_counts(const std::map<std::string, std::size_t>& counts);

  // Nothing for an operator that is not in the table.
  std::optional<double> find(std::string_view op) const;
  std::size_t size() const { return shares_.size(); }
  const std::map<std::string, double, std::less<>>& shares() const { return shares_; }

  void write(ByteWriter& out) const;
  static Result<OpFrequencies> read(ByteReader& in);

 private:
  std::map<std::string, double, std::less<>> shares_;
};

}  // namespace orrery::predict
