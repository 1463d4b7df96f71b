// SPDX-License-Identifier: Apache-2.0
// config/identity.h: the identity of a peer, from the names in its certificate, and the rules that
// match identities.
//
//   a name     spiffe://prod.example/hosts/a   a URI, in SPIFFE's form
//              host-a.prod.example             a DNS name
//   a rule     a name, which matches only itself
//              spiffe://prod.example/hosts/*   all URIs below that path
//              *.prod.example                  all DNS names with one more label
//
// A wildcard in a certificate has no meaning here: a certificate belongs to one node. DNS names are
// compared without regard to case, URIs exactly.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hat {

// Checks the syntax of a rule. The error contains the problem with the rule, and valid examples.
Result<void> check_identity_rule(std::string_view rule);

// Returns true if `rule` matches `name`: a whole URI or DNS name that names_of()
// (daemon/tls/certificate.h) returned.
bool identity_matches(std::string_view rule, std::string_view name);

// Returns true if at least one rule matches at least one name. Returns false if there are no rules.
// Does not allocate.
bool any_identity_matches(std::span<const std::string> rules, std::span<const std::string> names);

// Return true if a DNS or URI entry of a certificate has the form of a name of that kind. Entries
// that do not are ignored, so an entry of one kind cannot pass for a name of the other.
bool is_dns_name(std::string_view text);
bool is_uri(std::string_view text);

}  // namespace hat
