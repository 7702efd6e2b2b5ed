#include "elastic/membership/simulated_job.h"

#include <algorithm>
#include <fmt/format.h>

namespace orrery::elastic {

namespace {

constexpr std::uint64_t kSamples = 37;
constexpr std::uint64_t kDecideEvery = 8;  // steps

Membership first_membership(int workers, int hosts) {
  Membership membership;
  membership.generation = 1;
  membership.parameters["batch"] = 5;
  membership.progress.cursor = {.samples = kSamples, .seed = 3};
  for (int i = 0; i < workers; ++i) {
    membership.workers.push_back({static_cast<WorkerId>(i + 1), static_cast<std::uint32_t>(i % hosts), 0});
  }
  return membership;
}

// The step after which the last request in force was made.
double decided_in(const Membership& membership) {
  const auto found = membership.parameters.find("decided");
  return found == membership.parameters.end() ? 0 : found->second;
}

}  // namespace

SimulatedJob::SimulatedJob(std::uint64_t seed, const SimulatedJobOptions& options) : random_(seed), options_(options) {
  const Membership membership = first_membership(options.workers, options.hosts);
  memberships_[1] = membership;
  for (const WorkerRecord& record : membership.workers) {
    Node node(MembershipProtocol(record.id, membership));
    node.membership = membership;
    node.progress = membership.progress;
    add(std::move(node), record.host);
  }
  for (int i = 0; i < options.faults; ++i) schedule(random_.below(3000), {.kind = Happening::Kind::kFault});
}

void SimulatedJob::add(Node node, std::uint32_t host) {
  const WorkerId id = next_id_++;
  node.host = host;
  nodes_[id] = std::make_unique<Node>(std::move(node));
  schedule(random_.below(50), {.kind = Happening::Kind::kTick, .whom = id});
  schedule(random_.below(50), {.kind = Happening::Kind::kWork, .whom = id});
  collect(*nodes_[id]);
}

void SimulatedJob::wrong(const std::string& what) {
  if (wrong_.empty()) wrong_ = fmt::format("at {}: {}", now_, what);
}

void SimulatedJob::schedule(std::uint64_t delay, Happening happening) {
  happening.time = now_ + delay;
  happening.number = number_++;
  future_.push(std::move(happening));
}

void SimulatedJob::collect(Node& node) {
  for (const Event& event : node.protocol.take_events()) {
    if (const auto* const step = std::get_if<StepCommitted>(&event)) on(node, *step);
    if (const auto* const membership = std::get_if<Installed>(&event)) on(node, *membership);
    // A process that is no longer a worker exits.
    if (std::holds_alternative<Ended>(event)) end(node);
  }
  for (const Message& message : node.protocol.take_messages()) {
    if (!nodes_.contains(message.to) || random_.uniform() < options_.loss * (peace_ ? 0 : 1)) continue;
    // Some messages are so late that their subject is over when they arrive.
    const std::uint64_t delay = random_.below(50) == 0 ? random_.below(1500) : random_.below(20);
    // Messages are encoded and decoded, so that the encoding is tested too.
    schedule(1 + delay,
             {.kind = Happening::Kind::kMessage, .whom = message.to, .about = message.from, .bytes = encode(message)});
  }
}

std::uint64_t SimulatedJob::next_model(const Node& node, const Entry& entry) const {
  std::uint64_t hash = mix64(node.model ^ mix64(entry.step) ^ mix64(entry.range.begin * 1000 + entry.range.end));
  for (const WorkerRecord& worker : node.membership.workers) hash = mix64(hash ^ worker.id);
  return hash;
}

void SimulatedJob::on(Node& node, const StepCommitted& event) {
  const std::uint64_t batch = batch_of(node.membership);
  Entry entry = {event.generation, event.progress.step, node.progress.cursor.epoch,
                 next_batch(node.progress.cursor, batch), 0};
  if (event.generation != node.membership.generation) wrong("a step of another generation");
  if (event.progress.step != node.progress.step + 1) wrong("a step was left out");
  if (event.progress.cursor != advanced(node.progress.cursor, batch)) wrong("the data cursor jumped");
  node.progress = event.progress;
  // As policies do: every worker decides the same after the same step.
  if (!peace_ && event.progress.step % kDecideEvery == 0) {
    node.protocol.set_parameter("decided", static_cast<double>(event.progress.step));
  }
  // A learner knows the step, but has no model to apply it to.
  if (!node.protocol.has_state()) return;
  entry.model = next_model(node, entry);
  node.model = entry.model;
  node.log.push_back(entry);
  steps_ = std::max(steps_, entry.step);
  const auto [same, is_new] = committed_.try_emplace({entry.generation, entry.step}, entry);
  if (!is_new && same->second != entry)
    wrong(fmt::format("two models after step {} of generation {}", entry.step, entry.generation));
}

void SimulatedJob::on(Node& node, const Installed& event) {
  const Membership& membership = event.membership;
  const auto [same, is_new] = memberships_.try_emplace(membership.generation, membership);
  if (!is_new && same->second != membership)
    wrong(fmt::format("two memberships of generation {}", membership.generation));
  if (membership.generation <= node.membership.generation) wrong("generations go back");
  const bool continues = !event.needs_state || event.follows;
  if (continues && membership.progress != node.progress) wrong("a membership begins elsewhere than its worker is");
  const double decided = decided_in(membership);
  if (decided > static_cast<double>(membership.progress.step)) {
    wrong(fmt::format("generation {} begins after step {} with what was decided after step {}", membership.generation,
                      membership.progress.step, decided));
  }
  if (decided < decided_in(node.membership)) wrong("an old decision undoes a later one");
  node.membership = membership;
  if (!continues) node.progress = membership.progress;
  if (event.needs_state && node.follows) node.protocol.follow();
  for (const WorkerRecord& worker : membership.workers) {
    const Node& other = *nodes_.at(worker.id);
    if (other.alive) continue;
    schedule(1 + random_.below(40), {.kind = Happening::Kind::kMiss,
                                     .whom = node.protocol.id(),
                                     .about = worker.id,
                                     .certain = other.host == node.host});
  }
  send_models(node);
}

void SimulatedJob::send_models(Node& node) {
  if (!node.protocol.has_state() || node.protocol.state() != MembershipState::kActive) return;
  for (const WorkerRecord& worker : node.membership.workers) {
    if (worker.id == node.protocol.id()) continue;
    auto model = std::make_shared<Model>(Model{node.membership.generation, node.model, node.log});
    schedule(1 + random_.below(60),
             {.kind = Happening::Kind::kModel, .whom = worker.id, .about = node.protocol.id(), .model = model});
  }
}

void SimulatedJob::happen(const Happening& what) {
  if (what.kind == Happening::Kind::kFault) return fault();
  Node& node = *nodes_.at(what.whom);
  if (!node.alive) return;
  MembershipProtocol& protocol = node.protocol;
  const auto from = nodes_.find(what.about);
  const bool reaches = from == nodes_.end() || connected(*from->second, node);
  switch (what.kind) {
    case Happening::Kind::kMessage: {
      const auto message = decode_message(what.bytes);
      if (!message) return wrong(message.error().to_string());
      if (reaches) protocol.receive(*message);
      break;
    }
    case Happening::Kind::kModel:
      if (!reaches || protocol.has_state() || node.membership.generation != what.model->generation) return;
      if (what.model->log.size() != node.progress.step) return;  // it has followed to another step
      node.model = what.model->model;
      node.log = what.model->log;
      protocol.state_received();
      break;
    case Happening::Kind::kTick:
      protocol.tick();
      send_models(node);
      schedule(30 + random_.below(60), what);
      break;
    case Happening::Kind::kWork:
      if (protocol.may_vote()) protocol.vote();
      schedule(5 + random_.below(40), what);
      break;
    case Happening::Kind::kMiss:
      // A failure detector that lags behind reports nothing.
      if (what.certain || !reaches || !from->second->alive) protocol.miss(what.about, what.certain);
      break;
    case Happening::Kind::kFindAgain:
      if (reaches && from->second->alive) protocol.find_again(what.about);
      break;
    case Happening::Kind::kFault:
      break;
  }
  collect(node);
}

SimulatedJob::Node* SimulatedJob::random_live_node() {
  std::vector<Node*> live;
  for (auto& [id, node] : nodes_) {
    if (node->alive) live.push_back(node.get());
  }
  return live.empty() ? nullptr : live[random_.below(live.size())];
}

void SimulatedJob::kill(Node& node) {
  ++kills_;
  end(node);
}

void SimulatedJob::end(Node& node) {
  node.alive = false;
  for (auto& [id, other] : nodes_) {
    schedule(
        1 + random_.below(40),
        {.kind = Happening::Kind::kMiss, .whom = id, .about = node.protocol.id(), .certain = other->host == node.host});
  }
}

void SimulatedJob::cut() {
  // The hosts are partitioned into two sides.
  std::map<std::uint32_t, int> sides;
  for (auto& [id, node] : nodes_) {
    if (!sides.contains(node->host)) sides[node->host] = static_cast<int>(random_.below(2));
    node->side = sides[node->host];
  }
  for (auto& [id, node] : nodes_) {
    for (auto& [other_id, other] : nodes_) {
      if (connected(*node, *other)) continue;
      schedule(1 + random_.below(150), {.kind = Happening::Kind::kMiss, .whom = id, .about = other_id});
    }
  }
}

void SimulatedJob::heal() {
  for (auto& [id, node] : nodes_) node->side = 0;
  for (auto& [id, node] : nodes_) {
    for (auto& [other_id, other] : nodes_) {
      if (!other->alive) continue;
      schedule(1 + random_.below(80), {.kind = Happening::Kind::kFindAgain, .whom = id, .about = other_id});
    }
  }
}

void SimulatedJob::join() {
  std::vector<WorkerId> contacts;
  for (const auto& [id, node] : nodes_) contacts.push_back(id);
  const auto host = static_cast<std::uint32_t>(random_.below(static_cast<std::uint64_t>(options_.hosts)));
  Node node(MembershipProtocol(WorkerRecord{next_id_, host, static_cast<std::uint32_t>(next_id_)}, contacts));
  node.follows = random_.below(2) == 0;
  for (const auto& [id, other] : nodes_) {
    if (other->host == host) node.side = other->side;
  }
  add(std::move(node), host);
}

void SimulatedJob::fault() {
  Node* const node = random_live_node();
  if (node == nullptr) return;
  const auto choice = random_.below(8);
  if (choice < 3) {
    if (options_.kills) kill(*node);
    // Sometimes a second worker dies at the same time.
    Node* const second = random_live_node();
    if (options_.kills && choice == 0 && second != nullptr) kill(*second);
  } else if (choice < 5 && options_.cuts) {
    cut();
    if (random_.below(2) == 0) heal();
  } else if (choice == 5) {
    join();
  } else if (choice == 6 && node->protocol.state() != MembershipState::kJoining) {
    node->protocol.leave();
    collect(*node);
  } else if (node->protocol.state() != MembershipState::kJoining) {
    // Other workers may hold their requests back at the same time.
    if (random_.below(2) == 0) node->protocol.hold_requests();
    node->protocol.set_parameter("batch", static_cast<double>(1 + random_.below(9)));
    collect(*node);
  }
}

void SimulatedJob::run_for(std::uint64_t duration) {
  const std::uint64_t end = now_ + duration;
  while (wrong_.empty() && !future_.empty() && future_.top().time <= end) {
    const Happening next = future_.top();
    future_.pop();
    now_ = next.time;
    happen(next);
  }
  now_ = end;
}

// A worker that was cut off stays stopped if no worker is left to tell it of later memberships. So does a joining
// worker that knows no living worker.
bool SimulatedJob::is_forgotten(const Node& node, const Membership& last) const {
  if (node.protocol.state() == MembershipState::kJoining) {
    const std::vector<WorkerId>& contacts = node.protocol.contacts();
    return std::none_of(contacts.begin(), contacts.end(), [&](WorkerId id) {
      const Node& other = *nodes_.at(id);
      return other.alive && other.membership.generation >= last.generation;
    });
  }
  if (node.protocol.state() != MembershipState::kStopped || node.membership.generation == last.generation) return false;
  return std::none_of(node.membership.workers.begin(), node.membership.workers.end(), [&](const WorkerRecord& worker) {
    const Node& other = *nodes_.at(worker.id);
    return other.alive && other.membership.generation > node.membership.generation;
  });
}

std::string SimulatedJob::describe() const {
  std::string text;
  for (const auto& [id, node] : nodes_) {
    text += fmt::format("\n  {}{}: state {}, step {}, {} model, generation {} of", node->alive ? "" : "dead ", id,
                        static_cast<int>(node->protocol.state()), node->progress.step,
                        node->protocol.has_state() ? "with" : "without", node->membership.generation);
    for (const WorkerRecord& worker : node->membership.workers) text += fmt::format(" {}", worker.id);
  }
  return text;
}

// After the faults: if enough workers are left to continue, they have continued, all of them in one membership.
void SimulatedJob::check_the_end() {
  std::vector<const Node*> left;
  const Membership* last = nullptr;
  for (const auto& [id, node] : nodes_) {
    if (!node->alive || node->protocol.state() == MembershipState::kEnded) continue;
    left.push_back(node.get());
    if (node->protocol.state() != MembershipState::kJoining &&
        (last == nullptr || node->membership.generation > last->generation))
      last = &node->membership;
  }
  if (last == nullptr) return;
  std::size_t lives = 0;
  bool first_lives = false, has_model = false;
  for (const WorkerRecord& worker : last->workers) {
    const Node& node = *nodes_.at(worker.id);
    if (!node.alive || node.protocol.state() == MembershipState::kEnded) continue;
    ++lives;
    first_lives = first_lives || worker.id == last->workers[0].id;
    has_model = has_model || node.protocol.has_state();
  }
  const bool quorum = last->rule() == QuorumRule::kSurvivors
                          ? lives > 0
                          : 2 * lives > last->workers.size() || (2 * lives == last->workers.size() && first_lives);
  if (!quorum || !has_model) return;
  std::vector<std::uint64_t> before;
  for (const Node* node : left) before.push_back(node->progress.step);
  const Membership last_membership = *last;
  run_for(4000);
  const Membership* common = nullptr;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const Node& node = *left[i];
    if (node.protocol.state() == MembershipState::kEnded || is_forgotten(node, last_membership)) continue;
    if (common != nullptr && node.membership != *common) wrong("two memberships at the end" + describe());
    common = &node.membership;
    if (node.progress.step < before[i] + 3) {
      wrong(fmt::format("worker {} stands still{}", node.protocol.id(), describe()));
    }
  }
}

std::string SimulatedJob::run() {
  run_for(4000);
  if (!wrong_.empty()) return wrong_;
  peace_ = true;
  heal();
  for (const auto& [id, node] : nodes_) {
    node->protocol.release_requests();
    collect(*node);
  }
  run_for(4000);
  check_the_end();
  // The history of every worker: each sample once per epoch, without a gap, and the model that results.
  for (const auto& [id, node] : nodes_) {
    DataCursor cursor{.samples = kSamples, .seed = 3};
    std::uint64_t step = 0;
    for (const Entry& entry : node->log) {
      if (entry.step != ++step) wrong(fmt::format("worker {} has step {} after {}", id, entry.step, step - 1));
      if (entry.epoch != cursor.epoch || entry.range.begin != cursor.offset) {
        wrong(fmt::format("worker {} used samples twice or not at all at step {}", id, step));
      }
      if (committed_.at({entry.generation, entry.step}) != entry) wrong("a history with steps of another");
      cursor = advanced(cursor, entry.range.size());
    }
    if (!node->log.empty() && node->log.back().model != node->model) wrong("a model without its history");
  }
  return wrong_;
}

}  // namespace orrery::elastic
