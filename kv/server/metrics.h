// SPDX-License-Identifier: Apache-2.0
// kv/server/metrics.h: everything that HatKV counts, in Prometheus' text format, and at an HTTP
// address.
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

// Thread: any.
std::string kv_exposition(const MetricsSource& source);

// Answers GET /metrics and GET /healthz on a thread of its own, until it is destroyed. /healthz
// says 503 when the store cannot be read. The source must outlive it.
class MetricsServer {
 public:
  // `address`: tcp, port 0 takes a free one.
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
