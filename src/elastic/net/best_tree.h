#pragma once
// A tree for all-reduces that avoids slow links.
//
// `seconds`: the time of a message over every link, [to · ranks + from]. A rank's work in a tree is what it sends, up
// to its parent and down to its children, one after the other; the tree takes as long as its busiest rank, plus a
// step's latency per level. Candidates are the star around every rank, and heap-shaped trees of two children per rank
// with every root and then the ranks with the best links first. The fastest is taken; ties go to the one that comes
// first.

#include <span>
#include <vector>

namespace orrery::elastic::net {

// Parents by rank, −1 for the root.
std::vector<int> best_tree(std::span<const double> seconds, int ranks);
double seconds_of_tree(std::span<const int> parents, std::span<const double> seconds);
// Whether some links are much slower than most: then a tree around them gains most.
bool has_slow_links(std::span<const double> seconds, int ranks);

}  // namespace orrery::elastic::net
