// SPDX-License-Identifier: Apache-2.0
#include "hatctl/http_client.h"

#include <curl/curl.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/owned.h"

namespace hat::hatctl {
namespace {

constexpr size_t kAnswerBytesMax = 64 << 20;
constexpr long kConnectTimeoutMs = 2000;
constexpr long kTimeoutMs = 30000;

size_t on_body(char* bytes, size_t, size_t count, void* body) {
  auto& text = *static_cast<std::string*>(body);
  if (text.size() + count > kAnswerBytesMax) return 0;  // 0 makes curl end the transfer
  text.append(bytes, count);
  return count;
}

std::string why(CURLcode code, CURL* curl) {
  long system_error = 0;
  curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &system_error);
  if (code != CURLE_COULDNT_CONNECT) return curl_easy_strerror(code);
  switch (system_error) {
    case ENOENT:
      return "there is no such socket. Start hatrpcd, or give the path of its `admin.socket` with "
             "--socket or $HATRPCD_SOCKET";
    case ECONNREFUSED:
      return "no process listens on this socket: the hatrpcd that created it no longer runs. Start "
             "hatrpcd again";
    case EACCES:
      return "permission denied: run hatctl as root or as the user of hatrpcd";
    default:
      return system_error == 0 ? curl_easy_strerror(code)
                               : std::strerror(static_cast<int>(system_error));
  }
}

}  // namespace

Result<HttpAnswer> HttpClient::ask(const std::string& path, bool post) const {
  const Owned<CURL, curl_easy_cleanup> curl(curl_easy_init());
  if (!curl)
    return fail(ErrorCode::kUnavailable, socket_ + ": libcurl cannot start: out of memory");
  HttpAnswer answer;
  constexpr std::string_view kTcp = "tcp:";
  const bool is_tcp = socket_.starts_with(kTcp);
  const std::string url = "http://" + (is_tcp ? socket_.substr(kTcp.size()) : "hatrpcd") + path;
  if (!is_tcp) curl_easy_setopt(curl.get(), CURLOPT_UNIX_SOCKET_PATH, socket_.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");  // ignores the environment variable http_proxy
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, kTimeoutMs);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer.body);
  if (post) curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, "");
  const CURLcode code = curl_easy_perform(curl.get());
  if (code != CURLE_OK)
    return fail(ErrorCode::kUnavailable, socket_ + ": " + why(code, curl.get()));
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

std::string in_query(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    const auto c = static_cast<unsigned char>(letter);
    if (std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_') {
      out += letter;
      continue;
    }
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", c);
    out += code;
  }
  return out;
}

}  // namespace hat::hatctl
