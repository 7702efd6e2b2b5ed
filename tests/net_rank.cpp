// One rank of a job over TCP, for tests from outside: all-reduces until something happens, and says what.
//
// usage: net_rank RANK SECONDS EPOCH ADDRESS:PORT...
//
// Prints "open" once the generation is open; then, when the generation ends, "revoked: REASON", or "done SUMS" after
// SECONDS. Every sum is checked. Exit code 0 either way, 1 when something else went wrong.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

#include "elastic/net/session.h"
#include "env/env.h"
#include "env/real_clock.h"

using namespace orrery;
using namespace orrery::elastic;

namespace {

env::Address parse(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  return {text.substr(0, colon), static_cast<std::uint16_t>(std::atoi(text.c_str() + colon + 1))};
}

int say(const std::string& text, int code) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
  return code;
}

// One round: everyone sums up, and rank 0 says whether to go on.
Result<bool> round(net::Session& session, std::vector<float>& data, bool wants_more) {
  std::fill(data.begin(), data.end(), 1.0f);
  float more = wants_more ? 1.0f : 0.0f;
  ORRERY_TRY(const Ticket first, session.all_reduce("g", {data.data(), data.size(), DataType::kF32}, ReduceOp::kSum));
  ORRERY_TRY(const Ticket second, session.broadcast("more", {&more, 1, DataType::kF32}, 0));
  ORRERY_TRY_VOID(session.wait(first));
  ORRERY_TRY_VOID(session.wait(second));
  const auto sum = static_cast<float>(session.size());
  if (data.front() != sum || data.back() != sum) return Error::internal("a wrong sum");
  return more == 1.0f;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return say("usage: net_rank RANK SECONDS EPOCH ADDRESS:PORT...", 2);
  ::alarm(300);
  env::RealClock clock;
  net::SessionOptions options;
  options.mesh.rank = std::atoi(argv[1]);
  options.mesh.generation = static_cast<std::uint64_t>(std::atoi(argv[3]));
  options.mesh.open_max = Seconds(120);
  options.mesh.ranks_here = 64;
  for (int i = 4; i < argc; ++i) options.mesh.addresses.push_back(parse(argv[i]));
  auto listener = net::Listener::open(orrery::env::make_real_env(), {.secret = "net_rank"},
                                      options.mesh.addresses[static_cast<std::size_t>(options.mesh.rank)]);
  if (!listener) return say(listener.error().to_string(), 1);
  auto session = net::Session::open(**listener, options);
  if (!session) return say(session.error().to_string(), 1);
  say("open", 0);
  std::vector<float> data(100'000);
  const Seconds end = clock.monotonic() + Seconds(std::atof(argv[2]));
  for (int sums = 1;; ++sums) {
    const auto more = round(**session, data, clock.monotonic() < end);
    if (!more && more.error().code() == ErrorCode::kUnavailable) return say("revoked: " + more.error().message(), 0);
    if (!more) return say(more.error().to_string(), 1);
    if (!*more) return say("done " + std::to_string(sums), 0);
  }
}
