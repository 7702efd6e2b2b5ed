# orrery_module(NAME [MODULES above...] [LINKS libraries...] [APART folder target])
#
# One static library per folder of src/, and one test program from the *_test.cpp files beside the sources.
# A module without sources yet is header-only. The folder APART is built into a library of its own, the target, which
# the tests of the module need.

# What almost every source reads is compiled once: orrery_pch for programs, orrery_test_pch for tests.
set(common_headers <algorithm> <array> <cmath> <cstdint> <fmt/format.h> <functional> <map> <memory> <optional> <span>
  <string> <string_view> <unordered_map> <utility> <variant> <vector>)
add_library(orrery_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
target_link_libraries(orrery_pch PRIVATE fmt::fmt)
if(ORRERY_PCH)
  target_precompile_headers(orrery_pch PRIVATE ${common_headers})
endif()

# Most of the time of a source is spent on headers and templates that its neighbours have too.
function(orrery_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ORRERY_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

function(orrery_target_defaults target)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  if(ORRERY_PCH)
    target_precompile_headers(${target} REUSE_FROM orrery_pch)
  endif()
endfunction()

# Tests wait for the compiler longer than the compiler's best code would save them.
set(test_options $<$<CONFIG:Release>:-O1>)
if(ORRERY_TESTS AND ORRERY_PCH)
  add_library(orrery_test_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
  target_link_libraries(orrery_test_pch PRIVATE fmt::fmt GTest::gtest rapidcheck)
  target_compile_options(orrery_test_pch PRIVATE ${test_options})
  target_precompile_headers(orrery_test_pch PRIVATE ${common_headers} <gtest/gtest.h> <rapidcheck/gtest.h>)
endif()

function(orrery_test_defaults target)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(${target} PRIVATE ${test_options})
  if(ORRERY_PCH)
    target_precompile_headers(${target} REUSE_FROM orrery_test_pch)
  endif()
endfunction()

function(orrery_module name)
  cmake_parse_arguments(ARG "" "" "MODULES;LINKS;APART" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  if(ARG_APART)
    list(POP_FRONT ARG_APART apart)
    list(FILTER sources EXCLUDE REGEX "/src/${name}/${apart}/")
  endif()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  add_library(orrery_${name} STATIC ${sources})
  orrery_unity(orrery_${name})
  orrery_target_defaults(orrery_${name})
  list(TRANSFORM ARG_MODULES PREPEND orrery_)
  target_link_libraries(orrery_${name} PUBLIC ${ARG_MODULES} ${ARG_LINKS})

  if(ORRERY_TESTS AND tests)
    add_executable(${name}_test ${tests})
    orrery_test_defaults(${name}_test)
    target_link_libraries(${name}_test PRIVATE orrery_${name} GTest::gtest_main rapidcheck)
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}/" DISCOVERY_TIMEOUT 60)
    if(ARG_APART)
      add_dependencies(${name}_test ${ARG_APART})
    endif()
  endif()
endfunction()

# orrery_torch_library(FOLDERS folders of src/...)
#
# The library liborrery_torch.so. Only this links libtorch and Gloo.
function(orrery_torch_library)
  cmake_parse_arguments(ARG "" "" "FOLDERS" ${ARGN})
  set(sources)
  foreach(folder ${ARG_FOLDERS})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  add_library(orrery_torch MODULE ${sources})
  orrery_unity(orrery_torch)
  orrery_target_defaults(orrery_torch)
  set_target_properties(orrery_torch PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  target_link_libraries(orrery_torch PRIVATE orrery_workload torch_cpu c10 gloo)
endfunction()
