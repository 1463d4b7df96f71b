// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/java/.../HatKvConnection.java: a stock Thrift client of HatKV, over TCP or a unix socket.
package site.ycsb.db;

import hatkv.HatKV;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TIOStreamTransport;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.layered.TFramedTransport;

/** Framed binary, a connection that is kept. After a call that failed the next one connects anew. */
final class HatKvConnection {
  private static final int CONNECT_TIMEOUT_MS = 10_000;
  private static final int CALL_TIMEOUT_MS = 60_000; // of TCP alone: channels have none

  private final String address;
  private TTransport transport;
  private HatKV.Client client;

  /** One call, or several. */
  interface Calls<T> {
    T make(HatKV.Client client) throws TException;
  }

  /** `address`: tcp:HOST:PORT or unix:/PATH. */
  HatKvConnection(String address) {
    this.address = address;
  }

  void open() throws TException {
    transport = new TFramedTransport(transportTo(address));
    transport.open();
    client = new HatKV.Client(new TBinaryProtocol(transport));
  }

  <T> T call(Calls<T> calls) throws TException {
    if (client == null) {
      open();
    }
    try {
      return calls.make(client);
    } catch (hatkv.NotFound | hatkv.Refused declared) {
      throw declared; // the connection is as good as before
    } catch (TException failure) {
      close();
      throw failure;
    }
  }

  void close() {
    if (transport != null) {
      transport.close();
    }
    client = null;
  }

  private static TTransport transportTo(String address) throws TTransportException {
    int colon = address.lastIndexOf(':');
    if (address.startsWith("unix:/")) {
      return overChannel(address.substring("unix:".length()));
    }
    if (address.startsWith("tcp:") && colon > "tcp:".length()) {
      String host = address.substring("tcp:".length(), colon).replaceAll("^\\[|\\]$", "");
      try {
        int port = Integer.parseInt(address.substring(colon + 1));
        return new TSocket(null, host, port, CALL_TIMEOUT_MS, CONNECT_TIMEOUT_MS);
      } catch (NumberFormatException e) {
        // told below
      }
    }
    throw new TTransportException("hatkv.address: found '" + address
        + "', expected tcp:HOST:PORT or unix:/PATH");
  }

  private static TTransport overChannel(String path) throws TTransportException {
    try {
      SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
      channel.connect(UnixDomainSocketAddress.of(path));
      return new TIOStreamTransport(Channels.newInputStream(channel),
          Channels.newOutputStream(channel));
    } catch (IOException e) {
      throw new TTransportException(TTransportException.NOT_OPEN, path + ": " + e.getMessage(), e);
    }
  }
}
