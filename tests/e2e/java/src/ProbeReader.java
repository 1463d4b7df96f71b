// SPDX-License-Identifier: Apache-2.0
// tests/e2e/java/src/ProbeReader.java: as tests/e2e/python/reader.py.

import checked.Checked;
import checked.Either;
import checked.Node;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TJSONProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.transport.TMemoryBuffer;
import org.apache.thrift.transport.TMemoryInputTransport;
import org.apache.thrift.transport.TTransport;

public final class ProbeReader {
  private static final List<String> calls = new ArrayList<>();
  private static final Pattern HIGH_ESCAPE = Pattern.compile("\\\\u[89a-f]");

  private static final class Notes implements Checked.Iface {
    public void none() { calls.add("none"); }
    public long add(long left, long right) { calls.add("add"); return 0; }
    public void put(String key, Node value) { calls.add("put"); }
    public List<String> many(List<String> keys, Map<String, Node> nodes, Set<Short> marks) {
      calls.add("many");
      return new ArrayList<>();
    }
    public void note(Set<Long> numbers, boolean flag, List<Either> choices) { calls.add("note"); }
    public void danger(String what) { calls.add("danger"); }
  }

  private static TProtocol protocolOf(int encoding, TTransport transport) {
    switch (encoding) {
      case 0:
      case 1:
        return new TBinaryProtocol(transport);
      case 2:
        return new TCompactProtocol(transport);
      default:
        return new TJSONProtocol(transport);
    }
  }

  // Java's TJSONProtocol takes no escape of U+8000 and above. What it throws is no TException: it ends the
  // connection in all of Java's servers, so nothing is read behind it.
  private static boolean hasHighEscape(int encoding, byte[] request) {
    return encoding == 3
        && HIGH_ESCAPE.matcher(new String(request, StandardCharsets.ISO_8859_1)).find();
  }

  public static void main(String[] arguments) throws Exception {
    DataInputStream input = new DataInputStream(new BufferedInputStream(System.in, 1 << 20));
    Checked.Processor<Checked.Iface> processor = new Checked.Processor<>(new Notes());
    long count = 0;
    for (;;) {
      int encoding;
      try {
        encoding = input.readUnsignedByte();
      } catch (EOFException end) {
        break;
      }
      byte[] name = new byte[input.readUnsignedByte()];
      input.readFully(name);
      byte[] request = new byte[input.readInt()];
      input.readFully(request);
      ++count;
      calls.clear();
      TMemoryInputTransport memory = new TMemoryInputTransport(request);
      TProtocol reader = protocolOf(encoding, memory);
      String said = "";
      try {
        processor.process(reader, protocolOf(encoding, new TMemoryBuffer(64)));
      } catch (IllegalArgumentException refused) {
        if (hasHighEscape(encoding, request)) continue;
        said = refused.toString();
      } catch (Exception refused) {
        said = refused.toString();
      }
      int left = memory.getBytesRemainingInBuffer();
      String function = new String(name, StandardCharsets.UTF_8);
      if (!said.isEmpty() || left != 0 || !calls.equals(List.of(function))) {
        System.out.println("request " + count + ", of " + function + ": " + calls + ", " + left
            + " bytes left " + said + ": " + HexFormat.of().formatHex(request));
        System.exit(1);
      }
    }
    System.out.println(count + " requests");
  }
}
