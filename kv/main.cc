// kv/main.cc: runs HatKV until it is told to end.
#include <signal.h>
#include <thrift/Thrift.h>

#include <cstdio>
#include <exception>
#include <thread>

#include "kv/handler.h"
#include "kv/options.h"
#include "kv/server.h"
#include "kv/store.h"

namespace hat {
namespace {

constexpr int kExitUsage = 2;

int complain(const std::string& message, int exit_code) {
  std::fprintf(stderr, "hatkv: %s\n", message.c_str());
  return exit_code;
}

void announce(const Address& address) {
  std::printf("listening on %s\n", to_string(address).c_str());
  std::fflush(stdout);
}

int serve(const KvOptions& options) {
  auto store = Store::open(options.data, options.map_bytes, options.readers);
  if (!store) return complain(store.error().message, EXIT_FAILURE);

  // Blocked before any thread is made, so that only the waiting thread below takes them.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  const auto handler = std::make_shared<KvHandler>(*store);
  const auto server =
      make_server(options, std::make_shared<hatkv::HatKVProcessor>(handler), announce);
  if (!server) return complain(server.error().message, EXIT_FAILURE);

  std::jthread waiter([&] {
    int signal = 0;
    sigwait(&ends, &signal);
    (*server)->stop();
  });
  std::string failure;
  try {
    (*server)->serve();
  } catch (const std::exception& error) {
    failure = "cannot serve at " + to_string(options.listen) + ": " + error.what();
    pthread_kill(waiter.native_handle(), SIGTERM);  // let the waiter end too
  }
  waiter.join();
  if (options.listen.kind == Address::Kind::kUnix && failure.empty()) {
    std::remove(options.listen.path.c_str());
  }
  return failure.empty() ? EXIT_SUCCESS : complain(failure, EXIT_FAILURE);
}

}  // namespace
}  // namespace hat

int main(int argc, char** argv) {
  auto options = hat::parse_options(argc, argv);
  if (!options) return hat::complain(options.error().message, hat::kExitUsage);
  if (std::holds_alternative<hat::HelpWanted>(*options)) {
    std::fputs(hat::kKvHelp, stdout);
    return EXIT_SUCCESS;
  }
  if (std::holds_alternative<hat::VersionWanted>(*options)) {
    std::puts("hatkv " HAT_VERSION);
    return EXIT_SUCCESS;
  }
  return hat::serve(std::get<hat::KvOptions>(*options));
}
