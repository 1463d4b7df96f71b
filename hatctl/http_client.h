// SPDX-License-Identifier: Apache-2.0
// hatctl/http_client.h: one HTTP request to hatrpcd's admin socket, and its answer.
//
// Thread   blocks the caller: 2 s to connect and 30 s in all at most; answers up to 64 MiB.
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

  // `path` begins with a slash. An error means that hatrpcd cannot be reached, and says what to do;
  // an answer of any status is a value.
  Result<HttpAnswer> get(const std::string& path) const { return ask(path, false); }
  Result<HttpAnswer> post(const std::string& path) const { return ask(path, true); }

 private:
  Result<HttpAnswer> ask(const std::string& path, bool post) const;

  const std::string socket_;
};

}  // namespace hat::hatctl
