// SPDX-License-Identifier: Apache-2.0
// tests/e2e/java/src/ProbeServer.java: serves probe.thrift with Java's servers until its input ends.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.concurrent.Executors;
import org.apache.thrift.TMultiplexedProcessor;
import org.apache.thrift.TProcessor;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.server.THsHaServer;
import org.apache.thrift.server.TNonblockingServer;
import org.apache.thrift.server.TServer;
import org.apache.thrift.server.TSimpleServer;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.server.TThreadedSelectorServer;
import org.apache.thrift.transport.TIOStreamTransport;
import org.apache.thrift.transport.TNonblockingServerSocket;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.layered.TFramedTransport;
import probe.Probe;

public final class ProbeServer {
  private ProbeServer() {}

  private static TProcessor processor(Combination combination, Handler handler) {
    TProcessor plain = new Probe.Processor<>(handler);
    if (combination.multiplexed.isEmpty()) {
      return plain;
    }
    TMultiplexedProcessor multiplexed = new TMultiplexedProcessor();
    multiplexed.registerProcessor(combination.multiplexed, plain);
    return multiplexed;
  }

  /** What TServlet does, in the JDK's own HTTP server instead of a servlet container. */
  private static int startHttp(Combination combination, TProcessor processor) throws Exception {
    TProtocolFactory protocols = Stack.protocols(combination.protocol);
    HttpServer server =
        HttpServer.create(new InetSocketAddress(combination.host(), combination.port()), 0);
    server.createContext(
        "/",
        exchange -> {
          java.io.ByteArrayOutputStream reply = new java.io.ByteArrayOutputStream();
          try {
            TIOStreamTransport transport =
                new TIOStreamTransport(exchange.getRequestBody(), reply);
            processor.process(protocols.getProtocol(transport), protocols.getProtocol(transport));
          } catch (org.apache.thrift.TException error) {
            throw new java.io.IOException(error);
          }
          exchange.getResponseHeaders().add("Content-Type", "application/x-thrift");
          exchange.sendResponseHeaders(200, reply.size() == 0 ? -1 : reply.size());
          reply.writeTo(exchange.getResponseBody());
          exchange.close();
        });
    server.setExecutor(Executors.newCachedThreadPool(ProbeServer::daemonThread));
    server.start();
    return server.getAddress().getPort();
  }

  private static Thread daemonThread(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    return thread;
  }

  private static TServer nonblocking(
      Combination combination, TProcessor processor, TNonblockingServerSocket socket) {
    TProtocolFactory protocols = Stack.protocols(combination.protocol);
    TFramedTransport.Factory frames = new TFramedTransport.Factory(Stack.FRAME_BYTES_MAX);
    return switch (combination.server) {
      case "nonblocking" ->
          new TNonblockingServer(
              new TNonblockingServer.Args(socket)
                  .processor(processor).protocolFactory(protocols).transportFactory(frames));
      case "hsha" ->
          new THsHaServer(
              new THsHaServer.Args(socket)
                  .processor(processor).protocolFactory(protocols).transportFactory(frames));
      case "selector" ->
          new TThreadedSelectorServer(
              new TThreadedSelectorServer.Args(socket)
                  .processor(processor).protocolFactory(protocols).transportFactory(frames));
      default -> throw new IllegalArgumentException("no server named " + combination.server);
    };
  }

  private static TServer blocking(
      Combination combination, TProcessor processor, TServerSocket socket) {
    TProtocolFactory protocols = Stack.protocols(combination.protocol);
    if (combination.server.equals("simple")) {
      return new TSimpleServer(
          new TServer.Args(socket)
              .processor(processor).protocolFactory(protocols)
              .transportFactory(Stack.transports(combination.transport)));
    }
    return new TThreadPoolServer(
        new TThreadPoolServer.Args(socket)
            .processor(processor).protocolFactory(protocols)
            .transportFactory(Stack.transports(combination.transport)));
  }

  private static int start(Combination combination, Handler handler) throws Exception {
    TProcessor processor = processor(combination, handler);
    if (combination.transport.equals("http")) {
      return startHttp(combination, processor);
    }
    InetSocketAddress address = new InetSocketAddress(combination.host(), combination.port());
    TServer server;
    int port;
    if (combination.server.equals("simple") || combination.server.equals("threadpool")) {
      ServerSocket socket = new ServerSocket();
      socket.bind(address, 128);
      server = blocking(combination, processor, new TServerSocket(socket));
      port = socket.getLocalPort();
    } else {
      TNonblockingServerSocket socket = new TNonblockingServerSocket(address);
      server = nonblocking(combination, processor, socket);
      port = socket.getPort();
    }
    daemonThread(server::serve).start();
    return port;
  }

  public static void main(String[] words) throws Exception {
    Handler handler = new Handler();
    for (Combination combination : Combination.read(words, "--listen")) {
      int port = start(combination, handler);
      System.out.println("listening on " + combination.host() + ":" + port);
    }
    while (System.in.read() >= 0) {
      continue;
    }
    Runtime.getRuntime().halt(0); // the serving threads have no other end
  }
}
