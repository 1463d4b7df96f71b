# SPDX-License-Identifier: Apache-2.0
# cmake/warnings.cmake: turns on warnings; with g++ 12 and clang++ 16 none of our files causes one.
#
# HAT_WERROR makes warnings errors. It is off by default, so that a newer compiler with more warnings does
# not stop the builds of users; CI sets it, by the environment variable of the same name.
# `cmake --compile-no-warning-as-error` turns it off once. It has no effect on sanitized builds with g++,
# because the code that sanitizers insert makes g++ warn of overflows that do not exist; the release build
# compiles the same files.
#
# hat_no_warnings(TARGET...)        turns warnings off for a library of generated code: Thrift stubs
# hat_generated_sources(FILE...)    turns warnings off for single files: hintgen's parser and lexer
#
# A unity build joins several files: -Wshadow then also finds a local name that hides a name of another
# file. Rename the local one.
#
# Warnings that are left out, and why (with the number of findings by g++ 12 in the whole tree when this list
# was made):
#   -Wcast-align=strict     17, none a bug: structures in shared and registered memory, whose alignment the
#                           code checks when it lays out the memory, and UBSan at each access
#   -Wuseless-cast          16: casts between types that are the same on x86-64 and differ elsewhere
#   -Wswitch-enum           18: switches with `default:` for all other values
#   -Wfloat-equal           12: comparisons with a 0 that means "not set"
#   -Wmissing-declarations  15: libFuzzer's entry point, and functions of the C library that the preload
#                           library replaces, which no header declares
#   -Warith-conversion      28, none a bug: also warns of sums of small integers, which -Wconversion accepts
#   -Wnull-dereference      depends on what the optimizer happens to inline; the sanitizers find such errors
option(HAT_WERROR "Warnings are errors" "$ENV{HAT_WERROR}")
if(HAT_WERROR AND NOT (HAT_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))
  set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
endif()

add_compile_options(
  -Wall
  -Wextra
  -Wpedantic
  -Wno-missing-field-initializers  # designated initializers leave out fields that keep their default
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
    # g++ 12 warns of accesses that do not exist when it inlines "text" + string; AddressSanitizer finds
    # real ones.
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
