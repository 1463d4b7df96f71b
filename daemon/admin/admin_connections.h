// SPDX-License-Identifier: Apache-2.0
// daemon/admin/admin_connections.h: limits the number of connections to one admin address.
//
// At the limit, a new connection closes the oldest one. Clients that send incomplete requests
// therefore cannot keep out a metrics scrape or a health check. A client whose idle connection was
// closed connects again.
//
// libevent 2.1 neither limits an HTTP server's connections nor reports that it has freed one.
// Therefore this class creates the bufferevents of the server, and keeps a reference to each. The
// HTTP server ends a connection with bufferevent_free(), which removes the bufferevent's callbacks;
// so a bufferevent without callbacks belongs to an ended connection. To close a connection, this
// class shuts down the socket, which the client sees at once; forget_ended() later drops the
// reference, which closes the descriptor.
//
// Thread   Only the thread that runs the event base uses this class.
#pragma once

#include <event2/bufferevent.h>
#include <event2/http.h>

#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/owned.h"

namespace hat {

class AdminConnections {
 public:
  static constexpr size_t kMax = 64;
  static constexpr size_t kInputMax = 32 * 1024;  // unprocessed bytes per connection

  // Makes `server` use connections that this object creates. This object must outlive the server.
  void attach(evhttp& server, event_base* base);

  // Closes the descriptors of connections that the server has freed. Must be called regularly:
  // otherwise they are closed only when a new connection arrives.
  void forget_ended();
  // Returns the number of open connections, without those that this object has shut down.
  size_t open();
  // Returns the number of connections that were shut down because there were too many.
  uint64_t closed() const { return closed_; }

 private:
  using Reference = Owned<bufferevent, bufferevent_decref>;

  bufferevent* create();

  event_base* base_ = nullptr;
  std::deque<Reference> connections_;  // the oldest first
  uint64_t closed_ = 0;
};

}  // namespace hat
