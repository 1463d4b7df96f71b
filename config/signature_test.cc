// SPDX-License-Identifier: Apache-2.0
#include "config/signature.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

const NamedTypes kTypes = {{.name = "Pair"},
                           {.name = "inc.Tree", .kind = NamedType::Kind::kUnion},
                           {.name = "Colour", .kind = NamedType::Kind::kEnum}};

TEST(ParseType, ReadsWhatIsWritten) {
  for (const char* text : {"bool", "i8", "i16", "i32", "i64", "double", "string", "binary", "uuid",
                           "Colour", "Pair", "inc.Tree", "list<i64>", "set<string>",
                           "map<string,list<Pair>>", "map<map<i8,i8>,set<inc.Tree>>"}) {
    const auto type = parse_type(text, kTypes);
    ASSERT_TRUE(type.has_value()) << text << ": " << type.error().message;
    EXPECT_EQ(to_string(*type, kTypes), text);
  }
}

TEST(ParseType, AcceptsBlanks) {
  EXPECT_EQ(parse_type(" map< string , list< Pair > > ", kTypes).value(),
            parse_type("map<string,list<Pair>>", kTypes).value());
}

TEST(ParseType, RefusesAnythingElse) {
  for (const char* text : {"", "list", "list<>", "list<i32", "list<i32>>", "map<i32>", "i32 i32",
                           "list<i32,i32>", "i32<i32>", "Pair<i32>", "void", "pair", ",", "<"}) {
    EXPECT_FALSE(parse_type(text, kTypes).has_value()) << text;
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

TEST(ParseType, KnowsHowATypeStandsOnTheWire) {
  const TypeSpec text = parse_type("string", {}).value(), bytes = parse_type("binary", {}).value();
  EXPECT_EQ(text.wire, bytes.wire);
  EXPECT_TRUE(text.is_text);
  EXPECT_FALSE(bytes.is_text);
  EXPECT_EQ(parse_type("Colour", kTypes)->wire, WireType::kI32);
  EXPECT_EQ(parse_type("Colour", kTypes)->named, 2u);
  EXPECT_EQ(parse_type("inc.Tree", kTypes)->wire, WireType::kStruct);
}

TEST(ParseField, ReadsWhatIsRequired) {
  for (const char* text : {"required list<Pair>", "Pair"}) {
    const auto field = parse_field(text, kTypes);
    ASSERT_TRUE(field.has_value()) << field.error().message;
    EXPECT_EQ(field->required, text[0] == 'r');
    EXPECT_EQ(to_string(*field, kTypes), text);
  }
  for (const char* text : {"required", "required ", "required required i32", "optional i32"}) {
    EXPECT_FALSE(parse_field(text, kTypes).has_value()) << text;
  }
}

TEST(Fields, AreFoundById) {
  FieldSpecs fields;
  EXPECT_TRUE(add_field(fields, {7, false, {WireType::kI64}}));
  EXPECT_TRUE(add_field(fields, {-1, false, {WireType::kBool}}));
  EXPECT_FALSE(add_field(fields, {7, false, {WireType::kI32}}));
  EXPECT_EQ(fields.front().id, -1);
  EXPECT_EQ(find_field(fields, 7)->type.wire, WireType::kI64);
  EXPECT_EQ(find_field(fields, 6), nullptr);
  EXPECT_EQ(find_field(fields, 70000), nullptr);
}

}  // namespace
}  // namespace hat
