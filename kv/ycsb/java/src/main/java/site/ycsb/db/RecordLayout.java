// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/java/.../RecordLayout.java: how a record of YCSB's lies in one value of HatKV's.
package site.ycsb.db;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.workloads.CoreWorkload;

/**
 * The fields, one after the other, of fieldlength bytes each: with YCSB's defaults 10 x 100 bytes, and
 * nothing beside them, as in HatRPC (SC'21) 5.4. So all fields must have the same length.
 */
final class RecordLayout {
  private final int fieldBytes;
  private final Map<String, Integer> places = new HashMap<>();

  RecordLayout(Properties p) throws DBException {
    String lengths = p.getProperty(CoreWorkload.FIELD_LENGTH_DISTRIBUTION_PROPERTY,
        CoreWorkload.FIELD_LENGTH_DISTRIBUTION_PROPERTY_DEFAULT);
    if (!lengths.equals("constant")) {
      throw new DBException("fieldlengthdistribution: found '" + lengths
          + "', expected constant: a value of HatKV's is its fields without their lengths");
    }
    fieldBytes = Integer.parseInt(p.getProperty(CoreWorkload.FIELD_LENGTH_PROPERTY,
        CoreWorkload.FIELD_LENGTH_PROPERTY_DEFAULT));
    int fields = Integer.parseInt(p.getProperty(CoreWorkload.FIELD_COUNT_PROPERTY,
        CoreWorkload.FIELD_COUNT_PROPERTY_DEFAULT));
    String prefix = p.getProperty(CoreWorkload.FIELD_NAME_PREFIX,
        CoreWorkload.FIELD_NAME_PREFIX_DEFAULT);
    for (int i = 0; i < fields; i++) {
      places.put(prefix + i, i * fieldBytes);
    }
  }

  int bytes() {
    return places.size() * fieldBytes;
  }

  boolean isWhole(Map<String, ByteIterator> fields) {
    return fields.size() == places.size();
  }

  /** Puts the fields into their places; false where one is not a field of this length. */
  boolean put(Map<String, ByteIterator> fields, byte[] value) {
    for (Map.Entry<String, ByteIterator> field : fields.entrySet()) {
      byte[] bytes = field.getValue().toArray();
      Integer place = places.get(field.getKey());
      if (place == null || bytes.length != fieldBytes) {
        return false;
      }
      System.arraycopy(bytes, 0, value, place, fieldBytes);
    }
    return true;
  }

  /** Takes the wanted fields (null: all) out; false where the value is no record, or has no such. */
  boolean take(byte[] value, Set<String> wanted, Map<String, ByteIterator> fields) {
    if (value.length != bytes()) {
      return false;
    }
    for (String name : wanted == null ? places.keySet() : wanted) {
      Integer place = places.get(name);
      if (place == null) {
        return false;
      }
      fields.put(name, new ByteArrayByteIterator(value, place, fieldBytes));
    }
    return true;
  }
}
