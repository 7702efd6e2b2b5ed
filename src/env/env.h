#pragma once
// Everything outside the program, in one argument. The parts are borrowed: the code that makes an Env keeps them alive.
//
// Including this header costs forward declarations only; include env/files.h and so on where the parts are used.

namespace orrery::env {

class Clock;
class Entropy;
class Files;
class Pollers;
class Processes;
class Sockets;
class Terminal;
class Variables;

struct Env {
  Clock& clock;
  Files& files;
  Processes& processes;
  Sockets& sockets;
  Terminal& terminal;
  Variables& variables;
  Pollers& pollers;
  Entropy& entropy;
};

// The machine itself. Its parts are stateless, thread-safe and exist as long as the program.
Env make_real_env();

}  // namespace orrery::env
