// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/request_check_fuzz.cc: verifies that generated code reads each request that the
// daemon's check accepts as exactly one call, of the function that the check has found.
//
// Input: one byte, odd if the check must accept unknown fields; then a request. The seeds in the
// corpus are requests without a frame.
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
