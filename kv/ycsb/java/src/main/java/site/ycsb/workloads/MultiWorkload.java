// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/java/.../MultiWorkload.java: CoreWorkload, and reads and updates of many records at once.
package site.ycsb.workloads;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import java.util.function.Supplier;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;
import site.ycsb.WorkloadException;
import site.ycsb.db.HatKvClient;
import site.ycsb.measurements.Measurements;

/**
 * What HatRPC (SC'21, 5.4) adds to YCSB. A multi-read is multireadbatch reads of CoreWorkload's in one
 * request, a multi-update multiupdatebatch updates: keys and values are drawn as there, one by one. They
 * are reported as MULTIREAD and MULTIUPDATE. Properties: multireadproportion and
 * multiupdateproportion (default 0), multireadbatch and multiupdatebatch (default 10).
 *
 * <p>Lies in CoreWorkload's package, since drawing a key is that package's own.
 */
public class MultiWorkload extends CoreWorkload {
  public static final String MULTI_READ = "MULTIREAD";
  public static final String MULTI_UPDATE = "MULTIUPDATE";

  private final Measurements measurements = Measurements.getMeasurements();
  private int readBatch;
  private int updateBatch;
  private boolean verify;

  @Override
  public void init(Properties p) throws WorkloadException {
    super.init(p);
    double reads = Double.parseDouble(p.getProperty("multireadproportion", "0"));
    double updates = Double.parseDouble(p.getProperty("multiupdateproportion", "0"));
    if (reads > 0) {
      operationchooser.addValue(reads, MULTI_READ);
    }
    if (updates > 0) {
      operationchooser.addValue(updates, MULTI_UPDATE);
    }
    readBatch = Integer.parseInt(p.getProperty("multireadbatch", "10"));
    updateBatch = Integer.parseInt(p.getProperty("multiupdatebatch", "10"));
    verify = Boolean.parseBoolean(
        p.getProperty(DATA_INTEGRITY_PROPERTY, DATA_INTEGRITY_PROPERTY_DEFAULT));
  }

  /** The thread's own binding, behind YCSB's wrapper, which knows no batches. */
  @Override
  public Object initThread(Properties p, int id, int count) throws WorkloadException {
    HatKvClient client = HatKvClient.ofThread();
    if (client == null) {
      throw new WorkloadException("MultiWorkload wants db=site.ycsb.db.HatKvClient");
    }
    return client;
  }

  @Override
  public boolean doTransaction(DB db, Object threadstate) {
    String operation = operationchooser.nextString();
    if (operation == null) {
      return false;
    }
    switch (operation) {
      case "READ":
        doTransactionRead(db);
        break;
      case "UPDATE":
        doTransactionUpdate(db);
        break;
      case "INSERT":
        doTransactionInsert(db);
        break;
      case "SCAN":
        doTransactionScan(db);
        break;
      case MULTI_READ:
        multiRead((HatKvClient) threadstate);
        break;
      case MULTI_UPDATE:
        multiUpdate((HatKvClient) threadstate);
        break;
      default:
        doTransactionReadModifyWrite(db);
    }
    return true;
  }

  private void multiRead(HatKvClient client) {
    List<String> keys = new ArrayList<>(readBatch);
    for (int i = 0; i < readBatch; i++) {
      keys.add(buildKeyName(nextKeynum()));
    }
    List<HashMap<String, ByteIterator>> found = new ArrayList<>(readBatch);
    measure(MULTI_READ, () -> client.multiRead(keys, found));
    if (verify) {
      for (int i = 0; i < keys.size(); i++) {
        verifyRow(keys.get(i), i < found.size() ? found.get(i) : new HashMap<>());
      }
    }
  }

  private void multiUpdate(HatKvClient client) {
    Updates updates = new Updates();
    for (int i = 0; i < updateBatch; i++) {
      doTransactionUpdate(updates);
    }
    measure(MULTI_UPDATE, () -> client.multiUpdate(updates.keys, updates.values));
  }

  /** As YCSB's wrapper measures a binding's operations. */
  private void measure(String operation, Supplier<Status> call) {
    long intended = measurements.getIntendedtartTimeNs();
    long begin = System.nanoTime();
    Status status = call.get();
    long end = System.nanoTime();
    String name = status.isOk() ? operation : operation + "-FAILED";
    measurements.measure(name, (int) ((end - begin) / 1000));
    measurements.measureIntended(name, (int) ((end - intended) / 1000));
    measurements.reportStatus(operation, status);
  }

  /** A database that keeps the updates which CoreWorkload makes, for one request. */
  private static final class Updates extends DB {
    private final List<String> keys = new ArrayList<>();
    private final List<Map<String, ByteIterator>> values = new ArrayList<>();

    @Override
    public Status update(String table, String key, Map<String, ByteIterator> fields) {
      keys.add(key);
      values.add(fields);
      return Status.OK;
    }

    @Override
    public Status read(String table, String key, Set<String> fields,
                       Map<String, ByteIterator> result) {
      return Status.NOT_IMPLEMENTED;
    }

    @Override
    public Status scan(String table, String startkey, int recordcount, Set<String> fields,
                       Vector<HashMap<String, ByteIterator>> result) {
      return Status.NOT_IMPLEMENTED;
    }

    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> fields) {
      return Status.NOT_IMPLEMENTED;
    }

    @Override
    public Status delete(String table, String key) {
      return Status.NOT_IMPLEMENTED;
    }
  }
}
