#include "plan/cbc.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/random.h"
#include "base/text.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/processes.h"

namespace orrery::plan {

namespace {

// In thousandths: CBC stops when it cannot gain 1e-5 of whatever the objective counts.
constexpr double kScale = 1e3, kScaledMax = 1e15;
constexpr Bytes kAnswerMax = mebibytes(64);

// Two files beside each other that are removed with this object.
class Scratch {
 public:
  Scratch(env::Env env, const std::string& folder, std::uint64_t key)
      : env_(env), stem_(fmt::format("{}/orrery-plan-{:016x}", folder, key)) {}
  ~Scratch() {
    for (const std::string& path : {model(), answer()})
      if (env_.files.exists(path)) static_cast<void>(env_.files.remove(path).has_value());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string model() const { return stem_ + ".mps"; }
  std::string answer() const { return stem_ + ".txt"; }

 private:
  env::Env env_;
  std::string stem_;
};

Error unreadable(std::string_view what) {
  return Error::internal(fmt::format("cbc: cannot read its answer: {}", what));
}

// "Lower bound:   -8500801566.476" of what CBC prints when it stops early.
std::optional<double> printed_bound(const std::string& log) {
  constexpr std::string_view kLabel = "Lower bound:";
  const std::size_t start = log.rfind(kLabel);
  if (start == std::string::npos) return std::nullopt;
  const std::size_t from = start + kLabel.size();
  return parse_number(std::string_view(log).substr(from, log.find('\n', from) - from));
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!(line = trim(line)).empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

// Lines "INDEX NAME VALUE REDUCED_COST" of the columns that are not 0.
Result<std::vector<double>> read_values(std::string_view text, std::size_t columns) {
  std::vector<double> values(columns, 0);
  for (const std::string& line : split(text, '\n')) {
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (words.size() != 4 || !words[1].starts_with('c')) return unreadable(quote(line));
    const auto column = parse_number(words[1].substr(1));
    const auto value = parse_number(words[2]);
    if (!column || !value || *column < 0 || *column >= static_cast<double>(columns)) return unreadable(quote(line));
    values[static_cast<std::size_t>(*column)] = std::round(*value);
  }
  return values;
}

// The scale of costs for CBC; smaller where some costs are so large that its doubles would not hold both them and small
// ones.
double scale_of(const Milp& milp) {
  double largest = 0;
  for (const MilpColumn& column : milp.columns) largest = std::max(largest, std::fabs(column.cost));
  return largest * kScale <= kScaledMax ? kScale : kScaledMax / largest;
}

Result<MilpAnswer> read_answer(const Milp& milp, const std::string& text, const std::string& log, double scale) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view head = std::string_view(text).substr(0, end);
  if (head.starts_with("Infeasible") || head.starts_with("Integer infeasible"))
    return Error::infeasible("no plan keeps all the rules");
  const bool proven = head.starts_with("Optimal");
  if (!proven && !head.starts_with("Stopped")) return unreadable(quote(head));
  if (head.find("no integer solution") != std::string_view::npos)
    return Error::unavailable("cbc: found no plan within its time");
  ORRERY_TRY(std::vector<double> values, read_values(std::string_view(text).substr(end), milp.columns.size()));
  MilpAnswer answer{proven, std::move(values), 0, 0};
  for (std::size_t i = 0; i < milp.columns.size(); ++i) answer.objective += milp.columns[i].cost * answer.values[i];
  answer.bound = answer.objective;
  if (!proven) {
    const auto bound = printed_bound(log);
    if (!bound) return unreadable("no lower bound");
    answer.bound = (*bound - 1e-3) / scale;  // printed with three decimals
  }
  return answer;
}

}  // namespace

Result<MilpAnswer> solve_with_cbc(const Milp& milp, const CbcOptions& options, env::Env env) {
  const Seconds deadline = env.clock.monotonic() + options.limit;
  const double scale = scale_of(milp);
  const std::string model = to_mps(milp, scale);
  const auto now_ns = static_cast<std::uint64_t>(env.clock.wall().value() * 1e9);
  const Scratch scratch(env, options.scratch, mix64(hash64(model) ^ now_ns));
  ORRERY_TRY_VOID(env.files.write_atomically(scratch.model(), model));
  const Seconds left = deadline - env.clock.monotonic();
  const Seconds own = left - std::min(Seconds(1), left * 0.1);
  if (own <= Seconds(0)) return Error::unavailable("cbc: no time left");
  env::ProcessSpec spec;
  spec.argv = {options.program, scratch.model(),
               "-sec",          fmt::format("{:.3f}", own.value()),
               "-timeMode",     "elapsed",
               "-ratioGap",     "0",
               "-allowableGap", "0",
               "-increment",    "0"};
  if (std::isfinite(options.cutoff)) {
    spec.argv.insert(spec.argv.end(), {"-cutoff", fmt::format("{:.17g}", options.cutoff * scale)});
  }
  spec.argv.insert(spec.argv.end(), {"-solve", "-solution", scratch.answer()});
  spec.output = env::Output::kCapture;
  spec.own_group = true;
  auto process = env.processes.spawn(spec);
  if (!process && process.error().code() == ErrorCode::kNotFound)
    return Error::not_found(
        fmt::format("cbc: no program {}; install the package coinor-cbc or set ORRERY_CBC", quote(options.program)));
  if (!process) return std::move(process).error();
  ORRERY_TRY(const auto exit, (*process)->wait(deadline - env.clock.monotonic()));
  if (!exit) {
    ORRERY_TRY_VOID((*process)->kill(env::Signal::kKill));
    return Error::unavailable(fmt::format("cbc: no answer within {}", format_seconds(options.limit)));
  }
  if (!exit->ok()) return Error::unavailable("cbc: " + to_string(*exit));
  auto text = env.files.read(scratch.answer(), kAnswerMax);
  if (!text) return unreadable("it wrote none");
  return read_answer(milp, *text, (*process)->standard_output(), scale);
}

}  // namespace orrery::plan
