// SPDX-License-Identifier: Apache-2.0
#include "client/preload/options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "client/preload/real.h"

namespace hatrpc::preload {

bool Options::is_one(int level) {
  return level == IPPROTO_TCP || level == IPPROTO_IP || level == IPPROTO_IPV6;
}

int give_option(const void* value, size_t size, void* into, socklen_t* bytes) {
  if (into == nullptr || bytes == nullptr) {
    errno = EFAULT;
    return -1;
  }
  *bytes = std::min(*bytes, static_cast<socklen_t>(size));
  std::memcpy(into, value, *bytes);
  return 0;
}

int Options::set(int level, int name, const void* value, socklen_t bytes) {
  constexpr socklen_t kMost = 256;
  if (value == nullptr && bytes != 0) {
    errno = EFAULT;
    return -1;
  }
  const char* from = static_cast<const char*>(value);
  const std::lock_guard lock(mutex_);
  values_[{level, name}].assign(from, from + std::min(bytes, kMost));
  return 0;
}

int Options::get(int level, int name, void* value, socklen_t* bytes) {
  if (level == IPPROTO_TCP && name == TCP_INFO) {
    const tcp_info info{.tcpi_state = TCP_ESTABLISHED};
    return give_option(&info, sizeof info, value, bytes);
  }
  const std::lock_guard lock(mutex_);
  const auto found = values_.find({level, name});
  const int none = 0;
  if (found == values_.end()) return give_option(&none, sizeof none, value, bytes);
  return give_option(found->second.data(), found->second.size(), value, bytes);
}

void Options::take_from(int tcp_socket) {
  static constexpr std::pair<int, int> kKept[] = {
      {IPPROTO_TCP, TCP_NODELAY},  {IPPROTO_TCP, TCP_KEEPIDLE},     {IPPROTO_TCP, TCP_KEEPINTVL},
      {IPPROTO_TCP, TCP_KEEPCNT},  {IPPROTO_TCP, TCP_USER_TIMEOUT}, {IPPROTO_IP, IP_TOS},
      {IPPROTO_IPV6, IPV6_TCLASS}, {IPPROTO_IPV6, IPV6_V6ONLY},
  };
  for (const auto& [level, name] : kKept) {
    int value = 0;
    socklen_t bytes = sizeof value;
    if (real::getsockopt(tcp_socket, level, name, &value, &bytes) == 0) {
      set(level, name, &value, bytes);
    }
  }
}

void Options::forget_threads() { new (&mutex_) std::mutex; }

}  // namespace hatrpc::preload
