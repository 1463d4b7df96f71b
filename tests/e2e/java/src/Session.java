// SPDX-License-Identifier: Apache-2.0
// tests/e2e/java/src/Session.java: holds an open client, and what it was made from.
import org.apache.thrift.protocol.TProtocol;
import probe.ProbeOfTomorrow;

final class Session implements AutoCloseable {
  final Combination combination;
  ProbeOfTomorrow.Client client;

  Session(Combination combination) throws Exception {
    this.combination = combination;
    reopen();
  }

  void reopen() throws Exception {
    TProtocol protocol = Stack.connect(combination);
    client = new ProbeOfTomorrow.Client(protocol);
  }

  @Override
  public void close() {
    client.getOutputProtocol().getTransport().close();
  }
}
