// Command lines read against option records.

#include <fmt/format.h>

#include "base/options.h"
#include "base/text.h"

namespace orrery {

namespace {

using Records = std::span<const OptionRecord>;

// By "--name" or "-n".
const OptionRecord* find_record(Records records, std::string_view word) {
  for (const OptionRecord& record : records) {
    if (record.is_word) continue;
    if (word.starts_with("--") && word.substr(2) == record.name) return &record;
    if (word.size() == 2 && record.letter != 0 && word[1] == record.letter) return &record;
  }
  return nullptr;
}

Error unknown_option(Records records, std::string_view name) {
  std::vector<std::string> names;
  for (const OptionRecord& record : records) {
    if (!record.is_word) names.push_back("--" + record.name);
  }
  return Error::invalid(fmt::format("unknown option \"{}\"{}", name, did_you_mean(name, names)));
}

// How a word is called in usage lines: "MODEL".
std::string word_name(const OptionRecord& record) {
  return record.unit.empty() ? to_upper(record.name) : record.unit;
}

// The words without a dash, in the order of the records that are words; a list takes as many as it may.
Status place_words(Records records, const std::vector<std::string>& words, OptionValues& values) {
  std::size_t next = 0;
  for (const OptionRecord& record : records) {
    if (!record.is_word) continue;
    const std::size_t most = !record.is_list ? 1 : record.items_max == 0 ? words.size() : record.items_max;
    const std::size_t end = std::min(words.size(), next + most);
    if (next == end) {
      if (record.is_required) return Error::invalid(fmt::format("expected {}", words_text(records)));
      continue;
    }
    for (std::size_t i = next; i < end; ++i) {
      const Status status = check_option(record, words[i]);
      if (!status) return Error::invalid(fmt::format("{}: {}", word_name(record), status.error().message()));
    }
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(next);
    const auto last = words.begin() + static_cast<std::ptrdiff_t>(end);
    ORRERY_TRY_VOID(values.set_values(record.name, std::vector<std::string>(first, last)));
    next = end;
  }
  if (next < words.size()) return Error::invalid(fmt::format("unexpected \"{}\"", words[next]));
  return {};
}

}  // namespace

std::string words_text(Records records) {
  std::string text;
  for (const OptionRecord& record : records) {
    if (!record.is_word) continue;
    const std::string name = word_name(record) + (record.is_list ? "…" : "");
    text += fmt::format(fmt::runtime(record.is_required ? "{}{}" : "{}[{}]"), text.empty() ? "" : " ", name);
  }
  return text;
}

Result<OptionValues> read_words(Records records, std::span<const std::string> words) {
  OptionValues values(records, FieldNames::of_words());
  std::vector<std::string> plain;
  bool only_words = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (only_words || word.size() < 2 || word[0] != '-') {
      plain.push_back(word);
      continue;
    }
    if (word == "--") {
      only_words = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string head = word.substr(0, equals);
    const OptionRecord* record = find_record(records, head);
    if (record == nullptr) return unknown_option(records, head);
    std::string value = "true";
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (record->type != OptionType::kFlag) {
      if (i + 1 == words.size()) return Error::invalid(fmt::format("{} needs a value", head));
      value = words[++i];
    }
    ORRERY_TRY_VOID(values.set(record->name, value));
  }
  ORRERY_TRY_VOID(place_words(records, plain, values));
  ORRERY_TRY_VOID(values.check_required());
  return values;
}

}  // namespace orrery
