// SPDX-License-Identifier: Apache-2.0
// kv/server/metrics.h: all of HatKV's metrics in Prometheus' text format, and an HTTP server for
// them.
//
// docs/hatkv.md lists the metrics.
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

// Returns all metrics as text. Thread: any.
std::string kv_exposition(const MetricsSource& source);

// Answers GET /metrics and GET /healthz on its own thread until it is destroyed. /healthz answers
// 503 if the store cannot be read. The objects that the source refers to must outlive the server.
class MetricsServer {
 public:
  // `address` is a TCP address; with port 0 the kernel chooses a free port.
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
