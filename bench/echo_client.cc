// SPDX-License-Identifier: Apache-2.0
// bench/echo_client.cc: measures calls of stock Thrift clients.
//
//   echo_client ADDRESS CLIENTS BYTES SECONDS [FUNCTION]
//
// ADDRESS is a port of this host, the path of a unix socket, or shm:PATH. FUNCTION is echo (the
// default) or bulk; the server does the same for both names. Each client is a thread with one
// connection (framed binary), and makes one call at a time. The first fifth of SECONDS is the
// warm-up; bench/account.h describes which calls count after the warm-up. The program prints one
// JSON object with times in µs; cpu_us is this process's CPU time per call.
#include <thrift/TConfiguration.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "Echo.h"
#include "base/arguments.h"
#include "base/rounded.h"
#include "bench/account.h"
#include "bench/account_json.h"
#include "client/thrift/TShmSocket.h"

namespace {

namespace thrift = apache::thrift;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Load {
  std::string address;
  uint32_t clients = 1;
  uint32_t bytes = 0;
  double seconds = 1;
  bool bulk = false;

  static constexpr double kWarmUp = 0.2;  // the share of `seconds` that is the warm-up
  double counted_seconds() const { return seconds * (1 - kWarmUp); }
};

// The results of one client.
struct Seen {
  hat::bench::Account account;
  std::vector<float> times;  // µs
};

// libthrift ends a connection after a total number of bytes, by default 100 MiB. The client raises
// this limit to kLifeBytesMax, and reconnects before the connection reaches the limit.
constexpr size_t kLifeBytesMax = INT32_MAX;
constexpr uint32_t kBytesMax = 256u << 20;  // the largest payload

std::unique_ptr<hat::bench::EchoClient> connect(const std::string& address) {
  namespace transport = thrift::transport;
  const auto configuration = std::make_shared<thrift::TConfiguration>(kLifeBytesMax);
  std::shared_ptr<transport::TSocket> socket;
  if (address.starts_with("shm:")) {
    socket = std::make_shared<hatrpc::TShmSocket>(address, configuration);
  } else if (address.starts_with('/')) {
    socket = std::make_shared<transport::TSocket>(address, configuration);
  } else {
    socket = std::make_shared<transport::TSocket>("127.0.0.1", std::stoi(address), configuration);
  }
  const auto framed = std::make_shared<transport::TFramedTransport>(socket, configuration);
  framed->open();
  return std::make_unique<hat::bench::EchoClient>(
      std::make_shared<thrift::protocol::TBinaryProtocol>(framed));
}

void call_until_end(const Load& load, const hat::bench::Window& window, Clock::time_point now,
                    Seen& seen) {
  const size_t calls_per_life = kLifeBytesMax / 2 / (load.bytes + 64);
  size_t calls_left = 0;
  std::unique_ptr<hat::bench::EchoClient> client;
  const std::string data(load.bytes, 'x');
  std::string result;
  while (now < window.end) {
    if (calls_left-- == 0) {
      client = connect(load.address);
      calls_left = calls_per_life;
    }
    const auto begun = Clock::now();
    load.bulk ? client->bulk(result, data) : client->echo(result, data);
    const auto ended = Clock::now();
    if (result != data) {
      std::fprintf(stderr, "echo_client: a reply differs from its request\n");
      std::_Exit(1);
    }
    if (const auto counted = seen.account.add_call(window, now, begun, ended)) {
      seen.times.push_back(std::chrono::duration<float, std::micro>(*counted).count());
    }
    now = ended;
  }
  seen.account.close();
}

double cpu_seconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double quantile(const std::vector<float>& sorted, double q) {
  return double(
      sorted[std::min(sorted.size() - 1, static_cast<size_t>(q * double(sorted.size())))]);
}

void print(const Load& load, const std::vector<Seen>& seen, double cpu_used) {
  hat::bench::Account account;
  std::vector<float> times;
  for (const Seen& of_one : seen) {
    account.add(of_one.account);
    times.insert(times.end(), of_one.times.begin(), of_one.times.end());
  }
  if (account.ended == 0 || times.empty()) {
    std::fprintf(stderr, "echo_client: no call ended during the measurement\n");
    std::exit(1);
  }
  std::sort(times.begin(), times.end());
  const double calls_per_s = double(account.ended) / load.counted_seconds();
  const auto us = [](double value) { return hat::rounded(value, 2); };
  nlohmann::ordered_json result = {{"calls_per_s", hat::rounded(calls_per_s, 1)},
                                   {"p50", us(quantile(times, 0.5))},
                                   {"p99", us(quantile(times, 0.99))},
                                   {"p999", us(quantile(times, 0.999))},
                                   {"cpu_us", us(cpu_used * 1e6 / (calls_per_s * load.seconds))}};
  result.update(hat::bench::account_json(account));
  std::puts(result.dump().c_str());
}

// Parses ADDRESS CLIENTS BYTES SECONDS [FUNCTION].
hat::Result<hat::Action> parse(const std::vector<std::string>& arguments, Load& load) {
  std::vector<std::string> words;
  hat::Arguments parser("echo_client");
  parser.words("ADDRESS CLIENTS BYTES SECONDS [echo|bulk]", 4, 5, words);
  HAT_TRY(const hat::Action action, parser.parse(arguments));
  if (action != hat::Action::kRun) return action;
  load.address = words[0];
  HAT_TRY_VOID(hat::read_number(load.clients, 1u, 65536u)(words[1]));
  HAT_TRY_VOID(hat::read_number(load.bytes, 0u, kBytesMax)(words[2]));
  HAT_TRY_VOID(hat::read_number(load.seconds, 0.1, 86400.0, "seconds")(words[3]));
  const std::string function = words.size() == 5 ? words[4] : "echo";
  HAT_TRY_VOID(hat::read_one_of({"echo", "bulk"}, [&](size_t i) { load.bulk = i == 1; })(function));
  return action;
}

constexpr const char* kUsage = "usage: echo_client ADDRESS CLIENTS BYTES SECONDS [echo|bulk]\n";

}  // namespace

int main(int argc, char** argv) {
  Load load;
  const auto action = parse({argv + 1, argv + argc}, load);
  if (!action) {
    std::fprintf(stderr, "echo_client: %s\n%s", action.error().message.c_str(), kUsage);
    return 2;
  }
  if (*action != hat::Action::kRun) return std::fputs(kUsage, stdout) < 0;
  std::vector<Seen> seen(load.clients);
  for (Seen& of_one : seen) of_one.times.reserve(1u << 20);
  std::vector<std::thread> threads;
  const auto begin = Clock::now();
  const auto after = [&](double seconds) {
    return begin + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  };
  const hat::bench::Window window{after(load.seconds * Load::kWarmUp), after(load.seconds)};
  for (Seen& of_one : seen) {
    threads.emplace_back([&] {
      try {
        call_until_end(load, window, begin, of_one);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "echo_client: %s\n", error.what());
        std::_Exit(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  print(load, seen, cpu_seconds());
}
