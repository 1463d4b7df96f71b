// SPDX-License-Identifier: Apache-2.0
// tests/e2e/java/src/Handler.java: answers the calls of probe.thrift.
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import probe.DivisionByZero;
import probe.Everything;
import probe.Probe;

final class Handler implements Probe.Iface {
  private final ConcurrentHashMap<String, Integer> notes = new ConcurrentHashMap<>();

  @Override
  public void ping() {}

  @Override
  public int add(int left, int right) {
    return left + right;
  }

  @Override
  public ByteBuffer echo(ByteBuffer data) {
    return data;
  }

  @Override
  public String echo_text(String text) {
    return text;
  }

  @Override
  public Everything echo_everything(Everything value) {
    return value;
  }

  @Override
  public List<Everything> repeat(Everything value, int times) {
    return Collections.nCopies(times, value);
  }

  @Override
  public int divide(int numerator, int denominator) throws DivisionByZero {
    if (denominator == 0) {
      throw new DivisionByZero(numerator, "cannot divide by zero");
    }
    return numerator / denominator;
  }

  @Override
  public void fail(String why) {
    throw new IllegalStateException(why);
  }

  @Override
  public void note(String who) {
    notes.merge(who, 1, Integer::sum);
  }

  @Override
  public int count(String who) {
    Integer count = notes.remove(who);
    return count == null ? 0 : count;
  }

  @Override
  public int slow(int ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
    return ms;
  }

  @Override
  public int hurried(int ms) {
    return slow(ms);
  }

  @Override
  public ByteBuffer produce(int size) {
    return ByteBuffer.wrap(Values.pattern(size));
  }

  @Override
  public int consume(ByteBuffer data) {
    return data.remaining();
  }
}
