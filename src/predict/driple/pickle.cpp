#include "predict/driple/pickle.h"

#include <bit>
#include <fmt/format.h>
#include <unordered_map>

namespace orrery::predict {

namespace {

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}

  Result<Pickle> run() {
    while (!stopped_) {
      const std::size_t begin = at_;
      const Status step = execute();
      if (!step) {
        return Error(step.error().code(), fmt::format("byte {} of the pickle: {}", begin, step.error().message()));
      }
    }
    return std::move(pickle_);
  }

 private:
  static Error wrong(std::string_view what) { return Error::invalid(std::string(what)); }

  Result<std::uint64_t> number(std::size_t size) {
    if (bytes_.size() - at_ < size) return wrong("it is cut");
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes_[at_ + i]);
    at_ += size;
    return value;
  }

  Result<std::string> line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos || end - at_ > kPickleTextMax) return wrong("a name without an end");
    std::string text(bytes_.substr(at_, end - at_));
    at_ = end + 1;
    return text;
  }

  Status push(PickleNode node) {
    if (pickle_.nodes.size() >= kPickleNodesMax) return wrong("too many values");
    pickle_.nodes.push_back(std::move(node));
    stack_.push_back(static_cast<std::uint32_t>(pickle_.nodes.size() - 1));
    return {};
  }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  // The topmost values, at most down to the last mark.
  Result<std::vector<std::uint32_t>> pop(std::size_t count) {
    if (stack_.size() - floor() < count) return wrong("it takes more values than there are");
    std::vector<std::uint32_t> values(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return values;
  }
  Result<std::vector<std::uint32_t>> pop_to_mark() {
    if (marks_.empty()) return wrong("there is no mark");
    ORRERY_TRY(std::vector<std::uint32_t> values, pop(stack_.size() - marks_.back()));
    marks_.pop_back();
    return values;
  }

  Result<PickleNode*> top() {
    if (stack_.size() <= floor()) return wrong("there is no value");
    return &pickle_.nodes[stack_.back()];
  }

  Status tuple(Result<std::vector<std::uint32_t>> items) {
    if (!items) return std::move(items).error();
    return push({.kind = PickleKind::kTuple, .items = std::move(*items)});
  }

  Status set_items(Result<std::vector<std::uint32_t>> items) {
    if (!items) return std::move(items).error();
    ORRERY_TRY(PickleNode * target, top());
    if (items->size() % 2 != 0 || (target->kind != PickleKind::kDict && target->kind != PickleKind::kCall)) {
      return wrong("entries for something that is no dictionary");
    }
    for (std::size_t i = 0; i < items->size(); i += 2) target->entries.emplace_back((*items)[i], (*items)[i + 1]);
    return {};
  }

  Status append(Result<std::vector<std::uint32_t>> items) {
    if (!items) return std::move(items).error();
    ORRERY_TRY(PickleNode * target, top());
    if (target->kind != PickleKind::kList) return wrong("an element for something that is no list");
    target->items.insert(target->items.end(), items->begin(), items->end());
    return {};
  }

  Status remember(std::size_t size) {
    ORRERY_TRY(const std::uint64_t key, number(size));
    ORRERY_TRY_VOID(top());
    memo_[key] = stack_.back();
    return {};
  }
  Status recall(std::size_t size) {
    ORRERY_TRY(const std::uint64_t key, number(size));
    const auto found = memo_.find(key);
    if (found == memo_.end()) return wrong("it recalls what it never kept");
    stack_.push_back(found->second);
    return {};
  }

  Status text() {
    ORRERY_TRY(const std::uint64_t size, number(4));
    if (size > kPickleTextMax || size > bytes_.size() - at_) return wrong("a text that is cut or too long");
    PickleNode node{.kind = PickleKind::kText, .text = std::string(bytes_.substr(at_, size))};
    at_ += size;
    return push(std::move(node));
  }

  Status integer(std::size_t size, bool is_signed) {
    ORRERY_TRY(const std::uint64_t value, number(size));
    const std::size_t unused = 64 - 8 * size;
    const auto number_of = is_signed && size > 0 && size < 8
                               ? static_cast<std::int64_t>(value << unused) >> static_cast<int>(unused)
                               : static_cast<std::int64_t>(value);
    return push({.kind = PickleKind::kInteger, .integer = number_of});
  }

  Status long_integer() {
    ORRERY_TRY(const std::uint64_t size, number(1));
    if (size > 8) return wrong("an integer of more than 64 bits");
    return integer(size, true);
  }

  Status floating() {
    ORRERY_TRY(const std::uint64_t value, number(8));
    std::uint64_t turned = 0;  // the only number with its first byte first
    for (int i = 0; i < 8; ++i) turned = turned << 8 | (value >> (8 * i) & 0xff);
    return push({.kind = PickleKind::kNumber, .number = std::bit_cast<double>(turned)});
  }

  Status global() {
    ORRERY_TRY(const std::string module, line());
    ORRERY_TRY(const std::string name, line());
    return push({.kind = PickleKind::kGlobal, .text = module + " " + name});
  }

  Status execute() {
    ORRERY_TRY(const std::uint64_t code, number(1));
    switch (code) {
      case 0x80:  // PROTO
        return number(1) ? Status() : wrong("it is cut");
      case '.': {  // STOP
        ORRERY_TRY(const auto values, pop(1));
        pickle_.root = values[0];
        stopped_ = true;
        return {};
      }
      case '(':  // MARK
        marks_.push_back(stack_.size());
        return {};
      case 'N':
        return push({});
      case 0x88:
      case 0x89:
        return push({.kind = PickleKind::kBool, .integer = code == 0x88 ? 1 : 0});
      case 'K':
        return integer(1, false);
      case 'M':
        return integer(2, false);
      case 'J':
        return integer(4, true);
      case 0x8a:
        return long_integer();
      case 'G':
        return floating();
      case 'X':
        return text();
      case 'c':
        return global();
      case ')':
        return push({.kind = PickleKind::kTuple});
      case 't':
        return tuple(pop_to_mark());
      case 0x85:
      case 0x86:
      case 0x87:
        return tuple(pop(code - 0x84));
      case ']':
        return push({.kind = PickleKind::kList});
      case 'a':
        return append(pop(1));
      case 'e':
        return append(pop_to_mark());
      case '}':
        return push({.kind = PickleKind::kDict});
      case 's':
        return set_items(pop(2));
      case 'u':
        return set_items(pop_to_mark());
      case 'R': {  // REDUCE
        ORRERY_TRY(std::vector<std::uint32_t> items, pop(2));
        return push({.kind = PickleKind::kCall, .items = std::move(items)});
      }
      case 'Q': {  // BINPERSID
        ORRERY_TRY(std::vector<std::uint32_t> items, pop(1));
        return push({.kind = PickleKind::kPersistent, .items = std::move(items)});
      }
      case 'b':  // BUILD: attributes of an object, which no data is in
        return pop(1) ? Status() : wrong("it takes more values than there are");
      case 'q':
        return remember(1);
      case 'r':
        return remember(4);
      case 'h':
        return recall(1);
      case 'j':
        return recall(4);
      default:
        return Error::unsupported(fmt::format("instruction {:#x} is not one that weights are written with", code));
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool stopped_ = false;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::unordered_map<std::uint64_t, std::uint32_t> memo_;
  Pickle pickle_;
};

}  // namespace

Result<Pickle> parse_pickle(std::string_view bytes) {
  return Machine(bytes).run();
}

}  // namespace orrery::predict
