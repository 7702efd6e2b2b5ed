#include "service/plan_horizon.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "hardware/device.h"
#include "plan/horizon/modes.h"

namespace orrery::service {

namespace horizon = plan::horizon;
using horizon::CostBasis;
using horizon::Grid;
using horizon::Task;

namespace {

Result<CostBasis> parse_basis(const std::string& name) {
  if (name == "energy") return CostBasis::kEnergy;
  return name == "carbon" ? CostBasis::kCarbon : CostBasis::kUsd;
}

}  // namespace

const Fields<HorizonFields>& horizon_fields() {
  using H = HorizonFields;
  static const auto kFields =
      Fields<H>()
          .add(&H::horizon,
               optional_duration("horizon", "plan rental periods up to this time, by which all jobs must have ended")
                   .bounds(1, 1e8))
          .add(&H::period,
               duration_option("period", "1h",
                               "with --horizon: length of a period; machines are rented and returned at its borders")
                   .bounds(1, 1e7))
          .add(&H::certainty, optional_number("certainty", "with --horizon: required probability of meeting deadlines")
                                  .bounds(0.5, 0.9999))
          .add(
              &H::cost,
              choice_option("cost", "usd", {"usd", "energy", "carbon"},
                            "with --horizon: what to minimise, the rent or the energy or carbon of the machines (field "
                            "`energy` of the list)"),
              parse_basis)
          .add(&H::scenarios,
               integer_option("scenarios", 40, "with --horizon: number of scenarios with other arrivals and times")
                   .bounds(0, 10000))
          .add(&H::seed, integer_option("seed", 1, "seed of the scenarios").bounds(0, 1e15));
  return kFields;
}

namespace {

Result<Grid> grid_of(const HorizonFields& fields, const FieldNames& names) {
  const double period = fields.period.value(), whole = fields.horizon->value();
  const double periods = std::ceil(whole / period - 1e-9);
  if (periods > horizon::kPeriodsMax)
    return names.error("horizon", fmt::format("{:.0f} periods; at most {} are supported: make {} {} or longer", periods,
                                              horizon::kPeriodsMax, names("period"),
                                              duration_text(Seconds(std::ceil(whole / horizon::kPeriodsMax)))));
  return Grid{static_cast<int>(std::max(1.0, periods)), period};
}

// Lists as tasks, before and after VM types are chosen.
class Builder {
 public:
  Builder(const Listing& listing, const HorizonFields& fields, Grid grid, int nodes, const FieldNames& names)
      : listing_(listing),
        grid_(grid),
        basis_(fields.cost),
        nodes_(nodes),
        certainty_(fields.certainty),
        names_(names) {}

  Result<PlannedHorizon> build() {
    std::vector<plan::VmType> types = listing_.types;
    if (basis_ != CostBasis::kUsd) std::erase_if(types, [](const plan::VmType& type) { return !has_power(type); });
    if (types.empty())
      return Error::infeasible(names_("cost") + ": of no device that can be rented the power is known");
    ORRERY_TRY(std::vector<Task> all, tasks(types, true));
    ORRERY_TRY(const horizon::Tariff tariff, horizon::cost_tariff(basis_, types, grid_, listing_.list.energy));
    std::vector<bool> limited, useful;
    for (const plan::VmType& type : types) limited.push_back(listing_.is_limited(type));
    useful = horizon::useful_types(all, tariff, grid_, types, limited);
    std::vector<plan::VmType> kept;
    for (std::size_t vm = 0; vm < types.size(); ++vm)
      if (useful[vm] || is_running_on(types[vm])) kept.push_back(types[vm]);
    return run_with(kept);
  }

  // The same for more periods, as what is played.
  Result<horizon::Problem> widened(const PlannedHorizon& run) {
    grid_.periods = wide_periods(run);
    ORRERY_TRY(horizon::Problem wide, problem(run.problem.vm_types));
    const double missed = horizon::Configurations(run.problem).left_out_usd();
    for (Task& task : wide.tasks) {
      if (!task.must) continue;
      task.must = false;
      task.missed_usd = missed;
    }
    return wide;
  }

 private:
  static bool has_power(const plan::VmType& type) {
    const auto* device = hardware::find_device_or_null(type.gpu);
    return device != nullptr && device->tdp > Watts();
  }
  bool is_running_on(const plan::VmType& type) const {
    return std::any_of(listing_.list.jobs.begin(), listing_.list.jobs.end(), [&](const plan::ListedJob& job) {
      return job.running && plan::matches(type, {job.running->vm});
    });
  }

  Task task_of(const std::string& file, double submit_s, double late_usd_per_h,
               const std::vector<plan::VmType>& types) const {
    const ListedFile& listed = listing_.file(file);
    Task task;
    task.id = listed.spec.name;
    task.submit_s = submit_s;
    if (listed.spec.deadline) {
      task.due_s = submit_s + listed.spec.deadline->value();
      task.weight_usd_s = late_usd_per_h / 3600;
      task.must = certainty_.has_value();
    }
    task.modes = horizon::modes_of(listed.configurations, types, nodes_, certainty_.value_or(0.5));
    return task;
  }

  // A job that runs has the mode it runs in, and no other.
  Status hold(const plan::ListedJob& listed, const std::vector<plan::VmType>& types, Task& task) const {
    task.runs = true;
    const plan::ListedRunning& at = *listed.running;
    std::erase_if(task.modes, [&](const horizon::Mode& mode) {
      return mode.machines > 1 || mode.gpus != at.gpus || !plan::matches(types[mode.vm], {at.vm});
    });
    if (task.modes.empty())
      return Error::invalid(fmt::format("{}: running: no VM type with {} in its name can run {} on {} of its GPUs",
                                        listing_.place(listed.line), quote(at.vm), task.id, at.gpus));
    task.modes.resize(1);
    return {};
  }

  Result<std::vector<Task>> tasks(const std::vector<plan::VmType>& types, bool with_forecasts) const {
    std::vector<Task> all;
    for (const plan::ListedJob& listed : listing_.list.jobs) {
      Task task = task_of(listed.file, listed.submit.value(), listed.late_usd_per_h, types);
      if (listed.running) ORRERY_TRY_VOID(hold(listed, types, task));
      if (task.modes.empty())
        return Error::infeasible(fmt::format("{}: {}: takes more machines than may be rented at once ({})",
                                             listing_.place(listed.line), task.id, nodes_));
      all.insert(all.end(), static_cast<std::size_t>(listed.copies), task);
    }
    if (with_forecasts)
      for (const plan::ListedForecast& one : listing_.list.forecasts)
        all.push_back(task_of(one.file, 0, one.late_usd_per_h, types));
    horizon::put_in_order(all);
    std::vector<std::string*> ids;
    for (Task& task : all) ids.push_back(&task.id);
    if (!with_forecasts) name_apart(ids);
    horizon::put_in_order(all);
    return all;
  }

  Result<horizon::Problem> problem(const std::vector<plan::VmType>& types) const {
    horizon::Problem built;
    built.periods = grid_.periods;
    built.period_s = grid_.period_s;
    built.nodes = nodes_;
    built.vm_types = types;
    const plan::ListLimits& limits = listing_.list.limits;
    built.quotas = plan::quotas_on(limits, types);
    const horizon::EnergyFacts& energy = listing_.list.energy;
    ORRERY_TRY(built.tariff, horizon::cost_tariff(basis_, types, grid_, energy));
    if (std::isfinite(limits.budget_usd))
      built.budgets.push_back({"budget_usd", horizon::rent_tariff(types, grid_), limits.budget_usd});
    if (std::isfinite(limits.budget_kgco2)) {
      ORRERY_TRY(horizon::Tariff carbon, horizon::carbon_tariff(types, grid_, energy));
      built.budgets.push_back({"budget_kgco2", std::move(carbon), limits.budget_kgco2});
    }
    ORRERY_TRY(built.tasks, tasks(types, false));
    return built;
  }

  Result<PlannedHorizon> run_with(const std::vector<plan::VmType>& types) const {
    PlannedHorizon run;
    run.basis = basis_;
    run.certainty = certainty_;
    ORRERY_TRY(run.problem, problem(types));
    double configurations = 0;
    for (const Task& task : run.problem.tasks) configurations += static_cast<double>(task.modes.size()) * grid_.periods;
    if (run.problem.tasks.size() > horizon::kTasksMax || configurations > horizon::kConfigurationsMax)
      return Error::invalid(
          fmt::format("{}: {} jobs with {:.0f} configurations; at most {} jobs and {:.0f} configurations are "
                      "supported: make {} longer",
                      listing_.path, run.problem.tasks.size(), configurations, horizon::kTasksMax,
                      horizon::kConfigurationsMax, names_("period")));
    for (const plan::ListedForecast& listed : listing_.list.forecasts) {
      ORRERY_TRY(horizon::Forecast forecast, forecast_of(listed, types));
      run.forecasts.push_back(std::move(forecast));
    }
    return run;
  }

  Result<horizon::Forecast> forecast_of(const plan::ListedForecast& listed,
                                        const std::vector<plan::VmType>& types) const {
    horizon::Forecast forecast;
    forecast.task = task_of(listed.file, 0, listed.late_usd_per_h, types);
    forecast.task.must = false;
    forecast.per_h = listed.per_h;
    forecast.from_s = listed.from.value();
    double shortest = horizon::kNever;
    for (const horizon::Mode& mode : forecast.task.modes) shortest = std::min(shortest, mode.time_s);
    const double end = grid_.periods * grid_.period_s;
    forecast.until_s = listed.until ? std::min(end, listed.until->value()) : end - shortest - grid_.period_s;
    if (forecast.until_s > forecast.from_s) return forecast;
    return Error::infeasible(
        fmt::format("{}: {}: takes {} at least, so none that comes {} after the start ends within the horizon of {}",
                    listing_.place(listed.line), forecast.task.id, format_seconds(Seconds(shortest)),
                    format_seconds(listed.from), format_seconds(Seconds(end))));
  }

  // Periods until even a crowd has ended.
  int wide_periods(const PlannedHorizon& run) const {
    double work = 0, longest = 1;
    const auto count = [&](const Task& task, double times) {
      double shortest = horizon::kNever;
      for (const horizon::Mode& mode : task.modes) shortest = std::min(shortest, mode.likely_s.high * mode.machines);
      work += times * (shortest / grid_.period_s + 1);
      longest = std::max(longest, shortest / grid_.period_s + 1);
    };
    for (const Task& task : run.problem.tasks) count(task, 1);
    for (const horizon::Forecast& one : run.forecasts) count(one.task, one.per_h * (one.until_s - one.from_s) / 3600);
    const double more = 2 * longest + 2 * work / nodes_;
    return static_cast<int>(std::min<double>(grid_.periods + std::ceil(more), 2 * horizon::kPeriodsMax));
  }

  const Listing& listing_;
  Grid grid_;
  CostBasis basis_;
  int nodes_;
  std::optional<double> certainty_;
  const FieldNames& names_;
};

void count_use(const Listing& listing, PlannedHorizon& run) {
  const horizon::Problem& problem = run.problem;
  const Grid grid{problem.periods, problem.period_s};
  run.rent_usd = used_of(problem, horizon::rent_tariff(problem.vm_types, grid), run.report.schedule);
  const auto kwh = horizon::power_tariff(problem.vm_types, grid, listing.list.energy, {1});
  const auto kgco2 = horizon::carbon_tariff(problem.vm_types, grid, listing.list.energy);
  if (kwh) run.kwh = used_of(problem, *kwh, run.report.schedule);
  if (kgco2) run.kgco2 = used_of(problem, *kgco2, run.report.schedule);
}

}  // namespace

Result<PlannedHorizon> plan_within(env::Env env, const std::string& list, const ListingFields& listing_fields,
                                   const HorizonFields& fields, const PlannerFields& planner, const FieldNames& names) {
  ORRERY_TRY(const Grid grid, grid_of(fields, names));
  ORRERY_TRY(const Listing listing, load_listing(env, list, listing_fields, listing_fields.nodes, names));
  Builder builder(listing, fields, grid, listing_fields.nodes, names);
  ORRERY_TRY(PlannedHorizon run, builder.build());
  auto report = horizon::make_schedule(run.problem, planner_options(env, planner), env);
  if (!report) return std::move(report).error().with_context(list);
  run.report = std::move(*report);
  count_use(listing, run);
  run.predicted = listing.predicted();
  run.scenarios = fields.scenarios;
  run.seed = fields.seed;
  if (run.scenarios > 0) {
    ORRERY_TRY(const horizon::Problem wide, builder.widened(run));
    run.outlook = horizon::play(wide, run.forecasts, {.scenarios = run.scenarios, .seed = run.seed});
  }
  return run;
}

}  // namespace orrery::service
