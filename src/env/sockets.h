#pragma once
// Reliable byte streams between two addresses (TCP). Every call has a time limit.
//
// Errors: kUnavailable for everything that may pass (timed out, refused, reset, address in use), kInvalidArgument for
// an address that cannot be. After an error a Connection is of no further use, except that a receive that timed out may
// be repeated.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace orrery::env {

struct Address {
  std::string host{};      // "127.0.0.1", "localhost"
  std::uint16_t port = 0;  // 0 when listening: any free one

  friend auto operator<=>(const Address&, const Address&) = default;
};

std::string to_string(const Address& address);  // "127.0.0.1:8080"

// One end of a stream. Owned by one thread at a time; destroying it closes the stream after what was sent.
class Connection {
 public:
  virtual ~Connection() = default;

  // Hands over all of `bytes`. This does not mean that the peer has read them.
  virtual Status send(std::string_view bytes, Seconds timeout) = 0;
  // Waits for bytes and writes them into `buffer`. Returns how many, at least one; 0 means the peer has closed.
  // Precondition: `buffer` is not empty.
  virtual Result<std::size_t> receive(std::span<char> buffer, Seconds timeout) = 0;
  virtual const Address& local() const = 0;
  virtual const Address& peer() const = 0;
};

// An address that accepts connections until destroyed.
class Listener {
 public:
  virtual ~Listener() = default;

  // Waits for the next connection. Peers may connect, and send, before it is accepted.
  virtual Result<std::unique_ptr<Connection>> accept(Seconds timeout) = 0;
  // The address, with the port that was chosen.
  virtual const Address& address() const = 0;
};

class Sockets {
 public:
  virtual ~Sockets() = default;

  virtual Result<std::unique_ptr<Listener>> listen(const Address& address) = 0;
  virtual Result<std::unique_ptr<Connection>> connect(const Address& address, Seconds timeout) = 0;
};

// Fills `buffer`; `timeout` is the longest silence allowed, not the whole time. A stream that closes before is
// kUnavailable.
Status receive_exactly(Connection& connection, std::span<char> buffer, Seconds timeout);

}  // namespace orrery::env
