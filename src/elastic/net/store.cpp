#include "elastic/net/store.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"

namespace orrery::elastic::net {

Store::Store(Mesh& mesh) : mesh_(mesh), answers_(static_cast<std::size_t>(mesh.size())) {}

Status Store::publish(std::string_view name, std::uint64_t version, ConstTensorView tensor) {
  auto& versions = names_[hash64(name)];
  if (version == kLatest || (!versions.empty() && version <= versions.back().number)) {
    return Error::invalid(fmt::format("version {} of \"{}\" after version {}", version, name,
                                      versions.empty() ? 0 : versions.back().number));
  }
  if (names_.size() > kNamesMax) return Error::infeasible(fmt::format("more than {} published names", kNamesMax));
  const auto* const data = static_cast<const std::byte*>(tensor.data);
  auto bytes = std::make_shared<const std::vector<std::byte>>(data, data + tensor.bytes());
  versions.push_back({version, tensor.type, tensor.count, std::move(bytes)});
  if (versions.size() > kVersionsKept) versions.erase(versions.begin());
  return {};
}

Result<PullTicket> Store::pull(int from, std::string_view name, std::uint64_t version, TensorView tensor) {
  if (from < 0 || from >= mesh_.size()) return Error::invalid(fmt::format("rank {} of {}", from, mesh_.size()));
  if (pulls_.size() >= kPullsMax) return Error::infeasible(fmt::format("{} pulls are unfinished", pulls_.size()));
  const PullTicket ticket{next_++};
  Pull& pull = pulls_[ticket.number];
  pull.from = from;
  pull.name = name;
  pull.name_hash = hash64(name);
  pull.version = version;
  pull.tensor = tensor;
  FrameHeader header;
  header.kind = FrameKind::kPull;
  header.name = pull.name_hash;
  header.sequence = ticket.number;
  const PullRequest request = {tensor.type, version, tensor.count};
  if (from != mesh_.rank()) {
    mesh_.post_copy(from, header, encode(request), nullptr);
    return ticket;
  }
  const auto& versions = names_[pull.name_hash];
  const auto found = std::find_if(versions.rbegin(), versions.rend(),
                                  [&](const Version& one) { return version == kLatest || one.number == version; });
  PullAnswer answer;
  answer.version = versions.empty() ? 0 : versions.back().number;
  if (found != versions.rend()) answer = {true, found->type, found->number, found->count};
  ORRERY_TRY_VOID(take_answer(pull, answer));
  if (pull.ended) return ticket;
  std::copy(found->bytes->begin(), found->bytes->end(), static_cast<std::byte*>(tensor.data));
  pull.ended = true;
  return ticket;
}

bool Store::has_ended(PullTicket ticket) const {
  return pulls_.at(ticket.number).ended;
}

Result<std::uint64_t> Store::finish(PullTicket ticket) {
  const auto found = pulls_.find(ticket.number);
  ORRERY_CHECK(found != pulls_.end() && found->second.ended);
  const Pull pull = std::move(found->second);
  pulls_.erase(found);
  if (!pull.error) return pull.error.error();
  return pull.came;
}

void Store::check_owners() {
  for (auto& [number, pull] : pulls_) {
    if (pull.ended || !mesh_.has_left(pull.from)) continue;
    pull.error = Error::unavailable(fmt::format("rank {}, which has \"{}\", has left", pull.from, pull.name));
    pull.ended = true;
  }
}

Result<Store::Pull*> Store::find(int from, const FrameHeader& header) {
  const auto found = pulls_.find(header.sequence);
  if (found == pulls_.end() || found->second.from != from || found->second.name_hash != header.name ||
      found->second.ended) {
    return Error::invalid(fmt::format("rank {} answers a pull that this rank has not made", from));
  }
  return &found->second;
}

Result<std::byte*> Store::place(int from, const FrameHeader& header) {
  ORRERY_TRY(Pull* const pull, find(from, header));
  const std::uint64_t offset = std::uint64_t{header.part} * chunk_bytes(), bytes = pull->tensor.bytes();
  if (!pull->answered || offset >= bytes || header.length != std::min<std::uint64_t>(chunk_bytes(), bytes - offset)) {
    return Error::invalid(
        fmt::format("rank {} sent {} bytes at {} of a pulled tensor of {}", from, header.length, offset, bytes));
  }
  return static_cast<std::byte*>(pull->tensor.data) + offset;
}

Status Store::arrived(int from, const FrameHeader& header, const std::byte* payload) {
  if (header.kind == FrameKind::kPull) {
    ORRERY_TRY(const PullRequest request, decode_pull({payload, header.length}));
    return answer(from, header, request);
  }
  ORRERY_TRY(Pull* const pull, find(from, header));
  if (header.kind == FrameKind::kPullAnswer) {
    ORRERY_TRY(const PullAnswer answer, decode_pull_answer({payload, header.length}));
    return take_answer(*pull, answer);
  }
  if (header.length > pull->left) return Error::invalid(fmt::format("rank {} sent a part twice", from));
  pull->left -= header.length;
  pull->ended = pull->left == 0;
  return {};
}

Status Store::take_answer(Pull& pull, const PullAnswer& answer) {
  if (pull.answered) return Error::invalid(fmt::format("rank {} answered a pull twice", pull.from));
  pull.answered = true;
  pull.came = answer.version;
  pull.left = pull.tensor.bytes();
  if (!answer.found) {
    const std::string wanted =
        pull.version == kLatest ? std::string("no version") : fmt::format("no version {}", pull.version);
    pull.error = Error::not_found(
        fmt::format("rank {} has {} of \"{}\"; its latest is {}", pull.from, wanted, pull.name, answer.version));
  } else if (answer.type != pull.tensor.type || answer.count != pull.tensor.count) {
    pull.error = Error::invalid(fmt::format("\"{}\" of rank {} has {} {}; space was given for {} {}", pull.name,
                                            pull.from, answer.count, to_string(answer.type), pull.tensor.count,
                                            to_string(pull.tensor.type)));
  }
  pull.ended = !pull.error || pull.left == 0;
  return {};
}

Status Store::answer(int to, const FrameHeader& header, const PullRequest& request) {
  Answers& answers = answers_[static_cast<std::size_t>(to)];
  const auto versions = names_.find(header.name);
  PullAnswer answer;
  const Version* found = nullptr;
  if (versions != names_.end() && !versions->second.empty()) {
    answer.version = versions->second.back().number;
    for (const Version& version : versions->second) {
      if (request.version == kLatest || version.number == request.version) found = &version;
    }
  }
  if (found != nullptr) answer = {true, found->type, found->number, found->count};
  FrameHeader reply = header;
  reply.flags = 0;
  reply.kind = FrameKind::kPullAnswer;
  reply.part = kNoPart;
  answers.count += 1;
  mesh_.post_copy(to, reply, encode(answer), &answers);
  if (found == nullptr || found->type != request.type || found->count != request.count) return {};
  reply.kind = FrameKind::kPullData;
  const std::span<const std::byte> bytes = *found->bytes;
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes()) {
    if (answers.count >= kAnswersMax) return Error::invalid(fmt::format("rank {} pulls more than it reads", to));
    reply.part = static_cast<std::uint32_t>(at / chunk_bytes());
    answers.count += 1;
    mesh_.post(to, reply, bytes.subspan(at, std::min<std::size_t>(chunk_bytes(), bytes.size() - at)), &answers,
               found->bytes);
  }
  return {};
}

}  // namespace orrery::elastic::net
