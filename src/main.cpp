#include "cli/main.h"

int main(int argc, char** argv) {
  return orrery::cli::run_as_process(orrery::cli::orrery_program(), argc, argv);
}
