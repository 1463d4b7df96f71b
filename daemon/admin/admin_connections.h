// SPDX-License-Identifier: Apache-2.0
// daemon/admin/admin_connections.h: bounds the connections of one admin address.
//
// A connection that is one too many closes the oldest one, so that clients that send no whole
// request cannot keep out a scrape or a health check. A client that kept its connection open
// between two requests connects again.
//
// libevent 2.1 neither limits an HTTP server's connections nor reports that it has freed one.
// Therefore this class creates the bufferevents of the server, and keeps a reference to each. When
// the HTTP server calls bufferevent_free(), the bufferevent loses its callbacks although this
// class still has its reference; so a bufferevent without callbacks has ended. To close a
// connection, this class shuts its socket down, which the client sees at once. forget_ended() then
// drops the reference, which closes the descriptor.
//
// Thread   that of the event base.
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
  static constexpr size_t kInputMax = 32 * 1024;  // bytes that were read and not used yet, of each

  // Makes `server` take its connections from here. This object must outlive the server.
  void attach(evhttp& server, event_base* base);

  // Closes the descriptors of connections that the server has freed. Call it regularly: between
  // two connections nobody else does.
  void forget_ended();
  // Returns how many connections are open. Those that were closed here no longer count.
  size_t open();
  // Returns how many connections were closed because they were the oldest of too many.
  uint64_t closed() const { return closed_; }

 private:
  using Reference = Owned<bufferevent, bufferevent_decref>;

  bufferevent* create();

  event_base* base_ = nullptr;
  std::deque<Reference> connections_;  // the oldest first
  uint64_t closed_ = 0;
};

}  // namespace hat
