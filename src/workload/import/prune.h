#pragma once
#include <vector>

#include "workload/operator.h"

namespace orrery::workload::import {

// Takes out views and copies nobody uses, what patterns left behind, and renumbers the others.
void drop_unused_views(std::vector<Operator>& operators);

}  // namespace orrery::workload::import
