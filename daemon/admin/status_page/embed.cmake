# SPDX-License-Identifier: Apache-2.0
# daemon/admin/status_page/embed.cmake: writes the status page, with its style and scripts, as a C++
# string.
#
#   cmake -D FOLDER=… -D OUT=page_text.cc -P embed.cmake
cmake_minimum_required(VERSION 3.25)
file(READ ${FOLDER}/page.html page)
foreach(part CSS=page.css RATES=rates.js SECURITY=security.js PAGE=page.js)
  string(REGEX MATCH "(.+)=(.+)" _ ${part})
  file(READ ${FOLDER}/${CMAKE_MATCH_2} text)
  string(REPLACE "@${CMAKE_MATCH_1}@" "${text}" page "${page}")
endforeach()
file(WRITE ${OUT} "// Written by daemon/admin/status_page/embed.cmake.
#include \"daemon/admin/status_page/status_page.h\"

namespace hat {

const std::string_view kStatusPageText = R\"page(${page})page\";

}  // namespace hat
")
