#pragma once
// Answers HTTP requests (http.h) beside other work: it never waits and has no threads. It holds a bounded number of
// connections; one that has not sent its request and read the answer within `kRequestMax` is closed.

#include <functional>
#include <vector>

#include "base/units.h"
#include "elastic/net/http.h"
#include "env/clock.h"
#include "env/posix.h"
#include "env/sockets.h"

namespace orrery::elastic::net {

class HttpServer {
 public:
  static constexpr std::size_t kPendingMax = 32;
  static constexpr Seconds kRequestMax{5};

  static Result<std::unique_ptr<HttpServer>> listen(const env::Address& address, env::Clock& clock);

  bool is_bound_to_loopback() const;
  // With the port that the machine chose, if it did.
  env::Address address() const;
  void add_descriptors(std::vector<int>& descriptors) const;
  // A connection has yet to read its answer: call move() again soon.
  bool has_output() const;
  // Reads, answers and writes what it can. `answer` is called once for each request.
  void move(const std::function<HttpAnswer(const HttpRequest&)>& answer);

 private:
  struct PendingConnection {
    env::FileDescriptor socket;
    Seconds until;
    std::string asked{}, said{};
    std::size_t written = 0;  // of the answer
    bool is_over = false;
  };

  HttpServer(env::FileDescriptor listener, env::Clock& clock) : listener_(std::move(listener)), clock_(clock) {}
  void let_in();
  void hear(PendingConnection& pending, const std::function<HttpAnswer(const HttpRequest&)>& answer);
  static void speak(PendingConnection& pending);

  env::FileDescriptor listener_;
  env::Clock& clock_;
  std::vector<PendingConnection> pending_;  // the oldest first
  bool is_full_ = false;  // no descriptor is left for another connection, which would wake us without end
};

}  // namespace orrery::elastic::net
