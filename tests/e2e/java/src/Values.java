// SPDX-License-Identifier: Apache-2.0
// tests/e2e/java/src/Values.java: fills each field of Everything, as every language does.
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import probe.Colour;
import probe.Empty;
import probe.Everything;
import probe.Point;
import probe.Shape;

final class Values {
  private Values() {}

  /** Byte i is i modulo 251. */
  static byte[] pattern(int size) {
    byte[] result = new byte[size];
    for (int i = 0; i < size; ++i) {
      result[i] = (byte) (i % 251);
    }
    return result;
  }

  private static ByteBuffer bytes(int... values) {
    byte[] result = new byte[values.length];
    for (int i = 0; i < values.length; ++i) {
      result[i] = (byte) values[i];
    }
    return ByteBuffer.wrap(result);
  }

  static Everything full() {
    List<Integer> numbers = new ArrayList<>();
    for (int i = 0; i < 40; ++i) {
      numbers.add(i * i - 100);
    }
    Everything all = new Everything();
    all.setYes(true).setNo(false);
    all.setTiny(Byte.MIN_VALUE).setShort_one(Short.MIN_VALUE);
    all.setMedium(Integer.MIN_VALUE).setLarge(Long.MIN_VALUE).setReal(-2.5e-300);
    all.setText("Grüße").setBlob(bytes(0, 0xff, 0x80, 1)).setColour(Colour.BLUE);
    all.setInstant(1_700_000_000_123_456_789L).setPoint(new Point(1, -1).setLabel("corner"));
    all.setShape(Shape.polygon(List.of(new Point(0, 0), new Point(3, 0), new Point(0, 4))));
    all.setEmpty(new Empty()).setNumbers(numbers);
    all.setPoints(List.of(new Point(5, 6), new Point(7, 8)));
    all.setWords(Set.of("alpha", "beta", "")).setCounts(Map.of("one", 1, "minus one", -1));
    all.setIndex(Map.of(1, List.of("a", "b"), -2, List.of()));
    all.setFlags(List.of(List.of(true, false, true), List.of(), List.of(false)));
    all.setBlobs(
        List.of(bytes(0), bytes(), ByteBuffer.wrap("abc".getBytes(StandardCharsets.UTF_8))));
    all.setPresent("here").setReals(List.of(0.0, 1.5, -1e300)).setFar_away(200);
    return all;
  }

  static Everything empty() {
    Everything all = new Everything();
    all.setYes(false).setNo(false).setTiny((byte) 0).setShort_one((short) 0).setMedium(0);
    all.setLarge(0).setReal(0).setText("").setBlob(bytes()).setColour(Colour.RED).setInstant(0);
    all.setPoint(new Point(0, 0)).setShape(Shape.radius(0)).setEmpty(new Empty());
    all.setNumbers(List.of()).setPoints(List.of()).setWords(Set.of()).setCounts(Map.of());
    all.setIndex(Map.of()).setFlags(List.of()).setBlobs(List.of()).setReals(List.of());
    return all.setFar_away(0);
  }
}
