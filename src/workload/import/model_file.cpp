#include "workload/import/model_file.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "workload/import/onnx.h"

namespace orrery::workload {

std::string_view to_string(ModelFileKind kind) {
  switch (kind) {
    case ModelFileKind::kOnnx:
      return "ONNX";
    case ModelFileKind::kGraphJson:
      return "graph JSON";
  }
  return "ONNX";
}

Result<ModelFileKind> detect_model_file(std::string_view beginning) {
  if (beginning.empty()) return Error::invalid("the file is empty");
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && beginning[first] == '{') return ModelFileKind::kGraphJson;
  // A protocol buffer: its tags and lengths are bytes that no text has.
  const bool is_binary =
      std::any_of(beginning.begin(), beginning.end(), [](char c) { return static_cast<unsigned char>(c) < '\t'; });
  if (is_binary) return ModelFileKind::kOnnx;
  return Error::invalid("it is not a model: expected an ONNX file");
}

Result<TrainingGraph> read_model_file(env::Files& files, const std::string& path) {
  ORRERY_TRY(const auto file, files.open(path));
  std::array<char, 256> beginning{};
  ORRERY_TRY(const std::size_t got, file->read_at(0, beginning));
  auto kind = detect_model_file(std::string_view(beginning.data(), got));
  if (!kind) return std::move(kind).error().with_context("reading " + path);
  switch (*kind) {
    case ModelFileKind::kOnnx:
      return read_onnx(files, path);
    case ModelFileKind::kGraphJson:
      break;
  }
  return Error::unsupported(fmt::format("reading {}: {} cannot be read yet", path, to_string(*kind)));
}

}  // namespace orrery::workload
