# SPDX-License-Identifier: Apache-2.0
# cmake/warnings.cmake: the warnings that every file of ours compiles without, by g++ 12 and clang++ 16.
#
# HAT_WERROR makes warnings errors. It is off by default, so that a newer compiler that warns of more
# does not keep users from building; CI sets it, also by the environment variable of this name.
# `cmake --compile-no-warning-as-error` overrides it once. Sanitized builds by g++ are left out: what the
# sanitizers insert makes g++ warn of overflows that are not there; release has the same files.
#
# hat_no_warnings(TARGET...)        turns them off for a library of generated code: Thrift stubs
# hat_generated_sources(FILE...)    turns them off for single files: hintgen's parser and lexer
#
# A unity build makes several files one: -Wshadow then also finds a local name that hides a name of another
# file. Rename the local one.
#
# Left out, and why (findings are those of g++ 12 over the whole tree when the list was made):
#   -Wcast-align=strict     17, all right: structures in shared and registered memory, whose alignment is
#                           checked where the memory is laid out, and by UBSan at each access
#   -Wuseless-cast          16: casts between types that are the same on x86-64 and differ elsewhere
#   -Wswitch-enum           18: `default:` is how a switch says that the rest is alike
#   -Wfloat-equal           12: comparisons with a 0 that means "not set"
#   -Wmissing-declarations  15: libFuzzer's entry point, and functions of the C library that the preload
#                           library replaces, which no header declares
#   -Warith-conversion      28, all right: also warns of sums of small integers that -Wconversion trusts
#   -Wnull-dereference      depends on what the optimizer happens to inline; the sanitizers look for this
option(HAT_WERROR "Warnings are errors" "$ENV{HAT_WERROR}")
if(HAT_WERROR AND NOT (HAT_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))
  set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
endif()

add_compile_options(
  -Wall
  -Wextra
  -Wpedantic
  -Wno-missing-field-initializers  # designated initializers leave out what keeps its default
  -Wcast-qual
  -Wconversion
  -Wsign-conversion
  -Wdouble-promotion
  -Wextra-semi
  -Wformat=2
  -Wnon-virtual-dtor
  -Wold-style-cast
  -Woverloaded-virtual
  -Wshadow
  -Wsuggest-override
  -Wundef
  -Wvla)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wduplicated-branches -Wduplicated-cond -Wlogical-op)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 warns of accesses that are not there where "text" + string is inlined; AddressSanitizer finds
    # those that are.
    add_compile_options(-Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endif()

function(hat_no_warnings)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -w)
  endforeach()
endfunction()

function(hat_generated_sources)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -w SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
