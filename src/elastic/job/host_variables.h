#pragma once
// What a program needs to know about the host it is started on, besides its place in the job (enlist.h).

#include <map>
#include <string>

#include "env/env.h"

namespace orrery::elastic {

// Adds, unless they are set already, here or in `variables`:
//   ORRERY_LIBRARY    the library for C and Python that belongs to this program, if it is beside it
//   OMP_NUM_THREADS   1 if several processes of the job share the host (LOCAL_WORLD_SIZE), as torchrun does: each would
//                     take all cores otherwise
void add_host_variables(env::Env env, std::map<std::string, std::string>& variables);

}  // namespace orrery::elastic
