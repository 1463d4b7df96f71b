// SPDX-License-Identifier: Apache-2.0
// tests/e2e/java/src/Combination.java: reads the combinations that a probe client or server shall run.
import java.util.ArrayList;
import java.util.List;

/** One --connect or --listen and the options after it; tests/e2e/README.md lists them. */
final class Combination {
  String address; // HOST:PORT
  String transport = "framed";
  String protocol = "binary";
  String server = "threadpool";
  String multiplexed = "";
  final List<String> cases = new ArrayList<>();
  final List<String> skipped = new ArrayList<>();
  int timeoutMs = 20_000;
  int largeBytes = 16 << 20;

  String host() {
    return address.substring(0, address.lastIndexOf(':'));
  }

  int port() {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  boolean wants(String name) {
    return !skipped.contains(name) && (cases.isEmpty() || cases.contains(name));
  }

  private void set(String option, String value) {
    switch (option) {
      case "--transport" -> transport = value;
      case "--protocol" -> protocol = value;
      case "--server" -> server = value;
      case "--multiplexed" -> multiplexed = value;
      case "--case" -> cases.add(value);
      case "--skip" -> skipped.add(value);
      case "--timeout-ms" -> timeoutMs = Integer.parseInt(value);
      case "--large" -> largeBytes = Integer.parseInt(value);
      default -> throw new IllegalArgumentException("unknown option " + option);
    }
  }

  /** `first` is the option that opens a combination. */
  static List<Combination> read(String[] words, String first) {
    List<Combination> result = new ArrayList<>();
    for (int i = 0; i + 1 < words.length; i += 2) {
      if (words[i].equals(first)) {
        result.add(new Combination());
        result.get(result.size() - 1).address = words[i + 1];
      } else if (result.isEmpty()) {
        throw new IllegalArgumentException(first + " must come before " + words[i]);
      } else {
        result.get(result.size() - 1).set(words[i], words[i + 1]);
      }
    }
    if (result.isEmpty() || words.length % 2 != 0) {
      throw new IllegalArgumentException("expected " + first + " ADDRESS and options with a value");
    }
    return result;
  }
}
