// SPDX-License-Identifier: Apache-2.0
#include "hatctl/launch.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <vector>

#include "base/address.h"
#include "hatctl/http_client.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

constexpr const char* kConnect = "HATRPC_RINGS";
constexpr const char* kListen = "HATRPC_LISTEN_RINGS";
constexpr const char* kPreload = "LD_PRELOAD";

int complain(const std::string& text, int status) {
  std::cerr << "hatctl: " << text << "\n";
  return status;
}

// Returns the numeric addresses of `host` without the port, an IPv6 address in brackets. For a
// wildcard address these are the addresses of the loopback device, because local clients use them.
std::vector<std::string> numeric(const std::string& host) {
  if (host == "0.0.0.0") return {"127.0.0.1"};
  if (host == "::") return {"127.0.0.1", "[::1]"};
  const addrinfo hints{.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* each = all.get(); each != nullptr; each = each->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) != 0) {
      continue;
    }
    addresses.push_back(each->ai_family == AF_INET6 ? "[" + std::string(text) + "]" : text);
  }
  return addresses;
}

// Adds entries ADDRESS:PORT=PATH to the variable `value`, for `place`, an endpoint or a served
// service whose TCP address is at `key`.
void add_ring(const json& place, const char* key, std::string& value) {
  const json& ring = place.at("ring");
  if (ring.is_null()) return;
  const auto address = parse_address(place.at(key).get<std::string>());
  if (!address) return;
  for (const std::string& host : numeric(address->host)) {
    value += (value.empty() ? "" : ",") + host + ":" + std::to_string(address->port) + "=" +
             ring.get<std::string>();
  }
}

// Warns of each ring that this user may not use: the program would use TCP, and say nothing.
void warn_of_forbidden(const json& status) {
  const auto warn = [](const std::string& path, const std::string& checked,
                       const std::string& consequence) {
    if (faccessat(AT_FDCWD, checked.c_str(), W_OK, AT_EACCESS) == 0) return;
    std::cerr << "hatctl: warning: " << path << ": " << std::strerror(errno) << "; " << consequence
              << "\n";
  };
  for (const json& endpoint : status.at("endpoints")) {
    if (endpoint.at("ring").is_null()) continue;
    const std::string path = endpoint.at("ring");
    warn(path, path,
         "connections to " + endpoint.at("listen").get<std::string>() +
             " use TCP unless this user may write to the socket (`mode` and `group` of the "
             "endpoint)");
  }
  for (const json& served : status.at("serves")) {
    if (served.at("ring").is_null()) continue;
    const std::string path = served.at("ring");
    warn(path, std::filesystem::path(path).parent_path(),
         "a server at " + served.at("upstream").get<std::string>() +
             " accepts TCP alone unless this user may write to the ring's folder");
  }
}

// Sets the variable to `value` and its old value. `value` comes first if `first` is true.
void prepend_or_append(const char* name, const std::string& value, char separator, bool first) {
  if (value.empty()) return;
  const char* old = std::getenv(name);
  const std::string before = old == nullptr ? "" : old;
  const std::string both = before.empty() ? value
                           : first        ? value + separator + before
                                          : before + separator + value;
  setenv(name, both.c_str(), 1);
}

}  // namespace

RingVariables ring_variables(const json& status) {
  RingVariables variables;
  for (const json& endpoint : status.at("endpoints")) {
    add_ring(endpoint, "listen", variables.connect);
  }
  for (const json& served : status.at("serves")) add_ring(served, "upstream", variables.listen);
  return variables;
}

Result<std::string> find_library(const std::string& wanted) {
  std::error_code none;
  std::vector<std::filesystem::path> candidates;
  if (!wanted.empty()) {
    candidates.emplace_back(std::filesystem::absolute(wanted, none));
  } else {
    const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
    const auto prefix = program.parent_path().parent_path();
    for (const char* folder :
         {"lib", HAT_LIBRARY_FOLDER}) {  // of the build tree, of an installation
      candidates.emplace_back(prefix / folder / "libhatrpc-preload.so");
    }
  }
  for (const auto& candidate : candidates) {
    if (!std::filesystem::is_regular_file(candidate, none)) continue;
    const std::string file = candidate.string();
    if (file.find_first_of(": ") == file.npos) return file;
    return fail(ErrorCode::kInvalid, file +
                                         ": LD_PRELOAD cannot contain a path with a colon or a "
                                         "space; move the library to another folder");
  }
  return fail(ErrorCode::kNotFound,
              candidates.back().string() +
                  ": there is no such file; install the package libhatrpc-client, or name the "
                  "preloaded library with --library FILE");
}

int launch(const Options& options) {
  const auto library = find_library(options.library);
  if (!library) return complain(library.error().message, kLaunchFailed);
  const auto answer =
      HttpClient(options.http.empty() ? options.socket : options.http).get("/status");
  if (!answer) {
    return complain(answer.error().message +
                        (options.http.empty() ? "; or ask hatrpcd at its address `admin.listen`, "
                                                "with --http tcp:HOST:PORT"
                                              : ""),
                    kLaunchFailed);
  }
  if (answer->status != 200) {
    return complain("hatrpcd answers " + std::to_string(answer->status) + ": " + answer->body,
                    kLaunchFailed);
  }
  const json status = json::parse(answer->body);
  const RingVariables rings = ring_variables(status);
  if (rings.connect.empty() && rings.listen.empty()) {
    return complain(
        "no endpoint and no served service of hatrpcd has a ring; add `ring: /PATH` to an entry of "
        "`endpoints` or `serves` in hatrpcd.yaml",
        kLaunchFailed);
  }
  warn_of_forbidden(status);
  // The user's own entries come first, and so take precedence.
  prepend_or_append(kConnect, rings.connect, ',', false);
  prepend_or_append(kListen, rings.listen, ',', false);
  prepend_or_append(kPreload, *library, ':', true);
  std::vector<char*> words;
  for (const std::string& word : options.program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  const int error = errno;
  return complain("cannot run " + options.program[0] + ": " + std::strerror(error),
                  error == ENOENT ? kNotFound : kNotExecutable);
}

}  // namespace hat::hatctl
