// SPDX-License-Identifier: Apache-2.0
// hintgen/header.h: makes a C++ header with a manifest, for applications that carry their calls
// themselves (client/rdma/TRdma.h), so that they need no file when they run.
#pragma once

#include <string>

#include "hintgen/idl.h"

namespace hat::hintgen {

// Returns a header that has `manifest`, the text of the manifest of `program`, as a constant. The
// constant is in the namespace that the IDL gives to C++ (`namespace cpp a.b`), and is named after
// the IDL file: kHatKvManifest for hat_kv.thrift. The header is also C++11.
std::string make_header(const Program& program, const std::string& manifest);

}  // namespace hat::hintgen
