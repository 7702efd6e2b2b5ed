#include "env/entropy.h"

#include <sys/random.h>

#include "base/check.h"

namespace orrery::env {

std::string RealEntropy::bytes(std::size_t count) {
  ORRERY_CHECK(count <= 256);  // so many arrive whole
  std::string made(count, '\0');
  ORRERY_CHECK(::getrandom(made.data(), made.size(), 0) == static_cast<ssize_t>(made.size()));
  return made;
}

std::string SimEntropy::bytes(std::size_t count) {
  std::string made;
  while (made.size() < count) made.push_back(static_cast<char>(random_.next() & 0xff));
  return made;
}

}  // namespace orrery::env
