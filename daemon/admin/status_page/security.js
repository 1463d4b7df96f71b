// SPDX-License-Identifier: Apache-2.0
// daemon/admin/status_page/security.js: how links are secured, in words; from /status.
//
// When a certificate ends soon is the rule of the alert too: deploy/monitoring/hatrpc.rules.yaml.

const SOON_PART = 0.2;  // of a certificate's time
const SOON_S = 30 * 86400;

const WHOSE = {certificate: "This node's certificate", ca: "The CA that peers' certificates must have",
  crl: "The list of revoked certificates"};

// Of several CAs the one that ends last: the others are on their way out. Of lists the one that ends first: each is
// needed. Undefined: there is none.
function oneThatCounts(certificates, use) {
  const all = certificates.filter((one) => one.use === use).sort((a, b) => b.not_after - a.not_after);
  return all.at(use === "crl" ? -1 : 0);
}

function utcText(unixTime) {
  return `${new Date(unixTime * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function securityText(status) {
  if (status.link_security === "insecure") return "insecure: neither authenticated nor encrypted";
  if (status.link_security !== "tls") return "there are none";
  const own = oneThatCounts(status.certificates, "certificate");
  return `TLS 1.3, certificate good until ${utcText(own.not_after)}`;
}

// `now` as the daemon has it: a browser's clock may differ. Null: all is well.
function certificateNotice(certificate, now) {
  const left = certificate.not_after - now;
  const soon = Math.min(SOON_S, SOON_PART * (certificate.not_after - certificate.not_before));
  const whose = `${WHOSE[certificate.use]} (${certificate.subject})`;
  if (certificate.not_before > now) {
    return {tone: "bad", text: `${whose} is not valid before ${utcText(certificate.not_before)}: `
        + "compare the hosts' clocks."};
  }
  if (left <= 0) {
    return {tone: "bad", text: `${whose} has expired, at ${utcText(certificate.not_after)}: `
        + "broken links cannot be built again. Renew it; hatctl certs shows its file."};
  }
  if (left >= soon) return null;
  return {tone: "warn", text: `${whose} ends soon, at ${utcText(certificate.not_after)}, and has not been renewed. `
      + "hatctl certs names its file."};
}

function securityNotices(status) {
  if (status.link_security === "insecure") {
    return [{tone: "warn", text: "Links are insecure: peers are not authenticated, and anybody between them can read "
        + "and change calls. Unless that network is trusted, set link.tls on both nodes."}];
  }
  const now = status.start_unix_time + status.uptime_s;
  return Object.keys(WHOSE).map((use) => oneThatCounts(status.certificates, use)).filter(Boolean)
      .map((certificate) => certificateNotice(certificate, now)).filter(Boolean);
}

// What its certificate proves, of one peer; `names` are those of a link that is up.
function identityText(names, up) {
  if (names.length > 0) return names.join("\n");
  return up > 0 ? "proves nothing" : "";
}
