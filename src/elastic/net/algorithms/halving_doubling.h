#pragma once
// Halving and doubling (Rabenseifner): ranks that differ in one bit swap halves of what they still combine, then
// quarters and so on, until each has one slice; then the results take the same path back.
//
// All-reduce of S bytes among n = 2^k ranks: 2·k steps, 2·(n−1)/n·S sent and received per rank. For other n the first
// 2·(n − 2^k) ranks act in pairs: the odd one gives everything to the even one first and gets the result last; 2 more
// steps, and S more bytes at either end. A fold is of two tensors, the lower rank first, with a rounding each.

#include "elastic/net/schedule.h"

namespace orrery::elastic::net {

// All-reduce only.
void halving_doubling(const Plan& plan, Schedule& schedule);

}  // namespace orrery::elastic::net
