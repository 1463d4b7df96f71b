// SPDX-License-Identifier: Apache-2.0
#include "hatctl/apply_advice.h"

#include <algorithm>
#include <set>

#include "base/whole_file.h"
#include "config/manifest.h"
#include "config/manifest_edit.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

// A manifest before and after the edits.
struct EditedFile {
  WholeFile before;
  std::string after;
};

std::vector<HintEdit> edits_of(const json& advice) {
  std::vector<HintEdit> edits;
  for (const json& proposal : advice.at("proposals")) {
    for (const json& change : proposal.at("changes")) {
      HintEdit edit{.service = proposal.at("service"),
                    .function = proposal.at("function"),
                    .group = change.at("group"),
                    .key = change.at("key"),
                    .value = std::nullopt};
      if (const json& value = change.at("to"); !value.is_null()) {
        edit.value = value.get<std::string>();
      }
      edits.push_back(std::move(edit));
    }
  }
  return edits;
}

// Makes hatrpcd reload its files, and returns its report. Returns an error if hatrpcd refuses.
Result<json> reload(const HttpClient& client, bool dry_run) {
  HAT_TRY(const HttpAnswer answer, client.post(dry_run ? "/reload?dry_run=1" : "/reload"));
  json report = json::parse(answer.body, nullptr, false);
  if (answer.status == 200) return report;
  const bool has_error = report.is_object() && report.contains("error");
  return fail(ErrorCode::kDenied, has_error ? report.at("error").get<std::string>() : answer.body);
}

// Returns the absolute paths of the manifests that hatrpcd uses.
Result<std::vector<std::string>> manifests_of(const HttpClient& client) {
  HAT_TRY(const HttpAnswer answer, client.get("/ping"));
  if (answer.status != 200) return fail(ErrorCode::kDenied, answer.body);
  const json pong = json::parse(answer.body);
  if (!pong.contains("manifests")) {
    return fail(ErrorCode::kUnsupported,
                "this hatrpcd is too old to name its manifests: upgrade it, or edit the hints by "
                "hand and run `hatctl reload`");
  }
  return pong.at("manifests").get<std::vector<std::string>>();
}

Result<WholeFile> read_manifest_file(const std::string& path) {
  auto file = read_whole(path);
  if (file || file.error().code != ErrorCode::kNotFound) return file;
  return fail(ErrorCode::kNotFound,
              path +
                  " is a manifest of hatrpcd, but does not exist here: hatrpcd probably runs in "
                  "a container. Run hatctl in that container, or make the changes that `hatctl "
                  "advise` shows in the file from which the container gets its manifest");
}

// Appends a note for each function in `edits` whose hints come from the IDL. `file` is their
// manifest.
void add_notes(const WholeFile& file, const Manifest& manifest, const std::vector<HintEdit>& edits,
               std::vector<std::string>& notes) {
  if (!file.text.starts_with(kWrittenByHintgen)) return;
  std::set<std::string> names;
  for (const HintEdit& edit : edits) names.insert(edit.service + "." + edit.function);
  std::string functions;
  for (const std::string& name : names) functions += (functions.empty() ? "" : ", ") + name;
  notes.push_back("hintgen wrote " + file.path +
                  (manifest.source.empty() ? "" : " from " + manifest.source) +
                  ": change the hints of " + functions +
                  " there too, or the next run of hintgen undoes these edits");
}

// Applies `edits` to the texts of the manifests `paths`; writes nothing yet.
Result<std::vector<EditedFile>> edit_files(const std::vector<std::string>& paths,
                                           std::vector<HintEdit> edits,
                                           std::vector<std::string>& notes) {
  std::vector<EditedFile> files;
  for (const std::string& path : paths) {
    HAT_TRY(WholeFile file, read_manifest_file(path));
    Diagnostics diagnostics;
    const Manifest manifest = read_manifest(file.text, path, diagnostics);
    const auto others = std::ranges::stable_partition(edits, [&](const HintEdit& edit) {
      return std::ranges::find(manifest.services, edit.service, &ServiceSpec::name) !=
             manifest.services.end();
    });
    const std::vector<HintEdit> own(edits.begin(), others.begin());
    edits.erase(edits.begin(), others.begin());
    if (own.empty()) continue;
    HAT_TRY(std::string after, edit_manifest(file.text, path, own));
    if (after == file.text) continue;  // somebody has made these edits already
    add_notes(file, manifest, own, notes);
    files.push_back({std::move(file), std::move(after)});
  }
  if (edits.empty()) return files;
  return fail(ErrorCode::kNotFound, "no manifest of hatrpcd has the service '" +
                                        edits.front().service +
                                        "'; write a manifest for it with hintgen");
}

// Restores the first `count` files. Returns a sentence that says whether this succeeded.
std::string restore(const std::vector<EditedFile>& files, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const auto restored =
        replace_whole({files[i].before.path, files[i].after}, files[i].before.text);
    if (!restored) return "The old manifests could NOT be restored: " + restored.error().message;
  }
  return "The manifests are as before.";
}

Result<void> write_files(const std::vector<EditedFile>& files) {
  for (size_t i = 0; i < files.size(); ++i) {
    auto written = replace_whole(files[i].before, files[i].after);
    if (written) continue;
    written.error().message += ". " + restore(files, i);
    return written;
  }
  return {};
}

}  // namespace

Result<AppliedAdvice> apply_advice(const HttpClient& client, const json& advice) {
  AppliedAdvice applied;
  HAT_TRY(const std::vector<std::string> paths, manifests_of(client));
  if (auto checked = reload(client, true); !checked) {
    return std::unexpected(
        in("nothing was changed, because hatrpcd refuses a reload of the files as they are",
           std::move(checked.error())));
  }
  HAT_TRY(const std::vector<EditedFile> files, edit_files(paths, edits_of(advice), applied.notes));
  HAT_TRY_VOID(write_files(files));
  auto report = reload(client, false);
  if (!report && report.error().code == ErrorCode::kUnavailable) {
    return std::unexpected(
        in("the manifests are edited, but hatrpcd does not answer; it reads "
           "them when it runs again",
           std::move(report.error())));
  }
  if (!report) {
    const std::string restored = restore(files, files.size());
    // hatrpcd still runs with the old manifests, but would report its last reload as refused.
    (void)reload(client, false);
    return fail(ErrorCode::kDenied, "hatrpcd refuses the edited manifests: " +
                                        report.error().message + "\n" + restored);
  }
  applied.reload = std::move(*report);
  for (const EditedFile& file : files) applied.files.push_back(file.before.path);
  applied.notes.emplace_back(
      "copy each changed manifest to the other nodes, because all nodes must have the same");
  return applied;
}

}  // namespace hat::hatctl
