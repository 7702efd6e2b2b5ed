// TIMM's names of vision transformers, as parameters of our families.

#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/text.h"
#include "workload/zoo/timm.h"

namespace orrery::workload::zoo {

namespace {

struct VitSize {
  std::string_view name;
  std::int64_t hidden, layers, heads, mlp;
};

constexpr std::array kVitSizes = {
    VitSize{"tiny", 192, 12, 3, 768},      VitSize{"pwee", 256, 16, 4, 1024},
    VitSize{"little", 320, 14, 5, 1792},   VitSize{"small", 384, 12, 6, 1536},
    VitSize{"medium", 512, 12, 8, 2048},   VitSize{"mediumd", 512, 20, 8, 2048},
    VitSize{"betwixt", 640, 12, 10, 2560}, VitSize{"base", 768, 12, 12, 3072},
    VitSize{"so150m", 896, 18, 14, 2304},  VitSize{"large", 1024, 24, 16, 4096},
    VitSize{"so400m", 1152, 27, 16, 4304}, VitSize{"huge", 1280, 32, 16, 5120},
    VitSize{"giant", 1408, 40, 16, 6144},  VitSize{"gigantic", 1664, 48, 16, 8192},
};

std::optional<std::int64_t> number_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data() + prefix.size(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

const VitSize* find_size(std::string_view name) {
  for (const VitSize& size : kVitSizes) {
    if (size.name == name) return &size;
  }
  return nullptr;
}

// vit_SIZE_patchN[_clip|_xp|_gap|_regN|_dinov2|_miil]…_PIXELS, and the deit_ and deit3_ forms.
std::optional<std::string> vit(std::string_view name) {
  const auto words = split(name, '_');
  const bool deit = words[0] == "deit", deit3 = words[0] == "deit3";
  if (words.size() < 4 || (words[0] != "vit" && !deit && !deit3)) return std::nullopt;
  const VitSize* size = find_size(words[1]);
  if (size == nullptr) return std::nullopt;
  std::optional<std::int64_t> patch;
  std::int64_t pixels = 0, registers = 0;
  bool mean = false, layer_scale = deit3, pre_norm = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (const auto side = number_after(word, "patch")) {
      patch = side;
    } else if (const auto tokens = number_after(word, "reg")) {
      registers = *tokens;
    } else if (const auto size_given = number_after(word, "")) {
      pixels = *size_given;
    } else if (word == "gap") {
      mean = true;
    } else if (word == "clip") {
      pre_norm = true;
    } else if (word == "dinov2") {
      layer_scale = true;
      pixels = 518;
    } else if (word != "xp" && word != "miil") {
      return std::nullopt;
    }
  }
  if (!patch || pixels == 0) return std::nullopt;
  // The giant of DINOv2 has other sizes and a gated inner layer.
  if (size->name == "giant" && layer_scale) return std::nullopt;
  const std::string shape = fmt::format("patch={},hidden={},layers={},heads={},mlp={},input={}", *patch, size->hidden,
                                        size->layers, size->heads, size->mlp, pixels);
  return fmt::format("vit:{},attention=fused,pool={},registers={},layer_scale={},pre_norm={},positions={}", shape,
                     mean ? "mean" : "token", registers, layer_scale ? "yes" : "no", pre_norm ? "yes" : "no",
                     deit3 || registers > 0 ? "patches" : "all");
}

// swin_SIZE_patch4_windowN_PIXELS.
std::optional<std::string> swin(std::string_view name) {
  const auto words = split(name, '_');
  if (words.size() != 5 || words[0] != "swin" || words[2] != "patch4") return std::nullopt;
  const auto window = number_after(words[3], "window"), pixels = number_after(words[4], "");
  if (!window || !pixels) return std::nullopt;
  struct SwinSize {
    std::string_view name;
    int hidden, depth3, heads;
  };
  constexpr std::array kSizes = {SwinSize{"tiny", 96, 6, 3}, SwinSize{"small", 96, 18, 3}, SwinSize{"base", 128, 18, 4},
                                 SwinSize{"large", 192, 18, 6}};
  for (const SwinSize& size : kSizes) {
    if (size.name != words[1]) continue;
    return fmt::format("swin:hidden={},depth3={},heads={},window={},drop_path=0.1,attention=explicit,input={}",
                       size.hidden, size.depth3, size.heads, *window, *pixels);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> timm_transformer_model(std::string_view name) {
  if (auto found = vit(name)) return found;
  return swin(name);
}

}  // namespace orrery::workload::zoo
