# orrery_room(NAME [ROOMS above...] [LINKS libraries...])
#
# One static library per folder of src/, and one test program from the *_test.cpp files beside the sources.
# A room without sources yet is header-only.

add_library(orrery_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
if(ORRERY_PCH)
  target_precompile_headers(orrery_pch PRIVATE
    <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <span> <string> <string_view>
    <utility> <variant> <vector>)
endif()

function(orrery_target_defaults target)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  if(ORRERY_PCH)
    target_precompile_headers(${target} REUSE_FROM orrery_pch)
  endif()
endfunction()

function(orrery_room name)
  cmake_parse_arguments(ROOM "" "" "ROOMS;LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  add_library(orrery_${name} STATIC ${sources})
  orrery_target_defaults(orrery_${name})
  list(TRANSFORM ROOM_ROOMS PREPEND orrery_)
  target_link_libraries(orrery_${name} PUBLIC ${ROOM_ROOMS} ${ROOM_LINKS})

  if(ORRERY_TESTS AND tests)
    add_executable(${name}_test ${tests})
    orrery_target_defaults(${name}_test)
    target_link_libraries(${name}_test PRIVATE orrery_${name} GTest::gtest_main rapidcheck)
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}/" DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
