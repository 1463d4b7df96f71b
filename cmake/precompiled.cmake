# SPDX-License-Identifier: Apache-2.0
# cmake/precompiled.cmake: precompiles headers of the standard library and of GoogleTest. Without this, a
# compiler needs one to two seconds to read them, in each of a hundred compilations. Each preset has two
# precompiled headers, and every target uses one of them:
#
#   hat_precompiled         for libraries and programs: headers that most files include and that never change
#   hat_precompiled_test    for code of tests: the same headers, and GoogleTest
#
# hat_test_code(TARGET...): compiles the targets as tests: without optimization, which would be half of the
#     work; the libraries that they test are optimized. Their symbols are visible, because some tests replace
#     functions of the C library, also for other libraries.
# hat_use_precompiled(FOLDER): makes the targets of FOLDER and of the folders in it, except tests, use
#     hat_precompiled; call it at the end.
#
# A compiler accepts a precompiled header only with the options with which the header was made. A target with an option of its own, such as -O1, must set
# DISABLE_PRECOMPILE_HEADERS; otherwise clang gives an error, and g++ a warning (-Winvalid-pch).
#
# The presets debug and optimized set CMAKE_DISABLE_PRECOMPILE_HEADERS: so debug shows that each file includes
# all headers that it uses.
set(hat_precompiled_headers
  <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <deque> <expected> <filesystem>
  <fstream> <functional> <map> <memory> <mutex> <optional> <random> <set> <span> <sstream>
  <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/no_code.cc CONTENT "")
add_library(hat_precompiled OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/no_code.cc)
add_library(hat_precompiled_test OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/no_code.cc)
target_precompile_headers(hat_precompiled PRIVATE ${hat_precompiled_headers})
target_precompile_headers(hat_precompiled_test PRIVATE <gmock/gmock.h> <gtest/gtest.h> ${hat_precompiled_headers})
target_compile_options(hat_precompiled_test PRIVATE -O0 -fvisibility=default)
target_link_libraries(hat_precompiled_test PRIVATE GTest::gmock)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # ccache may return a precompiled header that was made from an older copy of the same files.
  target_compile_options(hat_precompiled PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  target_compile_options(hat_precompiled_test PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
endif()

function(hat_test_code)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -O0 -fvisibility=default)
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
