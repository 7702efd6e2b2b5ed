#include "elastic/net/mesh.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/random.h"
#include "elastic/net/socket.h"

namespace orrery::elastic::net {

namespace {

constexpr Seconds kRetryAfter{0.02};            // to connect to a rank that does not listen yet
constexpr Seconds kLeaveMax{2};                 // to write what others have yet to read
constexpr std::uint32_t kLooksPerPoll = 16;     // polling sockets costs as much as polling memory this often
constexpr std::size_t kFlushAtOnce = 16 << 10;  // longer payloads do not wait for others
// A process that has been quiet for long gets heartbeats seldom: they stay in its buffer until it reads.
constexpr Seconds kQuietLong{10};
constexpr int kBeatsSeldom = 10;

std::uint32_t settings_of(const MeshOptions& options) {
  const std::string text = fmt::format("{} {} {}", options.data_bytes, options.early_bytes, options.others);
  return static_cast<std::uint32_t>(hash64(text));
}

Error refused(int rank, Verdict verdict, std::uint64_t generation) {
  switch (verdict) {
    case Verdict::kStaleGeneration:
      return Error::unavailable(fmt::format("rank {} is in generation {} already", rank, generation));
    case Verdict::kWrongSettings:
      return Error::invalid(fmt::format("rank {} has other settings of the network", rank));
    default:
      return Error::invalid(fmt::format("rank {} does not expect this rank", rank));
  }
}

}  // namespace

// The rendezvous of one generation. Of every pair of ranks the higher one connects and the lower one listens, so each
// pair makes exactly one connection and needs no tie-break. No step waits for a particular rank: all calls and the
// listener advance in one loop, so ranks may come in any order and no cycle of ranks can wait for each other. A link
// exists only after both ends have proven the secret and agreed on generation, number of ranks and settings.
class Mesh::Opening {
 public:
  Opening(Mesh& mesh, const MeshOptions& options)
      : mesh_(mesh),
        options_(options),
        own_{.generation = options.generation,
             .rank = static_cast<std::uint16_t>(options.rank),
             .ranks = static_cast<std::uint16_t>(options.addresses.size()),
             .settings = settings_of(options)} {}

  Status run() {
    for (int to = 0; to < options_.rank; ++to) calls_.push_back({.to = to});
    const Seconds end = mesh_.now() + options_.open_max;
    for (int looks = 0;; ++looks) {
      mesh_.listener_.attend(options_.generation);
      ORRERY_TRY_VOID(welcome_pending());
      for (Call& call : calls_) ORRERY_TRY_VOID(move(call));
      std::erase_if(calls_, [](const Call& call) { return call.is_done; });
      if (std::vector<int> missing = missing_ranks(); missing.empty()) {
        return {};
      } else if (mesh_.now() > end) {
        return Error::unavailable(fmt::format("generation {}: rank {} did not come within {} s{}", options_.generation,
                                              fmt::join(missing, ", "), options_.open_max.value(), other_jobs()));
      }
      if (options_.meanwhile && looks % 4 == 3) ORRERY_TRY_VOID(options_.meanwhile());
      ORRERY_TRY_VOID(wait());
    }
  }

 private:
  // The connection to a rank before us. It is retried until open_max: a refused connection or a wrong secret may mean
  // that the rank has not started yet, or that another process had its port before.
  struct Call {
    int to = 0;
    std::unique_ptr<env::Channel> channel{};
    bool is_done = false, is_other_job = false;
    Seconds next_try{0};
  };

  std::string other_jobs() const {
    std::string text;
    for (const Call& call : calls_) {
      if (call.is_other_job) text += fmt::format("; at the address of rank {} another job answers", call.to);
    }
    return text;
  }

  Status connect(int to, env::Channel& channel) {
    const env::ChannelKeys keys = channel.handshake().keys();
    ORRERY_TRY(auto connection, channel.release());
    const int socket = connection->descriptor();
    prepare(socket, stays_here(socket) ? options_.send_buffer_bytes : 0);
    mesh_.links_[static_cast<std::size_t>(to)] = std::make_unique<Link>(std::move(connection), keys, to, mesh_.limits_);
    return {};
  }

  std::vector<int> missing_ranks() const {
    std::vector<int> missing;
    for (int rank = 0; rank < mesh_.size(); ++rank) {
      if (rank != mesh_.rank_ && mesh_.link(rank) == nullptr) missing.push_back(rank);
    }
    return missing;
  }

  // Whether a connection is welcome is decided here, once. A second connection of the same rank is refused: its first
  // one may already carry frames. A connection of a later generation stays at the listener until that generation is
  // opened here.
  Status welcome_pending() {
    for (Listener::PendingConnection& pending : mesh_.listener_.pending_of(options_.generation)) {
      const int from = pending.introduction.rank;
      Verdict verdict = Verdict::kWelcome;
      if (pending.introduction.settings != own_.settings) verdict = Verdict::kWrongSettings;
      if (pending.introduction.ranks != own_.ranks || from <= own_.rank || mesh_.link(from) != nullptr) {
        verdict = Verdict::kWrongRank;
      }
      // A peer that is gone again will be missing, and the wait for it ends in time.
      const bool told =
          pending.reply({.verdict = verdict, .generation = own_.generation, .rank = own_.rank}).has_value();
      if (told && verdict == Verdict::kWelcome) (void)connect(from, *pending.channel);
    }
    return {};
  }

  void try_again(Call& call) {
    call.channel.reset();
    call.next_try = mesh_.now() + kRetryAfter;
  }

  Status move(Call& call) {
    using State = env::Handshake::State;
    if (call.channel == nullptr) {
      if (mesh_.now() < call.next_try) return {};
      auto channel = mesh_.listener_.connect(options_.addresses[static_cast<std::size_t>(call.to)], own_);
      if (!channel && channel.error().code() == ErrorCode::kInvalidArgument) return channel.error();
      if (!channel) return try_again(call), Status();
      call.channel = std::move(*channel);
    }
    std::vector<std::string> none;
    const bool moved = call.channel->move(none).has_value();
    const env::Handshake& handshake = call.channel->handshake();
    const bool is_refused = handshake.state() == State::kRefused;
    call.is_other_job = call.is_other_job || (is_refused && handshake.words().empty());
    // An answer without proof is no reason to give up: any process may answer at that address.
    if (!handshake.words().empty()) return on_answer(call);
    if (!moved) try_again(call);
    return {};
  }

  Status on_answer(Call& call) {
    ORRERY_TRY(const Answer answer, decode<Answer>(call.channel->handshake().words()));
    if (answer.verdict != Verdict::kWelcome) return refused(call.to, answer.verdict, answer.generation);
    if (answer.rank != call.to) {
      return Error::invalid(fmt::format("rank {} answers at the address of rank {}", answer.rank, call.to));
    }
    call.is_done = true;
    return connect(call.to, *call.channel);
  }

  // Waits a moment. Returns an error if a connected rank has closed its connection: it has given up, so this generation
  // cannot be opened any more, and waiting until open_max would only delay the next one.
  Status wait() {
    std::vector<pollfd> looks = {{mesh_.listener_.poller().descriptor(), POLLIN, 0}};
    for (const Call& call : calls_) {
      if (call.channel == nullptr) continue;
      const bool is_made = call.channel->is_connected();
      looks.push_back({call.channel->connection().descriptor(), static_cast<short>(is_made ? POLLIN : POLLOUT), 0});
    }
    const std::size_t links = looks.size();
    for (const auto& link : mesh_.links_) {
      if (link != nullptr) looks.push_back({link->socket(), POLLRDHUP, 0});
    }
    ::poll(looks.data(), looks.size(), 5);
    for (std::size_t i = links; i < looks.size(); ++i) {
      if ((looks[i].revents & (POLLRDHUP | POLLERR | POLLHUP)) != 0) {
        return Error::unavailable(fmt::format("generation {}: a rank came and went", options_.generation));
      }
    }
    return {};
  }

  Mesh& mesh_;
  const MeshOptions& options_;
  Introduction own_;
  std::vector<Call> calls_;
};

Mesh::Mesh(Listener& listener, const MeshOptions& options)
    : listener_(listener),
      limits_{options.generation, static_cast<int>(options.addresses.size()), options.data_bytes, options.early_bytes},
      rank_(options.rank),
      backoff_(options.ranks_here, available_cores()),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      links_(options.addresses.size()),
      left_(options.addresses.size()),
      wants_room_(options.addresses.size()),
      lives_(options.addresses.size()) {}

Result<std::unique_ptr<Mesh>> Mesh::open(Listener& listener, const MeshOptions& options) {
  const auto ranks = static_cast<int>(options.addresses.size());
  if (ranks < 1 || ranks > kRanksMax || options.rank < 0 || options.rank >= ranks) {
    return Error::invalid(fmt::format("rank {} of {}; at most {} ranks", options.rank, ranks, kRanksMax));
  }
  std::unique_ptr<Mesh> mesh(new Mesh(listener, options));
  if (!mesh->poll_.open()) return env::posix_error(errno, "cannot watch sockets");
  if (auto opened = Opening(*mesh, options).run(); !opened) {
    for (auto& link : mesh->links_) link.reset();  // without goodbye: the others must not continue
    return std::move(opened).error();
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (mesh->link(rank) != nullptr) mesh->watch(rank);
  }
  const Seconds now = mesh->now();
  for (Life& life : mesh->lives_) life.heard = now;
  mesh->next_beat_ = now + Heartbeat::kInterval;
  return mesh;
}

Mesh::~Mesh() {
  if (!revoked_) take_leave();
}

// Leaving in order. Goodbye is the last frame of each link, so a peer that has read it knows that it has received
// everything. The sockets go to the listener, which keeps them until the peers close theirs.
void Mesh::take_leave() {
  FrameHeader goodbye;
  goodbye.kind = FrameKind::kGoodbye;
  for (auto& link : links_) {
    if (link != nullptr) link->post_copy(goodbye, {}, nullptr);
  }
  const Seconds end = now() + kLeaveMax;
  for (;;) {
    bool all_written = true;
    for (auto& link : links_) {
      if (link == nullptr) continue;
      if (!link->flush()) link.reset();
      all_written = all_written && (link == nullptr || !link->has_output());
    }
    if (all_written || now() > end) break;
    listener_.clock().sleep(microseconds(50));
  }
  for (auto& link : links_) {
    if (link != nullptr) listener_.see_off(link->take_connection());
  }
}

void Mesh::watch(int rank) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = static_cast<std::uint32_t>(rank);
  ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, link(rank)->socket(), &event);
}

void Mesh::want_room(int rank, bool wanted) {
  const auto at = static_cast<std::size_t>(rank);
  if (wants_room_[at] == wanted) return;
  wants_room_[at] = wanted;
  epoll_event event{};
  event.events = EPOLLIN | (wanted ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
  event.data.u32 = static_cast<std::uint32_t>(rank);
  ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, link(rank)->socket(), &event);
}

void Mesh::post(int to, const FrameHeader& header, std::span<const std::byte> payload, FrameOwner* owner,
                std::shared_ptr<const void> keeper) {
  if (link(to) == nullptr || revoked_) return;
  link(to)->post(header, payload, owner, std::move(keeper));
  if (payload.size() >= kFlushAtOnce && !link(to)->is_blocked()) {
    flush_link(to);
  } else {
    dirty_.push_back(static_cast<std::uint32_t>(to));
  }
}

void Mesh::post_copy(int to, const FrameHeader& header, std::span<const std::byte> payload, FrameOwner* owner) {
  if (link(to) == nullptr || revoked_) return;
  link(to)->post_copy(header, payload, owner);
  dirty_.push_back(static_cast<std::uint32_t>(to));
}

void Mesh::return_credit(int from, std::uint32_t bytes) {
  if (link(from) == nullptr || revoked_) return;
  link(from)->return_credit(bytes);
  if (!link(from)->owes_much()) return;
  FrameHeader credit;
  credit.kind = FrameKind::kCredit;
  link(from)->post_urgent(credit);
  dirty_.push_back(static_cast<std::uint32_t>(from));
}

// A peer that cannot be written to may have sent goodbye before it ended, so what it has sent decides.
bool Mesh::flush_link(int rank) {
  if (link(rank) == nullptr || !link(rank)->has_output()) return false;
  const auto moved = link(rank)->flush();
  if (!moved) return false;
  want_room(rank, link(rank)->has_output());
  return *moved;
}

void Mesh::flush() {
  for (std::size_t i = 0; i < dirty_.size(); ++i) flush_link(static_cast<int>(dirty_[i]));
  dirty_.clear();
}

// A connection that ends after goodbye is a rank that has left; one that ends without it, or sends what it must not, is
// a failure, and the generation is revoked. TCP delivers goodbye before the end of the connection, so the two cannot be
// confused.
bool Mesh::receive_from(int rank, Receiver& receiver) {
  if (link(rank) == nullptr) return false;
  auto moved = link(rank)->receive(receiver);
  if (revoked_) return true;
  if (!moved) {
    revoke(moved.error().message(), static_cast<std::uint16_t>(rank));
    return true;
  }
  if (link(rank)->has_left()) {
    left_[static_cast<std::size_t>(rank)] = true;
    ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, link(rank)->socket(), nullptr);
    links_[static_cast<std::size_t>(rank)].reset();
    return true;
  }
  return *moved;
}

bool Mesh::progress(Receiver& receiver) {
  if (revoked_) return false;
  bool any = !dirty_.empty();
  flush();
  std::array<epoll_event, kRanksMax> events;
  const int ready = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < ready && !revoked_; ++i) {
    const auto rank = static_cast<int>(events[static_cast<std::size_t>(i)].data.u32);
    const std::uint32_t what = events[static_cast<std::size_t>(i)].events;
    if ((what & EPOLLOUT) != 0) any = flush_link(rank) || any;
    if ((what & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) any = receive_from(rank, receiver) || any;
    if (!revoked_) flush();
  }
  if (!revoked_ && now() >= next_beat_) beat();
  return any;
}

void Mesh::beat() {
  const Seconds time = now();
  next_beat_ = time + Heartbeat::kInterval;
  (void)listener_.attend(generation());
  for (int rank = 0; rank < size(); ++rank) {
    Link* const to = link(rank);
    if (to == nullptr) continue;
    Life& life = lives_[static_cast<std::size_t>(rank)];
    if (to->frames_read() != life.read) life.heard = time;
    life.read = to->frames_read();
    const env::PathState path = to->path();
    to->heartbeat().look(time, path.in_flight, path.since_answer);
    if (to->heartbeat().is_silent()) {
      revoke(fmt::format("the machine of rank {} has not answered for {:.0f} ms", rank,
                         1e3 * to->heartbeat().silence().value()),
             static_cast<std::uint16_t>(rank));
      return;
    }
    const bool seldom = time - life.heard > kQuietLong;
    const bool due =
        !seldom || static_cast<std::uint64_t>(time.value() / Heartbeat::kInterval.value()) % kBeatsSeldom == 0;
    if (to->bytes_written() == life.written && !to->has_output() && due) {
      FrameHeader heartbeat;
      heartbeat.kind = FrameKind::kHeartbeat;
      to->post_urgent(heartbeat);
      flush_link(rank);
    }
    life.written = to->bytes_written();
  }
}

Seconds Mesh::quiet(int rank) const {
  if (rank == rank_) return Seconds(0);
  return now() - lives_[static_cast<std::size_t>(rank)].heard;
}

void Mesh::rest(std::uint32_t looks) {
  rest_at_most(looks, Heartbeat::kInterval);
}

void Mesh::rest_at_most(std::uint32_t looks, Seconds longest) {
  if (!backoff_.is_over(looks * kLooksPerPoll)) return backoff_.spend(looks * kLooksPerPoll);
  const Seconds left = std::min(longest, next_beat_ - now());
  const int milliseconds = static_cast<int>(1e3 * left.value()) + 1;
  if (left <= Seconds(0)) return;
  epoll_event event{};
  ::epoll_wait(poll_.get(), &event, 1, milliseconds);
}

// Revocation reaches every rank that is reachable from any other. Each link gets the frame, as far as its socket takes
// it, and is then shut down: a peer that does not get the frame sees the end without goodbye and revokes as well. So no
// rank waits for a rank that has already given up. It is idempotent, and nothing is sent after it (post() checks
// revoked_).
void Mesh::revoke(const std::string& reason, std::uint16_t because_of) {
  if (revoked_) return;
  revoked_ = true;
  reason_ = reason;
  FrameHeader word;
  word.kind = FrameKind::kRevoke;
  word.part = because_of;
  for (auto& to : links_) {
    if (to == nullptr) continue;
    to->post_urgent(word);
    (void)to->flush();
  }
  // Links may be in the middle of a call, so they are shut down but not destroyed.
  for (auto& to : links_) {
    if (to != nullptr) ::shutdown(to->socket(), SHUT_RDWR);
  }
}

Error Mesh::revoked_error() const {
  return Error::unavailable(fmt::format("generation {} was revoked: {}", generation(), reason_));
}

std::uint64_t Mesh::bytes_written() const {
  std::uint64_t bytes = 0;
  for (const auto& link : links_) bytes += link == nullptr ? 0 : link->bytes_written();
  return bytes;
}

bool Mesh::has_output() const {
  return std::any_of(links_.begin(), links_.end(),
                     [](const auto& link) { return link != nullptr && link->has_output(); });
}

}  // namespace orrery::elastic::net
