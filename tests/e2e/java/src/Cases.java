// SPDX-License-Identifier: Apache-2.0
// tests/e2e/java/src/Cases.java: checks that calls and their answers arrive whole and in order.
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.async.AsyncMethodCallback;
import org.apache.thrift.async.TAsyncClientManager;
import org.apache.thrift.transport.TNonblockingSocket;
import probe.DivisionByZero;
import probe.Everything;
import probe.ProbeOfTomorrow;

/** The library checks each answer's sequence id; it has one call at a time per connection. */
final class Cases {
  interface Case {
    void run(Session session) throws Exception;
  }

  private static final String TEXT =
      "quote \" backslash \\ newline \n tab \t Grüße, мир, 世界, €";

  private Cases() {}

  static Map<String, Case> of(Combination combination) {
    Map<String, Case> cases = new LinkedHashMap<>();
    cases.put("ping", session -> session.client.ping());
    cases.put("add", Cases::add);
    cases.put("echo_sizes", Cases::echoSizes);
    cases.put("echo_large", session -> checkEcho(session, session.combination.largeBytes));
    cases.put("produce_consume", Cases::produceConsume);
    cases.put("text", Cases::text);
    cases.put("everything", Cases::everything);
    cases.put("declared", Cases::declared);
    cases.put("undeclared", Cases::undeclared);
    cases.put("unknown_method", Cases::unknownMethod);
    cases.put("oneway", Cases::oneway);
    cases.put("slow", Cases::slow);
    cases.put("many", Cases::many);
    cases.put("reconnect", Cases::reconnect);
    if (combination.transport.equals("framed") && combination.multiplexed.isEmpty()) {
      cases.put("asynchronous", Cases::asynchronous);
    }
    return cases;
  }

  private static void expect(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException(what);
    }
  }

  private static void checkSum(Session session, int left, int right) throws Exception {
    int sum = session.client.add(left, right);
    expect(sum == left + right, left + " + " + right + " came as " + sum);
  }

  private static void checkEcho(Session session, int size) throws Exception {
    ByteBuffer sent = ByteBuffer.wrap(Values.pattern(size));
    ByteBuffer came = session.client.echo(sent.duplicate());
    expect(came.equals(sent), size + " bytes came back changed");
  }

  private static void add(Session session) throws Exception {
    checkSum(session, 2, 3);
    checkSum(session, -7, 3);
    checkSum(session, Integer.MAX_VALUE, 0);
  }

  private static void echoSizes(Session session) throws Exception {
    int[] sizes = {0, 1, 2, 100, 4095, 4096, 4097, 65535, 65536, 65537, 300_000};
    for (int size : sizes) {
      checkEcho(session, size);
    }
  }

  private static void produceConsume(Session session) throws Exception {
    int size = Math.min(1_000_000, session.combination.largeBytes);
    ByteBuffer came = session.client.produce(size);
    expect(came.equals(ByteBuffer.wrap(Values.pattern(size))), size + " bytes came changed");
    expect(session.client.consume(came) == size, "not all of " + size + " bytes arrived");
  }

  private static void text(Session session) throws Exception {
    String came = session.client.echo_text(TEXT);
    expect(came.equals(TEXT), "'" + came + "' came back");
  }

  private static void everything(Session session) throws Exception {
    for (Everything sent : new Everything[] {Values.full(), Values.empty()}) {
      Everything came = session.client.echo_everything(sent);
      expect(came.equals(sent), "a struct came back changed: " + came);
    }
    expect(
        session.client.repeat(Values.full(), 20).equals(Collections.nCopies(20, Values.full())),
        "a list came changed");
  }

  private static void declared(Session session) throws Exception {
    expect(session.client.divide(7, 2) == 3, "7 / 2");
    try {
      session.client.divide(7, 0);
    } catch (DivisionByZero error) {
      expect(
          error.numerator == 7 && error.message.equals("cannot divide by zero"), error.toString());
      session.client.ping();
      return;
    }
    throw new IllegalStateException("no declared exception came");
  }

  private static void undeclared(Session session) throws Exception {
    try {
      session.client.fail("on purpose");
    } catch (TApplicationException error) {
      session.client.ping();
      return;
    }
    throw new IllegalStateException("no TApplicationException came");
  }

  private static void unknownMethod(Session session) throws Exception {
    try {
      session.client.not_yet(1);
    } catch (TApplicationException error) {
      expect(error.getType() == TApplicationException.UNKNOWN_METHOD, "type " + error.getType());
      session.client.ping();
      return;
    }
    throw new IllegalStateException("no TApplicationException came");
  }

  private static void oneway(Session session) throws Exception {
    String who = "java-" + ProcessHandle.current().pid() + "-" + session.combination.address;
    for (int i = 0; i < 200; ++i) {
      session.client.note(who);
    }
    int count = session.client.count(who);
    expect(count == 200, count + " of 200 oneway calls arrived");
  }

  private static void slow(Session session) throws Exception {
    long began = System.nanoTime();
    expect(session.client.slow(50) == 50, "slow");
    expect(System.nanoTime() - began >= 50_000_000, "too early");
  }

  private static void many(Session session) throws Exception {
    for (int i = 0; i < 300; ++i) {
      checkSum(session, i, i);
    }
  }

  private static void reconnect(Session session) throws Exception {
    for (int i = 0; i < 5; ++i) {
      session.close();
      session.reopen();
      checkSum(session, i, 1);
    }
  }

  /** The asynchronous client always sends sequence id 0, and wants it back. */
  private static void asynchronous(Session session) throws Exception {
    TAsyncClientManager manager = new TAsyncClientManager();
    try (TNonblockingSocket socket =
        new TNonblockingSocket(session.combination.host(), session.combination.port())) {
      ProbeOfTomorrow.AsyncClient client =
          new ProbeOfTomorrow.AsyncClient(
              Stack.protocols(session.combination.protocol), manager, socket);
      client.setTimeout(session.combination.timeoutMs);
      for (int i = 0; i < 30; ++i) {
        CompletableFuture<Integer> sum = new CompletableFuture<>();
        client.add(
            i,
            1000,
            new AsyncMethodCallback<Integer>() {
              @Override
              public void onComplete(Integer value) {
                sum.complete(value);
              }

              @Override
              public void onError(Exception error) {
                sum.completeExceptionally(error);
              }
            });
        expect(
            sum.get(session.combination.timeoutMs, TimeUnit.MILLISECONDS) == i + 1000,
            "asynchronous call " + i);
      }
    } finally {
      manager.stop();
    }
  }
}
