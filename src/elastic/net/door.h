#pragma once
// Where other ranks of a job knock: one listening socket of a process, for all epochs.
//
// A visitor says who it is (wire.h). One of another job or of an epoch that is over is told so and sent away; one of an
// epoch that has not begun here waits until it does. At most kVisitorsMax wait, and none longer than kHelloMax for its
// first word. One that brings mail is handed to mail(), whatever the epoch.
//
// Connections of an epoch that was left in order stay here until their other ends are closed: closing them while the
// other side still sends would reset them, and what is on its way would be lost.

#include <memory>
#include <vector>

#include "elastic/net/socket.h"
#include "elastic/net/wire.h"
#include "env/clock.h"

namespace orrery::elastic::net {

class Door {
 public:
  static constexpr std::size_t kVisitorsMax = 2 * kRanksMax;
  static constexpr Seconds kHelloMax{5};
  static constexpr Seconds kLeaveMax{2};

  // Port 0 takes a free one; one that someone of this user has reserved (socket.h) is taken if `is_reserved`. The clock
  // must outlive the door.
  static Result<std::unique_ptr<Door>> open(const std::string& job, const env::Address& address, env::Clock& clock,
                                            bool is_reserved = false);
  // Waits until what was sent last has reached the other machines, at most kLeaveMax.
  ~Door();

  const env::Address& address() const { return address_; }
  int socket() const { return socket_.get(); }
  std::uint64_t job() const { return job_; }
  env::Clock& clock() { return clock_; }

  // Takes in whoever has come, reads hellos, and sends away those of epochs before `epoch`. Never waits.
  Status attend(std::uint64_t epoch);
  // The same, of the epoch that was attended to last.
  Status attend() { return attend(epoch_); }

  // Whether anyone was taken in who has not been asked for yet.
  bool has_visitors() const { return !waiting_.empty(); }

  struct Visitor {
    env::FileDescriptor socket;
    Hello hello{};
  };
  // The visitors of `epoch`.
  std::vector<Visitor> visitors_of(std::uint64_t epoch);
  // The visitors who bring mail.
  std::vector<Visitor> mail();
  // Says a hello, or whether a visitor is welcome, over a new connection.
  static Status say(int socket, Hello words, Verdict verdict);
  // Takes a connection on which nothing more will be written or read.
  void see_off(env::FileDescriptor socket);

 private:
  struct Waiting {
    env::FileDescriptor socket;
    HelloBytes bytes{};
    std::size_t read = 0;
    Hello hello{};
    Seconds since{0};
    bool over = false;
  };

  Door(std::uint64_t job, env::FileDescriptor socket, env::Clock& clock);
  template <class Is>
  std::vector<Visitor> take(Is is);
  void listen_to(Waiting& visitor);
  // Closes those whose other ends are closed.
  void close_leaving();

  std::uint64_t job_;
  env::FileDescriptor socket_;
  env::Address address_;
  env::Clock& clock_;
  std::uint64_t epoch_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<env::FileDescriptor> leaving_;
};

}  // namespace orrery::elastic::net
