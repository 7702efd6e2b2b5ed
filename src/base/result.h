#pragma once
// Result<T>: a value or an Error. Every expected failure is returned, never thrown.
//
//   Result<Graph> read(...);
//   ORRERY_TRY(Graph graph, read(...));      // returns the error to our caller
//   ORRERY_TRY_VOID(graph.validate());

#include <tl/expected.hpp>

#include "base/error.h"

namespace orrery {

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error) : tl::expected<T, Error>(tl::unexpected<Error>(std::move(error))) {}
};

using Status = Result<void>;

}  // namespace orrery

#define ORRERY_JOIN_INNER(a, b) a##b
#define ORRERY_JOIN(a, b) ORRERY_JOIN_INNER(a, b)

#define ORRERY_TRY(declaration, expression)                                                                    \
  auto ORRERY_JOIN(orrery_result_, __LINE__) = (expression);                                                   \
  if (!ORRERY_JOIN(orrery_result_, __LINE__)) return std::move(ORRERY_JOIN(orrery_result_, __LINE__)).error(); \
  declaration = std::move(*ORRERY_JOIN(orrery_result_, __LINE__))

#define ORRERY_TRY_VOID(expression)                                                                 \
  do {                                                                                              \
    if (auto orrery_status = (expression); !orrery_status) return std::move(orrery_status).error(); \
  } while (false)
