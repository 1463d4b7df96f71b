// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/tls_failure.h: the reasons why a TLS handshake failed: the label `reason` of
// hatrpc_tls_handshake_failures_total, and a table of docs/security.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hat {

enum class TlsFailure : uint8_t {
  kNotTls,         // the other side does not speak TLS: a hatrpcd without TLS, a browser, a scan
  kVersion,        // the other side speaks only TLS versions older than 1.3
  kNoCertificate,  // the other side sent no certificate
  kUntrusted,   // the other side's certificate is malformed, for another purpose, or not from `ca`
  kExpired,     // the other side's certificate has expired, or is not valid yet
  kRevoked,     // a list in `crl` revokes the other side's certificate
  kNotAllowed,  // the other side's certificate is valid, but has no name that this node accepts
  kRefused,     // the other side rejected this node's certificate
  kClosed,      // the other side closed the connection during the handshake
  kUnfinished,  // this side gave up: limits.connect_timeout, or too many handshakes
  kOther,
};
inline constexpr std::array kTlsFailureNames = {
    "not_tls",     "version", "no_certificate", "untrusted",  "expired", "revoked",
    "not_allowed", "refused", "closed",         "unfinished", "other"};
inline constexpr size_t kTlsFailureCount = kTlsFailureNames.size();
static_assert(kTlsFailureCount == static_cast<size_t>(TlsFailure::kOther) + 1);

}  // namespace hat
