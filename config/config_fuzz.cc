// SPDX-License-Identifier: Apache-2.0
// config/config_fuzz.cc: a fuzz test that reads arbitrary bytes as a manifest, a profile and a node
// configuration.
#include <cstdlib>

#include "config/manifest.h"
#include "config/node.h"
#include "config/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  hat::Diagnostics of_node;
  hat::read_node_config(text, "fuzz.yaml", of_node);
  hat::Diagnostics of_profile;
  const hat::Profile profile = hat::read_profile(text, "fuzz.yaml", of_profile);
  if (!of_profile.any_errors()) {
    const std::string written = hat::write_profile(profile);
    if (hat::write_profile(hat::read_profile(written, "again.yaml", of_profile)) != written)
      abort();
  }
  hat::Diagnostics of_manifest;
  const hat::Manifest manifest = hat::read_manifest(text, "fuzz.yaml", of_manifest);
  if (of_manifest.any_errors()) return 0;
  hat::Diagnostics again;
  if (hat::read_manifest(hat::write_manifest(manifest), "again.yaml", again) != manifest) abort();
  return 0;
}
