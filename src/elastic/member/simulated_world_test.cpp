#include "elastic/member/simulated_world.h"

#include <algorithm>
#include <fmt/format.h>

namespace orrery::elastic {

namespace {

constexpr std::uint64_t kSamples = 37;
constexpr std::uint64_t kDecideEvery = 8;  // steps

View first_view(int members, int hosts) {
  View view;
  view.epoch = 1;
  view.parameters["batch"] = 5;
  view.progress.cursor = {.samples = kSamples, .seed = 3};
  for (int i = 0; i < members; ++i) {
    view.members.push_back({static_cast<MemberId>(i + 1), static_cast<std::uint32_t>(i % hosts), 0});
  }
  return view;
}

// After which step the last decision was made that is in force.
double decided_in(const View& view) {
  const auto found = view.parameters.find("decided");
  return found == view.parameters.end() ? 0 : found->second;
}

}  // namespace

World::World(std::uint64_t seed, const WorldOptions& options) : random_(seed), options_(options) {
  const View view = first_view(options.members, options.hosts);
  views_[1] = view;
  for (const MemberRecord& record : view.members) {
    Node node(Member(record.id, view));
    node.view = view;
    node.progress = view.progress;
    add(std::move(node), record.host);
  }
  for (int i = 0; i < options.faults; ++i) schedule(random_.below(3000), {.kind = Happening::Kind::kFault});
}

void World::add(Node node, std::uint32_t host) {
  const MemberId id = next_id_++;
  node.host = host;
  nodes_[id] = std::make_unique<Node>(std::move(node));
  schedule(random_.below(50), {.kind = Happening::Kind::kTick, .whom = id});
  schedule(random_.below(50), {.kind = Happening::Kind::kWork, .whom = id});
  collect(*nodes_[id]);
}

void World::wrong(const std::string& what) {
  if (wrong_.empty()) wrong_ = fmt::format("at {}: {}", now_, what);
}

void World::schedule(std::uint64_t delay, Happening happening) {
  happening.time = now_ + delay;
  happening.number = number_++;
  future_.push(std::move(happening));
}

void World::collect(Node& node) {
  for (const Event& event : node.member.take_events()) {
    if (const auto* const step = std::get_if<StepCommitted>(&event)) on(node, *step);
    if (const auto* const view = std::get_if<Installed>(&event)) on(node, *view);
    // Who is no member any more exits.
    if (std::holds_alternative<Ended>(event)) end(node);
  }
  for (const Message& message : node.member.take_messages()) {
    if (!nodes_.contains(message.to) || random_.uniform() < options_.loss * (peace_ ? 0 : 1)) continue;
    // Some come when nobody remembers what they are about.
    const std::uint64_t delay = random_.below(50) == 0 ? random_.below(1500) : random_.below(20);
    // As bytes, so that what can be said is also what can be sent.
    schedule(1 + delay,
             {.kind = Happening::Kind::kMessage, .whom = message.to, .about = message.from, .bytes = encode(message)});
  }
}

std::uint64_t World::next_model(const Node& node, const Entry& entry) const {
  std::uint64_t hash = mix64(node.model ^ mix64(entry.step) ^ mix64(entry.range.begin * 1000 + entry.range.end));
  for (const MemberRecord& member : node.view.members) hash = mix64(hash ^ member.id);
  return hash;
}

void World::on(Node& node, const StepCommitted& event) {
  const std::uint64_t batch = batch_of(node.view);
  Entry entry = {event.epoch, event.progress.step, node.progress.cursor.pass, next_batch(node.progress.cursor, batch),
                 0};
  if (event.epoch != node.view.epoch) wrong("a step of another epoch");
  if (event.progress.step != node.progress.step + 1) wrong("a step was left out");
  if (event.progress.cursor != advanced(node.progress.cursor, batch)) wrong("the data cursor jumped");
  node.progress = event.progress;
  // As policies do: everyone decides the same after the same step.
  if (!peace_ && event.progress.step % kDecideEvery == 0) {
    node.member.set_parameter("decided", static_cast<double>(event.progress.step));
  }
  // Who follows knows the step, but has no model to apply it to.
  if (!node.member.has_state()) return;
  entry.model = next_model(node, entry);
  node.model = entry.model;
  node.log.push_back(entry);
  steps_ = std::max(steps_, entry.step);
  const auto [same, is_new] = committed_.try_emplace({entry.epoch, entry.step}, entry);
  if (!is_new && same->second != entry)
    wrong(fmt::format("two models after step {} of epoch {}", entry.step, entry.epoch));
}

void World::on(Node& node, const Installed& event) {
  const View& view = event.view;
  const auto [same, is_new] = views_.try_emplace(view.epoch, view);
  if (!is_new && same->second != view) wrong(fmt::format("two views of epoch {}", view.epoch));
  if (view.epoch <= node.view.epoch) wrong("epochs go back");
  const bool continues = !event.needs_state || event.follows;
  if (continues && view.progress != node.progress) wrong("a view begins elsewhere than its member is");
  const double decided = decided_in(view);
  if (decided > static_cast<double>(view.progress.step)) {
    wrong(fmt::format("epoch {} begins after step {} with what was decided after step {}", view.epoch,
                      view.progress.step, decided));
  }
  if (decided < decided_in(node.view)) wrong("an old decision undoes a later one");
  node.view = view;
  if (!continues) node.progress = view.progress;
  if (event.needs_state && node.follows) node.member.follow();
  for (const MemberRecord& member : view.members) {
    const Node& other = *nodes_.at(member.id);
    if (other.alive) continue;
    schedule(1 + random_.below(40), {.kind = Happening::Kind::kMiss,
                                     .whom = node.member.id(),
                                     .about = member.id,
                                     .certain = other.host == node.host});
  }
  send_models(node);
}

void World::send_models(Node& node) {
  if (!node.member.has_state() || node.member.state() != MemberState::kActive) return;
  for (const MemberRecord& member : node.view.members) {
    if (member.id == node.member.id()) continue;
    auto model = std::make_shared<Model>(Model{node.view.epoch, node.model, node.log});
    schedule(1 + random_.below(60),
             {.kind = Happening::Kind::kModel, .whom = member.id, .about = node.member.id(), .model = model});
  }
}

void World::happen(const Happening& what) {
  if (what.kind == Happening::Kind::kFault) return fault();
  Node& node = *nodes_.at(what.whom);
  if (!node.alive) return;
  Member& member = node.member;
  const auto from = nodes_.find(what.about);
  const bool reaches = from == nodes_.end() || connected(*from->second, node);
  switch (what.kind) {
    case Happening::Kind::kMessage: {
      const auto message = decode_message(what.bytes);
      if (!message) return wrong(message.error().to_string());
      if (reaches) member.receive(*message);
      break;
    }
    case Happening::Kind::kModel:
      if (!reaches || member.has_state() || node.view.epoch != what.model->epoch) return;
      if (what.model->log.size() != node.progress.step) return;  // it has followed to another step
      node.model = what.model->model;
      node.log = what.model->log;
      member.state_received();
      break;
    case Happening::Kind::kTick:
      member.tick();
      send_models(node);
      schedule(30 + random_.below(60), what);
      break;
    case Happening::Kind::kWork:
      if (member.may_vote()) member.vote();
      schedule(5 + random_.below(40), what);
      break;
    case Happening::Kind::kMiss:
      // A detector that is behind the times says nothing.
      if (what.certain || !reaches || !from->second->alive) member.miss(what.about, what.certain);
      break;
    case Happening::Kind::kFindAgain:
      if (reaches && from->second->alive) member.find_again(what.about);
      break;
    case Happening::Kind::kFault:
      break;
  }
  collect(node);
}

World::Node* World::random_live_node() {
  std::vector<Node*> live;
  for (auto& [id, node] : nodes_) {
    if (node->alive) live.push_back(node.get());
  }
  return live.empty() ? nullptr : live[random_.below(live.size())];
}

void World::kill(Node& node) {
  ++kills_;
  end(node);
}

void World::end(Node& node) {
  node.alive = false;
  for (auto& [id, other] : nodes_) {
    schedule(
        1 + random_.below(40),
        {.kind = Happening::Kind::kMiss, .whom = id, .about = node.member.id(), .certain = other->host == node.host});
  }
}

void World::cut() {
  // Hosts fall apart into two sides.
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

void World::heal() {
  for (auto& [id, node] : nodes_) node->side = 0;
  for (auto& [id, node] : nodes_) {
    for (auto& [other_id, other] : nodes_) {
      if (!other->alive) continue;
      schedule(1 + random_.below(80), {.kind = Happening::Kind::kFindAgain, .whom = id, .about = other_id});
    }
  }
}

void World::join() {
  std::vector<MemberId> contacts;
  for (const auto& [id, node] : nodes_) contacts.push_back(id);
  const auto host = static_cast<std::uint32_t>(random_.below(static_cast<std::uint64_t>(options_.hosts)));
  Node node(Member(MemberRecord{next_id_, host, static_cast<std::uint32_t>(next_id_)}, contacts));
  node.follows = random_.below(2) == 0;
  for (const auto& [id, other] : nodes_) {
    if (other->host == host) node.side = other->side;
  }
  add(std::move(node), host);
}

void World::fault() {
  Node* const node = random_live_node();
  if (node == nullptr) return;
  const auto choice = random_.below(8);
  if (choice < 3) {
    if (options_.kills) kill(*node);
    // Sometimes a second one at the same time.
    Node* const second = random_live_node();
    if (options_.kills && choice == 0 && second != nullptr) kill(*second);
  } else if (choice < 5 && options_.cuts) {
    cut();
    if (random_.below(2) == 0) heal();
  } else if (choice == 5) {
    join();
  } else if (choice == 6 && node->member.state() != MemberState::kJoining) {
    node->member.leave();
    collect(*node);
  } else if (node->member.state() != MemberState::kJoining) {
    // Others may hold their requests back at the same time.
    if (random_.below(2) == 0) node->member.hold_requests();
    node->member.set_parameter("batch", static_cast<double>(1 + random_.below(9)));
    collect(*node);
  }
}

void World::run_for(std::uint64_t duration) {
  const std::uint64_t end = now_ + duration;
  while (wrong_.empty() && !future_.empty() && future_.top().time <= end) {
    const Happening next = future_.top();
    future_.pop();
    now_ = next.time;
    happen(next);
  }
  now_ = end;
}

// A member that was cut off, and whom nobody is left to tell of the views after its own: it stays stopped. Or one that
// wants to join, and knows nobody who is still there.
bool World::is_forgotten(const Node& node, const View& last) const {
  if (node.member.state() == MemberState::kJoining) {
    const std::vector<MemberId>& contacts = node.member.contacts();
    return std::none_of(contacts.begin(), contacts.end(), [&](MemberId id) {
      const Node& other = *nodes_.at(id);
      return other.alive && other.view.epoch >= last.epoch;
    });
  }
  if (node.member.state() != MemberState::kStopped || node.view.epoch == last.epoch) return false;
  return std::none_of(node.view.members.begin(), node.view.members.end(), [&](const MemberRecord& member) {
    const Node& other = *nodes_.at(member.id);
    return other.alive && other.view.epoch > node.view.epoch;
  });
}

std::string World::describe() const {
  std::string text;
  for (const auto& [id, node] : nodes_) {
    text += fmt::format("\n  {}{}: state {}, step {}, {} model, epoch {} of", node->alive ? "" : "dead ", id,
                        static_cast<int>(node->member.state()), node->progress.step,
                        node->member.has_state() ? "with" : "without", node->view.epoch);
    for (const MemberRecord& member : node->view.members) text += fmt::format(" {}", member.id);
  }
  return text;
}

// After peace: if enough members are left to go on, they have, all of them in one view.
void World::check_the_end() {
  std::vector<const Node*> left;
  const View* last = nullptr;
  for (const auto& [id, node] : nodes_) {
    if (!node->alive || node->member.state() == MemberState::kEnded) continue;
    left.push_back(node.get());
    if (node->member.state() != MemberState::kJoining && (last == nullptr || node->view.epoch > last->epoch))
      last = &node->view;
  }
  if (last == nullptr) return;
  std::size_t lives = 0;
  bool first_lives = false, has_model = false;
  for (const MemberRecord& member : last->members) {
    const Node& node = *nodes_.at(member.id);
    if (!node.alive || node.member.state() == MemberState::kEnded) continue;
    ++lives;
    first_lives = first_lives || member.id == last->members[0].id;
    has_model = has_model || node.member.has_state();
  }
  const bool quorum = last->rule() == QuorumRule::kSurvivors
                          ? lives > 0
                          : 2 * lives > last->members.size() || (2 * lives == last->members.size() && first_lives);
  if (!quorum || !has_model) return;
  std::vector<std::uint64_t> before;
  for (const Node* node : left) before.push_back(node->progress.step);
  const View last_view = *last;
  run_for(4000);
  const View* common = nullptr;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const Node& node = *left[i];
    if (node.member.state() == MemberState::kEnded || is_forgotten(node, last_view)) continue;
    if (common != nullptr && node.view != *common) wrong("two views at the end" + describe());
    common = &node.view;
    if (node.progress.step < before[i] + 3) {
      wrong(fmt::format("member {} stands still{}", node.member.id(), describe()));
    }
  }
}

std::string World::run() {
  run_for(4000);
  if (!wrong_.empty()) return wrong_;
  peace_ = true;
  heal();
  for (const auto& [id, node] : nodes_) {
    node->member.release_requests();
    collect(*node);
  }
  run_for(4000);
  check_the_end();
  // Every member's own history: each sample once per pass, in one unbroken line, and the model that it gives.
  for (const auto& [id, node] : nodes_) {
    DataCursor cursor{.samples = kSamples, .seed = 3};
    std::uint64_t step = 0;
    for (const Entry& entry : node->log) {
      if (entry.step != ++step) wrong(fmt::format("member {} has step {} after {}", id, entry.step, step - 1));
      if (entry.pass != cursor.pass || entry.range.begin != cursor.offset) {
        wrong(fmt::format("member {} used samples twice or not at all at step {}", id, step));
      }
      if (committed_.at({entry.epoch, entry.step}) != entry) wrong("a history with steps of another");
      cursor = advanced(cursor, entry.range.size());
    }
    if (!node->log.empty() && node->log.back().model != node->model) wrong("a model without its history");
  }
  return wrong_;
}

}  // namespace orrery::elastic
