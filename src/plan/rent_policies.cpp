#include "plan/rent_policies.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace orrery::plan {

namespace {

class RentPolicy final : public schedule::Policy {
 public:
  RentPolicy(RentOrder order, const Market& market, const MarketJobs& jobs) : order_(order), adapter_(market, jobs) {}

  std::string_view name() const override {
    switch (order_) {
      case RentOrder::kFifo:
        return "fifo";
      case RentOrder::kDue:
        return "edf";
      case RentOrder::kWeight:
        break;
    }
    return "priority";
  }

  void decide(const schedule::ClusterView& view, const schedule::Event& event,
              std::vector<schedule::Decision>& decisions) override {
    adapter_.hear(event);
    const Situation now = adapter_.look(view, {});
    Plan plan = now.current;
    for (const std::size_t job : in_order(view, now)) {
      if (static_cast<int>(plan.nodes.size()) >= now.instance.nodes) break;
      if (auto node = best_node(now.instance, plan, job)) plan.nodes.push_back(std::move(*node));
    }
    carry_out(view, now, plan, decisions);
  }

  void exchange(schedule::StateArchive& state) override { adapter_.exchange(state); }
  void adopt(const schedule::ClusterView& view) override { adapter_.adopt(view); }

 private:
  std::vector<std::size_t> in_order(const schedule::ClusterView& view, const Situation& now) const {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < now.jobs.size(); ++i) {
      if (view.is_running(now.jobs[i])) continue;
      const Job& job = now.instance.jobs[i];
      order.emplace_back(order_ == RentOrder::kFifo  ? job.submit_s
                         : order_ == RentOrder::kDue ? job.due_s
                                                     : -job.weight_usd_s,
                         i);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> jobs;
    for (const auto& [key, job] : order) jobs.push_back(job);
    return jobs;
  }

  static std::optional<Node> best_node(const Instance& instance, const Plan& plan, std::size_t index) {
    const Job& job = instance.jobs[index];
    std::vector<int> open(instance.vm_types.size(), 0);
    for (const Node& node : plan.nodes) ++open[node.vm];
    std::optional<Node> best;
    std::pair best_key(true, std::numeric_limits<double>::infinity());  // too late, cost or time
    for (std::size_t vm = 0; vm < open.size(); ++vm) {
      const VmType& type = instance.vm_types[vm];
      for (int gpus = 1; gpus <= type.gpus && open[vm] < type.nodes_max; ++gpus) {
        const auto time = time_s(job, type, gpus);
        if (!time) continue;
        const bool late = instance.now_s + *time > job.due_s;
        const std::pair key(late, late ? *time : type.price_usd_h * *time);
        if (key >= best_key) continue;
        best_key = key;
        best = Node{vm, {{index, gpus}}};
      }
    }
    return best;
  }

  RentOrder order_;
  MarketAdapter adapter_;
};

}  // namespace

std::unique_ptr<schedule::Policy> make_rent_policy(RentOrder order, const Market& market, const MarketJobs& jobs) {
  return std::make_unique<RentPolicy>(order, market, jobs);
}

}  // namespace orrery::plan
