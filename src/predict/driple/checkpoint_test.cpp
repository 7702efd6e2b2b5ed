#include "predict/driple/checkpoint.h"

#include <cstring>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <zlib.h>

#include "predict/driple/pickle.h"
#include "predict/driple/zip_archive.h"

namespace orrery::predict {
namespace {

void append(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

// What a local header and an entry of the directory share.
std::string common_header(const std::string& name, const std::string& content) {
  std::string out;
  append(out, 10, 2);  // version
  append(out, 0, 8);   // flags, method, time, date
  append(out, crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())), 4);
  append(out, content.size(), 4);
  append(out, content.size(), 4);
  append(out, name.size(), 2);
  append(out, 0, 2);
  return out;
}

std::string make_zip(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string out, directory;
  for (const auto& [name, content] : files) {
    const std::string header = common_header(name, content);
    directory += "PK\x01\x02" + header.substr(0, 2) + header;
    append(directory, 0, 10);
    append(directory, out.size(), 4);
    directory += name;
    out += "PK\x03\x04" + header + name + content;
  }
  const std::size_t begin = out.size();
  out += directory + "PK\x05\x06";
  append(out, 0, 4);
  append(out, files.size(), 2);
  append(out, files.size(), 2);
  append(out, directory.size(), 4);
  append(out, begin, 4);
  append(out, 0, 2);
  return out;
}

std::string text(const std::string& value) {
  std::string out = "X";
  append(out, value.size(), 4);
  return out + value;
}

std::string byte(int value) {
  return {'K', static_cast<char>(value)};
}

// _rebuild_tensor_v2(('storage', type, key, 'cpu', 6), offset, (rows, columns), (stride, 1), False, …) as PyTorch
// writes it.
std::string tensor_pickle(const std::string& type, const std::string& key, int offset, int rows, int columns,
                          int stride) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + type + "\n" + text(key) +
         text("cpu") + byte(6) + "tQ" + byte(offset) + byte(rows) + byte(columns) + "\x86" + byte(stride) + byte(1) +
         "\x86\x89tR";
}

std::string dictionary(const std::string& entries) {
  return "\x80\x02"
         "ccollections\nOrderedDict\n)Rq\x01(" +
         entries + "u.";
}

std::string floats(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string archive(const std::string& pickle) {
  return make_zip(
      {{"archive/data.pkl", pickle}, {"archive/data/7", floats({0, 1, 2, 3, 4, 5})}, {"archive/version", "3\n"}});
}

std::string sound() {
  return archive(dictionary(text("w") + tensor_pickle("FloatStorage", "7", 0, 2, 3, 3) + text("b") +
                            tensor_pickle("FloatStorage", "7", 4, 1, 2, 2)));
}

TEST(Checkpoint, ReadsTensorsThatShareAStorage) {
  const auto checkpoint = parse_checkpoint(sound());
  ASSERT_TRUE(checkpoint) << checkpoint.error().to_string();
  ASSERT_EQ(checkpoint->size(), 2U);
  EXPECT_EQ(checkpoint->at("w").shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(checkpoint->at("w").values, (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(checkpoint->at("b").values, (std::vector<float>{4, 5}));
}

TEST(Checkpoint, RefusesWhatIsNotThereOrLiesOtherwise) {
  const auto message = [](const std::string& entries) {
    return parse_checkpoint(archive(dictionary(entries))).error().to_string();
  };
  EXPECT_EQ(message(text("w") + tensor_pickle("FloatStorage", "8", 0, 2, 3, 3)),
            "\"w\": its numbers are missing in the file");
  EXPECT_EQ(message(text("w") + tensor_pickle("FloatStorage", "7", 1, 2, 3, 3)),
            "\"w\": it reaches beyond its numbers");
  EXPECT_EQ(message(text("w") + tensor_pickle("FloatStorage", "7", 0, 2, 2, 3)), "\"w\": it does not lie row by row");
  EXPECT_EQ(message(text("w") + tensor_pickle("HalfStorage", "7", 0, 2, 3, 3)),
            "\"w\": its numbers are of type \"torch HalfStorage\", not float32");
  EXPECT_EQ(message(text("w") + byte(3)), "\"w\": not a tensor");
  EXPECT_EQ(parse_checkpoint(make_zip({{"a", "b"}})).error().message(), "no data.pkl inside: not a file of PyTorch's");
  EXPECT_EQ(parse_checkpoint(archive(byte(3) + ".")).error().message(),
            "the file does not hold a dictionary of tensors");
}

TEST(Checkpoint, NeverRunsWhatAPickleAsksFor) {
  const std::string attack =
      "\x80\x02"
      "cposix\nsystem\n(" +
      text("true") + "tR.";
  const Pickle pickle = parse_pickle(attack).value();
  EXPECT_EQ(pickle.nodes[pickle.root].kind, PickleKind::kCall);
  EXPECT_FALSE(parse_checkpoint(archive(attack)).has_value());
}

TEST(Checkpoint, PickleMistakesNameTheByte) {
  const auto message = [](std::string_view bytes) { return parse_pickle(bytes).error().message(); };
  EXPECT_EQ(message(""), "byte 0 of the pickle: it is cut");
  EXPECT_EQ(message("K\x01R."), "byte 2 of the pickle: it takes more values than there are");
  EXPECT_EQ(message("h\x05."), "byte 0 of the pickle: it recalls what it never kept");
  EXPECT_EQ(message("i."), "byte 0 of the pickle: instruction 0x69 is not one that weights are written with");
  EXPECT_EQ(message("(K\x01s."), "byte 3 of the pickle: it takes more values than there are");
}

TEST(Checkpoint, ReadsSignedIntegersAndNumbers) {
  const Pickle pickle = parse_pickle(std::string_view("(J\xfe\xff\xff\xff\x8a\x01\xff"
                                                      "G\x3f\xf8\0\0\0\0\0\0t.",
                                                      20))
                            .value();
  const auto& items = pickle.nodes[pickle.root].items;
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(pickle.nodes[items[0]].integer, -2);
  EXPECT_EQ(pickle.nodes[items[1]].integer, -1);
  EXPECT_EQ(pickle.nodes[items[2]].number, 1.5);
}

TEST(Checkpoint, ArchivesAreCheckedByTheirSums) {
  const std::string zip = make_zip({{"a", "some bytes"}});
  EXPECT_EQ(parse_zip(zip)->at("a"), "some bytes");
  std::string damaged = zip;
  damaged[zip.find("some")] = 'S';
  EXPECT_EQ(parse_zip(damaged).error().message(), "\"a\" is damaged: its checksum differs");
  EXPECT_EQ(parse_zip(zip.substr(0, zip.size() - 5)).error().message(), "not a ZIP archive, or cut short");
  std::string packed = zip;
  packed[zip.find("PK\x01\x02") + 10] = 8;
  EXPECT_EQ(parse_zip(packed).error().message(), "\"a\" is packed or encrypted");
  EXPECT_FALSE(parse_zip(make_zip({{"a", "b"}, {"a", "c"}})).has_value());
}

TEST(Checkpoint, AnyDamageGivesAnAnswerOrAnError) {
  const std::string whole = sound(), pickle = dictionary(text("w") + tensor_pickle("FloatStorage", "7", 0, 2, 3, 3));
  EXPECT_TRUE(rc::check("bytes changed, cut or put in", [&] {
    const auto change = [](std::string bytes) {
      for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
        const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
        bytes[at] = *rc::gen::arbitrary<char>();
        if (*rc::gen::inRange(0, 8) == 0) bytes.resize(at + 1);
      }
      return bytes;
    };
    (void)parse_checkpoint(change(whole));
    (void)parse_checkpoint(archive(change(pickle)));
  }));
}

}  // namespace
}  // namespace orrery::predict
