#pragma once
// What a list holds, such that it can be read into: the pairs of a map have a key that can be changed.

#include <map>
#include <utility>

namespace orrery {

template <class List>
struct ListItemOf {
  using Type = typename List::value_type;
};
template <class Key, class Value>
struct ListItemOf<std::map<Key, Value>> {
  using Type = std::pair<Key, Value>;
};
template <class List>
using ListItem = typename ListItemOf<List>::Type;

}  // namespace orrery
