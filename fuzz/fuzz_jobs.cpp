// Any bytes are a list of jobs within its limits, or an error with its line.

#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "expect.h"
#include "plan/job_list.h"

using namespace orrery;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto jobs = plan::read_job_list({reinterpret_cast<const char*>(data), size}, "f");
  if (!jobs) {
    expect(jobs.error().message().starts_with("f:") && is_printable(jobs.error().message()));
    return 0;
  }
  std::size_t total = 0;
  for (const plan::ListedJob& job : jobs->jobs) {
    expect(!job.file.empty() && job.copies >= 1 && job.line >= 1);
    expect(job.submit >= Seconds() && job.late_usd_per_h >= 0);
    expect(!job.running || (!job.running->vm.empty() && job.running->gpus >= 1));
    total += static_cast<std::size_t>(job.copies);
  }
  expect(total <= plan::kListedJobsMax && jobs->forecasts.size() <= plan::kForecastsMax);
  expect(total + jobs->forecasts.size() >= 1);
  for (const plan::ListedForecast& forecast : jobs->forecasts)
    expect(forecast.per_h > 0 && (!forecast.until || *forecast.until > forecast.from));
  expect(jobs->limits.budget_usd >= 0 && jobs->limits.budget_kgco2 >= 0);
  for (const auto& by_hour : {jobs->energy.usd_per_kwh, jobs->energy.gco2_per_kwh})
    expect(by_hour.size() == 1 || by_hour.size() == 24);
  std::vector<plan::VmType> types = {{"acme one", "V100", 1, 1}, {"acme four", "T4", 4, 2}};
  const auto applied = plan::apply_limits(jobs->limits, "f", types);
  expect(applied || applied.error().message().starts_with("f:"));
  expect(plan::quotas_on(jobs->limits, types).size() <= jobs->limits.quotas.size());
  return 0;
}
