#include "predict/regression/preparation.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <set>

#include "base/text.h"

namespace orrery::predict {

namespace {

constexpr std::string_view kInverse = "inverse_", kLevel = "_class_", kTimes = "__";

// A column as it was read: numbers, or texts where any field is none.
struct Column {
  std::string name;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  bool is_number() const { return texts.empty(); }
};

struct Rows {
  std::vector<Column> columns;
  std::vector<std::size_t> lines;  // of the file

  const Column* find(std::string_view name) const {
    for (const Column& column : columns) {
      if (column.name == name) return &column;
    }
    return nullptr;
  }
};

std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const Column& column : rows.columns) names.push_back(column.name);
  return names;
}

Status check_column(const Rows& rows, const std::string& name, std::string_view key) {
  if (rows.find(name) != nullptr) return {};
  return Error::invalid(
      fmt::format("{}: there is no column {}{}", key, quote(name), did_you_mean(name, names_of(rows))));
}

Result<Rows> read_rows(const CsvTable& table, const Campaign& campaign) {
  Rows rows;
  for (const CsvRow& row : table.rows) rows.lines.push_back(row.line);
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    const auto renamed = campaign.rename.find(table.header[i]);
    Column column{renamed == campaign.rename.end() ? table.header[i] : renamed->second, {}, {}};
    for (const CsvRow& row : table.rows) {
      const auto number = parse_number(row.fields[i]);
      if (!number) break;
      column.numbers.push_back(*number);
    }
    if (column.numbers.size() < table.rows.size()) {
      column.numbers.clear();
      for (const CsvRow& row : table.rows) column.texts.push_back(row.fields[i]);
    }
    rows.columns.push_back(std::move(column));
  }
  for (const auto& [name, replaced] : campaign.rename) {
    if (std::find(table.header.begin(), table.header.end(), name) == table.header.end()) {
      return Error::invalid(
          fmt::format("rename_columns: there is no column {}{}", quote(name), did_you_mean(name, table.header)));
    }
  }
  return rows;
}

Status drop_rows(Rows& rows, const Campaign& campaign) {
  std::vector<bool> is_dropped(rows.lines.size());
  for (const auto& [name, bound] : campaign.skip_above) {
    ORRERY_TRY_VOID(check_column(rows, name, "skip_rows"));
    const Column& column = *rows.find(name);
    if (!column.is_number()) return Error::invalid(fmt::format("skip_rows: {} is not numeric", quote(name)));
    for (std::size_t i = 0; i < is_dropped.size(); ++i) {
      if (column.numbers[i] > bound) is_dropped[i] = true;
    }
  }
  const auto filter = [&](auto& values) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!is_dropped[i]) values[kept++] = values[i];
    }
    values.resize(kept);
  };
  for (Column& column : rows.columns) {
    filter(column.numbers);
    filter(column.texts);
  }
  filter(rows.lines);
  if (rows.lines.empty()) return Error::invalid("no rows are left to learn from");
  return {};
}

Status choose_columns(Rows& rows, const Campaign& campaign) {
  if (campaign.utilisation_columns) {
    for (const std::string& name : *campaign.utilisation_columns)
      ORRERY_TRY_VOID(check_column(rows, name, "utilisation_columns"));
  }
  for (const std::string& name : campaign.skip_columns) ORRERY_TRY_VOID(check_column(rows, name, "skip_columns"));
  std::erase_if(rows.columns, [&](const Column& column) {
    if (column.name == campaign.target) return false;
    const auto& used = campaign.utilisation_columns;
    const auto has = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), column.name) != names.end();
    };
    return (used && !has(*used)) || has(campaign.skip_columns);
  });
  return {};
}

// Texts become one column of 0 and 1 per level.
Design numeric_columns(const Rows& rows, const std::string& target, std::vector<FeatureRecipe>& recipes) {
  Design design;
  for (const Column& column : rows.columns) {
    if (column.name == target) continue;
    if (column.is_number()) {
      design.add(column.name, column.numbers);
      recipes.push_back({{column.name}});
      continue;
    }
    for (const std::string& level : std::set<std::string>(column.texts.begin(), column.texts.end())) {
      std::vector<double> is_level;
      for (const std::string& text : column.texts) is_level.push_back(text == level ? 1 : 0);
      design.add(fmt::format("{}{}{}", column.name, kLevel, level), std::move(is_level));
      recipes.push_back({{column.name, TermForm::kLevel, level}});
    }
  }
  return design;
}

bool is_level(std::string_view name) {
  return name.find(kLevel) != std::string_view::npos;
}

// Adds a column made of each chosen one; every column that is no level for "*".
Status add_transformed(Design& design, std::vector<FeatureRecipe>& recipes, const Design& raw,
                       const std::vector<std::string>& chosen, const Rows& rows, std::string_view prefix, TermForm form,
                       const std::function<bool(double)>& is_fine, double (*transform)(double)) {
  for (std::size_t i = 0; i < raw.columns(); ++i) {
    const std::string& name = raw.names()[i];
    const bool is_all = chosen == std::vector<std::string>{"*"};
    if (is_all ? is_level(name) : std::find(chosen.begin(), chosen.end(), name) == chosen.end()) continue;
    std::vector<double> values;
    for (std::size_t row = 0; row < raw.rows(); ++row) {
      const double value = raw.column(i)[row];
      if (!is_fine(value)) {
        return Error::invalid(
            fmt::format("line {}: {} is {}, which has no {}", rows.lines[row], quote(name), value, trim(prefix)));
      }
      values.push_back(transform(value));
    }
    design.add(std::string(prefix) + name, std::move(values));
    recipes.push_back({{name, form}});
  }
  if (chosen == std::vector<std::string>{"*"}) return {};
  for (const std::string& name : chosen) {
    if (std::find(raw.names().begin(), raw.names().end(), name) == raw.names().end()) {
      return Error::invalid(
          fmt::format("{}: there is no numeric column {}{}", prefix, quote(name), did_you_mean(name, raw.names())));
    }
  }
  return {};
}

// Two columns whose product makes no sense.
bool clash(std::string_view a, std::string_view b) {
  if (a == std::string(kInverse) + std::string(b) || b == std::string(kInverse) + std::string(a)) return true;
  const auto base = [](std::string_view name) { return name.substr(0, name.find(kLevel)); };
  return is_level(a) && is_level(b) && base(a) == base(b);
}

class Products {
 public:
  Products(const Design& design, const std::vector<FeatureRecipe>& recipes, bool interactions_only)
      : design_(design), recipes_(recipes), interactions_only_(interactions_only) {
    for (std::size_t i = 0; i < design.columns(); ++i) order_.push_back(i);
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return design.names()[a] < design.names()[b]; });
  }

  Result<Design> up_to(int degree, std::vector<FeatureRecipe>& recipes) {
    out_ = design_;
    out_recipes_ = recipes_;
    std::vector<std::size_t> parts;
    ORRERY_TRY_VOID(extend(parts, 0, degree));
    recipes = std::move(out_recipes_);
    return out_;
  }

 private:
  Status extend(std::vector<std::size_t>& parts, std::size_t from, int degree) {
    if (parts.size() >= 2) ORRERY_TRY_VOID(add(parts));
    if (parts.size() == static_cast<std::size_t>(degree)) return {};
    for (std::size_t i = from; i < order_.size(); ++i) {
      const bool clashes = std::any_of(parts.begin(), parts.end(), [&](std::size_t other) {
        return clash(design_.names()[other], design_.names()[order_[i]]);
      });
      if (clashes) continue;
      parts.push_back(order_[i]);
      ORRERY_TRY_VOID(extend(parts, interactions_only_ ? i + 1 : i, degree));
      parts.pop_back();
    }
    return {};
  }

  Status add(const std::vector<std::size_t>& parts) {
    if (out_.columns() >= kDesignColumnsMax) {
      return Error::invalid(fmt::format("product_max_degree: more than {} columns", kDesignColumnsMax));
    }
    std::string name;
    std::vector<double> values(design_.rows(), 1.0);
    FeatureRecipe& recipe = out_recipes_.emplace_back();
    for (const std::size_t part : parts) {
      recipe.insert(recipe.end(), recipes_[part].begin(), recipes_[part].end());
      name += (name.empty() ? "" : std::string(kTimes)) + design_.names()[part];
      for (std::size_t row = 0; row < values.size(); ++row) values[row] *= design_.column(part)[row];
    }
    out_.add(std::move(name), std::move(values));
    return {};
  }

  const Design& design_;
  const std::vector<FeatureRecipe>& recipes_;
  bool interactions_only_;
  std::vector<std::size_t> order_;
  Design out_;
  std::vector<FeatureRecipe> out_recipes_;
};

// Venkataraman et al. 2016: 1, data / machines, log machines, machines.
Result<Design> ernest_terms(const Design& raw, const std::vector<FeatureRecipe>& columns,
                            std::vector<FeatureRecipe>& recipes) {
  if (raw.columns() != 2) {
    return Error::invalid(fmt::format("ernest needs two columns, data size and machines; there are {}", raw.columns()));
  }
  std::vector<double> ones(raw.rows(), 1), share, log, machines;
  for (std::size_t row = 0; row < raw.rows(); ++row) {
    const double data = raw.column(0)[row], count = raw.column(1)[row];
    if (!(count > 0)) return Error::invalid(fmt::format("ernest: {} is not above 0", quote(raw.names()[1])));
    share.push_back(data / count);
    log.push_back(std::log(count));
    machines.push_back(count);
  }
  if (columns[1].front().form != TermForm::kPlain) {
    return Error::invalid(fmt::format("ernest: {} is not numeric", quote(columns[1].front().column)));
  }
  const std::string& machines_column = columns[1].front().column;
  recipes = {{},
             {columns[0].front(), {machines_column, TermForm::kInverse}},
             {{machines_column, TermForm::kLog}},
             {{machines_column}}};
  Design design;
  design.add("1", std::move(ones));
  design.add("data / machines", std::move(share));
  design.add("log machines", std::move(log));
  design.add("machines", std::move(machines));
  return design;
}

}  // namespace

Prepared Prepared::rows_at(std::span<const std::size_t> rows) const {
  Prepared some{raw.rows_at(rows), features.rows_at(rows), raw_terms, recipes, {}};
  for (const std::size_t row : rows) some.targets.push_back(targets[row]);
  return some;
}

Result<Prepared> prepare(const CsvTable& table, const Campaign& campaign) {
  ORRERY_TRY(Rows rows, read_rows(table, campaign));
  ORRERY_TRY_VOID(check_column(rows, campaign.target, "y"));
  ORRERY_TRY_VOID(drop_rows(rows, campaign));
  ORRERY_TRY_VOID(choose_columns(rows, campaign));
  Prepared prepared;
  const Column& target = *rows.find(campaign.target);
  if (!target.is_number()) return Error::invalid(fmt::format("y: {} is not numeric", quote(campaign.target)));
  prepared.targets = target.numbers;
  std::vector<FeatureRecipe> recipes;
  prepared.raw = numeric_columns(rows, campaign.target, recipes);
  for (const FeatureRecipe& recipe : recipes) prepared.raw_terms.push_back(recipe.front());
  if (prepared.raw.columns() == 0) return Error::invalid("no column is left to predict from");
  if (campaign.ernest) {
    ORRERY_TRY(prepared.features, ernest_terms(prepared.raw, recipes, prepared.recipes));
    return prepared;
  }
  Design features = prepared.raw;
  ORRERY_TRY_VOID(add_transformed(
      features, recipes, prepared.raw, campaign.inverse, rows, kInverse, TermForm::kInverse,
      [](double value) { return value != 0; }, [](double value) { return 1 / value; }));
  ORRERY_TRY_VOID(add_transformed(
      features, recipes, prepared.raw, campaign.log, rows, "log_", TermForm::kLog,
      [](double value) { return value > 0; }, [](double value) { return std::log(value); }));
  const int degree = campaign.product_degree == 0 ? static_cast<int>(features.columns()) : campaign.product_degree;
  ORRERY_TRY(prepared.features,
             Products(features, recipes, campaign.interactions_only).up_to(degree, prepared.recipes));
  for (const std::vector<std::string>& product : campaign.products) {
    std::string name;
    std::vector<double> values(features.rows(), 1.0);
    FeatureRecipe recipe;
    for (const std::string& part : product) {
      const auto found = std::find(features.names().begin(), features.names().end(), part);
      if (found == features.names().end()) {
        return Error::invalid(fmt::format("selected_products: there is no column {}{}", quote(part),
                                          did_you_mean(part, features.names())));
      }
      const auto place = static_cast<std::size_t>(found - features.names().begin());
      const auto column = features.column(place);
      recipe.insert(recipe.end(), recipes[place].begin(), recipes[place].end());
      name += (name.empty() ? "" : std::string(kTimes)) + part;
      for (std::size_t row = 0; row < values.size(); ++row) values[row] *= column[row];
    }
    const auto& names = prepared.features.names();
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    prepared.features.add(name, std::move(values));
    prepared.recipes.push_back(std::move(recipe));
  }
  return prepared;
}

}  // namespace orrery::predict
