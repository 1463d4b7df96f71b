// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/admin_connections.h"

#include <glog/logging.h>
#include <sys/socket.h>

namespace hat {
namespace {

// Returns true if the HTTP server has freed `connection`: bufferevent_free() removes the callbacks
// that the server had set.
bool has_ended(bufferevent* connection) {
  bufferevent_event_cb on_event = nullptr;
  bufferevent_getcb(connection, nullptr, nullptr, &on_event, nullptr);
  return on_event == nullptr;
}

}  // namespace

void AdminConnections::attach(evhttp& server, event_base* base) {
  base_ = base;
  evhttp_set_bevcb(
      &server,
      [](event_base*, void* self) { return static_cast<AdminConnections*>(self)->create(); }, this);
}

size_t AdminConnections::open() {
  forget_ended();
  return connections_.size();
}

bufferevent* AdminConnections::create() {
  forget_ended();
  if (connections_.size() == kMax) {
    // Shuts the socket down: the HTTP server then reads the end of the stream, or fails to write,
    // and frees the connection.
    ::shutdown(bufferevent_getfd(connections_.front().get()), SHUT_RDWR);
    connections_.pop_front();
    ++closed_;
  }
  bufferevent* connection = bufferevent_socket_new(base_, -1, BEV_OPT_CLOSE_ON_FREE);
  CHECK(connection != nullptr) << "libevent cannot create a bufferevent: out of memory";
  // Limits the stored input to kInputMax bytes. Without a limit it could grow while an answer waits
  // to be sent, because libevent then still reads bytes but does not process them.
  bufferevent_setwatermark(connection, EV_READ, 0, kInputMax);
  bufferevent_incref(connection);
  connections_.emplace_back(connection);
  return connection;
}

void AdminConnections::forget_ended() {
  std::erase_if(connections_, [](const Reference& one) { return has_ended(one.get()); });
}

}  // namespace hat
