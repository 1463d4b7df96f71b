# SPDX-License-Identifier: Apache-2.0
# cmake/precompiled.cmake: reading the standard library's headers and GoogleTest's takes a compiler one to two
# seconds in each of a hundred compilations. Each preset precompiles them twice, and every target uses one:
#
#   hat_precompiled         libraries and programs   what most files include, and nobody here changes
#   hat_precompiled_test    code of tests            the same, and GoogleTest
#
# hat_test_code(TARGET...): the targets are compiled as tests are: without optimization, which would be half of
#     the work. What they test is optimized, in its libraries.
# hat_use_precompiled(FOLDER): gives the targets of FOLDER and of the folders in it, except tests,
#     hat_precompiled; called at the end.
#
# A compiler takes a precompiled header only with the options that it was made with. Position-independent code
# goes without. A target that has an option of its own, such as -O1, sets DISABLE_PRECOMPILE_HEADERS; one that
# forgets is an error by clang, and by g++ a warning (-Winvalid-pch).
#
# The presets debug and optimized set CMAKE_DISABLE_PRECOMPILE_HEADERS: in debug each file must include all that
# it uses.
set(hat_precompiled_headers
  <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <deque> <expected> <filesystem>
  <fstream> <functional> <map> <memory> <mutex> <optional> <random> <set> <span> <sstream>
  <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/no_code.cc CONTENT "")
add_library(hat_precompiled OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/no_code.cc)
add_library(hat_precompiled_test OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/no_code.cc)
target_precompile_headers(hat_precompiled PRIVATE ${hat_precompiled_headers})
target_precompile_headers(hat_precompiled_test PRIVATE <gmock/gmock.h> <gtest/gtest.h> ${hat_precompiled_headers})
target_compile_options(hat_precompiled_test PRIVATE -O0)
target_link_libraries(hat_precompiled_test PRIVATE GTest::gmock)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # ccache may bring one that was made from an older copy of the same files.
  target_compile_options(hat_precompiled PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  target_compile_options(hat_precompiled_test PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
endif()

function(hat_test_code)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -O0)
    target_link_libraries(${target} PUBLIC GTest::gmock)
    target_precompile_headers(${target} REUSE_FROM hat_precompiled_test)
  endforeach()
endfunction()

function(hat_use_precompiled folder)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(inner ${folders})
    hat_use_precompiled(${inner})
  endforeach()
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(NOT type MATCHES "^(EXECUTABLE|STATIC_LIBRARY|OBJECT_LIBRARY)$")
      continue()
    endif()
    set(without FALSE)
    foreach(property POSITION_INDEPENDENT_CODE DISABLE_PRECOMPILE_HEADERS PRECOMPILE_HEADERS
                     PRECOMPILE_HEADERS_REUSE_FROM)
      get_target_property(value ${target} ${property})
      if(value)
        set(without TRUE)
      endif()
    endforeach()
    if(NOT without)
      target_precompile_headers(${target} REUSE_FROM hat_precompiled)
    endif()
  endforeach()
endfunction()
