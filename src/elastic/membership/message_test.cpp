#include "elastic/membership/message.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/bytes.h"
#include "base/random.h"

namespace orrery::elastic {
namespace {

Membership random_membership(Random& random) {
  Membership membership;
  membership.generation = random.next();
  for (std::uint64_t i = random.below(5); i > 0; --i) {
    membership.workers.push_back({mix64(random.next()) | 1, static_cast<std::uint32_t>(random.next()), 3});
    membership.applied[membership.workers.back().id] = random.below(9);
    if (random.below(2) == 0) membership.without_state.insert(membership.workers.back().id);
  }
  membership.progress = {random.below(1000),
                         {.samples = 1000, .seed = random.next(), .epoch = 2, .offset = random.below(1000)}};
  for (std::uint64_t i = random.below(4); i > 0; --i) membership.parameters["p" + std::to_string(i)] = random.uniform();
  return membership;
}

Request random_request(Random& random) {
  Request request{random.next(), random.below(100), {}};
  const auto kind = random.below(3);
  if (kind == 0) request.request = Join{{random.next() | 1, 2, 3}};
  if (kind == 1) request.request = Leave{};
  if (kind == 2) request.request = SetParameter{"batch", random.uniform()};
  return request;
}

Message random_message(Random& random) {
  const std::uint64_t a = random.next(), b = random.next();
  Promise promise{a, b, {7, {.samples = 9, .offset = 8}}, random.below(2) == 0, 0, std::nullopt, {}};
  if (random.below(2) == 0) promise.accepted = random_membership(random);
  for (std::uint64_t i = random.below(4); i > 0; --i) promise.requests.push_back(random_request(random));
  const std::vector<MessageBody> bodies = {Collect{a, b},
                                           promise,
                                           Propose{a, b, random_membership(random)},
                                           Accept{a, b},
                                           Refuse{a, b},
                                           Commit{random_membership(random)},
                                           Query{a},
                                           Ask{random_request(random)},
                                           Vote{a, b, random.below(2) == 0}};
  return {random.next(), random.next(), bodies[random.below(bodies.size())]};
}

RC_GTEST_PROP(Message, ComesBackFromItsBytes, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const Message message = random_message(random);
  const auto again = decode_message(encode(message));
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == message);
}

// If damaged bytes are accepted, the message encodes to the same bytes again.
RC_GTEST_PROP(Message, AnyBytesAreAMessageThatEncodesBackOrAnError, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  std::string bytes = encode(random_message(random));
  for (std::uint64_t i = random.below(4); i > 0; --i) {
    bytes[random.below(bytes.size())] = static_cast<char>(random.next());
  }
  if (random.below(4) == 0) bytes.resize(random.below(bytes.size() + 1));
  const auto message = decode_message(bytes);
  if (message) {
    RC_ASSERT(encode(*message) == bytes);
  } else {
    RC_ASSERT(!message.error().message().empty());
  }
}

TEST(Message, RefusesWhatIsTooMuch) {
  EXPECT_FALSE(decode_message(std::string(kMessageBytesMax + 1, '\0')));
  // A membership that claims 2^32 − 1 workers.
  ByteWriter writer;
  writer.u64(1);
  writer.u64(2);
  writer.u8(5);
  writer.u64(9);
  writer.u32(~0u);
  EXPECT_FALSE(decode_message(writer.bytes()));
}

}  // namespace
}  // namespace orrery::elastic
