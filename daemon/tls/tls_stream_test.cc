// SPDX-License-Identifier: Apache-2.0
#include "daemon/tls/tls_stream.h"

#include <gmock/gmock.h>

#include "daemon/tls/fake_certificates.h"
#include "daemon/tls/fake_tls_pair.h"

namespace hat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Returns a connection with the certificate of `node`, that trusts the CA in `authority`. If `node`
// is "" or "1.2", the connection has no certificate; "1.2" also limits it to TLS 1.2.
OwnedSsl connection_of(const std::string& node, const std::string& authority) {
  const FakeCertificates& made = fake_certificates();
  if (!node.empty() && node != "1.2") return made.context(node, authority)->new_connection();
  const OwnedContext context(SSL_CTX_new(TLS_method()));
  if (node == "1.2") SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_load_verify_file(context.get(), made.files("one/host-a").ca.c_str());
  return OwnedSsl(SSL_new(context.get()));
}

std::vector<std::string> peer_names(const TlsEnd& end) {
  const auto names = end.stream->peer_names();
  return {names.begin(), names.end()};
}

struct Side {
  std::string node;
  std::string authority = "one";
  std::vector<std::string> allows = {};
  std::string error = "";  // a part of the expected error; empty if the handshake must succeed
  TlsFailure failure = TlsFailure::kOther;
};

struct HandshakeRow {
  const char* name;
  Side initiator;
  Side acceptor;
};
std::ostream& operator<<(std::ostream& out, const HandshakeRow& row) { return out << row.name; }

class Handshake : public testing::TestWithParam<HandshakeRow> {
 protected:
  static void expect(const TlsEnd& end, const Side& side) {
    if (side.error.empty()) {
      EXPECT_EQ(end.error, "");
      EXPECT_EQ(end.counters.handshakes.value(), 1u);
      return;
    }
    EXPECT_THAT(end.error, HasSubstr(side.error));
    EXPECT_EQ(end.failures(side.failure), 1u)
        << kTlsFailureNames[static_cast<size_t>(side.failure)];
  }
};

TEST_P(Handshake, EndsAsItShould) {
  const auto& [name, initiator, acceptor] = GetParam();
  TlsPair pair(connection_of(initiator.node, initiator.authority),
               connection_of(acceptor.node, acceptor.authority), initiator.allows, acceptor.allows);
  pair.initiator.say("hello");
  pair.pump();
  const bool good = initiator.error.empty() && acceptor.error.empty();
  EXPECT_EQ(pair.acceptor.heard, good ? "hello" : "");
  expect(pair.initiator, initiator);
  expect(pair.acceptor, acceptor);
  if (!good) {
    EXPECT_THAT(peer_names(pair.acceptor), IsEmpty());
  }
}

// The side that has the list must refuse the revoked side; the revoked side learns the reason from
// the alert.
TEST(HandshakeWithCrl, RefusesWhomTheListNames) {
  const FakeCertificates& made = fake_certificates();
  const auto with = [&made](const std::string& crl, const std::string& node) {
    return (*TlsContext::load(made.files_with(crl, node)))->new_connection();
  };
  TlsPair accepts(connection_of("one/host-a", "one"), with("crl.pem", "one/host-b"));
  accepts.pump();
  EXPECT_THAT(accepts.acceptor.error, HasSubstr("is not valid: certificate revoked"));
  EXPECT_EQ(accepts.acceptor.failures(TlsFailure::kRevoked), 1u);
  EXPECT_THAT(accepts.initiator.error, HasSubstr("certificate revoked"));

  TlsPair initiates(with("crl.pem", "one/host-b"), connection_of("one/host-a", "one"));
  initiates.pump();
  EXPECT_EQ(initiates.initiator.failures(TlsFailure::kRevoked), 1u);

  TlsPair other(connection_of("one/host-b", "one"), with("crl.pem", "one/host-a"));
  other.initiator.say("hello");
  other.pump();
  EXPECT_EQ(other.acceptor.heard, "hello") << "the list does not name host-b";

  TlsPair stale(connection_of("one/host-b", "one"), with("expired_crl.pem", "one/host-a"));
  stale.pump();
  EXPECT_THAT(stale.acceptor.error, HasSubstr("CRL has expired"));
  EXPECT_EQ(stale.acceptor.failures(TlsFailure::kUntrusted), 1u);
}

// The handshake takes place before the certificate is revoked.
TEST(HandshakeWithCrl, AListThatComesLaterEndsTheStreamsOfThoseWhomItNames) {
  const FakeCertificates& made = fake_certificates();
  const auto names_host_a = *TlsContext::load(made.files_with("crl.pem", "one/host-b"));
  const auto names_nobody = *TlsContext::load(made.files_with("chain_crl.pem", "one/host-b"));
  for (const bool host_a_initiates : {true, false}) {
    TlsPair pair(connection_of(host_a_initiates ? "one/host-a" : "one/host-b", "one"),
                 connection_of(host_a_initiates ? "one/host-b" : "one/host-a", "one"));
    pair.pump();
    TlsEnd& trusts = host_a_initiates ? pair.acceptor : pair.initiator;
    TlsEnd& revoked = host_a_initiates ? pair.initiator : pair.acceptor;
    trusts.stream->fail_if_revoked(names_nobody);
    revoked.stream->fail_if_revoked(names_host_a);  // no effect: the peer of `revoked` is host-b
    pair.pump();
    EXPECT_EQ(trusts.error + revoked.error, "");
    trusts.stream->fail_if_revoked(names_host_a);
    pair.pump();
    EXPECT_THAT(trusts.error, HasSubstr("has been revoked"));
    EXPECT_EQ(trusts.failures(TlsFailure::kRevoked), 1u);
    trusts.stream->fail_if_revoked(names_host_a);
    EXPECT_EQ(trusts.failures(TlsFailure::kRevoked), 1u) << "it has failed already";
  }
}

TEST(HandshakeWithCrl, AListThatComesInBetweenIsHeeded) {
  const FakeCertificates& made = fake_certificates();
  TlsPair pair(connection_of("one/host-a", "one"), connection_of("one/host-b", "one"));
  pair.acceptor.stream->fail_if_revoked(
      *TlsContext::load(made.files_with("crl.pem", "one/host-b")));
  pair.pump();
  EXPECT_THAT(pair.acceptor.error, HasSubstr("has been revoked"));
  EXPECT_EQ(pair.acceptor.counters.handshakes.value(), 0u);
}

TEST(HandshakeWithCrl, WantsAListOfEveryCaOfTheChain) {
  const FakeCertificates& made = fake_certificates();
  const auto with = [&made](const std::string& crl) {
    return (*TlsContext::load(made.files_with(crl, "one/host-b", "three")))->new_connection();
  };
  const auto from = [] { return connection_of("three/host-a", "one"); };
  TlsPair without(from(), with("root_crl.pem"));
  without.pump();
  EXPECT_THAT(without.acceptor.error, HasSubstr("unable to get certificate CRL"));
  EXPECT_EQ(without.acceptor.failures(TlsFailure::kUntrusted), 1u);

  TlsPair none(from(), with("crl.pem"));
  none.pump();
  EXPECT_EQ(none.acceptor.failures(TlsFailure::kUntrusted), 1u) << "lists of other CAs alone";

  TlsPair all(from(), with("chain_crl.pem"));
  all.initiator.say("hello");
  all.pump();
  EXPECT_EQ(all.acceptor.heard, "hello");
}

INSTANTIATE_TEST_SUITE_P(
    Good, Handshake,
    testing::Values(
        HandshakeRow{"right", {"one/host-a", "one", {"host-b"}}, {"one/host-b", "one", {"host-a"}}},
        HandshakeRow{"right_by_spiffe_id",
                     {"one/host-a", "one", {"spiffe://hatrpc.test/host-b"}},
                     {"one/host-b", "one", {"spiffe://hatrpc.test/*"}}},
        HandshakeRow{"right_where_all_are_let_in", {"one/host-a"}, {"one/host-b"}}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Refused, Handshake,
    testing::Values(
        HandshakeRow{
            "initiator_of_another_ca",
            {"two/host-a",
             "one",
             {},
             "refuses this node's certificate: unknown ca",
             TlsFailure::kRefused},
            {"one/host-b", "one", {}, "unable to get local issuer", TlsFailure::kUntrusted}},
        HandshakeRow{
            "acceptor_of_another_ca",
            {"one/host-a", "one", {}, "unable to get local issuer", TlsFailure::kUntrusted},
            {"two/host-b", "one", {}, "refuses this node: unknown ca", TlsFailure::kRefused}},
        HandshakeRow{"initiator_that_has_expired",
                     {"one/host-e",
                      "one",
                      {},
                      "certificate expired; its log says why",
                      TlsFailure::kRefused},
                     {"one/host-b", "one", {}, "certificate has expired", TlsFailure::kExpired}},
        HandshakeRow{"acceptor_that_has_expired",
                     {"one/host-a", "one", {}, "certificate has expired", TlsFailure::kExpired},
                     {"one/host-e", "one", {}, "certificate expired", TlsFailure::kRefused}},
        HandshakeRow{
            "initiator_without_certificate",
            {"", "one", {}, "certificate required", TlsFailure::kRefused},
            {"one/host-b", "one", {}, "showed no certificate", TlsFailure::kNoCertificate}},
        HandshakeRow{"initiator_of_tls_1_2",
                     {"1.2", "one", {}, "does not speak TLS 1.3", TlsFailure::kVersion},
                     {"one/host-b", "one", {}, "does not speak TLS 1.3", TlsFailure::kVersion}},
        HandshakeRow{"acceptor_of_another_name",
                     {"one/host-a",
                      "one",
                      {"host-c"},
                      "names host-b, spiffe://hatrpc.test/host-b; this peer must be host-c",
                      TlsFailure::kNotAllowed},
                     {"one/host-b", "one", {}, "refuses this node", TlsFailure::kRefused}},
        HandshakeRow{"initiator_that_is_not_allowed",
                     {"one/host-a",
                      "one",
                      {},
                      "its link.tls.allow has none of the certificate's names",
                      TlsFailure::kRefused},
                     {"one/host-b",
                      "one",
                      {"host-c", "spiffe://other/*"},
                      "names host-a, spiffe://hatrpc.test/host-a; link.tls.allow has host-c",
                      TlsFailure::kNotAllowed}}),
    [](const auto& row) { return row.param.name; });

// Connections with valid certificates, for the initiator and the acceptor.
class TlsStreams : public testing::Test {
 protected:
  static OwnedSsl host_a() { return connection_of("one/host-a", "one"); }
  static OwnedSsl host_b() { return connection_of("one/host-b", "one"); }
};

TEST_F(TlsStreams, ReportWhoTheOtherSideIs) {
  TlsPair pair(host_a(), host_b());
  EXPECT_THAT(peer_names(pair.acceptor), IsEmpty());
  pair.pump();
  EXPECT_THAT(peer_names(pair.acceptor), ElementsAre("host-a", "spiffe://hatrpc.test/host-a"));
  EXPECT_THAT(peer_names(pair.initiator), ElementsAre("host-b", "spiffe://hatrpc.test/host-b"));
}

TEST_F(TlsStreams, CarryNothingThatCanBeRead) {
  TlsPair pair(host_a(), host_b());
  pair.pump();
  pair.initiator.say("a secret of some length");
  EXPECT_THAT(pair.initiator.wire->written, testing::Not(HasSubstr("secret")));
  pair.pump();
  EXPECT_EQ(pair.acceptor.heard, "a secret of some length");
}

TEST_F(TlsStreams, TakeBytesOneByOne) {
  TlsPair pair(host_a(), host_b());
  pair.initiator.say("there");
  pair.acceptor.say("and back");
  pair.pump(1);
  EXPECT_EQ(pair.acceptor.heard, "there");
  EXPECT_EQ(pair.initiator.heard, "and back");
}

std::string many_bytes(size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  return bytes;
}

// The wire accepts few bytes at a time, so it cuts records at arbitrary bytes. The keys change
// after every three records.
TEST_F(TlsStreams, CarryMuchBothWaysOverAWireThatTakesLittleAndChangeTheirKeys) {
  TlsPair pair(host_a(), host_b(), {}, {}, 3);
  const std::string bytes = many_bytes(500'000);
  pair.initiator.say(bytes);
  pair.acceptor.say(bytes);
  for (int i = 0;
       i < 2000 && pair.acceptor.heard.size() + pair.initiator.heard.size() < 2 * bytes.size();
       ++i) {
    pair.initiator.wire->space = 1000 + static_cast<size_t>(i);
    pair.acceptor.wire->space = 777;
    pair.pump();
  }
  EXPECT_EQ(pair.initiator.error, "");
  EXPECT_EQ(pair.acceptor.error, "");
  EXPECT_TRUE(pair.acceptor.heard == bytes);
  EXPECT_TRUE(pair.initiator.heard == bytes);
}

TEST_F(TlsStreams, SendWhatTheyTookByThemselvesAndEndAfterIt) {
  TlsPair pair(host_a(), host_b());
  pair.pump();
  pair.initiator.wire->space = 100;
  const std::string bytes = many_bytes(40'000);
  pair.initiator.say(bytes);
  EXPECT_EQ(pair.initiator.unsaid, "") << "it was taken";
  pair.initiator.stream->shutdown_write();
  EXPECT_FALSE(pair.initiator.wire->shut);
  EXPECT_FALSE(pair.initiator.stream->all_sent());
  pair.initiator.wire->space = SIZE_MAX;
  pair.pump();
  EXPECT_TRUE(pair.acceptor.heard == bytes);
  EXPECT_TRUE(pair.acceptor.ended) << pair.acceptor.error;
  EXPECT_TRUE(pair.initiator.wire->shut);
  EXPECT_TRUE(pair.initiator.stream->all_sent());
  EXPECT_FALSE(pair.initiator.wire->writing);
}

// The stream must repeat the event, as a socket does, if its user leaves bytes unread.
TEST_F(TlsStreams, ReportAgainOfWhatWasNotRead) {
  TlsPair pair(host_a(), host_b());
  pair.pump();
  const std::string bytes = many_bytes(300'000);
  pair.acceptor.reads_seldom = true;
  pair.initiator.say(bytes);
  pair.pump();
  EXPECT_TRUE(pair.acceptor.heard == bytes) << pair.acceptor.heard.size();
}

// A peer that does not read must not make this side's buffers grow without bound.
TEST_F(TlsStreams, TakeNoMoreThanTheyMayHold) {
  TlsPair pair(host_a(), host_b());
  pair.pump();
  pair.initiator.wire->space = 0;
  pair.initiator.say(many_bytes(500'000));
  EXPECT_GT(pair.initiator.unsaid.size(), 500'000 - 2 * RecordTransport::kBytesAtOnce);
  pair.initiator.wire->write_error = EPIPE;
  pair.initiator.wire->events->on_writable();
  EXPECT_THAT(pair.initiator.error, HasSubstr("Broken pipe"));
}

TEST_F(TlsStreams, EndWhereTheOtherSideEnds) {
  TlsPair pair(host_a(), host_b());
  pair.pump();
  pair.initiator.say("last words");
  pair.hang_up(pair.initiator);
  EXPECT_EQ(pair.acceptor.heard, "last words");
  EXPECT_TRUE(pair.acceptor.ended) << pair.acceptor.error;
}

TEST_F(TlsStreams, TakeNothingThatWasChangedOnTheWay) {
  TlsPair pair(host_a(), host_b());
  pair.pump();
  pair.initiator.say("pay 10");
  pair.initiator.wire->written.back() ^= 1;
  pair.pump();
  EXPECT_EQ(pair.acceptor.heard, "");
  EXPECT_THAT(pair.acceptor.error, HasSubstr("TLS: "));
}

TEST_F(TlsStreams, SayThatTheOtherSideSpeaksNoTls) {
  TlsPair insecure(nullptr, host_b());
  insecure.acceptor.wire->incoming = "HATL, or something else that is no TLS";
  insecure.pump();
  EXPECT_THAT(insecure.acceptor.error, HasSubstr("the peer does not speak TLS"));
  EXPECT_EQ(insecure.acceptor.failures(TlsFailure::kNotTls), 1u);
  // engine/link/tcp_lane.cc recognises exactly this alert.
  const std::string alert("\x15\x03\x01\x00\x02\x02\x46", 7);
  EXPECT_EQ(insecure.initiator.wire->incoming, alert);

  TlsPair web(host_a(), nullptr);
  web.pump();
  web.initiator.wire->incoming = "HTTP/1.1 400 Bad Request\r\n\r\n";
  web.pump();
  EXPECT_THAT(web.initiator.error, HasSubstr("the peer does not speak TLS"));
  EXPECT_EQ(web.initiator.failures(TlsFailure::kNotTls), 1u);
}

TEST_F(TlsStreams, SayThatTheOtherSideClosedInTheHandshake) {
  TlsPair pair(host_a(), nullptr);
  pair.pump();
  pair.hang_up(pair.acceptor);
  EXPECT_THAT(pair.initiator.error, HasSubstr("closed the connection in the handshake"));
  EXPECT_EQ(pair.initiator.failures(TlsFailure::kClosed), 1u);
}

TEST_F(TlsStreams, PassOnWhyThereWasNoConnectionAndCountNoFailureOfTls) {
  TlsPair pair(host_a(), nullptr);
  pair.initiator.wire->error = ECONNREFUSED;
  pair.pump();
  EXPECT_THAT(pair.initiator.error, HasSubstr("refused"));
  for (const Counter& failures : pair.initiator.counters.failures) EXPECT_EQ(failures.value(), 0u);
}

TEST_F(TlsStreams, CountAHandshakeThatIsGivenUp) {
  TlsPair pair(host_a(), host_b());
  pair.acceptor.stream.reset();
  EXPECT_EQ(pair.acceptor.failures(TlsFailure::kUnfinished), 1u);
}

}  // namespace
}  // namespace hat
