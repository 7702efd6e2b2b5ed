#include "cli/main.h"

#include "lab/commands/commands.h"

int main(int argc, char** argv) {
  const orrery::cli::Program lab{"orrery-lab",
                                 "scores Orrery against measurements, published simulators and published results",
                                 orrery::lab::lab_commands(),
                                 {"orrery-lab evaluate operators", "orrery-lab experiment optimus"}};
  return orrery::cli::run_as_process(lab, argc, argv);
}
