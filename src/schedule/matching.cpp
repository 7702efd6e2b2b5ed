#include "schedule/matching.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <tuple>

#include "base/check.h"

namespace orrery::schedule {

namespace {

// The primal-dual method. The matching is grown by one pair at a time while a dual solution proves that no heavier
// matching of that size exists.
//
// Numbers 1 to n are vertices, larger ones are blossoms, 0 stands for none. A blossom is an odd ring of vertices and
// smaller blossoms, its parts, that are treated as one vertex. A vertex or blossom that is not part of another one is a
// root.
//
// Duals. Every vertex u has a label y(u) >= 0 and every blossom B a label z(B) >= 0; z is 0 for a new one. `distance`
// of an edge (u, v) is y(u) + y(v) - 2 w(u, v): twice weights keep every label whole. Between two roots it is the
// reduced cost, never negative; an edge is tight if it is 0. (Inside a blossom z is left out of `distance`, so there it
// may be negative; such edges are never looked at.) These conditions hold after every change and, with the last one,
// prove the result best (complementary slackness):
//   - every matched edge and every edge along the ring of a blossom is tight;
//   - a blossom with z > 0 has all its parts but one matched inside it;
//   - all free vertices have the same label, which is the least of all. When it reaches 0, a free vertex costs nothing,
//     and the matching is the heaviest (relax() returns false).
//
// Search. From every free root an alternating tree grows over tight edges. A root is outer if its distance from the
// root of its tree is even, inner if it is odd, else not reached. `parent` of an inner root is the vertex, inside an
// outer root, from which it was reached; the parent of an outer root is its partner.
//
// LEMON's MaxWeightedMatching finds matchings of the same weight, but others among equally heavy ones. Muri's decisions
// follow these ties, and the reference results of its traces are held to them, so this one stays.
class Blossoms {
 public:
  explicit Blossoms(const std::vector<std::vector<std::int64_t>>& weights)
      : n_(static_cast<int>(weights.size())), size_(2 * n_ + 2) {
    const auto size = static_cast<std::size_t>(size_);
    edges_.assign(size, std::vector<Edge>(size));
    label_.assign(size, 0);
    match_.assign(size, 0);
    slack_.assign(size, 0);
    root_.assign(size, 0);
    parent_.assign(size, 0);
    state_.assign(size, kUnreached);
    seen_.assign(size, 0);
    inside_.assign(size, {});
    owner_.assign(size, std::vector<int>(static_cast<std::size_t>(n_) + 1, 0));
    std::int64_t most = 0;
    for (int u = 1; u <= n_; ++u) {
      for (int v = 1; v <= n_; ++v) {
        const std::int64_t weight =
            u == v ? 0 : weights[static_cast<std::size_t>(u - 1)][static_cast<std::size_t>(v - 1)];
        ORRERY_CHECK(weight >= 0 && weight <= 1'000'000'000'000);
        edge(u, v) = {u, v, weight};
        most = std::max(most, weight);
      }
    }
    last_ = n_;
    for (int u = 0; u <= n_; ++u) {
      root(u) = u;
      inside_[index(u)].clear();
    }
    for (int u = 1; u <= n_; ++u) {
      for (int v = 1; v <= n_; ++v) owner(u, v) = u == v ? u : 0;
      label(u) = most;
    }
  }

  Matching solve() {
    while (grow()) {
    }
    Matching result;
    for (int u = 1; u <= n_; ++u) {
      result.partner.push_back(match(u) - 1);
      if (match(u) != 0 && match(u) < u) result.weight += edge(u, match(u)).weight;
    }
    return result;
  }

 private:
  enum State : int { kUnreached = -1, kOuter = 0, kInner = 1 };
  struct Edge {
    int u = 0, v = 0;
    std::int64_t weight = 0;
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  Edge& edge(int u, int v) { return edges_[index(u)][index(v)]; }
  int& match(int u) { return match_[index(u)]; }
  int& slack(int u) { return slack_[index(u)]; }
  int& root(int u) { return root_[index(u)]; }
  int& parent(int u) { return parent_[index(u)]; }
  int& state(int u) { return state_[index(u)]; }
  int& owner(int blossom, int vertex) { return owner_[index(blossom)][index(vertex)]; }
  std::int64_t& label(int u) { return label_[index(u)]; }
  std::vector<int>& inside(int b) { return inside_[index(b)]; }

  std::int64_t distance(const Edge& e) { return label(e.u) + label(e.v) - 2 * edge(e.u, e.v).weight; }

  // slack(x): the vertex of an outer root from which the edge to root x has the least distance; 0: there is none. So
  // the next edge that becomes tight is found in O(n).
  void update_slack(int u, int x) {
    if (slack(x) == 0 || distance(edge(u, x)) < distance(edge(slack(x), x))) slack(x) = u;
  }

  void set_slack(int x) {
    slack(x) = 0;
    for (int u = 1; u <= n_; ++u) {
      if (edge(u, x).weight > 0 && root(u) != x && state(root(u)) == kOuter) update_slack(u, x);
    }
  }

  // All vertices inside x are to be looked at from now on.
  void push(int x) {
    if (x <= n_) {
      queue_.push_back(x);
      return;
    }
    for (const int part : inside(x)) push(part);
  }

  void set_root(int x, int b) {
    root(x) = b;
    if (x <= n_) return;
    for (const int part : inside(x)) set_root(part, b);
  }

  // The place of `part` in the ring of b, which starts at the base: the part that is matched outside b, or free. The
  // ring is read backwards where needed, so that the path from the base to `part` has an even number of edges: along
  // it, matched and free edges can be exchanged.
  int turned(int b, int part) {
    std::vector<int>& ring = inside(b);
    const auto place = std::find(ring.begin(), ring.end(), part) - ring.begin();
    if (place % 2 == 0) return static_cast<int>(place);
    std::reverse(ring.begin() + 1, ring.end());
    return static_cast<int>(ring.size()) - static_cast<int>(place);
  }

  // Matches root u over its tight edge to root v. In a blossom the part that holds the end of that edge becomes the
  // base, and the edges between the old base and it change from free to matched and back: exactly one part stays
  // unmatched inside, as before.
  void set_match(int u, int v) {
    match(u) = edge(u, v).v;
    if (u <= n_) return;
    const Edge e = edge(u, v);
    const int part = owner(u, e.u), place = turned(u, part);
    for (int i = 0; i < place; ++i) set_match(inside(u)[index(i)], inside(u)[index(i ^ 1)]);
    set_match(part, v);
    std::rotate(inside(u).begin(), inside(u).begin() + place, inside(u).end());
  }

  // Exchanges matched and free edges from u, an outer root that gets v as its partner, up to the free root of its tree.
  // All edges on the path are tight, so the conditions above still hold.
  void augment(int u, int v) {
    while (true) {
      const int next = root(match(u));
      set_match(u, v);
      if (next == 0) return;
      set_match(next, root(parent(next)));
      u = root(parent(next));
      v = next;
    }
  }

  // The first root that the paths of two outer roots to their free roots share; 0: they are in different trees. Both
  // paths are walked in turn, so it takes no longer than the blossom has parts.
  int common_ancestor(int u, int v) {
    ++time_;
    while (u != 0 || v != 0) {
      if (u != 0) {
        if (seen_[index(u)] == time_) return u;
        seen_[index(u)] = time_;
        u = root(match(u));
        if (u != 0) u = root(parent(u));
      }
      std::swap(u, v);
    }
    return 0;
  }

  // A tight edge between two outer roots u, v of one tree closes an odd ring through their ancestor, which becomes the
  // base. Its inner parts become outer: they can now be reached over an even number of edges. The edge of the blossom
  // to another root is that of its parts with the least distance.
  void add_blossom(int u, int ancestor, int v) {
    int b = n_ + 1;
    while (b <= last_ && root(b) != 0) ++b;
    last_ = std::max(last_, b);
    label(b) = 0;
    state(b) = kOuter;
    match(b) = match(ancestor);
    inside(b) = {ancestor};
    for (int x = u; x != ancestor;) {
      inside(b).push_back(x);
      const int y = root(match(x));
      inside(b).push_back(y);
      push(y);
      x = root(parent(y));
    }
    std::reverse(inside(b).begin() + 1, inside(b).end());
    for (int x = v; x != ancestor;) {
      inside(b).push_back(x);
      const int y = root(match(x));
      inside(b).push_back(y);
      push(y);
      x = root(parent(y));
    }
    set_root(b, b);
    for (int x = 1; x <= last_; ++x) edge(b, x).weight = edge(x, b).weight = 0;
    for (int x = 1; x <= n_; ++x) owner(b, x) = 0;
    for (const int part : inside(b)) {
      for (int x = 1; x <= last_; ++x) {
        if (edge(b, x).weight == 0 || distance(edge(part, x)) < distance(edge(b, x))) {
          edge(b, x) = edge(part, x);
          edge(x, b) = edge(x, part);
        }
      }
      for (int x = 1; x <= n_; ++x) {
        if (part <= n_ ? part == x : owner(part, x) != 0) owner(b, x) = part;
      }
    }
    set_slack(b);
  }

  // An inner blossom whose label fell to 0 must be opened, as a lower one would break z >= 0. The parts on the even
  // side between the entry, where the tree reaches b, and the base stay in the tree, alternately inner and outer; the
  // others are not reached any more. They are matched to each other in pairs, over tight edges.
  void expand_blossom(int b) {
    for (const int part : inside(b)) set_root(part, part);
    const int entry = owner(b, edge(b, parent(b)).u), place = turned(b, entry);
    for (int i = 0; i < place; i += 2) {
      const int x = inside(b)[index(i)], y = inside(b)[index(i + 1)];
      parent(x) = edge(y, x).u;
      state(x) = kInner;
      state(y) = kOuter;
      slack(x) = 0;
      set_slack(y);
      push(y);
    }
    state(entry) = kInner;
    parent(entry) = parent(b);
    for (std::size_t i = index(place) + 1; i < inside(b).size(); ++i) {
      const int x = inside(b)[i];
      state(x) = kUnreached;
      set_slack(x);
    }
    root(b) = 0;
  }

  // A tight edge from an outer root. To a root that is not reached (it has a partner, else it would be outer): the tree
  // grows by it and its partner. To an outer root of another tree: the matching grows. To one of the same tree: a
  // blossom. Whether the matching grew.
  bool found(const Edge& e) {
    const int u = root(e.u), v = root(e.v);
    if (state(v) == kUnreached) {
      parent(v) = e.u;
      state(v) = kInner;
      const int next = root(match(v));
      slack(v) = slack(next) = 0;
      state(next) = kOuter;
      push(next);
    } else if (state(v) == kOuter) {
      const int ancestor = common_ancestor(u, v);
      if (ancestor == 0) {
        augment(u, v);
        augment(v, u);
        return true;
      }
      add_blossom(u, ancestor, v);
    }
    return false;
  }

  // One more pair; false if none makes the matching heavier. O(n^2): at most n blossoms are made and n opened, the
  // labels change at most O(n) times, each in O(n), and every vertex is looked at once as outer.
  bool grow() {
    std::fill(state_.begin(), state_.end(), kUnreached);
    std::fill(slack_.begin(), slack_.end(), 0);
    queue_.clear();
    for (int x = 1; x <= last_; ++x) {
      if (root(x) != x || match(x) != 0) continue;
      parent(x) = 0;
      state(x) = kOuter;
      push(x);
    }
    if (queue_.empty()) return false;
    while (true) {
      while (!queue_.empty()) {
        const int u = queue_.front();
        queue_.pop_front();
        if (state(root(u)) == kInner) continue;
        for (int v = 1; v <= n_; ++v) {
          if (edge(u, v).weight == 0 || root(u) == root(v)) continue;
          if (distance(edge(u, v)) != 0) {
            update_slack(u, root(v));
          } else if (found(edge(u, v))) {
            return true;
          }
        }
      }
      if (!relax()) return false;
      for (int x = 1; x <= last_; ++x) {
        const bool tight = root(x) == x && slack(x) != 0 && root(slack(x)) != x && distance(edge(slack(x), x)) == 0;
        if (tight && found(edge(slack(x), x))) return true;
      }
      for (int b = n_ + 1; b <= last_; ++b) {
        if (root(b) == b && state(b) == kInner && label(b) == 0) expand_blossom(b);
      }
    }
  }

  // Lowers the labels of outer vertices and raises those of inner ones by the same step, which keeps tight every edge
  // inside a tree; blossoms change by twice as much the other way. The step is the largest that keeps all conditions:
  // until an edge to an unreached root becomes tight, one between two outer roots (both ends move, hence half), or an
  // inner blossom's label reaches 0. It is whole: labels of outer vertices all have the parity of the free ones' label,
  // so distances between them are even. False if the free vertices' label would reach 0 first: the matching is the
  // heaviest.
  bool relax() {
    std::int64_t step = std::numeric_limits<std::int64_t>::max();
    for (int b = n_ + 1; b <= last_; ++b) {
      if (root(b) == b && state(b) == kInner) step = std::min(step, label(b) / 2);
    }
    for (int x = 1; x <= last_; ++x) {
      if (root(x) != x || slack(x) == 0) continue;
      if (state(x) == kUnreached) step = std::min(step, distance(edge(slack(x), x)));
      if (state(x) == kOuter) step = std::min(step, distance(edge(slack(x), x)) / 2);
    }
    for (int u = 1; u <= n_; ++u) {
      if (state(root(u)) == kOuter && label(u) <= step) return false;
    }
    for (int u = 1; u <= n_; ++u) {
      if (state(root(u)) == kOuter) label(u) -= step;
      if (state(root(u)) == kInner) label(u) += step;
    }
    for (int b = n_ + 1; b <= last_; ++b) {
      if (root(b) != b) continue;
      if (state(b) == kOuter) label(b) += 2 * step;
      if (state(b) == kInner) label(b) -= 2 * step;
    }
    return true;
  }

  int n_, size_, last_ = 0, time_ = 0;
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::int64_t> label_;
  std::vector<int> match_, slack_, root_, parent_, state_, seen_;
  std::vector<std::vector<int>> inside_;  // parts of a blossom, in a ring
  std::vector<std::vector<int>> owner_;   // by blossom and vertex: the part that holds it
  std::deque<int> queue_;
};

}  // namespace

Matching best_matching(const std::vector<std::vector<std::int64_t>>& weights) {
  if (weights.empty()) return {};
  return Blossoms(weights).solve();
}

Matching greedy_matching(const std::vector<std::vector<std::int64_t>>& weights) {
  std::vector<std::tuple<std::int64_t, std::size_t, std::size_t>> edges;
  for (std::size_t a = 0; a < weights.size(); ++a) {
    for (std::size_t b = a + 1; b < weights.size(); ++b) {
      if (weights[a][b] > 0) edges.emplace_back(-weights[a][b], a, b);
    }
  }
  std::sort(edges.begin(), edges.end());
  Matching result;
  result.partner.assign(weights.size(), -1);
  for (const auto& [negative, a, b] : edges) {
    if (result.partner[a] >= 0 || result.partner[b] >= 0) continue;
    result.partner[a] = static_cast<int>(b);
    result.partner[b] = static_cast<int>(a);
    result.weight -= negative;
  }
  return result;
}

Matching pair_in_order(const std::vector<std::vector<std::int64_t>>& weights, const std::vector<int>& order) {
  Matching result;
  result.partner.assign(weights.size(), -1);
  for (const int next : order) {
    const auto a = static_cast<std::size_t>(next);
    if (result.partner[a] >= 0) continue;
    std::size_t best = a;
    for (std::size_t b = 0; b < weights.size(); ++b) {
      if (b == a || result.partner[b] >= 0 || weights[a][b] == 0) continue;
      if (best == a || weights[a][b] > weights[a][best]) best = b;
    }
    if (best == a) continue;
    result.partner[a] = static_cast<int>(best);
    result.partner[best] = next;
    result.weight += weights[a][best];
  }
  return result;
}

}  // namespace orrery::schedule
