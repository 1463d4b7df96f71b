// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/request_check_fuzz.cc: verifies that stock generated code reads each request that
// passes the check as exactly one call of its function.
//
// Input: one byte, which is odd if unknown fields may pass; then a request. The seeds have requests
// without a frame.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "daemon/thrift/checked_service.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view request(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (const auto what = hat::thrift::disagreement(request, data[0] % 2 == 1)) {
    std::cerr << *what << "\n";
    std::abort();
  }
  return 0;
}
