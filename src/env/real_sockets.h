#pragma once
// TCP of the machine. Stateless and thread-safe. Looking up a host name is not bounded by the timeout; numeric
// addresses and "localhost" need no lookup.

#include "env/sockets.h"

namespace orrery::env {

class RealSockets final : public Sockets {
 public:
  Result<std::unique_ptr<Listener>> listen(const Address& address) override;
  Result<std::unique_ptr<Connection>> connect(const Address& address, Seconds timeout) override;
  Result<std::unique_ptr<Connection>> begin_connect(const Address& address) override;
  Result<std::unique_ptr<Reservation>> reserve(const Address& address) override;
  Result<std::unique_ptr<Listener>> listen_reserved(const Address& address) override;
};

}  // namespace orrery::env
