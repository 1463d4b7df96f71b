// SPDX-License-Identifier: Apache-2.0
#include "config/signature.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

const std::vector<std::string> kNames = {"Pair", "inc.Tree"};
const StructSpecs kStructs = {{"Pair", {}}, {"inc.Tree", {}}};

TEST(ParseType, ReadsWhatIsWritten) {
  for (const char* text :
       {"bool", "i8", "i16", "i32", "i64", "double", "string", "uuid", "Pair", "inc.Tree",
        "list<i64>", "set<string>", "map<string,list<Pair>>", "map<map<i8,i8>,set<inc.Tree>>"}) {
    const auto type = parse_type(text, kNames);
    ASSERT_TRUE(type.has_value()) << text << ": " << type.error().message;
    EXPECT_EQ(to_string(*type, kStructs), text);
  }
}

TEST(ParseType, AcceptsBlanks) {
  EXPECT_EQ(parse_type(" map< string , list< Pair > > ", kNames).value(),
            parse_type("map<string,list<Pair>>", kNames).value());
}

TEST(ParseType, RefusesAnythingElse) {
  for (const char* text : {"", "list", "list<>", "list<i32", "list<i32>>", "map<i32>", "i32 i32",
                           "list<i32,i32>", "i32<i32>", "Pair<i32>", "void", "pair", ",", "<"}) {
    EXPECT_FALSE(parse_type(text, kNames).has_value()) << text;
  }
}

TEST(ParseType, BoundsTheNesting) {
  const auto lists = [](int depth) {
    std::string text = "i32";
    for (int i = 0; i < depth; ++i) text = "list<" + text + ">";
    return text;
  };
  EXPECT_TRUE(parse_type(lists(kTypeNestingMax), {}).has_value());
  EXPECT_FALSE(parse_type(lists(kTypeNestingMax + 1), {}).has_value());
}

TEST(Fields, AreFoundById) {
  FieldSpecs fields;
  EXPECT_TRUE(add_field(fields, {7, {WireType::kI64, 0, {}}}));
  EXPECT_TRUE(add_field(fields, {-1, {WireType::kBool, 0, {}}}));
  EXPECT_FALSE(add_field(fields, {7, {WireType::kI32, 0, {}}}));
  EXPECT_EQ(fields.front().id, -1);
  EXPECT_EQ(find_type(fields, 7)->wire, WireType::kI64);
  EXPECT_EQ(find_type(fields, 6), nullptr);
  EXPECT_EQ(find_type(fields, 70000), nullptr);
}

}  // namespace
}  // namespace hat
