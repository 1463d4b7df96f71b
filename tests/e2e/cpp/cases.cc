// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/cases.cc: the test cases of the C++ client: they check that calls and answers
// arrive complete and in order.
#include "tests/e2e/cpp/cases.h"

#include <thrift/TApplicationException.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <stdexcept>

#include "tests/e2e/cpp/everything.h"
#include "tests/e2e/cpp/many_calls.h"

namespace probe_peer {
namespace {

using apache::thrift::TApplicationException;

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

std::string pattern(size_t size) {
  std::string result(size, '\0');
  for (size_t i = 0; i < size; ++i) result[i] = static_cast<char>(i % 251);
  return result;
}

void check_echo(Session& session, size_t size) {
  const std::string sent = pattern(size);
  std::string came;
  session.client.echo(came, sent);
  expect(came == sent, "echo of " + std::to_string(size) + " bytes came back changed");
}

void ping(Session& session) { session.client.ping(); }

void add(Session& session) {
  expect(session.client.add(2, 3) == 5, "2 + 3");
  expect(session.client.add(-7, 3) == -4, "-7 + 3");
  expect(session.client.add(std::numeric_limits<int32_t>::max(), 0) ==
             std::numeric_limits<int32_t>::max(),
         "the largest i32");
}

void echo_sizes(Session& session) {
  for (const size_t size :
       {0u, 1u, 2u, 100u, 4095u, 4096u, 4097u, 65535u, 65536u, 65537u, 300'000u}) {
    check_echo(session, size);
  }
}

void echo_large(Session& session) { check_echo(session, session.combination.large_bytes); }

void produce_consume(Session& session) {
  std::string came;
  session.client.produce(came, 1'000'000);
  expect(came == pattern(1'000'000), "a million bytes came changed");
  expect(session.client.consume(came) == 1'000'000, "not all of a million bytes arrived");
}

void text(Session& session) {
  const std::string sent = "quote \" backslash \\ newline \n tab \t Grüße, мир, 世界, \u20ac";
  std::string came;
  session.client.echo_text(came, sent);
  expect(came == sent, "'" + came + "' came back");
}

void everything(Session& session) {
  for (const probe::Everything& sent : {full_everything(), empty_everything()}) {
    probe::Everything came;
    session.client.echo_everything(came, sent);
    expect(came == sent, "a struct came back changed");
  }
  std::vector<probe::Everything> came;
  session.client.repeat(came, full_everything(), 20);
  expect(came == std::vector<probe::Everything>(20, full_everything()), "a list came changed");
}

void declared(Session& session) {
  expect(session.client.divide(7, 2) == 3, "7 / 2");
  try {
    session.client.divide(7, 0);
  } catch (const probe::DivisionByZero& error) {
    expect(error.numerator == 7 && error.message == "cannot divide by zero",
           "the declared exception came changed");
    ping(session);
    return;
  }
  throw std::runtime_error("no declared exception came");
}

void undeclared(Session& session) {
  try {
    session.client.fail("on purpose");
  } catch (const TApplicationException&) {
    ping(session);
    return;
  }
  throw std::runtime_error("no TApplicationException came");
}

void unknown_method(Session& session) {
  try {
    session.client.not_yet(1);
  } catch (const TApplicationException& error) {
    expect(error.getType() == TApplicationException::UNKNOWN_METHOD,
           "type " + std::to_string(error.getType()) + " came: " + error.what());
    ping(session);
    return;
  }
  throw std::runtime_error("no TApplicationException came");
}

void oneway(Session& session) {
  const std::string who = "cpp-" + std::to_string(getpid()) + "-" + session.combination.address;
  for (int i = 0; i < 200; ++i) session.client.note(who);
  const int32_t count = session.client.count(who);
  expect(count == 200, std::to_string(count) + " of 200 oneway calls arrived");
}

void slow(Session& session) {
  const auto began = std::chrono::steady_clock::now();
  expect(session.client.slow(50) == 50, "slow");
  expect(std::chrono::steady_clock::now() - began >= std::chrono::milliseconds(50), "too early");
}

void many(Session& session) {
  for (int i = 0; i < 300; ++i) {
    expect(session.client.add(i, i) == 2 * i, "call " + std::to_string(i));
  }
}

void reconnect(Session& session) {
  for (int i = 0; i < 5; ++i) {
    session.stack.transport->close();
    session.stack = make_client_stack(session.combination);
    session.stack.transport->open();
    session.client = probe::ProbeOfTomorrowClient(session.stack.protocol);
    expect(session.client.add(i, 1) == i + 1, "connection " + std::to_string(i));
  }
}

}  // namespace

std::vector<Case> cases_for(const Combination& combination) {
  std::vector<Case> cases = {
      {"ping", ping},
      {"add", add},
      {"echo_sizes", echo_sizes},
      {"echo_large", echo_large},
      {"produce_consume", produce_consume},
      {"text", text},
      {"everything", everything},
      {"declared", declared},
      {"undeclared", undeclared},
      {"unknown_method", unknown_method},
      {"oneway", oneway},
      {"slow", slow},
      {"many", many},
      {"reconnect", reconnect},
  };
  if (combination.transport != "http") {
    cases.push_back({"pipelined", pipelined});
    cases.push_back({"own_seqids", own_seqids});
  }
  if (combination.transport == "framed" || combination.transport == "buffered") {
    cases.push_back({"concurrent", concurrent});
  }
  return cases;
}

}  // namespace probe_peer
