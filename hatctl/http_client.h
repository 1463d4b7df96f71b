// SPDX-License-Identifier: Apache-2.0
// hatctl/http_client.h: sends one HTTP request to hatrpcd's admin socket and returns the answer.
//
// Thread   blocks the caller for at most 30 s, of which at most 2 s to connect.
// Bounds   an answer has at most 64 MiB; a longer one is an error.
#pragma once

#include <string>

#include "base/result.h"

namespace hat::hatctl {

struct HttpAnswer {
  long status = 0;
  std::string body;
};

class HttpClient {
 public:
  explicit HttpClient(std::string socket) : socket_(std::move(socket)) {}

  // Sends one request and returns the answer, whatever its HTTP status. `path` begins with a slash.
  // An error means that hatrpcd cannot be reached; its text says what to do.
  Result<HttpAnswer> get(const std::string& path) const { return ask(path, false); }
  Result<HttpAnswer> post(const std::string& path) const { return ask(path, true); }

 private:
  Result<HttpAnswer> ask(const std::string& path, bool post) const;

  const std::string socket_;
};

}  // namespace hat::hatctl
