// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/admin.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/keyvalq_struct.h>
#include <glog/logging.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "daemon/admin/admin_json.h"
#include "daemon/admin/advice_json.h"
#include "daemon/admin/connections_json.h"
#include "daemon/admin/explain_json.h"
#include "daemon/admin/metrics_page.h"
#include "daemon/admin/peers_json.h"
#include "daemon/admin/slow_json.h"
#include "daemon/admin/status_page/status_page.h"

namespace hat {
namespace {

struct Answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string policy;  // Content-Security-Policy; empty unless the answer is for a browser
};

struct Request {
  Control& control;
  evhttp_request* http;
  AdminTotals totals;
  // The last metrics page, and the time that it took. metrics() changes them.
  MetricFamilies& page;
  double& page_seconds;

  // Returns the value of `name` in the query string; empty if it is absent.
  std::string value(const char* name) const {
    evkeyvalq query{};
    const char* text = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(http));
    if (text == nullptr || evhttp_parse_query_str(text, &query) != 0) return "";
    const char* found = evhttp_find_header(&query, name);
    std::string value = found == nullptr ? "" : found;
    evhttp_clear_headers(&query);
    return value;
  }
};

Answer json_answer(const nlohmann::json& body, int status = 200) {
  // Replaces bytes that are not UTF-8, because dump() would throw an exception for them. Such bytes
  // can come from a file whose text is in `body`.
  return {status, "application/json",
          body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

Answer metrics(const Request& request) {
  const auto begin = std::chrono::steady_clock::now();
  Answer answer{200, "text/plain; version=0.0.4; charset=utf-8",
                metrics_page(request.control, request.totals, request.page)};
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  request.page_seconds = took.count();
  return answer;
}

Answer live(const Request& request) {
  if (request.control.alive()) return {.body = "ok\n"};
  return {.status = 503, .body = "the event loop of a worker does not respond\n"};
}

Answer ready(const Request& request) {
  std::string text;
  for (const auto& what : request.control.pending()) text += (text.empty() ? "" : ", ") + what;
  if (text.empty()) return {.body = "ready\n"};
  return {.status = 503, .body = "not ready, pending: " + text + "\n"};
}

Answer routes(const Request& request) { return json_answer(routes_json(request.control)); }

Answer status(const Request& request) { return json_answer(status_json(request.control)); }

Answer functions(const Request& request) {
  return json_answer(functions_json(request.control, request.value("called") == "1"));
}

Answer advice(const Request& request) { return json_answer(advice_json(request.control)); }

Answer slow(const Request& request) { return json_answer(slow_json(request.control)); }

Answer peers(const Request& request) {
  return json_answer(request.value("avoided") == "1" ? avoided_peers_json(request.control)
                                                     : peers_json(request.control));
}

Answer connections(const Request& request) {
  const auto list = connections_json(request.control, request.value("by"), request.value("top"));
  if (!list) return {.status = 400, .body = list.error().message + "\n"};
  return json_answer(*list);
}

Answer explain(const Request& request) {
  const auto page =
      explain_json(request.control, request.value("service"), request.value("function"));
  if (!page) return {.status = 404, .body = "there is no such service or function\n"};
  return json_answer(*page);
}

Answer ping(const Request& request) { return json_answer(ping_json(request.control)); }

// Returns the HTTP status for a request that failed with `error`.
int status_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kUnavailable:
      return 503;
    default:
      return 409;
  }
}

Answer reload(const Request& request) {
  const auto report = request.control.reload(request.value("dry_run") == "1");
  return json_answer(reload_json(report), report ? 200 : status_of(report.error()));
}

Answer drain(const Request& request) {
  request.control.drain();
  return json_answer({{"ok", true}}, 202);
}

Answer calibrate(const Request& request) {
  const auto number = request.control.calibrate(request.value("peer"));
  return json_answer(calibrate_json(number), number ? 202 : status_of(number.error()));
}

Answer calibration(const Request& request) {
  return json_answer(calibration_json(request.control.calibration()));
}

Answer certificates(const Request& request) {
  return json_answer(certificates_json(request.control));
}

struct Resource {
  std::string_view path;
  evhttp_cmd_type method;
  bool local;  // true if the resource exists only on the unix socket
  Answer (*make)(const Request&);
};

constexpr std::array kResources = {
    Resource{"/metrics", EVHTTP_REQ_GET, false, metrics},
    Resource{"/healthz", EVHTTP_REQ_GET, false, live},
    Resource{"/healthz/live", EVHTTP_REQ_GET, false, live},
    Resource{"/readyz", EVHTTP_REQ_GET, false, ready},
    Resource{"/healthz/ready", EVHTTP_REQ_GET, false, ready},
    Resource{"/routes", EVHTTP_REQ_GET, false, routes},
    Resource{"/status", EVHTTP_REQ_GET, false, status},
    Resource{"/functions", EVHTTP_REQ_GET, false, functions},
    Resource{"/advice", EVHTTP_REQ_GET, false, advice},
    Resource{"/slow", EVHTTP_REQ_GET, false, slow},
    Resource{"/peers", EVHTTP_REQ_GET, false, peers},
    Resource{"/connections", EVHTTP_REQ_GET, true, connections},
    Resource{"/explain", EVHTTP_REQ_GET, false, explain},
    Resource{"/ping", EVHTTP_REQ_GET, true, ping},
    Resource{"/calibration", EVHTTP_REQ_GET, true, calibration},
    Resource{"/certificates", EVHTTP_REQ_GET, true, certificates},
    Resource{"/calibrate", EVHTTP_REQ_POST, true, calibrate},
    Resource{"/reload", EVHTTP_REQ_POST, true, reload},
    Resource{"/drain", EVHTTP_REQ_POST, true, drain},
};

std::string index_text() {
  std::string text =
      "hatrpcd serves these resources:\n  GET  /   this list; in a browser, the status page\n";
  for (const Resource& resource : kResources) {
    text += std::string(resource.method == EVHTTP_REQ_POST ? "  POST " : "  GET  ") +
            std::string(resource.path) + (resource.local ? "   only on the unix socket\n" : "\n");
  }
  return text;
}

bool is_browser(evhttp_request* request) {
  const char* accept = evhttp_find_header(evhttp_request_get_input_headers(request), "Accept");
  return accept != nullptr && std::string_view(accept).find("text/html") != std::string_view::npos;
}

// Returns a status page for a browser, and a list of the resources for other clients.
Answer front(evhttp_request* request) {
  if (!is_browser(request)) return {.body = index_text()};
  StatusPage page = make_status_page();
  return {.type = "text/html; charset=utf-8",
          .body = std::move(page.html),
          .policy = std::move(page.policy)};
}

bool may_change(evhttp_request* request) {
  bufferevent* connection =
      evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(bufferevent_getfd(connection), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) {
    return false;
  }
  return who.uid == 0 || who.uid == geteuid();
}

Answer choose(const Request& request, bool local) {
  const evhttp_cmd_type method = evhttp_request_get_command(request.http);
  const char* path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request.http));
  const std::string_view asked = path == nullptr ? "/" : path;
  if (asked == "/" || asked.empty()) return front(request.http);
  for (const Resource& resource : kResources) {
    if (resource.path != asked) continue;
    if (resource.local && !local) {
      return {
          .status = 403,
          .body = std::string(asked) + " is available only on the unix socket `admin.socket`\n"};
    }
    const bool head = method == EVHTTP_REQ_HEAD && resource.method == EVHTTP_REQ_GET;
    if (method != resource.method && !head) {
      return {.status = 405,
              .body = std::string(asked) + " accepts only " +
                      (resource.method == EVHTTP_REQ_POST ? "POST\n" : "GET\n")};
    }
    if (resource.method == EVHTTP_REQ_POST && !may_change(request.http)) {
      return {.status = 403, .body = "only root and hatrpcd's own user may change anything\n"};
    }
    return resource.make(request);
  }
  return {.status = 404, .body = "there is no " + std::string(asked) + "\n" + index_text()};
}

// Stops accepting until the next on_second(): libevent would try again at once and without end, and
// each failure logs a line.
void on_accept_failed(evconnlistener* listener, void*) {
  LOG_EVERY_T(WARNING, 10) << "admin: cannot accept a connection to the admin address or socket: "
                           << evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR())
                           << "; tries again within a second";
  evconnlistener_disable(listener);
}

}  // namespace

AdminServer::AdminServer(event_base* base, Control& control, const ListenSocket* http,
                         const ListenSocket* unix_socket)
    : control_(control) {
  open(http_, base, http, on_http);
  open(unix_, base, unix_socket, on_unix);
}

void AdminServer::open(Door& door, event_base* base, const ListenSocket* socket,
                       void (*on_request)(evhttp_request*, void*)) {
  if (socket == nullptr) return;
  door.server.reset(evhttp_new(base));
  CHECK(door.server) << "libevent cannot create an HTTP server: out of memory";
  door.connections.attach(*door.server, base);
  evhttp_set_gencb(door.server.get(), on_request, this);
  evhttp_set_max_body_size(door.server.get(), 4096);
  evhttp_set_max_headers_size(door.server.get(), 16384);
  evhttp_set_timeout(door.server.get(), 10);
  // LEV_OPT_CLOSE_ON_FREE is not set, because the ListenSocket owns the descriptor. Backlog 0 means
  // that evconnlistener_new() does not call listen(2): the socket listens already.
  door.listener =
      evconnlistener_new(base, nullptr, nullptr, LEV_OPT_CLOSE_ON_EXEC, 0, socket->fd());
  CHECK(door.listener != nullptr) << to_string(socket->address());
  constexpr timeval kSecond{1, 0};
  door.each_second.reset(event_new(base, -1, EV_PERSIST, on_second, &door));
  evtimer_add(door.each_second.get(), &kSecond);
  evhttp_bind_listener(door.server.get(), door.listener);
  evconnlistener_set_error_cb(door.listener, on_accept_failed);
}

void AdminServer::on_second(evutil_socket_t, short, void* door) {
  auto& own = *static_cast<Door*>(door);
  own.connections.forget_ended();
  evconnlistener_enable(own.listener);  // on_accept_failed() may have disabled it
}

AdminTotals AdminServer::totals() {
  return {.connections_open = http_.connections.open() + unix_.connections.open(),
          .connections_closed = http_.connections.closed() + unix_.connections.closed(),
          .page_seconds = page_seconds_};
}

void AdminServer::on_http(evhttp_request* request, void* self) {
  static_cast<AdminServer*>(self)->answer(request, false);
}

void AdminServer::on_unix(evhttp_request* request, void* self) {
  static_cast<AdminServer*>(self)->answer(request, true);
}

void AdminServer::answer(evhttp_request* request, bool local) {
  const Answer answer = choose({control_, request, totals(), page_, page_seconds_}, local);
  evkeyvalq* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", answer.type.c_str());
  evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
  evhttp_add_header(headers, "Cache-Control", "no-store");
  evhttp_add_header(headers, "Referrer-Policy", "no-referrer");
  if (!answer.policy.empty()) {
    evhttp_add_header(headers, "Content-Security-Policy", answer.policy.c_str());
  }
  if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD) {
    evhttp_add_header(headers, "Content-Length", std::to_string(answer.body.size()).c_str());
  } else {
    evbuffer_add(evhttp_request_get_output_buffer(request), answer.body.data(), answer.body.size());
  }
  evhttp_send_reply(request, answer.status, nullptr, nullptr);
}

}  // namespace hat
