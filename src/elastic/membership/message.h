#pragma once
// What workers send each other about memberships and steps. See protocol.h.

#include <cmath>
#include <optional>
#include <variant>
#include <vector>

#include "base/codec.h"
#include "elastic/membership/membership.h"

namespace orrery::elastic {

inline constexpr std::size_t kRequestsMax = 1024;

// A request that the next membership should fulfil. `number` counts the requests of one worker, from 1, so that none is
// fulfilled twice.
struct Join {
  WorkerRecord worker{};
  void exchange(Codec& fields) { fields(worker); }
  friend bool operator==(const Join&, const Join&) = default;
};
struct Leave {
  void exchange(Codec&) {}
  friend bool operator==(const Leave&, const Leave&) = default;
};
struct SetParameter {
  std::string name;
  double value = 0;
  void exchange(Codec& fields) {
    fields(name, value);
    fields.expect(std::isfinite(value), "a parameter that is no number");
  }
  friend bool operator==(const SetParameter&, const SetParameter&) = default;
};
struct Request {
  WorkerId origin = 0;
  std::uint64_t number = 0;
  std::variant<Join, Leave, SetParameter> request{};
  void exchange(Codec& fields) { fields(origin, number, request); }
  friend bool operator==(const Request&, const Request&) = default;
};

// The messages about the change from membership `generation` to the next. A ballot is an attempt; higher ones overrule
// lower ones.
struct Collect {  // "stop, and tell me how far you are"
  std::uint64_t generation = 0, ballot = 0;
  void exchange(Codec& fields) { fields(generation, ballot); }
  friend bool operator==(const Collect&, const Collect&) = default;
};
struct Promise {  // "I have stopped, and will not follow lower ballots"
  std::uint64_t generation = 0, ballot = 0;
  TrainingProgress progress{};
  bool has_state = false;                // whether it has the model at that progress
  std::uint64_t accepted_ballot = 0;     // of `accepted`
  std::optional<Membership> accepted{};  // what it has accepted before
  std::vector<Request> requests{};       // all requests it knows
  void exchange(Codec& fields) {
    fields(generation, ballot, progress, has_state, accepted_ballot, accepted, requests);
    fields.expect(requests.size() <= kRequestsMax, "too many requests");
  }
  friend bool operator==(const Promise&, const Promise&) = default;
};
struct Propose {  // "this shall be the next membership"
  std::uint64_t generation = 0, ballot = 0;
  Membership membership{};
  void exchange(Codec& fields) { fields(generation, ballot, membership); }
  friend bool operator==(const Propose&, const Propose&) = default;
};
struct Accept {
  std::uint64_t generation = 0, ballot = 0;
  void exchange(Codec& fields) { fields(generation, ballot); }
  friend bool operator==(const Accept&, const Accept&) = default;
};
struct Refuse {  // "I have promised `ballot` to another leader"
  std::uint64_t generation = 0, ballot = 0;
  void exchange(Codec& fields) { fields(generation, ballot); }
  friend bool operator==(const Refuse&, const Refuse&) = default;
};
struct Commit {  // "this is the membership of its generation"
  Membership membership{};
  void exchange(Codec& fields) { fields(membership); }
  friend bool operator==(const Commit&, const Commit&) = default;
};
struct Query {  // "is there a membership of a later generation?"
  std::uint64_t generation = 0;
  void exchange(Codec& fields) { fields(generation); }
  friend bool operator==(const Query&, const Query&) = default;
};
struct Ask {
  Request request{};
  void exchange(Codec& fields) { fields(request); }
  friend bool operator==(const Ask&, const Ask&) = default;
};
// "I have complete results for this step." It also announces that the step before is committed here.
struct Vote {
  std::uint64_t generation = 0, step = 0;
  bool has_state = true;  // whether it has the model; see MembershipProtocol::follow()
  void exchange(Codec& fields) { fields(generation, step, has_state); }
  friend bool operator==(const Vote&, const Vote&) = default;
};

using MessageBody = std::variant<Collect, Promise, Propose, Accept, Refuse, Commit, Query, Ask, Vote>;

struct Message {
  WorkerId from = 0, to = 0;
  MessageBody body{};
  void exchange(Codec& fields) { fields(from, to, body); }
  friend bool operator==(const Message&, const Message&) = default;
};

inline constexpr std::size_t kMessageBytesMax = 1 << 20;

std::string encode(const Message& message);
// Any bytes give either a message that encodes to the same bytes, or an error.
Result<Message> decode_message(std::string_view bytes);

}  // namespace orrery::elastic
