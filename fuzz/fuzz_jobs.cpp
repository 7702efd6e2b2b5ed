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
  for (const plan::ListedJob& job : *jobs) {
    expect(!job.file.empty() && job.copies >= 1 && job.line >= 1);
    expect(job.submit >= Seconds() && job.late_usd_per_h >= 0);
    total += static_cast<std::size_t>(job.copies);
  }
  expect(total >= 1 && total <= plan::kListedJobsMax);
  return 0;
}
