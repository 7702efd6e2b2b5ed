# orrery_embed(TARGET FUNCTION files...)
#
# Adds a source to TARGET that defines std::span<const std::string_view> orrery::predict::FUNCTION(): the files' bytes.

function(orrery_embed target function)
  set(assembly "")
  set(symbols "")
  set(views "")
  set(number 0)
  foreach(file ${ARGN})
    set(name "orrery_${function}_${number}")
    string(APPEND assembly "__asm__(\".section .rodata\\n.balign 16\\n${name}:\\n.incbin \\\"${file}\\\"\\n${name}_end:\\n.previous\\n\");\n")
    string(APPEND symbols "extern const char kBegin${number}[] __asm__(\"${name}\"), kEnd${number}[] __asm__(\"${name}_end\");\n")
    string(APPEND views "      std::string_view(kBegin${number}, static_cast<std::size_t>(kEnd${number} - kBegin${number})),\n")
    math(EXPR number "${number} + 1")
  endforeach()
  set(source ${CMAKE_BINARY_DIR}/generated/${function}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include <array>
#include <span>
#include <string_view>

@assembly@
namespace orrery::predict {
@symbols@
std::span<const std::string_view> @function@();
std::span<const std::string_view> @function@() {
  static const std::array<std::string_view, @number@> kFiles = {
@views@  };
  return kFiles;
}
}  // namespace orrery::predict
]])
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${ARGN}")
  target_sources(${target} PRIVATE ${source})
endfunction()
