// SPDX-License-Identifier: Apache-2.0
// tests/e2e/java/src/ProbeClient.java: runs the cases over each combination, and says which hold.
import java.util.Map;

public final class ProbeClient {
  private ProbeClient() {}

  private static boolean run(Combination combination, String name, Cases.Case check) {
    try (Session session = new Session(combination)) {
      check.run(session);
      System.out.println("ok " + name);
      return true;
    } catch (Exception error) { // whatever went wrong is the answer
      System.out.println("FAIL " + name + " " + error.toString().replace('\n', ' '));
      return false;
    }
  }

  public static void main(String[] words) {
    boolean allOk = true;
    for (Combination combination : Combination.read(words, "--connect")) {
      System.out.println("run " + combination.address);
      for (Map.Entry<String, Cases.Case> one : Cases.of(combination).entrySet()) {
        if (combination.wants(one.getKey())) {
          allOk = run(combination, one.getKey(), one.getValue()) && allOk;
        }
      }
    }
    System.out.flush();
    Runtime.getRuntime().halt(allOk ? 0 : 1);
  }
}
