// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/java/.../HatKvClient.java: HatKV as a database of YCSB's.
package site.ycsb.db;

import hatkv.Lookup;
import hatkv.NotFound;
import hatkv.Page;
import hatkv.Pair;
import hatkv.Range;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.thrift.TException;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Read is get, insert and update are put, delete is remove; a record is one value (RecordLayout). An
 * update of some fields reads the record first. Tables are not told apart. Properties:
 * hatkv.address, tcp:HOST:PORT (default tcp:127.0.0.1:9091) or unix:/PATH.
 *
 * <p>YCSB makes one for each of its threads. MultiWorkload finds its thread's, behind the wrapper that
 * YCSB puts around it, by ofThread().
 */
public class HatKvClient extends DB {
  public static final String ADDRESS = "hatkv.address";
  public static final String ADDRESS_DEFAULT = "tcp:127.0.0.1:9091";

  private static final int PAGE_MOST = 10_000; // pairs in an answer of scan
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
  private static final ThreadLocal<HatKvClient> OF_THREAD = new ThreadLocal<>();
  private static final AtomicBoolean COMPLAINED = new AtomicBoolean();

  private HatKvConnection connection;
  private RecordLayout layout;

  /** The one that this thread has made; null where its database is another. */
  public static HatKvClient ofThread() {
    return OF_THREAD.get();
  }

  @Override
  public void init() throws DBException {
    layout = new RecordLayout(getProperties());
    String address = getProperties().getProperty(ADDRESS, ADDRESS_DEFAULT);
    connection = new HatKvConnection(address);
    try {
      connection.open();
    } catch (TException e) {
      throw new DBException("cannot connect to " + address + ": " + e.getMessage(), e);
    }
    OF_THREAD.set(this);
  }

  @Override
  public void cleanup() {
    OF_THREAD.remove();
    connection.close();
  }

  @Override
  public Status read(String table, String key, Set<String> fields,
                     Map<String, ByteIterator> result) {
    return make(() -> {
      byte[] value = bytes(connection.call(client -> client.get(keyOf(key))));
      return layout.take(value, fields, result) ? Status.OK : Status.UNEXPECTED_STATE;
    });
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return make(() -> {
      byte[] value = new byte[layout.bytes()];
      if (!layout.isWhole(values) || !layout.put(values, value)) {
        return Status.BAD_REQUEST;
      }
      return put(key, value);
    });
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    if (layout.isWhole(values)) {
      return insert(table, key, values);
    }
    return make(() -> {
      byte[] value = bytes(connection.call(client -> client.get(keyOf(key))));
      if (value.length != layout.bytes()) {
        return Status.UNEXPECTED_STATE;
      }
      return layout.put(values, value) ? put(key, value) : Status.BAD_REQUEST;
    });
  }

  @Override
  public Status delete(String table, String key) {
    return make(() ->
        connection.call(client -> client.remove(keyOf(key))) ? Status.OK : Status.NOT_FOUND);
  }

  @Override
  public Status scan(String table, String startkey, int recordcount, Set<String> fields,
                     Vector<HashMap<String, ByteIterator>> result) {
    return make(() -> {
      Range range = new Range(keyOf(startkey), NOTHING, NOTHING);
      while (result.size() < recordcount) {
        int left = recordcount - result.size();
        Page page = connection.call(client -> client.scan(range, Math.min(left, PAGE_MOST)));
        for (Pair pair : page.getPairs()) {
          HashMap<String, ByteIterator> found = new HashMap<>();
          if (!layout.take(pair.getValue(), fields, found)) {
            return Status.UNEXPECTED_STATE;
          }
          result.add(found);
        }
        if (page.getResume().length == 0) {
          break;
        }
        range.setStart(page.getResume());
      }
      return Status.OK;
    });
  }

  /** All fields of some records, in the order of their keys, by one call. */
  public Status multiRead(List<String> keys, List<HashMap<String, ByteIterator>> results) {
    return make(() -> {
      for (byte[] value : multiget(keys)) {
        HashMap<String, ByteIterator> fields = new HashMap<>();
        if (!layout.take(value, null, fields)) {
          return Status.UNEXPECTED_STATE;
        }
        results.add(fields);
      }
      return Status.OK;
    });
  }

  /** Writes some records by one call; where it is some fields of them, reads them first by one more. */
  public Status multiUpdate(List<String> keys, List<Map<String, ByteIterator>> values) {
    return make(() -> {
      boolean whole = values.stream().allMatch(layout::isWhole);
      List<byte[]> records = whole ? null : multiget(keys);
      List<Pair> pairs = new ArrayList<>(keys.size());
      for (int i = 0; i < keys.size(); i++) {
        byte[] record = whole ? new byte[layout.bytes()] : records.get(i);
        if (record.length != layout.bytes()) {
          return Status.UNEXPECTED_STATE;
        }
        if (!layout.put(values.get(i), record)) {
          return Status.BAD_REQUEST;
        }
        pairs.add(new Pair(keyOf(keys.get(i)), ByteBuffer.wrap(record)));
      }
      connection.call(client -> {
        client.multiput(pairs);
        return null;
      });
      return Status.OK;
    });
  }

  private Status put(String key, byte[] value) throws TException {
    connection.call(client -> {
      client.put(keyOf(key), ByteBuffer.wrap(value));
      return null;
    });
    return Status.OK;
  }

  private List<byte[]> multiget(List<String> keys) throws TException {
    List<ByteBuffer> wanted = new ArrayList<>(keys.size());
    for (String key : keys) {
      wanted.add(keyOf(key));
    }
    List<byte[]> values = new ArrayList<>(keys.size());
    for (Lookup lookup : connection.call(client -> client.multiget(wanted))) {
      if (!lookup.found) {
        throw new NotFound(wanted.get(values.size()));
      }
      values.add(lookup.getValue());
    }
    if (values.size() != keys.size()) {
      throw new TException(values.size() + " answers to " + keys.size() + " keys");
    }
    return values;
  }

  private interface Operation {
    Status make() throws TException;
  }

  /** YCSB counts what failed and says no more of it; so the first failure is told here. */
  private static Status make(Operation operation) {
    Status status;
    String why = "the value is not a record of this workload";
    try {
      status = operation.make();
    } catch (NotFound e) {
      status = Status.NOT_FOUND;
      why = "the key is not in the store; was it loaded?";
    } catch (TException e) {
      status = Status.ERROR;
      why = e.toString();
    }
    if (!status.isOk() && COMPLAINED.compareAndSet(false, true)) {
      System.err.println("HatKV: " + status.getName() + ": " + why
          + " (of further failures YCSB's report has the numbers)");
    }
    return status;
  }

  private static ByteBuffer keyOf(String key) {
    return ByteBuffer.wrap(key.getBytes(StandardCharsets.US_ASCII));
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }
}
