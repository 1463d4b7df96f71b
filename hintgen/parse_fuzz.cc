// SPDX-License-Identifier: Apache-2.0
// hintgen/parse_fuzz.cc: fuzzes the parser with arbitrary bytes as IDL. If the IDL has no errors,
// hintgen rewrites it, and the rewritten IDL must have the same meaning.
//
// Input: the files main.thrift, a.thrift and b.thrift, with "%%" lines between them.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "config/manifest.h"
#include "hintgen/compile_text.h"
#include "hintgen/dump.h"
#include "hintgen/emit.h"
#include "hintgen/rewrite.h"

namespace hat::hintgen {
namespace {

using Files = std::map<std::string, std::string>;

constexpr const char* kMain = "main.thrift";

Files split_files(const std::string& bytes) {
  constexpr const char* kNames[] = {kMain, "a.thrift", "b.thrift"};
  const std::string between = "\n%%\n";
  Files files;
  size_t begin = 0;
  for (const char* name : kNames) {
    const size_t end = bytes.find(between, begin);
    files[name] = bytes.substr(begin, end == std::string::npos ? end : end - begin);
    if (end == std::string::npos) break;
    begin = end + between.size();
  }
  return files;
}

void require(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s\n---\n%s\n---\n", what, text.c_str());
  std::abort();
}

Manifest without_origins(Manifest manifest) {
  for (ServiceSpec& service : manifest.services) {
    service.origin.clear();
    for (FunctionSpec& function : service.functions) function.origin.clear();
  }
  return manifest;
}

long lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

Compiled compile_again(Files files, const std::string& text, const char* what) {
  files[kMain] = text;
  Compiled compiled = compile_files(files, kMain);
  require(!compiled.diagnostics.any_errors(), what, text + "\n" + compiled.messages());
  return compiled;
}

std::vector<std::string> comments_of(const Program& program) {
  std::vector<std::string> comments;
  for (const Span comment : program.comments) comments.emplace_back(program.source->text(comment));
  return comments;
}

void check(const Files& files) {
  const Compiled read = compile_files(files, kMain);
  require(read.messages().empty() == read.diagnostics.all().empty(), "messages", files.at(kMain));
  if (read.diagnostics.any_errors()) return;

  const Manifest manifest = make_manifest(read.idl);
  const std::string yaml = write_manifest(manifest);
  Diagnostics yaml_diagnostics;
  const bool same = read_manifest(yaml, "m.yaml", yaml_diagnostics) == manifest;
  require(same && !yaml_diagnostics.any_errors(), "the manifest reads back", yaml);

  const std::string plain = strip(*read.idl.main);
  const Compiled stripped = compile_again(files, plain, "what was stripped has mistakes");
  require(dump_json(*stripped.idl.main) == dump_json(*read.idl.main), "strip changed it", plain);
  require(strip(*stripped.idl.main) == plain, "strip is not stable", plain);
  require(lines_of(plain) == lines_of(files.at(kMain)), "strip moved lines", plain);
  const std::vector<std::string> comments = comments_of(*read.idl.main);
  require(comments_of(*stripped.idl.main) == comments, "strip changed comments", plain);

  const std::string annotated = annotate(*read.idl.main);
  const Compiled again = compile_again(files, annotated, "what was annotated has mistakes");
  require(without_origins(make_manifest(again.idl)) == without_origins(manifest),
          "annotate changed the manifest", annotated);
  require(annotate(*again.idl.main) == annotated, "annotate is not stable", annotated);
  require(strip(*again.idl.main) == annotated, "annotate left native hints", annotated);
  require(lines_of(annotated) == lines_of(files.at(kMain)), "annotate moved lines", annotated);
  require(comments_of(*again.idl.main) == comments, "annotate changed comments", annotated);
}

}  // namespace
}  // namespace hat::hintgen

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hat::hintgen::check(
      hat::hintgen::split_files(std::string(reinterpret_cast<const char*>(data), size)));
  return 0;
}
