// SPDX-License-Identifier: Apache-2.0
// daemon/admin/admin_fuzz.cc: sends arbitrary bytes to the admin server, over TCP or the unix
// socket. Checks that only POST on the unix socket changes anything, that no request puts a header
// into an answer, and that no descriptor stays open.
//
// Input    One byte, whose lowest bit chooses the socket (0: TCP); then the bytes to send, in two
//          parts: the first quarter, and the rest.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "daemon/admin/admin.h"
#include "daemon/admin/fake_control.h"
#include "daemon/reactor/listen_socket.h"
#include "daemon/reactor/socket_address.h"

namespace hat {
namespace {

using namespace std::string_view_literals;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "admin_fuzz: %s (last system error: %s)\n", what, std::strerror(errno));
  std::abort();
}

size_t count(std::string_view text, std::string_view what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// Checks that the first answer begins with "HTTP/" and that every header is one that the server
// writes.
void check_answers(std::string_view text) {
  constexpr std::array kHeaders = {"Content-Type: "sv,
                                   "X-Content-Type-Options: nosniff"sv,
                                   "Cache-Control: no-store"sv,
                                   "Referrer-Policy: no-referrer"sv,
                                   "Content-Security-Policy: default-src 'none'"sv,
                                   "Date: "sv,
                                   "Content-Length: "sv,
                                   "Connection: "sv,
                                   "Transfer-Encoding: chunked"sv};
  if (text.empty()) return;
  require(text.starts_with("HTTP/"), "an answer is not HTTP");
  const size_t blank = text.find("\r\n\r\n");
  require(blank != text.npos, "an answer's headers have no end");
  std::string_view head = text.substr(0, blank);
  for (bool first = true; !head.empty(); first = false) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(std::min(head.size(), line.size() + 2));
    const bool known = std::ranges::any_of(
        kHeaders, [line](std::string_view header) { return line.starts_with(header); });
    require(first || known, "a request put a header into the answer");
  }
}

class Server {
 public:
  Server()
      : folder_(std::filesystem::temp_directory_path() /
                ("admin-fuzz-" + std::to_string(getpid()))),
        http_(open({Address::Kind::kTcp, "127.0.0.1", 0, ""})),
        unix_(open({Address::Kind::kUnix, "", 0, folder_ / "admin.sock"})),
        base_(event_base_new()),
        server_(base_.get(), control, &http_, &unix_) {}
  ~Server() { std::filesystem::remove_all(folder_); }

  std::string ask(bool local, std::string_view request) {
    const ListenSocket& socket = local ? unix_ : http_;
    const SocketAddress to = *to_connect_to(socket.address());
    const Descriptor own(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!local) bind_to_next_address(own.get());
    const auto* address = reinterpret_cast<const sockaddr*>(&to.storage);
    // A signal of libFuzzer's timer can interrupt connect(); the kernel completes the connection
    // anyway.
    const bool connected = connect(own.get(), address, to.length) == 0 || errno == EINTR;
    require(connected, "cannot connect");
    const size_t cut = request.size() / 4;
    say(own.get(), request.substr(0, cut));
    iterate();
    say(own.get(), request.substr(cut));
    shutdown(own.get(), SHUT_WR);
    return answer(own.get());
  }
  // Runs one iteration. totals() also closes the descriptors of connections that have ended.
  void iterate() {
    event_base_loop(base_.get(), EVLOOP_NONBLOCK);
    (void)server_.totals();
  }

  FakeControl control;

 private:
  ListenSocket open(const Address& address) {
    std::filesystem::create_directories(folder_);
    auto socket = ListenSocket::open(address, 0600);
    require(socket.has_value(), "cannot listen");
    return std::move(*socket);
  }
  // Binds `socket` to one of 1000 loopback addresses, in turn. The kernel keeps the port of a
  // closed connection for a minute, so one address would run out of ports.
  void bind_to_next_address(int socket) {
    const uint32_t address = INADDR_LOOPBACK + 1 + connections_++ % 1000;
    const sockaddr_in own{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(address)}, .sin_zero = {}};
    require(bind(socket, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0, "cannot bind");
  }
  // Sends `bytes`, which fit into the socket's buffer because libFuzzer's inputs are small.
  static void say(int to, std::string_view bytes) {
    [[maybe_unused]] const auto sent =
        send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  // Returns the bytes that arrive until the server closes the connection, or until none arrive in
  // 50 iterations. Does not wait for the server's timeouts.
  std::string answer(int from) {
    std::string text;
    for (int idle = 0; idle < 50;) {
      iterate();
      std::array<char, 65536> buffer;
      const ssize_t got = recv(from, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno == ECONNRESET)) break;
      if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
      idle = got > 0 ? 0 : idle + 1;
    }
    return text;
  }

  uint32_t connections_ = 0;
  const std::filesystem::path folder_;
  ListenSocket http_;
  ListenSocket unix_;
  Owned<event_base, event_base_free> base_;
  AdminServer server_;
};

int next_descriptor() { return Descriptor(dup(STDIN_FILENO)).get(); }

void run(std::string_view input) {
  static Server server;
  FakeControl& control = server.control;
  control.reloads.clear();
  control.drains = 0;
  control.last_calibration = {};
  const int before = next_descriptor();
  const bool local = (input[0] & 1) != 0;
  const std::string_view request = input.substr(1);
  check_answers(server.ask(local, request));
  for (int i = 0; i < 100 && next_descriptor() != before; ++i) server.iterate();
  require(next_descriptor() == before, "a descriptor stays open");

  const auto drains = static_cast<size_t>(control.drains);
  const bool calibrates = control.last_calibration.state != CalibrationReport::State::kNone;
  const size_t changes = control.reloads.size() + drains + (calibrates ? 1 : 0);
  require(local || changes == 0, "a request over TCP changed something");
  require(changes <= count(request, "POST"), "something changed without POST");
  require(control.reloads.size() <= count(request, "reload"), "a reload that was not asked for");
  require(drains <= count(request, "drain"), "a drain that was not asked for");
}

}  // namespace
}  // namespace hat

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  hat::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
