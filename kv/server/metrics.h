// SPDX-License-Identifier: Apache-2.0
// kv/server/metrics.h: HatKV's metrics in Prometheus' text format, and an HTTP server for the
// metrics. docs/hatkv.md lists the metrics.
#pragma once

#include <event2/event.h>
#include <event2/http.h>

#include <string>
#include <thread>

#include "base/address.h"
#include "base/owned.h"
#include "base/result.h"
#include "kv/server/operations.h"
#include "kv/store/store.h"

namespace hat {

struct MetricsSource {
  Store& store;
  Operations& operations;
  std::string version;
  std::string durability;
};

// Returns all metrics in Prometheus' text format. Any thread may call this function.
std::string kv_metrics_page(const MetricsSource& source);

// Answers GET /metrics and GET /healthz, in its own thread, until it is destroyed. /healthz answers
// 503 if the store cannot be read. The store and the counters in MetricsSource must outlive the
// server.
class MetricsServer {
 public:
  // Starts a server that listens at the TCP address `address`; port 0 means a free port.
  static Result<std::unique_ptr<MetricsServer>> start(const Address& address, MetricsSource source);
  ~MetricsServer();

  const Address& address() const { return address_; }

 private:
  MetricsServer(Address address, MetricsSource source)
      : address_(std::move(address)), source_(std::move(source)) {}
  static void on_request(evhttp_request* request, void* self);

  Address address_;
  MetricsSource source_;
  Owned<event_base, event_base_free> base_;
  Owned<evhttp, evhttp_free> http_;
  std::jthread thread_;
};

}  // namespace hat
