// SPDX-License-Identifier: Apache-2.0
// bench/echo_client.cc: measures calls of stock Thrift clients.
//
//   echo_client ADDRESS CLIENTS BYTES SECONDS [FUNCTION]
//
// ADDRESS is a port of this host, the path of a unix socket, shm:PATH, or
// rdma:PORT,CONFIG,MANIFEST (bench/rdma_address.h). FUNCTION is echo (the default) or bulk; the
// server does the same for both names. Each client is a thread with one
// connection (framed binary), and makes one call at a time. The program prints the JSON object that
// bench/closed_loop.h describes.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/arguments.h"
#include "bench/closed_loop.h"
#include "bench/echo_connection.h"

namespace {

struct Load {
  hat::bench::ClosedLoop loop{.program = "echo_client"};
  std::string address;
  uint32_t bytes = 0;
  bool bulk = false;
};

constexpr uint32_t kBytesMax = 256u << 20;  // the largest payload

class Client final : public hat::bench::LoopClient {
 public:
  explicit Client(const Load& load) : load_(load), data_(load.bytes, 'x') {}

  void prepare() override {
    if (calls_left_ == 0) {
      client_ = hat::bench::connect_echo(load_.address);
      calls_left_ = hat::bench::kLifeBytesMax / 2 / (load_.bytes + 64);
    }
    --calls_left_;
  }
  void call() override {
    load_.bulk ? client_->bulk(result_, data_) : client_->echo(result_, data_);
  }
  bool has_right_reply() const override { return result_ == data_; }

 private:
  const Load& load_;
  const std::string data_;
  std::string result_;
  size_t calls_left_ = 0;  // until a new connection, before libthrift ends this one
  std::unique_ptr<hat::bench::EchoClient> client_;
};

// Parses ADDRESS CLIENTS BYTES SECONDS [FUNCTION].
hat::Result<hat::Action> parse(const std::vector<std::string>& arguments, Load& load) {
  std::vector<std::string> words;
  hat::Arguments parser("echo_client");
  parser.words("ADDRESS CLIENTS BYTES SECONDS [echo|bulk]", 4, 5, words);
  HAT_TRY(const hat::Action action, parser.parse(arguments));
  if (action != hat::Action::kRun) return action;
  load.address = words[0];
  HAT_TRY_VOID(hat::read_number(load.loop.clients, 1u, 65536u)(words[1]));
  HAT_TRY_VOID(hat::read_number(load.bytes, 0u, kBytesMax)(words[2]));
  HAT_TRY_VOID(hat::read_number(load.loop.seconds, 0.1, 86400.0, "seconds")(words[3]));
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
  const auto result = hat::bench::run_closed_loop(
      load.loop, [&](uint32_t) { return std::make_unique<Client>(load); });
  std::puts(result.dump().c_str());
}
