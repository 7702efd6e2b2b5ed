#include "elastic/net/session.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "base/random.h"
#include "elastic/net/algorithms/trees.h"
#include "elastic/net/best_tree.h"

namespace orrery::elastic::net {

Session::Session(std::unique_ptr<Mesh> mesh, const SessionOptions& options)
    : mesh_(std::move(mesh)),
      chunk_bytes_(options.chunk_bytes),
      early_max_(options.early_max),
      probe_(options.probe),
      choice_(mesh_->size(), options.chunk_bytes),
      store_(*mesh_),
      incoming_(static_cast<std::size_t>(mesh_->size())),
      ahead_(static_cast<std::size_t>(mesh_->size())) {}

Result<std::unique_ptr<Session>> Session::open(Listener& listener, const SessionOptions& options) {
  if (options.chunk_bytes < 64 || options.chunk_bytes > options.mesh.data_bytes) {
    return Error::invalid(
        fmt::format("chunks of {} bytes; expected 64 to {}", options.chunk_bytes, options.mesh.data_bytes));
  }
  MeshOptions own = options.mesh;
  own.others = mix64(options.mesh.others ^ options.chunk_bytes);
  ORRERY_TRY(std::unique_ptr<Mesh> mesh, Mesh::open(listener, own));
  return std::unique_ptr<Session>(new Session(std::move(mesh), options));
}

Session::~Session() {
  const bool unfinished = std::any_of(operations_.begin(), operations_.end(), [](const auto& entry) {
    return entry.second->is_started() && !entry.second->has_ended();
  });
  if (unfinished) mesh_->revoke(fmt::format("rank {} left with operations unfinished", rank()));
  mesh_.reset();  // while there are operations to be told what was written
}

Result<Ticket> Session::start(std::string_view name, const Descriptor& descriptor, const Buffers& buffers,
                              bool* agreed) {
  if (revoked()) return mesh_->revoked_error();
  ORRERY_TRY_VOID(check_request(name, descriptor, buffers, size()));
  if (tickets_ >= kTicketsMax) {
    return Error::infeasible(fmt::format("\"{}\": {} operations are unfinished; wait for some first", name, tickets_));
  }
  ORRERY_TRY(const OperationKey key, next_key(name));
  Operation& operation = find_or_make(key);
  for (int from = 0; from < size(); ++from) {
    if (operation.has_announced(from)) ahead_[static_cast<std::size_t>(from)] -= 1;
  }
  Plan plan = {descriptor, rank(), size(), chunk_bytes_, parents_};
  if (agreed != nullptr) plan.descriptor.collective = Collective::kAllGather;
  const bool moves = descriptor.collective != Collective::kBarrier;
  const auto algorithm = static_cast<std::uint8_t>(moves ? choice_.pick(plan.descriptor) : Algorithm::kExchange);
  operation.is_awaited = true;
  tickets_ += 1;
  if (const Status started = operation.start({descriptor, algorithm}, plan, buffers, agreed, early_max_); !started) {
    mesh_->revoke(started.error().message());
  }
  queue(operation);
  mesh_->flush();
  if (auto moved = progress(); !moved) return std::move(moved).error();
  return Ticket{key};
}

Operation* Session::find(OperationKey key) const {
  const auto found = operations_.find(key);
  return found == operations_.end() ? nullptr : found->second.get();
}

Operation& Session::find_or_make(OperationKey key) {
  std::unique_ptr<Operation>& operation = operations_[key];
  if (operation != nullptr) return *operation;
  if (!spare_.empty()) {
    operation = std::move(spare_.back());
    spare_.pop_back();
  } else {
    operation = std::make_unique<Operation>(*mesh_, blocks_, probe_);
    operation->on_written = [this](Operation& written) { queue(written); };
  }
  operation->reset(key);
  return *operation;
}

void Session::queue(Operation& operation) {
  if (operation.is_queued) return;
  operation.is_queued = true;
  queue_.push_back(&operation);
}

void Session::forget_if_over(Operation& operation) {
  if (operation.is_awaited || operation.is_queued || operation.is_sending() || !operation.has_ended() ||
      !operation.all_announced()) {
    return;
  }
  constexpr std::size_t kStandbyMax = 256;
  const auto entry = operations_.find(operation.key());
  std::unique_ptr<Operation> over = std::move(entry->second);
  operations_.erase(entry);
  over->reset({});
  if (spare_.size() < kStandbyMax) spare_.push_back(std::move(over));
}

Status Session::advance_queued() {
  being_done_.swap(queue_);
  for (Operation* const operation : being_done_) operation->is_queued = false;
  Status status{};
  for (Operation* const operation : being_done_) {
    if (status) status = operation->advance();
    // Of two entries of one operation only the last may be followed by its end; it is on the list once.
    if (!operation->is_queued) forget_if_over(*operation);
  }
  being_done_.clear();
  return status;
}

Result<bool> Session::progress() {
  if (revoked()) return mesh_->revoked_error();
  bool any = mesh_->progress(*this);
  while (!queue_.empty() && !revoked()) {
    any = true;
    if (const Status advanced = advance_queued(); !advanced) mesh_->revoke(advanced.error().message());
    if (!revoked()) mesh_->flush();
  }
  store_.check_owners();
  if (revoked()) return mesh_->revoked_error();
  return any;
}

Result<std::byte*> Session::place(int from, const FrameHeader& header) {
  if (header.kind == FrameKind::kPullData) return store_.place(from, header);
  Operation* const operation = find({header.name, header.sequence});
  if (operation != nullptr) {
    ORRERY_TRY(std::byte* const in_place, operation->place(from, header));
    if (in_place != nullptr) return in_place;
  } else if ((header.flags & kFlagEarly) == 0) {
    return Error::invalid(fmt::format("rank {} sent a tensor of an operation that it has not announced", from));
  }
  Block& block = incoming_[static_cast<std::size_t>(from)];
  block = blocks_.take(header.length);
  return block.data.get();
}

Status Session::arrived(int from, const FrameHeader& header, std::byte* payload) {
  switch (header.kind) {
    case FrameKind::kAnnounce:
      return announced(from, header, payload);
    case FrameKind::kData:
      return data_arrived(from, header, payload);
    case FrameKind::kPull:
    case FrameKind::kPullAnswer:
    case FrameKind::kPullData:
      return store_.arrived(from, header, payload);
    case FrameKind::kRevoke:
      mesh_->revoke(header.part == kRankUnknown ? fmt::format("rank {} said so", from)
                                                : fmt::format("rank {} is gone, said rank {}", header.part, from),
                    static_cast<std::uint16_t>(header.part));
      return {};
    case FrameKind::kCredit:
    case FrameKind::kHeartbeat:
    case FrameKind::kGoodbye:
      return {};
  }
  return {};
}

Status Session::announced(int from, const FrameHeader& header, const std::byte* payload) {
  ORRERY_TRY(const Announcement announcement, decode_announcement({payload, header.length}, size(), kAlgorithms));
  Operation& operation = find_or_make({header.name, header.sequence});
  ORRERY_TRY_VOID(operation.announced(from, announcement));
  if (operation.is_started()) {
    queue(operation);
    return {};
  }
  if (++ahead_[static_cast<std::size_t>(from)] > kTicketsMax) {
    return Error::invalid(fmt::format("rank {} has more than {} operations unfinished", from, kTicketsMax));
  }
  return {};
}

Status Session::data_arrived(int from, const FrameHeader& header, const std::byte* payload) {
  Operation* const operation = find({header.name, header.sequence});
  Block& incoming = incoming_[static_cast<std::size_t>(from)];
  const std::uint32_t credit = (header.flags & kFlagEarly) != 0 ? header.length : 0;
  if (operation == nullptr) {
    // It was sent before its sender knew that the descriptions differ.
    if (credit > 0) mesh_->return_credit(from, credit);
    blocks_.give_back(std::move(incoming));
    return {};
  }
  if (payload != incoming.data.get()) {
    if (credit > 0) mesh_->return_credit(from, credit);
    operation->arrived_in_place(header.part);
  } else {
    ORRERY_TRY_VOID(operation->arrived(from, header.part, header.length, credit, std::move(incoming)));
  }
  if (operation->is_started()) queue(*operation);
  return {};
}

Status Session::check_peers(const Operation& operation) {
  for (int other = 0; other < size(); ++other) {
    if (mesh_->has_left(other) && !operation.has_announced(other)) {
      mesh_->revoke(fmt::format("rank {} has left", other), static_cast<std::uint16_t>(other));
      return mesh_->revoked_error();
    }
  }
  return {};
}

Status Session::wait_for(const std::function<bool()>& over, const std::function<Status()>& check) {
  for (std::uint32_t looks = 0; !over();) {
    ORRERY_TRY(const bool moved, progress());
    if (moved) {
      looks = 0;
      continue;
    }
    ORRERY_TRY_VOID(check());
    mesh_->rest(looks++);
  }
  return {};
}

Status Session::wait(Ticket ticket) {
  Operation* const operation = find(ticket.key);
  if (operation == nullptr || !operation->is_awaited) return Error::invalid("the operation was waited for already");
  std::optional<env::Deadline> since;
  Status status = wait_for([&] { return operation->has_ended(); },
                           [&]() -> Status {
                             if (is_overdue(since)) return overdue_error(ticket);
                             return check_peers(*operation);
                           });
  if (!status && status.error().code() == ErrorCode::kIo) mesh_->revoke(status.error().message());
  tickets_ -= 1;
  operation->is_awaited = false;
  if (status) status = operation->outcome(name_of(ticket.key));
  if (!revoked()) forget_if_over(*operation);
  return status;
}

Result<bool> Session::poll(Ticket ticket) {
  const Operation* const operation = find(ticket.key);
  if (operation == nullptr || !operation->is_awaited) return Error::invalid("the operation was waited for already");
  if (operation->has_ended()) return true;
  ORRERY_TRY_VOID(progress());
  if (!operation->has_ended()) ORRERY_TRY_VOID(check_peers(*operation));
  return operation->has_ended();
}

std::vector<int> Session::missing(Ticket ticket) const {
  std::vector<int> ranks;
  const Operation* const operation = find(ticket.key);
  if (operation == nullptr) return ranks;
  for (int rank = 0; rank < size(); ++rank) {
    if (!operation->has_announced(rank)) ranks.push_back(rank);
  }
  return ranks;
}

Status Session::publish(std::string_view name, std::uint64_t version, ConstTensorView tensor) {
  return store_.publish(name, version, tensor);
}

Result<PullTicket> Session::pull(int from, std::string_view name, std::uint64_t version, TensorView tensor) {
  if (revoked()) return mesh_->revoked_error();
  ORRERY_TRY(const PullTicket ticket, store_.pull(from, name, version, tensor));
  mesh_->flush();
  return ticket;
}

Result<std::uint64_t> Session::wait(PullTicket ticket) {
  if (!store_.is_known(ticket)) return Error::invalid("the pull was waited for already");
  ORRERY_TRY_VOID(wait_for([&] { return store_.has_ended(ticket); }, [] { return Status(); }));
  return store_.finish(ticket);
}

Status Session::check_idle(std::string_view what) const {
  if (tickets_ == 0) return {};
  return Error::invalid(fmt::format("{} with {} operations unfinished", what, tickets_));
}

Result<double> Session::time_all_reduce(std::span<float> memory, Algorithm algorithm, int repetitions) {
  choice_.prefer(algorithm);
  double least = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    const Seconds begin = mesh_->now();
    ORRERY_TRY(const Ticket ticket,
               all_reduce("orrery: measure", {memory.data(), memory.size(), DataType::kF32}, ReduceOp::kSum));
    ORRERY_TRY_VOID(wait(ticket));
    least = std::min(least, (mesh_->now() - begin).value());
  }
  return least;
}

Result<Session::Links> Session::measure_links() {
  if (size() < 3 || size() > kLinksMeasuredMax) return Links();
  constexpr std::size_t kBytes = 64 << 10;
  constexpr const char* kName = "orrery: links";
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<std::byte> memory(kBytes);
  ORRERY_TRY_VOID(publish(kName, ++measurements_, TensorView{memory.data(), memory.size(), DataType::kI8}));
  std::vector<double> own(ranks), all(ranks * ranks);
  for (int shift = 1; shift < size(); ++shift) {
    // All links of a round are different, and all ranks are there to answer.
    ORRERY_TRY(const Ticket together, barrier("orrery: links"));
    ORRERY_TRY_VOID(wait(together));
    const int from = (rank() + size() - shift) % size();
    const Seconds begin = mesh_->now();
    ORRERY_TRY(const PullTicket ticket,
               pull(from, kName, measurements_, {memory.data(), memory.size(), DataType::kI8}));
    ORRERY_TRY(const std::uint64_t came, wait(ticket));
    static_cast<void>(came);
    own[static_cast<std::size_t>(from)] = (mesh_->now() - begin).value();
  }
  ORRERY_TRY(const Ticket ticket, all_gather("orrery: links of all", {own.data(), own.size(), DataType::kF64},
                                             {all.data(), all.size(), DataType::kF64}));
  ORRERY_TRY_VOID(wait(ticket));
  return Links{.tree = best_tree(all, size()), .some_are_slow = has_slow_links(all, size())};
}

Result<double> Session::slowest(double own) {
  choice_.prefer(Algorithm::kExchange);
  ORRERY_TRY(const Ticket ticket, all_reduce("orrery: agree", {&own, 1, DataType::kF64}, ReduceOp::kMax));
  ORRERY_TRY_VOID(wait(ticket));
  return own;
}

Status Session::measure(Seconds budget) {
  ORRERY_TRY_VOID(check_idle("measuring"));
  const Seconds begin = mesh_->now();
  choice_.prefer(Algorithm::kExchange);
  ORRERY_TRY(Links links, measure_links());
  parents_ = std::move(links.tree);
  Choice measured(size(), chunk_bytes_, parents_);
  Choice::Times times{};
  std::vector<float> memory(Choice::kSizes.back() / sizeof(float));
  double last = 0;  // what an operation took
  for (std::size_t i = 0; size() > 1 && i < Choice::kSizes.size(); ++i) {
    const auto tensor = std::span(memory).first(Choice::kSizes[i] / sizeof(float));
    const int repetitions = i == 0 ? 3 : 2;
    // It is not known which part of the time grows with the bytes.
    last *= 4;
    for (const Algorithm algorithm : measured.candidates(i, links.some_are_slow)) {
      // All ranks must come to the same end.
      ORRERY_TRY(const double passed, slowest((mesh_->now() - begin).value()));
      if (i > 0 && passed + last > budget.value()) continue;
      const bool has_time = i == 0 || passed + 10 * last < budget.value();
      ORRERY_TRY(const double own, time_all_reduce(tensor, algorithm, has_time ? repetitions : 1));
      ORRERY_TRY(last, slowest(own));
      times[i][static_cast<std::size_t>(algorithm)] = last;
    }
  }
  measured.learn(times);
  choice_ = measured;
  return {};
}

Status Session::set_algorithm(std::optional<Algorithm> algorithm) {
  ORRERY_TRY_VOID(check_idle("changing the algorithm"));
  if (algorithm == Algorithm::kGivenTree) return Error::invalid("a given tree is set with its parents");
  choice_.prefer(algorithm);
  ORRERY_TRY(const Ticket ticket, barrier("orrery: algorithm"));
  return wait(ticket);
}

Status Session::set_tree(std::vector<int> parents) {
  ORRERY_TRY_VOID(check_idle("changing the tree"));
  if (static_cast<int>(parents.size()) != size()) {
    return Error::invalid(fmt::format("{} parents of {} ranks", parents.size(), size()));
  }
  ORRERY_TRY_VOID(check_parents(parents));
  bool agreed = false;
  ORRERY_TRY(const Ticket ticket, consensus("orrery: tree", std::as_bytes(std::span(parents)), agreed));
  ORRERY_TRY_VOID(wait(ticket));
  if (!agreed) return Error::invalid("ranks gave different trees");
  parents_ = std::move(parents);
  const auto is_root = [](int parent) { return parent < 0; };
  const auto root = std::find_if(parents_.begin(), parents_.end(), is_root) - parents_.begin();
  choice_.prefer(Algorithm::kGivenTree, static_cast<int>(root));
  return {};
}

}  // namespace orrery::elastic::net
