#pragma once
// For tests: a whole job in one thread. Workers die, are cut off, join and leave; messages are late, lost or out of
// order. Everything follows from the seed. The invariants are checked at every event.

#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/random.h"
#include "elastic/membership/protocol.h"

namespace orrery::elastic {

struct SimulatedJobOptions {
  int workers = 3;
  int hosts = 1;       // workers are assigned to hosts round-robin
  double loss = 0.02;  // share of messages that are lost
  int faults = 6;      // kills, cuts, joins, leaves and changed parameters
  bool kills = true, cuts = true;
};

class SimulatedJob {
 public:
  SimulatedJob(std::uint64_t seed, const SimulatedJobOptions& options);

  // Runs the whole job: faults first, then a time without faults. Returns what went wrong; empty if nothing did.
  std::string run();

  std::uint64_t steps() const { return steps_; }                     // committed by any worker
  std::uint64_t memberships() const { return memberships_.size(); }  // installed by any worker
  std::uint64_t kills() const { return kills_; }

 private:
  // One committed step as one worker saw it.
  struct Entry {
    std::uint64_t generation = 0, step = 0, epoch = 0;
    DataRange range{};
    std::uint64_t model = 0;  // after the step
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  struct Node {
    explicit Node(MembershipProtocol machine) : protocol(std::move(machine)) {}
    MembershipProtocol protocol;
    std::uint32_t host = 0;
    int side = 0;          // of a cut
    bool follows = false;  // takes part in the others' steps before it has the model
    bool alive = true;
    Membership membership{};  // installed
    TrainingProgress progress{};
    std::uint64_t model = 1;
    std::vector<Entry> log{};
  };
  struct Model {  // what a joining worker receives
    std::uint64_t generation = 0, model = 0;
    std::vector<Entry> log{};
  };
  struct Happening {
    std::uint64_t time = 0, number = 0;
    enum class Kind { kMessage, kModel, kTick, kWork, kMiss, kFindAgain, kFault } kind = Kind::kTick;
    WorkerId whom = 0, about = 0;
    bool certain = false;
    std::string bytes{};  // of a message
    std::shared_ptr<Model> model{};
    friend bool operator>(const Happening& a, const Happening& b) {
      return std::pair(a.time, a.number) > std::pair(b.time, b.number);
    }
  };

  void add(Node node, std::uint32_t host);
  void schedule(std::uint64_t delay, Happening happening);
  void happen(const Happening& happening);
  void collect(Node& node);  // what the protocol put out
  void on(Node& node, const StepCommitted& event);
  void on(Node& node, const Installed& event);
  void send_models(Node& node);
  void fault();
  void kill(Node& node);
  void end(Node& node);
  void cut();
  void heal();
  void join();
  bool connected(const Node& a, const Node& b) const { return a.side == b.side; }
  Node* random_live_node();
  void wrong(const std::string& what);
  void run_for(std::uint64_t duration);
  bool is_forgotten(const Node& node, const Membership& last) const;
  std::string describe() const;
  void check_the_end();
  std::uint64_t next_model(const Node& node, const Entry& entry) const;

  Random random_;
  SimulatedJobOptions options_;
  std::map<WorkerId, std::unique_ptr<Node>> nodes_;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> future_;
  std::uint64_t now_ = 0, number_ = 0;
  WorkerId next_id_ = 1;
  bool peace_ = false;
  std::map<std::uint64_t, Membership> memberships_;                     // by generation
  std::map<std::pair<std::uint64_t, std::uint64_t>, Entry> committed_;  // by (generation, step)
  std::uint64_t steps_ = 0, kills_ = 0;
  std::string wrong_;
};

}  // namespace orrery::elastic
