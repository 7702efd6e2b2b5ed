#include "elastic/job/order.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/crypto.h"

namespace orrery::elastic {

void exchange_version(Codec& fields, std::uint32_t& version) {
  fields(version);
  if (version == kOrderVersion) return;
  fields.expect(false, fmt::format("the other side speaks version {} of the protocol of hosts, this one {}; use the "
                                   "same orrery",
                                   version, kOrderVersion));
}

std::string encode(const Order& order) {
  return orrery::encode(order);
}

namespace {

// Each side signs with its own words, so that neither side's proof can be sent back to it.
template <class One>
std::string proof(One order, const std::string& secret, const std::string& random, std::string_view who) {
  order.proof.clear();
  ByteWriter writer;
  writer.text(who);
  writer.text(random);
  writer.text(encode(Order(std::move(order))));
  return hmac_sha256(secret, std::move(writer).take());
}

}  // namespace

std::string proof_of(const OpenJob& order, const std::string& secret, const std::string& random) {
  return proof(order, secret, random, "launcher");
}

std::string proof_of(const JobOpened& order, const std::string& secret, const std::string& random) {
  return proof(order, secret, random, "agent");
}

Result<Order> decode_order(std::string_view bytes) {
  if (bytes.size() > kOrderBytesMax) return Error::invalid(fmt::format("an order of {} bytes", bytes.size()));
  return decode<Order>(bytes);
}

}  // namespace orrery::elastic
