#pragma once
// Reliable byte streams between two addresses (TCP). A call that waits has a time limit; the others never wait, and a
// poller (poller.h) says when they would do something.
//
// Errors: kUnavailable for everything that may pass (timed out, refused, reset, address in use), kInvalidArgument for
// an address that cannot be. After an error a Connection is of no further use, except that a receive that timed out may
// be repeated.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "env/poller.h"

namespace orrery::env {

struct Address {
  std::string host{};      // "127.0.0.1", "localhost"
  std::uint16_t port = 0;  // 0 when listening: any free one

  friend auto operator<=>(const Address&, const Address&) = default;
};

std::string to_string(const Address& address);         // "127.0.0.1:8080"
Result<Address> parse_address(std::string_view text);  // of that, or "host:8080"

// What the machine knows about the way to the other end.
struct PathState {
  bool in_flight = false;  // bytes have left that are not acknowledged, or could have
  Seconds since_answer{0};
  bool all_acknowledged = true;  // everything that was sent has reached the peer's machine
};

// One end of a stream. Owned by one thread at a time; destroying it closes the stream after what was sent.
class Connection : public Pollable {
 public:
  // Whether the connection is made, after begin_connect(); an error if it never will be.
  virtual Result<bool> is_connected() = 0;
  // Hands over as much as there is room for, possibly nothing; returns how much.
  virtual Result<std::size_t> send_some(std::string_view bytes) = 0;
  // Writes what has come into `buffer`. Returns how many bytes; 0 means the peer has closed, no value that nothing has
  // come. Precondition: `buffer` is not empty.
  virtual Result<std::optional<std::size_t>> receive_some(std::span<char> buffer) = 0;

  // Hands over all of `bytes`. This does not mean that the peer has read them.
  virtual Status send(std::string_view bytes, Seconds timeout) = 0;
  // Waits for bytes and writes them into `buffer`. Returns how many, at least one; 0 means the peer has closed.
  // Precondition: `buffer` is not empty.
  virtual Result<std::size_t> receive(std::span<char> buffer, Seconds timeout) = 0;
  virtual const Address& local() const = 0;
  virtual const Address& peer() const = 0;

  // Whether the process at the other end is on this machine and of this process's user.
  virtual bool is_from_our_user() const = 0;
  // The machine ends the connection if the other one does not answer for `longest`, also while nothing is sent.
  virtual void notice_silence(Seconds longest) = 0;
  virtual PathState path() const = 0;
  // Nothing more will be sent: the peer sees the end after what was sent.
  virtual void finish() = 0;
};

// An address that accepts connections until destroyed.
class Listener : public Pollable {
 public:
  // The next connection; none if none waits. kUnavailable if there is no descriptor left for one, which keeps waiting.
  virtual Result<std::unique_ptr<Connection>> accept_now() = 0;
  // Waits for the next connection. Peers may connect, and send, before it is accepted.
  virtual Result<std::unique_ptr<Connection>> accept(Seconds timeout) = 0;
  // The address, with the port that was chosen.
  virtual const Address& address() const = 0;
  // Whether no other machine reaches it.
  virtual bool is_local() const = 0;
};

// A port that is kept for processes of this user that call listen_reserved(), one after the other, and for no others.
// While none of them listens, connections are refused.
class Reservation {
 public:
  virtual ~Reservation() = default;
  virtual const Address& address() const = 0;
};

class Sockets {
 public:
  virtual ~Sockets() = default;

  virtual Result<std::unique_ptr<Reservation>> reserve(const Address& address) = 0;
  virtual Result<std::unique_ptr<Listener>> listen_reserved(const Address& address) = 0;
  virtual Result<std::unique_ptr<Listener>> listen(const Address& address) = 0;
  virtual Result<std::unique_ptr<Connection>> connect(const Address& address, Seconds timeout) = 0;
  // Returns at once, except for looking up a host name; Connection::is_connected() says when it is made.
  virtual Result<std::unique_ptr<Connection>> begin_connect(const Address& address) = 0;
};

// "connect to b:80: timed out after 5 s".
Error timed_out(const std::string& what, Seconds timeout);

// Fills `buffer`; `timeout` is the longest silence allowed, not the whole time. A stream that closes before is
// kUnavailable.
Status receive_exactly(Connection& connection, std::span<char> buffer, Seconds timeout);

}  // namespace orrery::env
