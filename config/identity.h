// SPDX-License-Identifier: Apache-2.0
// config/identity.h: compares the identity of a peer daemon, which is the names in its certificate,
// with the identity rules in the configuration.
//
//   a name     spiffe://prod.example/hosts/a   a URI, in SPIFFE's form
//              host-a.prod.example             a DNS name
//   a rule     a name, which matches only itself
//              spiffe://prod.example/hosts/*   all URIs below that path
//              *.prod.example                  all DNS names with one more label
//
// A wildcard matches only in a rule. A wildcard in a certificate has no special meaning, because a
// certificate belongs to one node. DNS names are compared without regard to upper and lower case;
// URIs are compared byte by byte.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hat {

// Returns an error if the syntax of the rule is wrong. The error names the rule, and shows examples
// of valid rules.
Result<void> check_identity_rule(std::string_view rule);

// Returns true if `rule` matches `name`. `name` is a whole URI or DNS name from a certificate, as
// names_of() in daemon/tls/certificate.h returns it.
bool identity_matches(std::string_view rule, std::string_view name);

// Returns true if at least one rule matches at least one name. Returns false if there are no rules.
// Does not allocate.
bool any_identity_matches(std::span<const std::string> rules, std::span<const std::string> names);

// Returns true if `text` has the form of a DNS name. A certificate has separate entries for DNS
// names and for URIs. The daemon ignores an entry of the wrong form, so that a URI in an entry for
// DNS names cannot match a rule for URIs.
bool is_dns_name(std::string_view text);
// Returns true if `text` has the form of a URI.
bool is_uri(std::string_view text);

}  // namespace hat
