// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/tls_failure.h: why a TLS handshake failed, as one list: the label `reason` of
// hatrpc_tls_handshake_failures_total, and docs/security.md's table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hat {

enum class TlsFailure : uint8_t {
  kNotTls,         // what came is no TLS: an insecure hatrpcd, a browser, a scan
  kVersion,        // older than TLS 1.3
  kNoCertificate,  // the other side showed none
  kUntrusted,      // not from `ca`, broken, or for another purpose
  kExpired,        // or not valid yet
  kRevoked,        // by the list in `crl`
  kNotAllowed,     // good, but of nobody that this node wants
  kRefused,        // the other side does not take this node's certificate
  kClosed,         // the other side closed the connection in the middle
  kUnfinished,     // this side gave it up: limits.connect_timeout, or too many at once
  kOther,
};
inline constexpr std::array kTlsFailureNames = {
    "not_tls",     "version", "no_certificate", "untrusted",  "expired", "revoked",
    "not_allowed", "refused", "closed",         "unfinished", "other"};
inline constexpr size_t kTlsFailureCount = kTlsFailureNames.size();
static_assert(kTlsFailureCount == static_cast<size_t>(TlsFailure::kOther) + 1);

}  // namespace hat
