// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/tls_failure.h: the reasons why a TLS handshake failed, as one list: the label
// `reason` of hatrpc_tls_handshake_failures_total, and the table of docs/security.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hat {

enum class TlsFailure : uint8_t {
  kNotTls,         // the other side sent no TLS: an insecure hatrpcd, a browser, a scan
  kVersion,        // older than TLS 1.3
  kNoCertificate,  // the other side sent none
  kUntrusted,      // not from `ca`, broken, or for another purpose
  kExpired,        // or not valid yet
  kRevoked,        // by the list in `crl`
  kNotAllowed,     // valid, but names nothing that this node accepts
  kRefused,        // the other side rejected this node's certificate
  kClosed,         // the other side closed the connection during the handshake
  kUnfinished,     // this side gave up: limits.connect_timeout, or too many handshakes
  kOther,
};
inline constexpr std::array kTlsFailureNames = {
    "not_tls",     "version", "no_certificate", "untrusted",  "expired", "revoked",
    "not_allowed", "refused", "closed",         "unfinished", "other"};
inline constexpr size_t kTlsFailureCount = kTlsFailureNames.size();
static_assert(kTlsFailureCount == static_cast<size_t>(TlsFailure::kOther) + 1);

}  // namespace hat
