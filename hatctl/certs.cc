// SPDX-License-Identifier: Apache-2.0
// hatctl/certs.cc: formats the answer of /certificates as text.
#include <ctime>

#include "base/quantities.h"
#include "hatctl/pages.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

std::string utc(int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string until(const json& certificate, double unix_now, const Terminal& terminal) {
  const auto not_before = certificate.at("not_before").get<int64_t>();
  const auto not_after = certificate.at("not_after").get<int64_t>();
  if (static_cast<double>(not_before) > unix_now) {
    return coloured("not before " + utc(not_before), Colour::kRed, terminal);
  }
  const double left = static_cast<double>(not_after) - unix_now;
  if (left > 0) return utc(not_after) + ", " + age_text(left) + " from now";
  return coloured(utc(not_after) + ": expired " + age_text(-left) + " ago", Colour::kRed, terminal);
}

const char* title_of(const std::string& use) {
  if (use == "certificate") return "this node's certificate";
  return use == "crl" ? "a list of revoked certificates" : "a CA that may sign peers' certificates";
}

std::string lines_of(const json& certificate, double unix_now, const Terminal& terminal) {
  const auto word = [&](const char* key) { return certificate.at(key).get<std::string>(); };
  std::string text;
  text += "  file         " + word("file") + "\n";
  text += "  subject      " + word("subject") + "\n";
  for (const std::string name : certificate.at("names")) text += "  name         " + name + "\n";
  text += "  issuer       " + word("issuer") + "\n";
  text += "  valid until  " + until(certificate, unix_now, terminal) + "\n";
  if (!word("serial").empty()) text += "  serial       " + word("serial") + "\n";
  text += "  SHA-256      " + word("fingerprint") + "\n";
  return text;
}

}  // namespace

std::string certs_text(const json& certificates, double unix_now, const Terminal& terminal) {
  if (certificates.empty()) {
    return "links of this node have no TLS: `link.tls` in hatrpcd.yaml names no certificate\n";
  }
  std::string text;
  for (const json& certificate : certificates) {
    text += text.empty() ? "" : "\n";
    text += coloured(title_of(certificate.at("use")), Colour::kBold, terminal) + "\n" +
            lines_of(certificate, unix_now, terminal);
  }
  return text;
}

bool own_certificate_is_good(const json& certificates, double unix_now) {
  for (const json& certificate : certificates) {
    if (certificate.at("use") != "certificate") continue;
    return certificate.at("not_before").get<double>() <= unix_now &&
           unix_now < certificate.at("not_after").get<double>();
  }
  return true;
}

}  // namespace hat::hatctl
