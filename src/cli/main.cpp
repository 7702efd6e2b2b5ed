#include "cli/main.h"

namespace orrery::cli {

int run_main(int, char**) {
  return 0;
}

}  // namespace orrery::cli
