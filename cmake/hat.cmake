# SPDX-License-Identifier: Apache-2.0
# cmake/hat.cmake: functions that define tests and fuzz targets.
#
# hat_test(NAME [THREADS] [ALONE] [COST number] SOURCES... LIBRARIES...): defines a GoogleTest program; every TEST in
#     it is a ctest case with the label `case`. With the option `-C programs` of ctest, the whole program is a
#     case, too. tests/suite.py leaves out the cases of the label then, because starting thousands of processes
#     takes longer than most TESTs; gtest/NAME.xml lists the TESTs that the program ran, and tests/suite.py
#     counts them. Sanitized builds have only whole programs. THREADS: the program has several threads.
#     ThreadSanitizer finds nothing in programs with one thread, so its build leaves them out. ALONE: no other
#     test runs at the same time. COST: ctest starts the programs with a high cost first.
# hat_test_library(NAME SOURCES... LIBRARIES...): defines code that several tests share; not in HAT_FUZZ builds.
# hat_lab_test(NAME SOURCES... LIBRARIES...): defines a GoogleTest program that tests/lab runs on devices;
#     ctest does not run it.
# hat_fuzz(NAME SOURCE LIBRARIES...): defines a libFuzzer target in HAT_FUZZ builds. In all other builds the
#     same code replays tests/fuzz/corpus/NAME as one ctest case.
include(GoogleTest)

if(HAT_FUZZ)
  add_custom_target(fuzzers)
endif()

function(hat_test name)
  cmake_parse_arguments(ARG "THREADS;ALONE" "COST" "SOURCES;LIBRARIES" ${ARGN})
  if(HAT_FUZZ OR (HAT_SANITIZE STREQUAL "thread" AND NOT ARG_THREADS))
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_LIBRARIES} GTest::gtest_main)
  hat_test_code(${name})
  set(only_whole_programs CONFIGURATIONS programs)
  if(HAT_SANITIZE)
    set(only_whole_programs "")
  endif()
  add_test(NAME ${name} ${only_whole_programs}
           COMMAND ${name} --gtest_brief=1 --gtest_output=xml:${CMAKE_BINARY_DIR}/gtest/${name}.xml)
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 RUN_SERIAL ${ARG_ALONE})
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
  if(HAT_SANITIZE)
    return()
  endif()
  # The printed values of parameters may contain addresses, and names of tests must not change between runs.
  gtest_discover_tests(${name} TEST_PREFIX "${name}." NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS case TIMEOUT 120 RUN_SERIAL ${ARG_ALONE})
endfunction()

function(hat_test_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  if(HAT_FUZZ)
    return()
  endif()
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_LIBRARIES})
  hat_test_code(${name})
endfunction()

function(hat_lab_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  if(HAT_FUZZ OR HAT_SANITIZE)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_LIBRARIES} GTest::gtest_main)
  hat_test_code(${name})
endfunction()

function(hat_fuzz name)
  cmake_parse_arguments(ARG "" "SOURCE" "LIBRARIES" ${ARGN})
  set(corpus ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
  if(HAT_SANITIZE STREQUAL "thread")
    return()
  endif()
  if(HAT_FUZZ)
    add_executable(${name} ${ARG_SOURCE})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name})
  else()
    add_executable(${name} ${ARG_SOURCE} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cc)
    add_test(NAME ${name}.replay COMMAND ${name} ${corpus})
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
endfunction()
