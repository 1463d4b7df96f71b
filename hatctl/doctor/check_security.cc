// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/check_security.cc: checks whether links authenticate their peers by certificates,
// and how long these certificates stay valid.
#include <algorithm>

#include "base/quantities.h"
#include "hatctl/doctor/checks.h"
#include "hatctl/doctor/rights.h"

namespace hat::doctor {
namespace {

// A certificate expires soon if less than 30 days and less than a fifth of its lifetime are left.
// The alert HatrpcCertificateEndsSoon of deploy/monitoring/hatrpc.rules.yaml uses the same bounds.
constexpr int64_t kSoonSeconds = int64_t{30} * 24 * 3600;
constexpr int64_t kSoonDivisor = 5;  // a fifth of the lifetime

std::string owner(const Process& who) {
  return who.user.empty() ? std::to_string(who.uid) : who.user;
}

// Returns the first step of the path that keeps `who` from reading the file, or null if none does.
const PathStep* barrier(const TlsFile& file, const Process& who) {
  for (const PathStep& step : file.way) {
    const mode_t wanted = &step == &file.way.back() ? kMayRead : kMayEnter;
    if (!permitted(step.mode, step.uid, step.gid, who, wanted)) return &step;
  }
  return nullptr;
}

// Reports a failure and returns false if `who` may not read the file.
bool judge_rights(const TlsFile& file, const Process& who, Findings& findings) {
  const PathStep* step = barrier(file, who);
  if (step == nullptr) return true;
  const bool itself = step == &file.way.back();
  const std::string user = owner(who);
  findings.fail(file.key,
                file.path + ": " + user + " may not " +
                    (itself ? "read it" : "enter its directory " + step->path),
                itself && file.key == "key" ? "chown " + user + " " + file.path
                : itself                    ? "chmod a+r " + file.path
                                            : "chmod a+x " + step->path);
  return false;
}

bool is_open_to_everybody(const TlsFile& file) {
  Process anybody;
  anybody.uid = static_cast<uid_t>(-1);  // a number that no user has
  anybody.gid = static_cast<gid_t>(-1);
  return barrier(file, anybody) == nullptr;
}

// Adds findings about one file. Returns false if the file cannot be read: the caller then does not
// report TlsFiles::error, which has the same cause.
bool judge_tls_file(const TlsFile& file, const Examined& examined, Findings& findings) {
  if (file.hidden) {
    findings.warn(file.key, file.path + ": not checked, because the user of hatctl may not read it",
                  "sudo hatctl doctor");
    return false;
  }
  if (!file.error.empty()) {
    findings.fail(file.key, file.path + ": " + file.error,
                  "ls -l " + file.path + "   # or correct link.tls." + file.key + " in " +
                      examined.file.path);
    return false;
  }
  if (file.key == "key" && is_open_to_everybody(file)) {
    findings.warn(
        "key", file.path + " can be read by every user of this host, so each can pose as this node",
        "chown " + owner(examined.opener()) + " " + file.path + " && chmod 400 " + file.path);
  }
  return judge_rights(file, examined.opener(), findings);
}

std::string show(const std::string& path) {
  return "openssl x509 -noout -subject -issuer -dates -ext subjectAltName -in " + path;
}

// Returns true if the certificate is valid and does not expire soon. Otherwise adds a finding, and
// returns false.
bool judge_time(const char* key, const CertificateFacts& facts, const std::string& path,
                int64_t unix_now, Findings& findings) {
  const int64_t left = facts.not_after - unix_now;
  const std::string renew = show(path) + "   # then renew it; hatrpcd reads a new file by itself";
  if (facts.not_before > unix_now) {
    findings.fail(key, path + ", " + facts.subject + ": not valid yet",
                  "date -u; " + show(path) + "   # check which host's clock is wrong");
  } else if (left <= 0) {
    findings.fail(key,
                  path + ", " + facts.subject + ": expired " +
                      age_text(static_cast<double>(-left)) +
                      " ago: links that break cannot be rebuilt",
                  renew);
  } else if (left < std::min(kSoonSeconds, (facts.not_after - facts.not_before) / kSoonDivisor)) {
    findings.warn(key,
                  path + ", " + facts.subject + ": expires in " +
                      age_text(static_cast<double>(left)) + ", and was not renewed",
                  renew);
  } else {
    return true;
  }
  return false;
}

void judge_certificate(const CertificateFacts& facts, const std::string& path, int64_t unix_now,
                       Findings& findings) {
  std::string names;
  for (const std::string& name : facts.names) names += (names.empty() ? "" : ", ") + name;
  if (names.empty()) {
    return findings.fail(
        "certificate",
        path + " has no DNS name and no URI as subjectAltName: peers cannot identify this node",
        show(path) + "   # docs/security.md: what a certificate must have");
  }
  if (!judge_time("certificate", facts, path, unix_now, findings)) return;
  findings.ok("certificate",
              names + "; valid for " + age_text(static_cast<double>(facts.not_after - unix_now)));
}

// Judges only the CA certificate that expires last: the others in the file are assumed to be older
// certificates that it replaces.
void judge_authorities(const std::vector<CertificateFacts>& all, const std::string& path,
                       int64_t unix_now, Findings& findings) {
  const auto last = std::ranges::max_element(all, {}, &CertificateFacts::not_after);
  if (last == all.end()) return;
  if (!judge_time("ca", *last, path, unix_now, findings)) return;
  findings.ok("ca", last->subject + "; valid for " +
                        age_text(static_cast<double>(last->not_after - unix_now)));
}

void judge_tls(const Examined& examined, Findings& findings) {
  const TlsFiles& tls = examined.tls;
  const TlsConfig& config = *examined.file.node.link.tls;
  bool whole = true;
  for (const TlsFile& file : tls.files) whole = judge_tls_file(file, examined, findings) && whole;
  if (!tls.error.empty()) {
    if (!whole) return;
    return findings.fail("", tls.error,
                         show(config.certificate) + "\nopenssl pkey -noout -check -in " +
                             config.key + "   # then `hatctl reload`");
  }
  if (tls.certificate) {
    judge_certificate(*tls.certificate, config.certificate, examined.unix_now, findings);
  }
  judge_authorities(tls.authorities, config.ca, examined.unix_now, findings);
}

}  // namespace

void check_security(const Examined& examined, Findings& findings) {
  const NodeConfig& node = examined.file.node;
  if (examined.file.diagnostics.any_errors()) return;  // the configuration is unknown
  if (node.link.tls) return judge_tls(examined, findings);
  if (!node.link.listen && node.peers.empty()) return findings.ok("", "this node has no links");
  findings.warn("",
                "links are insecure: peers do not authenticate, and anyone on the network between "
                "them can read and change calls",
                "hatctl certs make tls " + node.node +
                    " PEER...   # for tests; then set link.tls on both nodes: docs/security.md");
}

}  // namespace hat::doctor
