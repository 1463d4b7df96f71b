// SPDX-License-Identifier: Apache-2.0
// daemon/admin/admin.h: the HTTP server of the admin API, for operators and monitoring.
//
//   on the TCP address and the unix socket     only on the unix socket
//   GET /           a list of resources; to    GET  /ping, /calibration, /certificates
//                   a browser, a status page        /connections[?by=ORDER][&top=N]
//   GET /metrics                               POST /reload[?dry_run=1], /drain,
//                                                   /calibrate?peer=NAME
//   GET /healthz, /healthz/live
//   GET /readyz, /healthz/ready
//   GET /routes, /status, /functions,
//       /advice, /slow, /peers,
//       /explain?service=NAME&function=NAME
//
// Only root and the daemon's own user may use POST: the server checks the caller's user id
// (SO_PEERCRED) on the unix socket.
//
// Bounds   At most 64 connections to each address: a new one closes the oldest one. A request has
//          at most 16 KiB of headers and 4 KiB of body. The server closes a connection after 10 s
//          without traffic.
// Thread   Only the main thread uses this class; it runs the event base.
#pragma once

#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "base/owned.h"
#include "daemon/admin/admin_connections.h"
#include "daemon/admin/control.h"
#include "daemon/admin/metrics_page.h"
#include "daemon/reactor/libevent_reactor.h"

namespace hat {

class AdminServer {
 public:
  // Starts to serve on both sockets. Either pointer may be null. The caller owns the sockets, which
  // must outlive the server.
  AdminServer(event_base* base, Control& control, const ListenSocket* http,
              const ListenSocket* unix_socket);

  AdminTotals totals();

 private:
  static void on_http(evhttp_request* request, void* self);
  static void on_unix(evhttp_request* request, void* self);
  void answer(evhttp_request* request, bool local);

  // One listening address. If the server cannot accept a connection, for example because no
  // descriptor is left, it stops accepting until `each_second` fires.
  struct Door {
    AdminConnections connections;
    Owned<evhttp, evhttp_free> server;
    evconnlistener* listener = nullptr;  // owned by `server`
    Owned<event, event_free> each_second;
  };
  void open(Door& door, event_base* base, const ListenSocket* socket,
            void (*on_request)(evhttp_request*, void*));
  static void on_second(evutil_socket_t, short, void* door);

  Control& control_;
  Door http_;
  Door unix_;
  MetricFamilies page_;      // the last metrics page
  double page_seconds_ = 0;  // AdminTotals::page_seconds
};

}  // namespace hat
