// SPDX-License-Identifier: Apache-2.0
#include "hintgen/header.h"

#include <gtest/gtest.h>

#include "hintgen/compile_text.h"

namespace hat::hintgen {
namespace {

std::string header_of(const std::string& idl, const std::string& manifest) {
  const Compiled compiled = compile_text(idl);
  EXPECT_EQ(compiled.messages(), "");
  return make_header(*compiled.idl.main, manifest);
}

std::string constant_in(const std::string& header) {
  const size_t from = header.find("constexpr");
  return header.substr(from, header.find("\n}", from) - from);
}

TEST(Header, HasTheManifestInTheNamespaceOfTheIdl) {
  const std::string header = header_of("namespace cpp a.b\nservice S {}\n", "services: {}\n");
  EXPECT_NE(header.find("namespace a {\nnamespace b {\n"), std::string::npos) << header;
  EXPECT_NE(header.find("}\n}\n\n#endif\n"), std::string::npos) << header;
  EXPECT_NE(header.find("Manifest[] = R\"manifest(services: {}\n)manifest\";\n"), std::string::npos)
      << header;
}

TEST(Header, TheNamespaceForAllLanguagesCounts) {
  EXPECT_NE(header_of("namespace * all\nservice S {}\n", "").find("namespace all {\n"),
            std::string::npos);
  EXPECT_EQ(header_of("namespace py other\nservice S {}\n", "").find("namespace"),
            std::string::npos);
  EXPECT_NE(
      header_of("namespace * all\nnamespace cpp own\nservice S {}\n", "").find("namespace own {\n"),
      std::string::npos);
}

TEST(Header, TheGuardIsNoReservedName) {
  for (const char* idl : {"namespace cpp a.b\nservice S {}\n", "service S {}\n"}) {
    const std::string header = header_of(idl, "");
    const size_t from = header.find("#ifndef ");
    const std::string guard = header.substr(from, header.find('\n', from) - from);
    EXPECT_NE(guard.find("HATRPC_"), std::string::npos) << header;
    EXPECT_EQ(guard.find("__"), std::string::npos) << guard;
  }
}

// A text that has the end of the literal would end the constant too early.
TEST(Header, TheTextCannotEndTheLiteral) {
  const std::string header = header_of("service S {}\n", "origin: a)manifest\"; int x;\n");
  EXPECT_NE(header.find("R\"manifest_(origin: a)manifest\"; int x;\n)manifest_\";"),
            std::string::npos)
      << constant_in(header);
}

}  // namespace
}  // namespace hat::hintgen
