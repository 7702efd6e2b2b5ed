#include <algorithm>
#include <iterator>
#include <regex>
#include <vector>

#include "workload/zoo/timm.h"

namespace orrery::workload::zoo {

namespace {

struct Rule {
  const char* pattern;  // of a whole name
  const char* model;    // $1 … are the pattern's groups
};

// The first rule that matches holds.
constexpr Rule kRules[] = {
    {"resnet(18|34|50|101|152|200)", "resnet:depth=$1"},
    {"wide_resnet(50|101)_2", "resnet:depth=$1,width=128"},
    {"resnext(50|101)_(\\d+)x(\\d+)d", "resnet:depth=$1,groups=$2,width=$3"},
    {"vgg(11|13|16|19)", "vgg:depth=$1,dropout=0"},
    {"vgg(11|13|16|19)_bn", "vgg:depth=$1,norm=batch,dropout=0"},
    {"densenet(121|161|169|201)", "densenet$1"},
    {"inception_v3", "inception_v3:aux=false,dropout=0"},

    {"mobilenetv2_(\\d)(\\d\\d)", "mobilenet_v2:width=$1.$2,dropout=0"},
    {"mobilenetv3_(small|large)_(\\d)(\\d\\d)", "mobilenet_v3:size=$1,width=$2.$3,rounding=timm,dropout=0"},
    {"tf_mobilenetv3_(small|large)_(\\d)(\\d\\d)",
     "mobilenet_v3:size=$1,width=$2.$3,rounding=timm,padding=same,dropout=0"},
    {"mnasnet_(\\d)(\\d\\d)", "mnasnet:width=$1.$2,dropout=0"},

    {"efficientnet_b2", "efficientnet_b2:input=256,dropout=0,stochastic_depth=0"},
    {"efficientnet_b3", "efficientnet_b3:input=288,dropout=0,stochastic_depth=0"},
    {"efficientnet_b4", "efficientnet_b4:input=320,dropout=0,stochastic_depth=0"},
    {"efficientnet_b5", "efficientnet_b5:input=448,dropout=0,stochastic_depth=0"},
    {"efficientnet_(b[0-8]|lite[0-4])", "efficientnet_$1:dropout=0,stochastic_depth=0"},
    {"tf_efficientnet_(b[0-8]|lite[0-4])", "efficientnet_$1:padding=same,dropout=0,stochastic_depth=0"},
    {"efficientnetv2_s", "efficientnet_v2:size=s,input=288,dropout=0,stochastic_depth=0"},
    {"efficientnetv2_m", "efficientnet_v2:size=m,input=320,dropout=0,stochastic_depth=0"},
    {"efficientnetv2_(l|xl)", "efficientnet_v2:size=$1,input=384,dropout=0,stochastic_depth=0"},
    {"tf_efficientnetv2_s", "efficientnet_v2:size=s,input=300,padding=same,dropout=0,stochastic_depth=0"},
    {"tf_efficientnetv2_(m|l|xl)", "efficientnet_v2:size=$1,input=384,padding=same,dropout=0,stochastic_depth=0"},
    {"tf_efficientnetv2_b0", "efficientnet_v2:size=base,input=192,padding=same,dropout=0,stochastic_depth=0"},
    {"tf_efficientnetv2_b1", "efficientnet_v2:size=base,depth=1.1,input=192,padding=same,dropout=0,stochastic_depth=0"},
    {"tf_efficientnetv2_b2",
     "efficientnet_v2:size=base,width=1.1,depth=1.2,input=208,padding=same,dropout=0,stochastic_depth=0"},
    {"tf_efficientnetv2_b3",
     "efficientnet_v2:size=base,width=1.2,depth=1.4,input=240,padding=same,dropout=0,stochastic_depth=0"},

    // RegNet: TIMM names them by 10^8 multiply-accumulates; _tv are torchvision's.
    {"regnetx_002", "regnet:depth=13,w0=24,wa=36.44,wm=2.49,group=8,gate=0,rounding=timm"},
    {"regnetx_004", "regnet_x_400mf:rounding=timm"},
    {"regnetx_004_tv", "regnet_x_400mf"},
    {"regnetx_006", "regnet:depth=16,w0=48,wa=36.97,wm=2.24,group=24,gate=0,rounding=timm"},
    {"regnetx_008", "regnet_x_800mf:rounding=timm"},
    {"regnetx_016", "regnet_x_1_6gf:rounding=timm"},
    {"regnetx_032", "regnet_x_3_2gf:rounding=timm"},
    {"regnetx_040", "regnet:depth=23,w0=96,wa=38.65,wm=2.43,group=40,gate=0,rounding=timm"},
    {"regnetx_064", "regnet:depth=17,w0=184,wa=60.83,wm=2.07,group=56,gate=0,rounding=timm"},
    {"regnetx_080", "regnet_x_8gf:rounding=timm"},
    {"regnetx_120", "regnet:depth=19,w0=168,wa=73.36,wm=2.37,group=112,gate=0,rounding=timm"},
    {"regnetx_160", "regnet_x_16gf:rounding=timm"},
    {"regnetx_320", "regnet_x_32gf:rounding=timm"},
    {"regnety_002", "regnet:depth=13,w0=24,wa=36.44,wm=2.49,group=8,rounding=timm"},
    {"regnety_004", "regnet_y_400mf:rounding=timm"},
    {"regnety_006", "regnet:depth=15,w0=48,wa=32.54,wm=2.32,group=16,rounding=timm"},
    {"regnety_008", "regnet_y_800mf:rounding=timm"},
    {"regnety_008_tv", "regnet_y_800mf"},
    {"regnety_016", "regnet_y_1_6gf:rounding=timm"},
    {"regnety_032", "regnet_y_3_2gf:rounding=timm"},
    {"regnety_040", "regnet:depth=22,w0=96,wa=31.41,wm=2.24,group=64,rounding=timm"},
    {"regnety_064", "regnet:depth=25,w0=112,wa=33.22,wm=2.27,group=72,rounding=timm"},
    {"regnety_080", "regnet_y_8gf:rounding=timm"},
    {"regnety_080_tv", "regnet_y_8gf"},
    {"regnety_120", "regnet:depth=19,w0=168,wa=73.36,wm=2.37,group=112,rounding=timm"},
    {"regnety_160", "regnet_y_16gf:rounding=timm"},
    {"regnety_320", "regnet_y_32gf:rounding=timm"},
    {"regnety_640", "regnet:depth=20,w0=352,wa=147.48,wm=2.4,group=328,rounding=timm,input=384"},
    {"regnety_1280", "regnet_y_128gf:rounding=timm,input=384"},
    {"regnety_2560", "regnet:depth=27,w0=640,wa=230.83,wm=2.53,group=373,rounding=timm,input=384"},

    {"convnext_atto", "convnext:depths=2-2-6-2,width=40,mlp=conv,stochastic_depth=0"},
    {"convnext_atto_ols", "convnext:depths=2-2-6-2,width=40,mlp=conv,stem=tiered,stochastic_depth=0"},
    {"convnext_femto", "convnext:depths=2-2-6-2,width=48,mlp=conv,stochastic_depth=0"},
    {"convnext_femto_ols", "convnext:depths=2-2-6-2,width=48,mlp=conv,stem=tiered,stochastic_depth=0"},
    {"convnext_pico", "convnext:depths=2-2-6-2,width=64,mlp=conv,stochastic_depth=0"},
    {"convnext_pico_ols", "convnext:depths=2-2-6-2,width=64,mlp=conv,stem=tiered,stochastic_depth=0"},
    {"convnext_nano", "convnext:depths=2-2-8-2,width=80,mlp=conv,stochastic_depth=0"},
    {"convnext_nano_ols", "convnext:depths=2-2-8-2,width=80,mlp=conv,stem=overlap,stochastic_depth=0"},
    {"convnext_tiny_hnf", "convnext_tiny:mlp=conv,head=norm,stochastic_depth=0"},
    {"convnext_(tiny|small|base|large)", "convnext_$1:stochastic_depth=0"},
    {"convnext_large_mlp", "convnext_large:hidden=1536,input=320,stochastic_depth=0"},
    {"convnext_xlarge", "convnext:depths=3-3-27-3,width=256,stochastic_depth=0"},
    {"convnext_xxlarge", "convnext:depths=3-4-30-3,width=384,input=256,stochastic_depth=0"},
};

// Backtracking takes stack in proportion to the name; no TIMM name is longer.
constexpr std::size_t kLongestName = 64;

struct CompiledRule {
  std::regex pattern;
  const char* model;
};

const std::vector<CompiledRule>& compiled_rules() {
  static const std::vector<CompiledRule> kCompiled = [] {
    std::vector<CompiledRule> compiled;
    for (const Rule& rule : kRules) compiled.push_back({std::regex(rule.pattern), rule.model});
    return compiled;
  }();
  return kCompiled;
}

}  // namespace

std::string_view without_timm_tag(std::string_view name) {
  constexpr std::string_view kFileEndings[] = {"bin",   "ckpt", "csv",         "gz",    "h5",   "ini", "job",   "json",
                                               "jsonl", "log",  "md",          "model", "onnx", "pb",  "pbtxt", "pt",
                                               "pth",   "py",   "safetensors", "sh",    "svg",  "tar", "toml",  "trace",
                                               "txt",   "xml",  "xz",          "yaml",  "yml",  "zip"};
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return name;
  const std::string_view tag = name.substr(dot + 1);
  const auto is_of_tags = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  const bool is_tag = !tag.empty() && std::all_of(tag.begin(), tag.end(), is_of_tags) &&
                      std::find(std::begin(kFileEndings), std::end(kFileEndings), tag) == std::end(kFileEndings);
  return is_tag ? name.substr(0, dot) : name;
}

std::optional<std::string> timm_cnn_model(std::string_view name) {
  name = without_timm_tag(name);
  if (name.size() > kLongestName) return std::nullopt;
  for (const CompiledRule& rule : compiled_rules()) {
    std::match_results<std::string_view::const_iterator> match;
    if (std::regex_match(name.begin(), name.end(), match, rule.pattern)) return match.format(rule.model);
  }
  return std::nullopt;
}

}  // namespace orrery::workload::zoo
