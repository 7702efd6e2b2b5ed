#include "elastic/membership/message.h"

#include <cmath>
#include <fmt/format.h>

namespace orrery::elastic {

namespace {

constexpr std::size_t kSettingNameBytesMax = 128;

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

void encode(const Request& request, ByteWriter& writer) {
  writer.u64(request.origin);
  writer.u64(request.number);
  writer.u8(static_cast<std::uint8_t>(request.request.index()));
  std::visit(Overloaded{[&](const Join& join) { elastic::encode(join.worker, writer); }, [](const Leave&) {},
                        [&](const SetParameter& set) {
                          writer.text(set.name);
                          writer.f64(set.value);
                        }},
             request.request);
}

Result<Request> decode_request(ByteReader& reader) {
  Request request;
  ORRERY_TRY(request.origin, reader.u64());
  ORRERY_TRY(request.number, reader.u64());
  ORRERY_TRY(const std::uint8_t kind, reader.u8());
  if (kind == 0) {
    Join join;
    ORRERY_TRY(join.worker, decode_worker(reader));
    request.request = join;
  } else if (kind == 1) {
    request.request = Leave{};
  } else if (kind == 2) {
    SetParameter set;
    ORRERY_TRY(set.name, reader.text(kSettingNameBytesMax));
    ORRERY_TRY(set.value, reader.f64());
    if (!std::isfinite(set.value)) return Error::invalid(fmt::format("parameter \"{}\" is no number", set.name));
    request.request = std::move(set);
  } else {
    return Error::invalid(fmt::format("unknown kind of request {}", kind));
  }
  return request;
}

void encode_attempt(std::uint64_t generation, std::uint64_t ballot, ByteWriter& writer) {
  writer.u64(generation);
  writer.u64(ballot);
}

void encode(const Promise& promise, ByteWriter& writer) {
  encode_attempt(promise.generation, promise.ballot, writer);
  elastic::encode(promise.progress, writer);
  writer.u8(promise.has_state ? 1 : 0);
  writer.u64(promise.accepted_ballot);
  writer.u8(promise.accepted ? 1 : 0);
  if (promise.accepted) elastic::encode(*promise.accepted, writer);
  writer.u32(static_cast<std::uint32_t>(promise.requests.size()));
  for (const Request& request : promise.requests) encode(request, writer);
}

Result<bool> decode_flag(ByteReader& reader) {
  ORRERY_TRY(const std::uint8_t flag, reader.u8());
  if (flag > 1) return Error::invalid(fmt::format("a flag of {}", flag));
  return flag == 1;
}

Result<Promise> decode_promise(ByteReader& reader) {
  Promise promise;
  ORRERY_TRY(promise.generation, reader.u64());
  ORRERY_TRY(promise.ballot, reader.u64());
  ORRERY_TRY(promise.progress, decode_progress(reader));
  ORRERY_TRY(promise.has_state, decode_flag(reader));
  ORRERY_TRY(promise.accepted_ballot, reader.u64());
  ORRERY_TRY(const bool has_accepted, decode_flag(reader));
  if (has_accepted) {
    ORRERY_TRY(promise.accepted, decode_membership(reader));
  }
  ORRERY_TRY(const std::size_t requests, reader.count(17, kRequestsMax));
  for (std::size_t i = 0; i < requests; ++i) {
    ORRERY_TRY(Request request, decode_request(reader));
    promise.requests.push_back(std::move(request));
  }
  return promise;
}

template <class Attempt>
Result<MessageBody> decode_attempt(ByteReader& reader) {
  Attempt attempt;
  ORRERY_TRY(attempt.generation, reader.u64());
  ORRERY_TRY(attempt.ballot, reader.u64());
  return MessageBody(attempt);
}

Result<MessageBody> decode_body(std::uint8_t kind, ByteReader& reader) {
  switch (kind) {
    case 0:
      return decode_attempt<Collect>(reader);
    case 1: {
      ORRERY_TRY(Promise promise, decode_promise(reader));
      return MessageBody(std::move(promise));
    }
    case 2: {
      Propose propose;
      ORRERY_TRY(propose.generation, reader.u64());
      ORRERY_TRY(propose.ballot, reader.u64());
      ORRERY_TRY(propose.membership, decode_membership(reader));
      return MessageBody(std::move(propose));
    }
    case 3:
      return decode_attempt<Accept>(reader);
    case 4:
      return decode_attempt<Refuse>(reader);
    case 5: {
      ORRERY_TRY(Membership membership, decode_membership(reader));
      return MessageBody(Commit{std::move(membership)});
    }
    case 6: {
      ORRERY_TRY(const std::uint64_t generation, reader.u64());
      return MessageBody(Query{generation});
    }
    case 7: {
      ORRERY_TRY(Request request, decode_request(reader));
      return MessageBody(Ask{std::move(request)});
    }
    case 8: {
      Vote vote;
      ORRERY_TRY(vote.generation, reader.u64());
      ORRERY_TRY(vote.step, reader.u64());
      ORRERY_TRY(vote.has_state, decode_flag(reader));
      return MessageBody(vote);
    }
    default:
      return Error::invalid(fmt::format("unknown kind of message {}", kind));
  }
}

}  // namespace

std::string encode(const Message& message) {
  ByteWriter writer;
  writer.u64(message.from);
  writer.u64(message.to);
  writer.u8(static_cast<std::uint8_t>(message.body.index()));
  std::visit(Overloaded{[&](const Promise& promise) { encode(promise, writer); },
                        [&](const Propose& propose) {
                          encode_attempt(propose.generation, propose.ballot, writer);
                          encode(propose.membership, writer);
                        },
                        [&](const Commit& commit) { encode(commit.membership, writer); },
                        [&](const Query& query) { writer.u64(query.generation); },
                        [&](const Ask& ask) { encode(ask.request, writer); },
                        [&](const Vote& vote) {
                          encode_attempt(vote.generation, vote.step, writer);
                          writer.u8(vote.has_state ? 1 : 0);
                        },
                        [&](const auto& attempt) { encode_attempt(attempt.generation, attempt.ballot, writer); }},
             message.body);
  return std::move(writer).take();
}

Result<Message> decode_message(std::string_view bytes) {
  if (bytes.size() > kMessageBytesMax) {
    return Error::invalid(fmt::format("a message of {} bytes; at most {}", bytes.size(), kMessageBytesMax));
  }
  ByteReader reader(bytes);
  Message message;
  ORRERY_TRY(message.from, reader.u64());
  ORRERY_TRY(message.to, reader.u64());
  ORRERY_TRY(const std::uint8_t kind, reader.u8());
  ORRERY_TRY(message.body, decode_body(kind, reader));
  if (!reader.at_end())
    return Error::invalid(fmt::format("a message of {} bytes ends at {}", bytes.size(), reader.offset()));
  return message;
}

}  // namespace orrery::elastic
