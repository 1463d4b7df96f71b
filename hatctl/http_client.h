// SPDX-License-Identifier: Apache-2.0
// hatctl/http_client.h: sends one HTTP request to hatrpcd and returns the answer.
//
// Thread   A request blocks the caller for at most 30 s, of which connecting takes at most 2 s.
// Bounds   An answer has at most 64 MiB; a longer answer is an error.
#pragma once

#include <string>

#include "base/result.h"

namespace hat::hatctl {

struct HttpAnswer {
  long status = 0;
  std::string body;
};

// Returns the text, percent-encoded as a value in the query of a URL.
std::string in_query(const std::string& text);

class HttpClient {
 public:
  // Creates a client for `socket`: the path of hatrpcd's admin socket, or its HTTP address,
  // tcp:HOST:PORT.
  explicit HttpClient(std::string socket) : socket_(std::move(socket)) {}

  // Sends one request and returns the answer with its HTTP status, even if the status is an error.
  // `path` begins with a slash. Returns an error only if no complete answer arrives; the text of
  // the error says what to do.
  Result<HttpAnswer> get(const std::string& path) const { return ask(path, false); }
  Result<HttpAnswer> post(const std::string& path) const { return ask(path, true); }

 private:
  Result<HttpAnswer> ask(const std::string& path, bool post) const;

  const std::string socket_;
};

}  // namespace hat::hatctl
