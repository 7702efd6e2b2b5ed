#include "cli/main.h"

int main(int argc, char** argv) {
  return orrery::cli::run_main(argc, argv);
}
