#include "elastic/job/order.h"

#include <array>
#include <fmt/format.h>

#include "base/crypto.h"

namespace orrery::elastic {

namespace {

constexpr std::size_t kItemsMax = 4096;

void write(ByteWriter& writer, const std::vector<std::string>& texts) {
  writer.u32(static_cast<std::uint32_t>(texts.size()));
  for (const std::string& text : texts) writer.text(text);
}

Result<std::vector<std::string>> read_texts(ByteReader& reader) {
  ORRERY_TRY(const std::size_t count, reader.count(4, kItemsMax));
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    ORRERY_TRY(text, reader.text(kOrderBytesMax));
  }
  return texts;
}

void write(ByteWriter& writer, const Challenge& order) {
  writer.u32(order.version);
  writer.text(order.random);
}
void write(ByteWriter& writer, const OpenJob& order) {
  writer.u32(order.version);
  writer.text(order.random);
  writer.text(order.proof);
  writer.text(order.job);
  writer.u64(order.run);
  writer.u32(order.slots);
  writer.u64(order.arena_bytes);
}
void write(ByteWriter& writer, const JobOpened& order) {
  writer.text(order.problem);
  write(writer, order.addresses);
  writer.text(order.proof);
}
void write(ByteWriter& writer, const StartOrder& order) {
  writer.u64(order.worker);
  write(writer, order.argv);
  writer.u32(static_cast<std::uint32_t>(order.environment.size()));
  for (const auto& [name, value] : order.environment) {
    writer.text(name);
    writer.text(value);
  }
}
void write(ByteWriter& writer, const Started& order) {
  writer.u64(order.worker);
  writer.u64(order.process);
  writer.text(order.problem);
}
void write(ByteWriter& writer, const EndOrder& order) {
  writer.u64(order.worker);
  writer.u32(order.signal);
}
void write(ByteWriter& writer, const HasEnded& order) {
  writer.u64(order.worker);
  writer.u32(order.code);
  writer.u32(order.signal);
}
void write(ByteWriter& writer, const Printed& order) {
  writer.u8(order.is_error ? 1 : 0);
  writer.text(order.text);
}
void write(ByteWriter& writer, const Posted& order) {
  writer.u64(order.name);
  writer.text(order.bytes);
}
void write(ByteWriter&, const CloseJob&) {}

// Another version may have other fields after this, so the error can only name the version.
Status read_version(ByteReader& reader, std::uint32_t& version) {
  ORRERY_TRY(version, reader.u32());
  if (version == kOrderVersion) return {};
  return Error::invalid(
      fmt::format("the other side speaks version {} of the protocol of hosts, this one {}; use the same orrery",
                  version, kOrderVersion));
}
Status read(ByteReader& reader, Challenge& order) {
  ORRERY_TRY_VOID(read_version(reader, order.version));
  ORRERY_TRY(order.random, reader.text(kSha256Bytes));
  return {};
}
Status read(ByteReader& reader, OpenJob& order) {
  ORRERY_TRY_VOID(read_version(reader, order.version));
  ORRERY_TRY(order.random, reader.text(kSha256Bytes));
  ORRERY_TRY(order.proof, reader.text(kSha256Bytes));
  ORRERY_TRY(order.job, reader.text(kOrderBytesMax));
  ORRERY_TRY(order.run, reader.u64());
  ORRERY_TRY(order.slots, reader.u32());
  ORRERY_TRY(order.arena_bytes, reader.u64());
  return {};
}
Status read(ByteReader& reader, JobOpened& order) {
  ORRERY_TRY(order.problem, reader.text(kOrderBytesMax));
  ORRERY_TRY(order.addresses, read_texts(reader));
  ORRERY_TRY(order.proof, reader.text(kSha256Bytes));
  return {};
}
Status read(ByteReader& reader, StartOrder& order) {
  ORRERY_TRY(order.worker, reader.u64());
  ORRERY_TRY(order.argv, read_texts(reader));
  if (order.argv.empty()) return Error::invalid("an order to start nothing");
  ORRERY_TRY(const std::size_t variables, reader.count(8, kItemsMax));
  for (std::size_t i = 0; i < variables; ++i) {
    ORRERY_TRY(std::string name, reader.text(kOrderBytesMax));
    if (!order.environment.empty() && name <= order.environment.rbegin()->first) {
      return Error::invalid(fmt::format("variable \"{}\" is out of order", name));
    }
    ORRERY_TRY(order.environment[std::move(name)], reader.text(kOrderBytesMax));
  }
  return {};
}
Status read(ByteReader& reader, Started& order) {
  ORRERY_TRY(order.worker, reader.u64());
  ORRERY_TRY(order.process, reader.u64());
  ORRERY_TRY(order.problem, reader.text(kOrderBytesMax));
  return {};
}
Status read(ByteReader& reader, EndOrder& order) {
  ORRERY_TRY(order.worker, reader.u64());
  ORRERY_TRY(order.signal, reader.u32());
  if (order.signal != 9 && order.signal != 15) return Error::invalid(fmt::format("signal {}", order.signal));
  return {};
}
Status read(ByteReader& reader, HasEnded& order) {
  ORRERY_TRY(order.worker, reader.u64());
  ORRERY_TRY(order.code, reader.u32());
  ORRERY_TRY(order.signal, reader.u32());
  if (order.code > 255 || order.signal > 64) return Error::invalid("an end that no process has");
  return {};
}
Status read(ByteReader& reader, Printed& order) {
  ORRERY_TRY(const std::uint8_t is_error, reader.u8());
  if (is_error > 1) return Error::invalid(fmt::format("a flag of {}", is_error));
  order.is_error = is_error == 1;
  ORRERY_TRY(order.text, reader.text(kOrderBytesMax));
  return {};
}
Status read(ByteReader& reader, Posted& order) {
  ORRERY_TRY(order.name, reader.u64());
  ORRERY_TRY(order.bytes, reader.text(kOrderBytesMax));
  return {};
}
Status read(ByteReader&, CloseJob&) {
  return {};
}

template <class T>
Result<Order> read_one(ByteReader& reader) {
  T order;
  ORRERY_TRY_VOID(read(reader, order));
  return Order(std::move(order));
}

// By the position of a kind in the variant.
template <std::size_t... kIndexes>
constexpr auto readers(std::index_sequence<kIndexes...>) {
  return std::array{&read_one<std::variant_alternative_t<kIndexes, Order>>...};
}
constexpr auto kReaders = readers(std::make_index_sequence<std::variant_size_v<Order>>());

}  // namespace

std::string encode(const Order& order) {
  ByteWriter writer;
  writer.u8(static_cast<std::uint8_t>(order.index()));
  std::visit([&](const auto& one) { write(writer, one); }, order);
  return std::move(writer).take();
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
  ByteReader reader(bytes);
  ORRERY_TRY(const std::uint8_t kind, reader.u8());
  if (kind >= kReaders.size()) return Error::invalid(fmt::format("an unknown kind of order {}", kind));
  ORRERY_TRY(Order order, kReaders[kind](reader));
  if (!reader.at_end())
    return Error::invalid(fmt::format("an order ends at byte {} of {}", reader.offset(), bytes.size()));
  return order;
}

}  // namespace orrery::elastic
