// SPDX-License-Identifier: Apache-2.0
// tests/e2e/java/src/Stack.java: makes the transports and protocols of libthrift for Java by name.
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.sasl.AuthorizeCallback;
import javax.security.sasl.RealmCallback;
import javax.security.sasl.Sasl;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TJSONProtocol;
import org.apache.thrift.protocol.TMultiplexedProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.transport.THttpClient;
import org.apache.thrift.transport.TSaslClientTransport;
import org.apache.thrift.transport.TSaslServerTransport;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.TTransportFactory;
import org.apache.thrift.transport.TZlibTransport;
import org.apache.thrift.transport.layered.TFastFramedTransport;
import org.apache.thrift.transport.layered.TFramedTransport;

final class Stack {
  // The library's own frame limit is 16,384,000 bytes, less than the 16 MiB that the tests carry.
  static final int FRAME_BYTES_MAX = 64 << 20;
  private static final TConfiguration LARGE =
      new TConfiguration(1 << 30, FRAME_BYTES_MAX, TConfiguration.DEFAULT_RECURSION_DEPTH);
  private static final String SASL_USER = "probe";
  private static final String SASL_PASSWORD = "not a secret";

  private Stack() {}

  /** `sasl` has plain frames after its handshake, `sasl_conf` encrypted ones. */
  private static Map<String, String> saslProperties(String transport) {
    return Map.of(Sasl.QOP, transport.equals("sasl_conf") ? "auth-conf" : "auth");
  }

  static void answerSasl(Callback[] callbacks) {
    for (Callback callback : callbacks) {
      if (callback instanceof NameCallback name) {
        name.setName(SASL_USER);
      } else if (callback instanceof PasswordCallback password) {
        password.setPassword(SASL_PASSWORD.toCharArray());
      } else if (callback instanceof RealmCallback realm) {
        realm.setText("localhost");
      } else if (callback instanceof AuthorizeCallback authorize) {
        authorize.setAuthorized(authorize.getAuthenticationID().equals(SASL_USER));
      }
    }
  }

  static TTransportFactory transports(String name) {
    return switch (name) {
      case "buffered" -> new TTransportFactory(); // TSocket buffers by itself
      case "framed" -> new TFramedTransport.Factory(FRAME_BYTES_MAX);
      case "fastframed" -> new TFastFramedTransport.Factory(1024, FRAME_BYTES_MAX);
      case "zlib" -> new TZlibTransport.Factory();
      case "sasl", "sasl_conf" ->
          new TSaslServerTransport.Factory(
              "DIGEST-MD5", "probe", "localhost", saslProperties(name), Stack::answerSasl);
      default -> throw new IllegalArgumentException("no transport named " + name);
    };
  }

  static TProtocolFactory protocols(String name) {
    return switch (name) {
      case "binary" -> new TBinaryProtocol.Factory();
      case "compact" -> new TCompactProtocol.Factory();
      case "json" -> new TJSONProtocol.Factory();
      default -> throw new IllegalArgumentException("no protocol named " + name);
    };
  }

  private static TTransport clientTransport(Combination combination) throws Exception {
    if (combination.transport.equals("http")) {
      THttpClient http = new THttpClient(LARGE, "http://" + combination.address + "/probe");
      http.setConnectTimeout(combination.timeoutMs);
      http.setReadTimeout(combination.timeoutMs);
      return http;
    }
    TSocket socket =
        new TSocket(LARGE, combination.host(), combination.port(), combination.timeoutMs);
    if (combination.transport.startsWith("sasl")) {
      return new TSaslClientTransport(
          "DIGEST-MD5", null, "probe", "localhost", saslProperties(combination.transport),
          Stack::answerSasl, socket);
    }
    return transports(combination.transport).getTransport(socket);
  }

  /** An open transport and the protocol on it. */
  static TProtocol connect(Combination combination) throws Exception {
    TTransport transport = clientTransport(combination);
    if (!transport.isOpen()) {
      transport.open();
    }
    TProtocol protocol = protocols(combination.protocol).getProtocol(transport);
    return combination.multiplexed.isEmpty()
        ? protocol
        : new TMultiplexedProtocol(protocol, combination.multiplexed);
  }
}
