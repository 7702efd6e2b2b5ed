#pragma once
#include "workload/operator.h"

namespace orrery::workload::import {

// Removes views and copies that no operator uses, and what patterns left behind, and renumbers the others.
void drop_unused_views(Operators& operators);

}  // namespace orrery::workload::import
