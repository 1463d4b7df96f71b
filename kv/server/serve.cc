// SPDX-License-Identifier: Apache-2.0
#include "kv/server/serve.h"

#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "kv/server/handler.h"
#include "kv/server/metrics.h"
#include "kv/server/server.h"
#include "kv/server/tuning.h"
#include "kv/store/store.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

// Returns the path of the manifest that was installed with this program, or "" if it does not
// exist.
std::string manifest_beside_program() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto path = program.parent_path().parent_path() / "share" / "hatrpc" / "hatkv.yaml";
  return !error && std::filesystem::exists(path, error) ? path.string() : "";
}

Result<Tuning> tuning_for(const ServeOptions& options) {
  Tuning tuning;
  const std::string path = options.manifest.empty() ? manifest_beside_program() : options.manifest;
  if (!path.empty()) {
    HAT_TRY(tuning, read_tuning(path, std::max(1u, std::thread::hardware_concurrency())));
  }
  if (options.readers) tuning.readers = *options.readers;
  if (options.commit_wait_us) {
    const std::chrono::microseconds wait(*options.commit_wait_us);
    tuning.put_patience = tuning.multiput_patience = tuning.remove_patience = wait;
  }
  std::fprintf(stderr, "hatkv: %s, durability %s; %s%s\n", options.data.c_str(),
               std::string(describe(options.durability).name).c_str(), describe(tuning).c_str(),
               path.empty() ? "" : (" (hints of " + path + ")").c_str());
  return tuning;
}

// The Thrift servers of all addresses. Each server has its own thread.
class Servers {
 public:
  Result<void> add(const ServeOptions& options, const Address& listen,
                   const std::shared_ptr<apache::thrift::TProcessor>& processor,
                   std::atomic<int64_t>& connections) {
    One& one = all_.emplace_back();
    one.address = listen;
    HAT_TRY(one.server, make_server(options, listen, processor, connections,
                                    [this, &one](const Address& bound) {
                                      const std::scoped_lock lock(mutex_);
                                      one.address = bound;
                                      one.listening = true;
                                      changed_.notify_all();
                                    }));
    return {};
  }

  // Starts all servers. Returns when every server listens, or a server has failed. A server that
  // fails later sends SIGTERM to this process.
  Result<void> start() {
    for (One& one : all_) {
      one.thread = std::jthread([this, &one] { run(one); });
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return failure_ || std::ranges::all_of(all_, [](const One& one) { return one.listening; });
    });
    if (failure_) return std::unexpected(*failure_);
    for (const One& one : all_) std::printf("listening on %s\n", to_string(one.address).c_str());
    std::fflush(stdout);
    return {};
  }

  // Stops all servers. Returns after every call in progress has ended.
  Result<void> stop() {
    for (One& one : all_) {
      std::unique_lock lock(mutex_);
      // Call stop() again and again until the thread ends, because a server that has only just
      // begun to listen can miss the first call.
      while (one.thread.joinable() && !changed_.wait_for(lock, 0ms, [&] { return one.ended; })) {
        lock.unlock();
        try {
          one.server->stop();
        } catch (const std::exception&) {  // the server has stopped by itself
        }
        lock.lock();
        changed_.wait_for(lock, 100ms, [&] { return one.ended; });
      }
      if (one.address.is_path() && one.listening) {
        std::remove(one.address.path.c_str());
      }
    }
    if (failure_) return std::unexpected(*failure_);
    return {};
  }

 private:
  struct One {
    Address address;
    std::shared_ptr<apache::thrift::server::TServer> server;
    bool listening = false;
    bool ended = false;
    std::jthread thread;
  };

  void run(One& one) {
    std::optional<Error> failure;
    try {
      one.server->serve();
    } catch (const std::exception& error) {
      failure = {ErrorCode::kSystem,
                 "cannot serve at " + to_string(one.address) + ": " + error.what()};
    }
    const std::scoped_lock lock(mutex_);
    one.ended = true;
    if (failure && !failure_) failure_ = failure;
    if (failure) kill(getpid(), SIGTERM);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Error> failure_;  // the first failure
  std::list<One> all_;            // declared last: its threads end first
};

}  // namespace

Result<void> serve(const ServeOptions& options) {
  // Block the signals before any thread starts, so that only sigwait() receives them.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // for clients of the metrics that close their connection early

  HAT_TRY(const Tuning tuning, tuning_for(options));
  HAT_TRY(const auto store, Store::open({.folder = options.data,
                                         .map_bytes = options.map_bytes,
                                         .max_bytes = options.max_bytes,
                                         .readers = tuning.readers,
                                         .durability = options.durability}));
  Operations operations;
  const std::string durability(describe(options.durability).name);
  std::unique_ptr<MetricsServer> metrics;
  if (options.metrics) {
    HAT_TRY(metrics,
            MetricsServer::start(*options.metrics, {*store, operations, HAT_VERSION, durability}));
    std::fprintf(stderr, "hatkv: metrics at http://%s:%d/metrics\n",
                 metrics->address().host.c_str(), metrics->address().port);
  }
  const auto processor = std::make_shared<hatkv::HatKVProcessor>(std::make_shared<KvHandler>(
      *store, operations, ServiceFacts{HAT_VERSION, durability, options.backups, tuning}));
  Servers servers;
  for (const Address& listen : options.listen) {
    HAT_TRY_VOID(servers.add(options, listen, processor, operations.connections));
  }
  if (auto started = servers.start(); !started) {
    (void)servers.stop();
    return started;
  }
  int signal = 0;
  sigwait(&ends, &signal);
  const auto stopped = servers.stop();
  const auto synced = store->sync();
  return stopped ? synced : stopped;
}

}  // namespace hat
