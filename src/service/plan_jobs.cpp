#include "service/plan_jobs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "env/clock.h"

namespace orrery::service {

using plan::Job;
using plan::Market;

namespace {

using Json = nlohmann::ordered_json;

// What only a schedule over a horizon has.
Status check_without_horizon(const Listing& listing, const FieldNames& names) {
  const plan::JobList& list = listing.list;
  const bool budget = std::isfinite(list.limits.budget_usd) || std::isfinite(list.limits.budget_kgco2);
  const bool running = std::any_of(list.jobs.begin(), list.jobs.end(),
                                   [](const plan::ListedJob& job) { return job.running.has_value(); });
  const char* what = budget                    ? "limits: a budget is for a horizon"
                     : !list.forecasts.empty() ? "forecast: jobs are expected within a horizon"
                     : running                 ? "running: where jobs are already counts within a horizon"
                                               : nullptr;
  if (what == nullptr) return {};
  return Error::invalid(fmt::format("{}: {}; give {}", listing.path, what, names("horizon")));
}

plan::MarketJobs jobs_of(const Listing& listing) {
  plan::MarketJobs jobs;
  for (const plan::ListedJob& listed : listing.list.jobs) {
    const ListedFile& file = listing.file(listed.file);
    Job job = plan::job_of(file.configurations);
    job.id = file.spec.name;
    job.submit_s = listed.submit.value();
    job.due_s = file.spec.deadline ? file.spec.deadline->value() + job.submit_s : plan::kTimeMaxS;
    job.weight_usd_s = file.spec.deadline ? listed.late_usd_per_h / 3600 : 0;
    job.switch_s = listing.list.switch_time.value();
    jobs.insert(jobs.end(), static_cast<std::size_t>(listed.copies), job);
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.submit_s < b.submit_s; });
  std::vector<std::string*> ids;
  for (Job& job : jobs) ids.push_back(&job.id);
  name_apart(ids);
  return jobs;
}

// Types that are worth considering; a limited type does not exclude others.
std::vector<plan::VmType> useful_types(const Listing& listing, const plan::MarketJobs& jobs) {
  std::vector<plan::VmType> unlimited;
  for (const plan::VmType& type : listing.types)
    if (!listing.is_limited(type)) unlimited.push_back(type);
  std::vector<plan::VmType> useful = plan::useful_types(listing.types, jobs);
  for (const plan::VmType& type : plan::useful_types(unlimited, jobs))
    if (std::none_of(useful.begin(), useful.end(), [&](const plan::VmType& one) { return one.name == type.name; }))
      useful.push_back(type);
  std::sort(useful.begin(), useful.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return useful;
}

}  // namespace

Result<PlannedJobs> plan_over_time(env::Env env, const std::string& list, const ListingFields& fields, Seconds replan,
                                   const PlannerFields& planner, const FieldNames& names) {
  const Seconds start = env.clock.monotonic();
  ORRERY_TRY(const Listing listing, load_listing(env, list, fields, 1, names));
  ORRERY_TRY_VOID(check_without_horizon(listing, names));
  PlannedJobs planned;
  planned.jobs = jobs_of(listing);
  planned.predicted = listing.predicted();
  planned.bound_usd = plan::alone_bound_usd(listing.types, planned.jobs);
  planned.market = {fields.nodes, useful_types(listing, planned.jobs)};
  planned.market.quotas = plan::quotas_on(listing.list.limits, planned.market.vm_types);
  plan::MilpPolicyOptions how;
  how.horizon_s = replan.value();
  how.planner = planner_options(env, planner);
  how.planner.limit = std::min(how.planner.limit, Seconds(10));
  const auto policy = [&](const Market& market, const plan::MarketJobs& jobs) {
    return plan::make_milp_policy(how, market, jobs, env, &planned.stats);
  };
  const schedule::TimeNs lost = schedule::from_seconds(listing.list.switch_time.value());
  const simulate::Costs switching{.resume_ns = lost, .move_ns = lost};
  ORRERY_TRY(planned.run, simulate::simulate_rent(planned.market, {planned.jobs, planned.jobs}, policy, switching));
  planned.time = env.clock.monotonic() - start;
  return planned;
}

namespace {

Table job_table(const PlannedJobs& planned) {
  Table table({{"job", "job"},
               {"submit_s", "submitted", CellFormat::kSeconds},
               {"start_s", "starts", CellFormat::kSeconds},
               {"end_s", "ends", CellFormat::kSeconds},
               {"due_s", "due", CellFormat::kSeconds},
               {"starts", "times started", CellFormat::kInteger, false},
               {"rental_usd", "rental", CellFormat::kDollars},
               {"tardiness_usd", "tardiness", CellFormat::kDollars}});
  const auto shares = simulate::share_usd(planned.market, planned.jobs.size(), planned.run.run);
  for (const schedule::JobIndex i : planned.jobs.indices()) {
    const Job& job = planned.jobs[i];
    const simulate::JobOutcome& ran = planned.run.run.jobs[i];
    const double end = schedule::to_seconds(ran.end_ns);
    table.add({job.id, job.submit_s, schedule::to_seconds(ran.first_start_ns), end,
               job.due_s < plan::kTimeMaxS ? Cell(job.due_s) : Cell(), std::int64_t{ran.starts + ran.moves}, shares[i],
               job.weight_usd_s * std::max(0.0, end - job.due_s)});
  }
  return table;
}

Table machine_table(const PlannedJobs& planned) {
  Table table({{"vm", "machine"},
               {"from_s", "rented from", CellFormat::kSeconds},
               {"to_s", "to", CellFormat::kSeconds},
               {"usd", "cost", CellFormat::kDollars},
               {"jobs", "jobs × GPUs"}});
  for (const simulate::RentalInterval& one : simulate::rental_intervals(planned.market, planned.run.run)) {
    std::vector<std::string> jobs;
    for (const simulate::Holding& held : one.jobs) {
      const std::string text = fmt::format("{} × {}", planned.jobs[held.job].id, held.gpus);
      if (std::find(jobs.begin(), jobs.end(), text) == jobs.end()) jobs.push_back(text);
    }
    table.add({planned.market.vm_types[one.vm].name, one.from_s, one.to_s, one.usd,
               fmt::format("{}", fmt::join(jobs, ", "))});
  }
  return table;
}

}  // namespace

std::string to_json(const PlannedJobs& planned) {
  const simulate::RentBill& bill = planned.run.bill;
  Json json = {{"objective_usd", planned.total_usd()},
               {"bound_usd", planned.bound_usd},
               {"gap", planned.gap()},
               {"rental_usd", bill.rental_usd},
               {"idle_usd", bill.idle_usd},
               {"tardiness_usd", bill.tardiness_usd},
               {"late_jobs", bill.late},
               {"machines_most", bill.nodes_most},
               {"decisions", planned.stats.decisions},
               {"seconds", planned.time.value()},
               {"predicted_times", planned.predicted.all},
               {"predicted_in_domain", planned.predicted.in_domain},
               {"machines", Json::parse(machine_table(planned).to_json())},
               {"jobs", Json::parse(job_table(planned).to_json())}};
  return json.dump() + "\n";
}

std::string to_text(const PlannedJobs& planned) {
  const simulate::RentBill& bill = planned.run.bill;
  const auto dollars = [](double usd) { return format_dollars(Dollars(usd)); };
  return fmt::format(
      "{}: rental {} (of it idle {}), tardiness {}; {} of {} jobs late, at most {} machines at once\n"
      "no plan costs less than {} (gap {:.1f} %), the sum over jobs alone with all machines to choose from; {} "
      "decisions, "
      "{}\n{}\n\n"
      "{}\n{}",
      dollars(planned.total_usd()), dollars(bill.rental_usd), dollars(std::max(0.0, bill.idle_usd)),
      dollars(bill.tardiness_usd), bill.late, planned.jobs.size(), bill.nodes_most, dollars(planned.bound_usd),
      100 * planned.gap(), planned.stats.decisions, format_seconds(planned.time), planned.predicted.text(),
      machine_table(planned).to_text(), job_table(planned).to_text());
}

std::string to_gantt(const PlannedJobs& planned) {
  return simulate::rent_gantt_svg(planned.market, planned.jobs, planned.run.run);
}

Result<Table> explain(const PlannedJobs& planned, const std::string& id) {
  const auto job = std::find_if(planned.jobs.begin(), planned.jobs.end(), [&](const Job& one) { return one.id == id; });
  if (job == planned.jobs.end()) {
    std::vector<std::string> ids;
    for (const Job& one : planned.jobs) ids.push_back(one.id);
    return Error::not_found(fmt::format("no job {}{}", quote(id), did_you_mean(id, ids)));
  }
  const schedule::JobIndex index(job - planned.jobs.begin());
  const auto machines = plan::machines_of(planned.market);
  std::map<std::pair<std::size_t, int>, double> held_s;
  for (const simulate::Holding& one : planned.run.run.holdings) {
    if (one.job != index) continue;
    const auto vm = static_cast<std::size_t>(machines[one.machine].device);
    held_s[{vm, one.gpus}] += schedule::to_seconds(one.to_ns - one.from_ns);
  }
  Table table({{"choice", "choice"},
               {"time_s", "time", CellFormat::kSeconds},
               {"rental_usd", "rental", CellFormat::kDollars},
               {"tardiness_usd", "tardiness", CellFormat::kDollars},
               {"total_usd", "together", CellFormat::kDollars},
               {"held_s", "was there for", CellFormat::kSeconds}});
  for (std::size_t vm = 0; vm < planned.market.vm_types.size(); ++vm) {
    const plan::VmType& type = planned.market.vm_types[vm];
    for (int gpus = 1; gpus <= type.gpus; ++gpus) {
      const auto time = plan::time_s(*job, type, gpus);
      if (!time) continue;
      const double rental = type.price_usd_h / 3600 * gpus / type.gpus * *time;
      const double late = job->weight_usd_s * std::max(0.0, job->submit_s + *time - job->due_s);
      const auto held = held_s.find({vm, gpus});
      table.add({fmt::format("{} × {}", gpus, type.name), *time, rental, late, rental + late,
                 held != held_s.end() ? Cell(held->second) : Cell()});
    }
  }
  return table;
}

}  // namespace orrery::service
