// SPDX-License-Identifier: Apache-2.0
// config/identity.h: matches the names in a peer daemon's certificate with the identity rules in
// the configuration. The names in the certificate are the identity of the peer.
//
//   a name     spiffe://prod.example/hosts/a   a URI, in SPIFFE's form
//              host-a.prod.example             a DNS name
//   a rule     a name, which matches only itself
//              spiffe://prod.example/hosts/*   all URIs below that path
//              *.prod.example                  all DNS names with one more label
//
// A wildcard in a name of a certificate is not treated as a wildcard, because a certificate belongs
// to one node. The comparison of DNS names ignores case; the comparison of URIs does not.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hat {

// Checks the syntax of a rule. The text of an error says what is wrong with the rule, and shows
// valid examples.
Result<void> check_identity_rule(std::string_view rule);

// Returns true if `rule` matches `name`: a whole URI or DNS name that names_of()
// (daemon/tls/certificate.h) returned.
bool identity_matches(std::string_view rule, std::string_view name);

// Returns true if at least one rule matches at least one name. Returns false if there are no rules.
// Does not allocate.
bool any_identity_matches(std::span<const std::string> rules, std::span<const std::string> names);

// Returns true if `text`, an entry for DNS names (is_dns_name()) or for URIs (is_uri()) in a
// certificate, has the form of a DNS name or of a URI. Entries without this form are ignored, so
// that an entry for DNS names cannot contain a URI that then matches a rule, or the other way
// round.
bool is_dns_name(std::string_view text);
bool is_uri(std::string_view text);

}  // namespace hat
