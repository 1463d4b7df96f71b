// SPDX-License-Identifier: Apache-2.0
// config/config_fuzz.cc: a fuzz test that reads arbitrary bytes as a manifest, a profile, learned
// choices and a node configuration, and edits the hints of a manifest.
#include <cstdlib>
#include <optional>

#include "config/hint_values.h"
#include "config/learned_choices.h"
#include "config/manifest.h"
#include "config/manifest_edit.h"
#include "config/node.h"
#include "config/profile.h"

namespace {

// Sets or removes a hint of `function` in the text of `manifest`. Checks that the edited text has
// exactly this change; edit_manifest() may also refuse a form of YAML that it does not know.
void edit(const std::string& text, hat::Manifest manifest, size_t service, size_t function,
          const std::optional<std::string>& size) {
  hat::FunctionSpec& edited = manifest.services[service].functions[function];
  const hat::HintEdit change{manifest.services[service].name, edited.name, "c_hint", "payload_size",
                             size};
  const auto result = hat::edit_manifest(text, "fuzz.yaml", {&change, 1});
  if (!result) return;
  if (size) {
    edited.hints.client.payload_bytes = hat::parse_bytes(*size);
  } else {
    edited.hints.client.payload_bytes.reset();
  }
  hat::Diagnostics diagnostics;
  if (hat::read_manifest(*result, "edited.yaml", diagnostics) != manifest) abort();
  if (diagnostics.any_errors()) abort();
}

}  // namespace

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
  hat::Diagnostics of_choices;
  const hat::KeptChoices choices = hat::read_kept_choices(text, "fuzz.yaml", of_choices);
  if (!of_choices.any_errors()) {
    const std::string written = hat::write_kept_choices(choices);
    if (hat::read_kept_choices(written, "again.yaml", of_choices) != choices) abort();
    if (of_choices.any_errors() || !hat::may_be_kept_choices(written)) abort();
  }
  hat::Diagnostics of_manifest;
  const hat::Manifest manifest = hat::read_manifest(text, "fuzz.yaml", of_manifest);
  if (of_manifest.any_errors()) return 0;
  hat::Diagnostics again;
  if (hat::read_manifest(hat::write_manifest(manifest), "again.yaml", again) != manifest) abort();
  for (size_t service = 0; service < manifest.services.size(); ++service) {
    for (size_t i = 0; i < manifest.services[service].functions.size(); ++i) {
      edit(text, manifest, service, i, "512B");
      edit(text, manifest, service, i, std::nullopt);
    }
  }
  return 0;
}
