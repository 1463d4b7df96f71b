// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/walker_compact.h: finds the end of a struct in Thrift's TCompactProtocol. The bytes
// can arrive in several pieces.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/thrift/cursor.h"
#include "daemon/thrift/nesting.h"

namespace hat::thrift {

class CompactWalker {
 public:
  void reset();
  // Continues with the bytes of `in`, and returns the same values as BinaryWalker::walk()
  // (daemon/thrift/walker_binary.h). unexamined() and first_field() return the same as in
  // BinaryWalker.
  Progress walk(Cursor& in);
  uint64_t unexamined() const { return skip_.left(); }
  std::optional<int16_t> first_field() const { return first_field_; }

 private:
  // The part of the struct whose bytes come next.
  enum class Awaited : uint8_t {
    kNextValue,
    kFieldId,
    kVarints,  // varints_left_ varints, which are skipped
    kStringBytes,
    kListHeader,
    kListCount,
    kMapCount,
    kMapTypes,
  };

  Progress step(Cursor& in);
  Progress next_value(Cursor& in);
  Progress read_field_id(Cursor& in);
  Progress begin_field(Cursor& in, uint8_t type, int16_t id);
  Progress begin_value(Cursor& in, uint8_t type);
  Progress read_string(Cursor& in);
  Progress read_list(Cursor& in);
  Progress read_list_count(Cursor& in);
  Progress begin_list(Cursor& in, uint32_t count);
  Progress read_map(Cursor& in);
  Progress read_map_types(Cursor& in);
  Progress skip_varints(Cursor& in);
  Progress take_count(Cursor& in, uint32_t& count);

  Skip skip_;
  Nesting nesting_;
  Varint varint_;
  Awaited awaited_ = Awaited::kNextValue;
  uint8_t type_ = 0;  // type of the field whose id comes next, or of the elements whose count comes
                      // next
  uint32_t map_count_ = 0;  // only in kMapTypes
  uint64_t varints_left_ = 0;
  uint8_t varint_bytes_ = 0;  // bytes already read of a varint that is being skipped
  bool fields_seen_ = false;
  std::optional<int16_t> first_field_;
};

}  // namespace hat::thrift
