#pragma once
// Trees: parts travel up to the root, every rank folding those of its children with its own, and results travel down
// again.
//
// S bytes, n ranks, d the depth of the tree, c the most children a rank has. All-reduce: 2·d steps; a rank receives c·S
// on the way up and S on the way down, and sends S up and c·S down. Reduce: the way up. Broadcast: the way down.
//
//   star          d = 1, c = n−1: the root does everything, in rank order with one rounding
//   binary tree   heap-shaped: d = ⌊log₂ n⌋, c = 2
//   double tree   two in-order trees for every other part, in which ranks with children in one are leaves of the other:
//                 d = ⌈log₂ n⌉, and no rank sends or receives more than some 2·S (Sanders, Speck, Träff 2009)
//   given tree    any parents that make one tree: one that a policy has measured to be good
//
// A fold is of a rank and its children, in rank order with one rounding each; the tree decides what is combined first.
// Trees of reduce and broadcast are shifted so that their root is the operation's: rank r takes the place of rank r −
// root.

#include <vector>

#include "elastic/net/schedule.h"

namespace orrery::elastic::net {

// All-reduce, reduce, broadcast.
void star(const Plan& plan, Schedule& schedule);
void binary_tree(const Plan& plan, Schedule& schedule);
void double_tree(const Plan& plan, Schedule& schedule);
// Uses plan.parents. Reduce and broadcast only for its own root.
void given_tree(const Plan& plan, Schedule& schedule);

// Parents by rank, −1 for the root.
std::vector<int> star_parents(int ranks, int root);
std::vector<int> binary_parents(int ranks, int root);
// The two trees of double_tree(), before they are shifted.
std::vector<int> in_order_parents(int ranks, bool mirrored);
// Whether these are the parents of one tree: one root, and all other ranks below it.
Status check_parents(std::span<const int> parents);

}  // namespace orrery::elastic::net
