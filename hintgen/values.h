// SPDX-License-Identifier: Apache-2.0
// hintgen/values.h: checks constants and default values against their types.
#pragma once

#include "hintgen/report.h"
#include "hintgen/scope.h"

namespace hat::hintgen {

class ValueRules {
 public:
  ValueRules(const Program& program, const Scopes& scopes, Report& report)
      : program_(program), scopes_(scopes), report_(report) {}

  // Checks `value` against `type`. `owner` is the constant or field that has the value.
  void check(const Type& type, const ConstValue& value, const Name& owner) const {
    check(type, value, Use{owner, false});
  }

  // Returns false and reports an error if the definition of the type `use` comes after `owner`. The
  // Thrift compiler reads a file in one pass. Therefore the types of values and of exceptions must
  // be defined before the constant, field or function (`owner`) that uses them.
  bool check_defined_before(const Type& use, const Name& owner) const;

 private:
  // The constant or field that has the value, and whether its type is a typedef. The Thrift
  // compiler does not follow typedefs when it checks whether a value fits its type.
  struct Use {
    const Name& owner;
    bool behind_typedef;
  };

  void check(const Type& type, const ConstValue& value, Use use) const;
  void check_name(const Type& type, const ConstValue& value, Use use) const;
  void check_enum(const Enum& definition, const ConstValue& value, Use use) const;
  void check_struct(const Struct& definition, const ConstValue& value, Use use) const;
  void check_base(const Type& type, const ConstValue& value, Use use) const;
  void check_items(const Type& type, const ConstValue& value, Use use) const;
  void report_misfit(const ConstValue& value, Use use, std::string message) const;
  bool is_before(Span definition, Span use) const { return definition.begin < use.begin; }

  const Program& program_;
  const Scopes& scopes_;
  Report& report_;
};

}  // namespace hat::hintgen
