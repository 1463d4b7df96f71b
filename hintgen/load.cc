// SPDX-License-Identifier: Apache-2.0
// hintgen/load.cc: follows includes depth first, and rejects circular includes.
#include "hintgen/load.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "base/quantities.h"
#include "base/system_error.h"
#include "hintgen/parse.h"
#include "hintgen/report.h"

namespace hat::hintgen {
namespace {

namespace fs = std::filesystem;

std::string normal(const fs::path& path) { return path.lexically_normal().generic_string(); }

class Loader {
 public:
  Loader(const std::vector<std::string>& include_dirs, const ReadFile& read,
         Diagnostics& diagnostics)
      : include_dirs_(include_dirs), read_(read), diagnostics_(diagnostics) {}

  Idl run(const std::string& path) {
    auto text = read_(path);
    if (!text) {
      diagnostics_.error(SourceLocation{path}, text.error().message);
    } else if (!*text) {
      diagnostics_.error(SourceLocation{path}, "there is no such file");
    } else {
      idl_.main = parse_file(path, normal(path), **std::move(text));
    }
    return std::move(idl_);
  }

 private:
  const Program* parse_file(const std::string& shown_path, const std::string& key,
                            std::string text) {
    auto source = std::make_shared<const SourceFile>(shown_path, std::move(text));
    idl_.files.push_back(source.get());
    auto program = parse(std::move(source), diagnostics_);
    open_.push_back(key);
    Report report(*program, diagnostics_);
    for (Include& include : program->includes) follow(*program, include, report);
    open_.pop_back();
    const Program* parsed = program.get();
    parsed_.emplace(key, parsed);
    idl_.programs.push_back(std::move(program));
    return parsed;
  }

  void follow(const Program& from, Include& include, Report& report) {
    if (include.path.text.find('\0') != std::string::npos || include.path.text.empty()) {
      report.error(include.path.at, "this is not the name of a file");
      include.refused = true;
      return;
    }
    for (const std::string& path : candidates(from, include.path.text)) {
      if (const auto known = parsed_.find(path); known != parsed_.end()) {
        include.program = known->second;
        return;
      }
      if (refuse_circle(path, include, report)) return;
      auto text = read_(path);
      if (!text) {
        report.error(include.path.at, text.error().message);
        include.refused = true;
        return;
      }
      if (!*text) continue;
      if (refuse_excess(include, report)) return;
      include.program = parse_file(path, path, **std::move(text));
      return;
    }
    std::string message = "there is no file '" + include.path.text + "' next to this one";
    message += include_dirs_.empty() ? "; use -I DIR to search in other folders"
                                     : " or in the folders given by -I";
    report.warning(include.path.at, std::move(message));
  }

  std::vector<std::string> candidates(const Program& from, const std::string& include) const {
    std::vector<std::string> paths;
    paths.push_back(normal(fs::path(from.source->path()).parent_path() / include));
    for (const std::string& folder : include_dirs_)
      paths.push_back(normal(fs::path(folder) / include));
    return paths;
  }

  bool refuse_circle(const std::string& path, Include& include, Report& report) const {
    const auto begin = std::find(open_.begin(), open_.end(), path);
    if (begin == open_.end()) return false;
    std::string circle;
    for (auto file = begin; file != open_.end(); ++file) circle += *file + " -> ";
    report.error(include.path.at, "circular include: " + circle + path);
    include.refused = true;
    return true;
  }

  bool refuse_excess(Include& include, Report& report) const {
    if (open_.size() < kIncludeDepthMax && idl_.files.size() < kFilesMax) return false;
    report.error(include.path.at,
                 open_.size() >= kIncludeDepthMax
                     ? "includes are nested more than " + std::to_string(kIncludeDepthMax) + " deep"
                     : "more than " + std::to_string(kFilesMax) + " files are included");
    include.refused = true;
    return true;
  }

  const std::vector<std::string>& include_dirs_;
  const ReadFile& read_;
  Diagnostics& diagnostics_;
  Idl idl_;
  std::vector<std::string> open_;  // files whose includes are being followed, outermost first
  std::map<std::string, const Program*> parsed_;
};

}  // namespace

Result<std::optional<std::string>> read_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return std::nullopt;
  if (error) return fail_errno("cannot read '" + path + "'", error.value());
  if (!fs::is_regular_file(status))
    return fail(ErrorCode::kInvalid, "'" + path + "' is not a regular file");
  const uintmax_t bytes = fs::file_size(path, error);
  if (!error && bytes > kFileBytesMax) {
    return fail(ErrorCode::kExhausted, "'" + path + "' is larger than " + size_text(kFileBytesMax));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::kSystem, "cannot open '" + path + "' for reading");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return fail(ErrorCode::kSystem, "cannot read '" + path + "' to its end");
  return text;
}

Idl load(const std::string& path, const std::vector<std::string>& include_dirs,
         const ReadFile& read, Diagnostics& diagnostics) {
  return Loader(include_dirs, read, diagnostics).run(path);
}

}  // namespace hat::hintgen
