// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/java/.../Draws.java: prints what YCSB's own generators give; kv/ycsb/draws_test.py compares
// kv/ycsb/draws.cc, which prints the same of hatkv-ycsb's.
package site.ycsb.workloads;

import java.io.FileInputStream;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;
import site.ycsb.Utils;
import site.ycsb.generator.NumberGenerator;
import site.ycsb.generator.ScrambledZipfianGenerator;
import site.ycsb.generator.SkewedLatestGenerator;
import site.ycsb.generator.ZipfianGenerator;
import site.ycsb.measurements.Measurements;

/** Draws COUNT FILE [KEY=VALUE]...: FILE is a workload, read as YCSB does. */
public final class Draws {
  private static final long[] NUMBERS = {0, 1, 2, 9, 255, 256, 99_999, 1L << 31, 10_000_000_000L};

  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[0]);
    Properties p = new Properties();
    p.load(new FileInputStream(args[1]));
    for (int i = 2; i < args.length; i++) {
      String[] assignment = args[i].split("=", 2);
      p.setProperty(assignment[0], assignment[1]);
    }
    Measurements.setProperties(p);
    MultiWorkload workload = new MultiWorkload();
    workload.init(p);
    for (long number : NUMBERS) {
      System.out.println("hash " + number + " " + Utils.fnvhash64(number));
      System.out.println("key " + number + " " + workload.buildKeyName(number));
    }
    printConstants(workload.keychooser);
    Inserted inserted = new Inserted();
    workload.doInsert(inserted, null);
    System.out.println("first " + inserted.key);
    for (Map.Entry<String, ByteIterator> field : new TreeMap<>(inserted.values).entrySet()) {
      String value = field.getValue().toString();
      if (p.getProperty("dataintegrity", "false").equals("true")) {
        System.out.println("value " + field.getKey() + " " + value);
      }
      System.out.println("length " + field.getKey() + " " + value.length());
    }
    for (int i = 0; i < count; i++) {
      System.out.println("record " + workload.nextKeynum());
    }
    for (int i = 0; i < count; i++) {
      System.out.println("operation " + workload.operationchooser.nextString());
    }
    System.exit(0); // YCSB's tracer may have threads
  }

  /** What the formula of ranks is made of. */
  private static void printConstants(NumberGenerator chooser) throws Exception {
    Object zipfian;
    if (chooser instanceof ScrambledZipfianGenerator) {
      zipfian = field(ScrambledZipfianGenerator.class, "gen", chooser);
    } else if (chooser instanceof SkewedLatestGenerator) {
      zipfian = field(SkewedLatestGenerator.class, "zipfian", chooser);
    } else {
      return;
    }
    for (String name : new String[] {"zetan", "eta", "alpha"}) {
      System.out.println("constant " + name + " " + field(ZipfianGenerator.class, name, zipfian));
    }
  }

  private static Object field(Class<?> of, String name, Object in) throws Exception {
    Field field = of.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(in);
  }

  /** A database that keeps what was inserted last. */
  private static final class Inserted extends DB {
    private String key;
    private Map<String, ByteIterator> values;

    @Override
    public Status insert(String table, String newKey, Map<String, ByteIterator> newValues) {
      key = newKey;
      values = newValues;
      return Status.OK;
    }

    @Override
    public Status read(String table, String k, Set<String> f, Map<String, ByteIterator> r) {
      return Status.NOT_IMPLEMENTED;
    }

    @Override
    public Status scan(String table, String start, int count, Set<String> f,
                       Vector<HashMap<String, ByteIterator>> r) {
      return Status.NOT_IMPLEMENTED;
    }

    @Override
    public Status update(String table, String k, Map<String, ByteIterator> v) {
      return Status.NOT_IMPLEMENTED;
    }

    @Override
    public Status delete(String table, String k) {
      return Status.NOT_IMPLEMENTED;
    }
  }

  private Draws() {}
}
