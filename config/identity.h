// SPDX-License-Identifier: Apache-2.0
// config/identity.h: who a peer is, by its certificate's names, and whom a rule means.
//
//   a name     spiffe://prod.example/hosts/a   a URI, as SPIFFE has them
//              host-a.prod.example             a DNS name
//   a rule     a name, which means itself alone
//              spiffe://prod.example/hosts/*   all URIs below that path
//              *.prod.example                  all DNS names of one label more
//
// A certificate's own wildcards mean nothing here: a node is one node. DNS names are compared
// without case, URIs as they are written.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hat {

// Errors say what is wrong with the rule, and show one that is right.
Result<void> check_identity_rule(std::string_view rule);

// `name` is one that names_of() (daemon/tls/certificate.h) gave: a whole URI or DNS name.
bool identity_matches(std::string_view rule, std::string_view name);

// Some rule means some of the names; no rule means none of them. Allocates nothing.
bool any_identity_matches(std::span<const std::string> rules, std::span<const std::string> names);

// What a certificate's DNS or URI entry must look like to count as a name: other entries of
// either kind are passed over, so that none can be taken for one of the other kind.
bool is_dns_name(std::string_view text);
bool is_uri(std::string_view text);

}  // namespace hat
