// Any bytes are a request, refused with a reason, or not enough yet; whatever is asked, a launcher has an answer.

#include <cstdint>
#include <cstdlib>

#include "elastic/job/job_pages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::elastic;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const net::HttpRead read = net::read_http(bytes);
  if (read.request && read.refusal) std::abort();
  if (size >= net::kHttpRequestBytesMax && !read.request && !read.refusal) std::abort();
  if (read.refusal && (read.refusal->code < 400 || read.refusal->body.empty())) std::abort();
  if (!read.request) return 0;
  const JobStatus status{.job = "fuzz", .workers = {1, 2}};
  const HttpCommand request = read_command(*read.request, status, size % 2 == 0 ? "" : "token");
  const auto* const answer = std::get_if<net::HttpAnswer>(&request);
  if (answer != nullptr && net::to_bytes(*answer).find("\r\n\r\n") == std::string::npos) std::abort();
  return 0;
}
