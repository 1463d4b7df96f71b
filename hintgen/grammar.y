/* SPDX-License-Identifier: Apache-2.0 */
/* hintgen/grammar.y: Thrift IDL with HatRPC's hint groups, as an LALR(1) grammar.
 *
 * `hint`, `c_hint` and `s_hint` are ordinary identifiers: the ':' after the identifier shows that
 * it begins a hint group, and the identifier is checked later. After a syntax error, the parser
 * continues at the next separator of fields, functions, members or groups, or at the next
 * definition.
 */
%require "3.8"
%language "C++"
%skeleton "lalr1.cc"
%expect 0

%define api.namespace {hat::hintgen}
%define api.parser.class {GrammarParser}
%define api.value.type variant
%define api.value.automove
%define api.token.constructor
%define api.location.type {hat::hintgen::Span}
%define parse.error custom
%define parse.lac full
%locations
%param {hat::hintgen::ParseState& state}

%code requires {
#include "hintgen/idl.h"
#include "hintgen/parse_state.h"
}

%code {
#define YYLLOC_DEFAULT(current, rhs, count)              \
  do {                                                   \
    if (count) {                                         \
      (current).begin = YYRHSLOC(rhs, 1).begin;          \
      (current).end = YYRHSLOC(rhs, count).end;          \
    } else {                                             \
      (current).begin = (current).end = YYRHSLOC(rhs, 0).end; \
    }                                                    \
  } while (false)

hat::hintgen::GrammarParser::symbol_type hintgen_lex(void* scanner);

static hat::hintgen::GrammarParser::symbol_type yylex(hat::hintgen::ParseState& state) {
  auto symbol = hintgen_lex(state.scanner());
  state.token_taken();
  return symbol;
}
}

%token END 0 "the end of the file"
%token <std::string> IDENTIFIER "a name"
%token <std::string> LITERAL "a quoted string"
%token <int64_t> INTEGER "an integer"
%token <double> NUMBER "a number"
%token COLON "':'" SEMICOLON "';'" COMMA "','" EQUALS "'='" STAR "'*'" AMPERSAND "'&'"
%token OPEN_BRACE "'{'" CLOSE_BRACE "'}'" OPEN_PAREN "'('" CLOSE_PAREN "')'"
%token OPEN_ANGLE "'<'" CLOSE_ANGLE "'>'" OPEN_SQUARE "'['" CLOSE_SQUARE "']'"
%token NAMESPACE "'namespace'" INCLUDE "'include'" CPP_INCLUDE "'cpp_include'"
%token CPP_TYPE "'cpp_type'" XSD_ALL "'xsd_all'" XSD_OPTIONAL "'xsd_optional'"
%token XSD_NILLABLE "'xsd_nillable'" XSD_ATTRS "'xsd_attrs'"
%token VOID "'void'" BOOL "'bool'" BYTE "'byte'" I8 "'i8'" I16 "'i16'" I32 "'i32'" I64 "'i64'"
%token DOUBLE "'double'" STRING "'string'" BINARY "'binary'" MAP "'map'" LIST "'list'" SET "'set'"
%token ONEWAY "'oneway'" ASYNC "'async'" TYPEDEF "'typedef'" STRUCT "'struct'" UNION "'union'"
%token EXCEPTION "'exception'" EXTENDS "'extends'" THROWS "'throws'" SERVICE "'service'"
%token ENUM "'enum'" CONST "'const'" REQUIRED "'required'" OPTIONAL "'optional'"

%type <Name> identifier literal field_name hint_key hint_value
%type <std::optional<Name>> extends cpp_type
%type <std::optional<FieldId>> field_id
%type <Annotations> annotations bracketed_annotations
%type <std::vector<Annotation>> annotation_list
%type <Annotation> annotation
%type <Type> type function_type
%type <ConstValue> const_value
%type <std::vector<ConstValue>> const_list const_map
%type <std::optional<ConstValue>> field_value
%type <bool> xsd_all xsd_optional xsd_nillable reference
%type <Requiredness> requiredness
%type <Field> field
%type <std::vector<Field>> field_list braced_fields parenthesized_fields throws xsd_attributes
%type <Struct::Kind> struct_kind
%type <std::vector<EnumMember>> enum_members
%type <EnumMember> enum_member
%type <std::optional<int64_t>> enum_value
%type <Service> service_body braced_service_body
%type <Function> function function_head function_signature
%type <HintGroup> hint_group
%type <std::vector<HintGroup>> hint_groups
%type <std::vector<Hint>> hint_list
%type <Hint> hint

%%

program: items;

items:
  %empty
| items header     { state.header_seen(@2); }
| items definition
| items error
;

header:
  INCLUDE literal      { state.program().includes.push_back({$2}); }
| CPP_INCLUDE literal  { state.program().cpp_includes.push_back($2); }
| NAMESPACE identifier identifier annotations
    { state.program().namespaces.push_back({$2, $3, $4}); }
| NAMESPACE STAR identifier
    { state.program().namespaces.push_back({state.name(@2), $3, {}}); }
;

definition:
  CONST type identifier EQUALS const_value separator
    { state.add_definition(Const{.name = $3, .type = $2, .value = $5}); }
| TYPEDEF type identifier annotations separator
    { state.add_definition(Typedef{.name = $3, .type = $2, .annotations = $4}); }
| ENUM identifier OPEN_BRACE enum_members CLOSE_BRACE annotations
    { state.add_definition(Enum{.name = $2, .members = $4, .annotations = $6}); }
| ENUM identifier OPEN_BRACE enum_members error CLOSE_BRACE annotations
    { state.add_definition(Enum{.name = $2, .members = $4, .annotations = $7}); }
| struct_kind identifier xsd_all braced_fields annotations
    { state.add_definition(Struct{.kind = $1, .name = $2, .xsd_all = $3, .fields = $4,
                                  .annotations = $5}); }
| EXCEPTION identifier braced_fields annotations
    { state.add_definition(Struct{.kind = Struct::Kind::kException, .name = $2, .fields = $3,
                                  .annotations = $4}); }
| SERVICE identifier extends braced_service_body annotations
    { Service service = $4;
      service.name = $2;
      service.extends = $3;
      service.annotations = $5;
      state.add_definition(std::move(service)); }
;

separator: %empty | COMMA | SEMICOLON;

identifier: IDENTIFIER  { $$ = Name{$1, @1}; };
literal: LITERAL        { $$ = Name{$1, @1}; };

/* ---- types ---- */

type:
  identifier                         { $$ = Type{.kind = TypeKind::kNamed, .name = $1}; }
| identifier bracketed_annotations
    { $$ = Type{.kind = TypeKind::kNamed, .name = $1, .annotations = $2}; }
| base_type annotations              { $$ = state.base_type(@1, $2); }
| MAP cpp_type OPEN_ANGLE type COMMA type CLOSE_ANGLE annotations
    { $$ = state.container(TypeKind::kMap, @1, $2, {$4, $6}); $$.annotations = $8; }
| SET cpp_type OPEN_ANGLE type CLOSE_ANGLE annotations
    { $$ = state.container(TypeKind::kSet, @1, $2, {$4}); $$.annotations = $6; }
| LIST cpp_type OPEN_ANGLE type CLOSE_ANGLE cpp_type annotations
    { std::optional<Name> cpp_type = $2, after = $6;
      if (after) cpp_type = std::move(after);
      $$ = state.container(TypeKind::kList, @1, std::move(cpp_type), {$4});
      $$.annotations = $7; }
;

base_type: BOOL | BYTE | I8 | I16 | I32 | I64 | DOUBLE | STRING | BINARY;

cpp_type:
  %empty            { }
| CPP_TYPE literal  { $$ = $2; }
;

/* ---- annotations ---- */

annotations:
  %empty                 { }
| bracketed_annotations  { $$ = $1; }
;

bracketed_annotations:
  OPEN_PAREN annotation_list CLOSE_PAREN        { $$ = Annotations{$2, @$}; }
| OPEN_PAREN annotation_list error CLOSE_PAREN  { $$ = Annotations{$2, @$}; }
;

annotation_list:
  %empty                      { }
| annotation_list annotation  { $$ = $1; $$.push_back($2); }
;

annotation:
  identifier separator                 { $$ = Annotation{$1, std::nullopt, @$}; }
| identifier EQUALS literal separator  { $$ = Annotation{$1, $3, @$}; }
;

/* ---- values ---- */

const_value:
  INTEGER     { $$ = ConstValue{.kind = ConstValue::Kind::kInteger, .integer = $1, .at = @1}; }
| NUMBER      { $$ = ConstValue{.kind = ConstValue::Kind::kDouble, .number = $1, .at = @1}; }
| literal     { $$ = ConstValue{.kind = ConstValue::Kind::kLiteral, .text = $1, .at = @1}; }
| identifier  { $$ = ConstValue{.kind = ConstValue::Kind::kName, .text = $1, .at = @1}; }
| OPEN_SQUARE const_list CLOSE_SQUARE
    { $$ = ConstValue{.kind = ConstValue::Kind::kList, .items = $2, .at = @$}; }
| OPEN_BRACE const_map CLOSE_BRACE
    { $$ = ConstValue{.kind = ConstValue::Kind::kMap, .items = $2, .at = @$}; }
;

const_list:
  %empty                            { }
| const_list const_value separator  { $$ = $1; $$.push_back($2); }
;

const_map:
  %empty  { }
| const_map const_value COLON const_value separator
    { $$ = $1; $$.push_back($2); $$.push_back($4); }
;

/* ---- structs, unions, exceptions, enums ---- */

struct_kind:
  STRUCT  { $$ = Struct::Kind::kStruct; }
| UNION   { $$ = Struct::Kind::kUnion; }
;

xsd_all: %empty { $$ = false; } | XSD_ALL { $$ = true; };

braced_fields:
  OPEN_BRACE field_list CLOSE_BRACE        { $$ = $2; }
| OPEN_BRACE field_list error CLOSE_BRACE  { $$ = $2; }
;

parenthesized_fields:
  OPEN_PAREN field_list CLOSE_PAREN        { $$ = $2; }
| OPEN_PAREN field_list error CLOSE_PAREN  { $$ = $2; }
;

field_list:
  %empty                      { }
| field_list field            { $$ = $1; add_field($$, $2); }
| field_list error COMMA      { $$ = $1; }
| field_list error SEMICOLON  { $$ = $1; }
;

field:
  field_id requiredness type reference field_name field_value
  xsd_optional xsd_nillable xsd_attributes annotations separator
    { $$ = Field{.written_id = $1, .requiredness = $2, .requiredness_at = @2, .type = $3,
                 .reference = $4, .name = $5, .value = $6, .xsd_optional = $7, .xsd_nillable = $8,
                 .xsd_attributes = $9, .annotations = $10}; }
;

field_id:
  %empty         { }
| INTEGER COLON  { $$ = FieldId{$1, @1}; }
;

requiredness:
  %empty    { $$ = Requiredness::kDefault; }
| REQUIRED  { $$ = Requiredness::kRequired; }
| OPTIONAL  { $$ = Requiredness::kOptional; }
;

reference: %empty { $$ = false; } | AMPERSAND { $$ = true; };

field_name:
  identifier  { $$ = $1; }
| name_word   { $$ = state.name(@1); }
;

/* The keywords that Thrift accepts as the name of a field since 0.18. */
name_word:
  NAMESPACE | INCLUDE | CPP_INCLUDE | VOID | BOOL | BYTE | I8 | I16 | I32 | I64 | DOUBLE | STRING
| BINARY | MAP | LIST | SET | ONEWAY | ASYNC | TYPEDEF | STRUCT | UNION | EXCEPTION | EXTENDS
| THROWS | SERVICE | ENUM | CONST | REQUIRED | OPTIONAL
;

field_value:
  %empty              { }
| EQUALS const_value  { $$ = $2; }
;

xsd_optional: %empty { $$ = false; } | XSD_OPTIONAL { $$ = true; };
xsd_nillable: %empty { $$ = false; } | XSD_NILLABLE { $$ = true; };
xsd_attributes: %empty { } | XSD_ATTRS braced_fields { $$ = $2; };

enum_members:
  %empty                        { }
| enum_members enum_member      { $$ = $1; add_enum_member($$, $2); }
| enum_members error COMMA      { $$ = $1; }
| enum_members error SEMICOLON  { $$ = $1; }
;

enum_member: identifier enum_value annotations separator
    { $$ = EnumMember{.name = $1, .written_value = $2, .annotations = $3}; };

enum_value:
  %empty          { }
| EQUALS INTEGER  { $$ = $2; }
;

/* ---- services ---- */

extends:
  %empty              { }
| EXTENDS identifier  { $$ = $2; }
;

braced_service_body:
  OPEN_BRACE service_body CLOSE_BRACE        { $$ = $2; $$.closing_brace = @3; }
| OPEN_BRACE service_body error CLOSE_BRACE  { $$ = $2; $$.closing_brace = @4; }
;

service_body:
  %empty                        { }
| service_body function         { $$ = $1; $$.functions.push_back($2); }
| service_body hint_group       { $$ = $1; state.add_group($$, $2); }
| service_body error COMMA      { $$ = $1; }
| service_body error SEMICOLON  { $$ = $1; }
;

function:
  function_signature separator
    { $$ = $1; $$.separator = @2; }
| function_signature separator OPEN_SQUARE hint_groups CLOSE_SQUARE separator
    { $$ = $1; $$.separator = @2; $$.hint_block = Span{@3.begin, @5.end};
      $$.block_separator = @6; $$.groups = $4; }
| function_signature separator OPEN_SQUARE hint_groups error CLOSE_SQUARE separator
    { $$ = $1; }
;

function_signature: function_head parenthesized_fields throws annotations
    { $$ = $1; $$.arguments = $2; $$.exceptions = $3; $$.annotations = $4; $$.signature = @$; };

function_head:
  function_type identifier         { $$ = Function{.result = $1, .name = $2}; }
| ONEWAY function_type identifier  { $$ = Function{.oneway = true, .result = $2, .name = $3}; }
| ASYNC function_type identifier
    { $$ = Function{.oneway = true, .async_at = @1, .result = $2, .name = $3}; }
;

function_type:
  type  { $$ = $1; }
| VOID  { $$ = state.base_type(@1, {}); }
;

throws:
  %empty                       { }
| THROWS parenthesized_fields  { $$ = $2; }
;

/* ---- hints ---- */

hint_groups:
  %empty                       { }
| hint_groups hint_group       { $$ = $1; $$.push_back($2); }
| hint_groups error SEMICOLON  { $$ = $1; }
;

hint_group: identifier COLON hint_list SEMICOLON  { $$ = HintGroup{$1, $3, @$}; };

hint_list:
  hint                  { $$.push_back($1); }
| hint_list COMMA hint  { $$ = $1; $$.push_back($3); }
;

hint: hint_key EQUALS hint_value  { $$ = Hint{$1, $3}; };

hint_key:
  identifier  { $$ = $1; }
| keyword     { $$ = state.name(@1); }
;

hint_value:
  IDENTIFIER          { $$ = state.name(@1); }
| INTEGER             { $$ = state.name(@1); }
| NUMBER              { $$ = state.name(@1); }
| keyword             { $$ = state.name(@1); }
| literal             { $$ = $1; }
| INTEGER IDENTIFIER  { $$ = state.joined_value(@1, @2); }
| NUMBER IDENTIFIER   { $$ = state.joined_value(@1, @2); }
;

keyword: name_word | CPP_TYPE | XSD_ALL | XSD_OPTIONAL | XSD_NILLABLE | XSD_ATTRS;

%%

void hat::hintgen::GrammarParser::error(const Span& at, const std::string& message) {
  state.syntax_error(at, message);
}

void hat::hintgen::GrammarParser::report_syntax_error(const context& context) const {
  std::vector<symbol_kind_type> kinds(YYNTOKENS);
  const int count = context.expected_tokens(kinds.data(), YYNTOKENS);
  std::vector<std::string_view> expected;
  for (int i = 0; i < count; ++i) expected.push_back(symbol_name(kinds[i]));
  state.unexpected_token(context.location(), std::move(expected));
}
