#pragma once

namespace orrery::cli {

// Runs one command line and returns the exit code: 0 done, 1 failed, 2 bad input.
int run_main(int argc, char** argv);

}  // namespace orrery::cli
