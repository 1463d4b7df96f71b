// SPDX-License-Identifier: Apache-2.0
// daemon/process/daemon_reload.cc: how a daemon reads its configuration again and applies it, as a
// whole or not at all. docs/operations.md says which keys a reload applies.
#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "config/node_changes.h"
#include "daemon/process/daemon.h"
#include "daemon/process/service_manager.h"
#include "daemon/process/unix_time.h"
#include "daemon/routing/route_changes.h"

namespace hat {
namespace {

bool same_certificates(const TlsContext& a, const TlsContext& b) {
  return a.certificate().fingerprint == b.certificate().fingerprint &&
         std::ranges::equal(a.authorities(), b.authorities(), {}, &CertificateFacts::fingerprint,
                            &CertificateFacts::fingerprint);
}

bool same_crls(const TlsContext& a, const TlsContext& b) {
  return std::ranges::equal(a.crls(), b.crls(), {}, &CrlFacts::fingerprint, &CrlFacts::fingerprint);
}

void log_reload(const Result<ReloadReport>& report) {
  if (!report) {
    LOG(ERROR) << "reload refused, the running configuration stays:\n" << report.error().message;
    return;
  }
  LOG(INFO) << "reloaded: generation " << report->generation << ", " << report->changes.size()
            << " change(s)";
  for (const std::string& change : report->changes) LOG(INFO) << "reload: " << change;
  for (const std::string& warning : report->warnings) LOG(WARNING) << "reload: " << warning;
}

// Adds a line to the changes for each certificate or list of revoked certificates that differs from
// those of `before`.
void note_certificates(const TlsContext& before, const Configuration& fresh, ReloadReport& report) {
  const TlsContext& after = *fresh.tls;
  if (!same_certificates(before, after)) {
    report.changes.push_back(
        "link.tls: certificate " + before.certificate().subject + " until " +
        utc_text(before.certificate().not_after) + " → " + after.certificate().subject + " until " +
        utc_text(after.certificate().not_after) + "; links that are up stay up");
  }
  if (!same_crls(before, after)) {
    report.changes.push_back("link.tls: crl " + fresh.node.link.tls->crl +
                             " has new revocation lists; links of peers whose certificates they "
                             "revoke end");
  }
}

// Returns how a person begins a takeover of this process, which runs with the configuration `node`.
std::string how_to_take_over(const NodeConfig& node) {
  if (node.admin.socket.empty()) {
    return "this needs `admin.socket`, which is not set; restart hatrpcd";
  }
  return "systemctl kill -s USR2 --kill-whom=main hatrpcd, or kill -USR2 " +
         std::to_string(getpid()) + " without systemd";
}

}  // namespace

// Returns the services and servers of `next`, and those of earlier configurations. Takes no server
// from those if `next` names its address, so that the rules of `next` alone decide who may call it.
Daemon::Named Daemon::named_with(const NodeConfig& next) const {
  Named named{services_of(next), {}, next.serves};
  for (const auto* before : {&applied_.named.services, &applied_.named.retired}) {
    for (const std::string& service : *before) {
      const auto is_service = [&](const std::string& other) { return other == service; };
      if (std::ranges::any_of(named.services, is_service)) continue;
      if (std::ranges::none_of(named.retired, is_service)) named.retired.push_back(service);
    }
  }
  for (const ServedConfig& served : applied_.named.serves) {
    if (std::ranges::find(next.serves, served.upstream, &ServedConfig::upstream) ==
        next.serves.end()) {
      named.serves.push_back(served);
    }
  }
  return named;
}

bool Daemon::in_takeover() const {
  const bool takes_over = taking_over_.channel != nullptr && !taking_over_.complete;
  const bool is_asked = giving_way_.offer != nullptr && giving_way_.offer->is_asked();
  return phase_ != Phase::kServing || takes_over || is_asked;
}

// Returns a line for each change of the node's own file. Returns an error if a reload cannot apply
// them.
Result<std::vector<std::string>> Daemon::node_changes_of(const Configuration& fresh) const {
  const NodeChanges changes = node_changes(applied_.node, fresh.node);
  std::string text;
  for (const std::string& change : changes.need_takeover) text += "\n  " + change;
  if (!text.empty()) {
    return fail(ErrorCode::kInvalid,
                config_file_ +
                    ": error: a reload cannot apply these changes, and nothing is reloaded until a "
                    "takeover or a restart applies them, or you undo them:" +
                    text + "\nTo begin a takeover: " + how_to_take_over(applied_.node) + "\n");
  }
  if (!changes.applicable.empty() && in_takeover()) {
    return fail(
        ErrorCode::kUnavailable,
        config_file_ +
            ": error: it has changed, and no change of it is applied while the daemon takes "
            "part in a takeover, after which it reloads by itself, or is draining\n");
  }
  return changes.applicable;
}

// Returns a socket for each endpoint of `next`: the one that exists for its address, or a new one.
Result<std::vector<std::shared_ptr<ListenSocket>>> Daemon::sockets_for(
    const NodeConfig& next) const {
  std::vector<std::shared_ptr<ListenSocket>> sockets;
  auto before = sockets_.endpoints;  // those that no endpoint of `next` uses yet
  for (const EndpointConfig& endpoint : next.endpoints) {
    const auto is_its = [&](const auto& socket) {
      const size_t at = static_cast<size_t>(&socket - before.data());
      return socket != nullptr && applied_.node.endpoints[at].listen == endpoint.listen;
    };
    if (const auto same = std::ranges::find_if(before, is_its); same != before.end()) {
      sockets.push_back(std::exchange(*same, nullptr));
      continue;
    }
    auto opened = ListenSocket::open(endpoint.listen, endpoint.mode, endpoint.group);
    if (!opened) {
      opened.error().message +=
          "\nNothing was reloaded. If this hatrpcd itself listens at this path or port, under "
          "another name, use a takeover\n";
      return std::unexpected(std::move(opened.error()));
    }
    sockets.push_back(std::make_shared<ListenSocket>(std::move(*opened)));
  }
  return sockets;
}

// Applies a configuration whose node's file has changed. `endpoints` has the socket of each
// endpoint. The routes and the NUMA nodes of `fresh` must be in applied_ already.
void Daemon::set_node(const Configuration& fresh,
                      std::vector<std::shared_ptr<ListenSocket>> endpoints) {
  applied_.named = named_with(fresh.node);
  applied_.node = fresh.node;
  look_up(fresh.node);
  NodeConfig listening = *node_;
  listening.endpoints = fresh.node.endpoints;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    listening.endpoints[i].listen = endpoints[i]->address();
  }
  node_ = for_workers(fresh.node, listening);
  sockets_.endpoints = std::move(endpoints);
  // The thread of the access log begins before the workers have records for it, and ends when they
  // have none.
  const bool is_logged = !node_->access_log.path.empty();
  if (is_logged) metrics_.access_log.set(node_->access_log);
  for (auto& thread : threads_) {
    thread->set_node(node_, applied_.routes, sockets_.endpoints, sockets_.link, applied_.numa);
  }
  if (!is_logged) metrics_.access_log.set(node_->access_log);
  offer_takeover();
}

Result<ReloadReport> Daemon::try_reload(bool dry_run) {
  Diagnostics diagnostics;
  const uint64_t before = fingerprint(config_file_, applied_.read);
  const Configuration fresh = load_configuration(config_file_, diagnostics);
  if (!dry_run) {
    // 0, which no check finds, if a file has changed while the files were read.
    const bool is_stable = fingerprint(config_file_, applied_.read) == before;
    applied_.fingerprint = is_stable ? fresh.fingerprint : 0;
    applied_.read = fresh.node;
  }
  if (diagnostics.any_errors()) return fail(ErrorCode::kInvalid, diagnostics.text());
  HAT_TRY(std::vector<std::string> changes, node_changes_of(fresh));
  const bool is_other_node = !changes.empty();
  const auto routes = make_routes(applied_.routes->generation() + 1, fresh, named_with(fresh.node));
  std::ranges::move(texts_of(route_changes(*applied_.routes, *routes)),
                    std::back_inserter(changes));
  ReloadReport report{routes->generation(), std::move(changes), {}};
  for (const Diagnostic& warning : diagnostics.all()) {
    report.warnings.push_back(to_string(warning.location) + ": warning: " + warning.message);
  }
  for (const NamedProfile& profile : fresh.profiles) {
    if (auto why = why_unused(profile, rdma_fabric())) report.warnings.push_back(std::move(*why));
  }
  if (applied_.tls) note_certificates(*applied_.tls, fresh, report);
  if (dry_run) {
    report.generation = applied_.routes->generation();
    return report;
  }
  if (is_other_node) {
    HAT_TRY(auto endpoints, sockets_for(fresh.node));
    begin_to_apply(fresh, routes);
    set_node(fresh, std::move(endpoints));
  } else {
    const bool other_workers_accept =
        fresh.numa.endpoints != applied_.numa.endpoints || fresh.numa.links != applied_.numa.links;
    begin_to_apply(fresh, routes);
    if (other_workers_accept && phase_ == Phase::kServing) start_accepting();
    set_routes();
  }
  return report;
}

void Daemon::begin_to_apply(const Configuration& fresh,
                            std::shared_ptr<const RoutingTable> routes) {
  if (applied_.tls) {
    applied_.tls = fresh.tls;
    for (auto& thread : threads_) thread->set_tls(applied_.tls);
  }
  applied_.numa = fresh.numa;
  applied_.routes = std::move(routes);
}

void Daemon::set_routes() {
  for (auto& thread : threads_) {
    thread->ask([routes = applied_.routes](Worker& worker) {
      worker.set_routes(routes);
      return true;
    });
  }
}

Result<ReloadReport> Daemon::reload(bool dry_run) {
  if (dry_run) return try_reload(true);
  service_manager::notify_reloading();
  auto report = try_reload(false);
  applied_.is_deferred = !report && report.error().code == ErrorCode::kUnavailable;
  applied_.last_reload.successful = report.has_value();
  applied_.last_reload.error = report ? "" : report.error().message;
  ++(report ? applied_.last_reload.succeeded : applied_.last_reload.refused);
  if (report) applied_.last_reload.unix_time = unix_now();
  log_reload(report);
  service_manager::notify_ready(state());
  return report;
}

void Daemon::check_for_changes() {
  const uint64_t now = fingerprint(config_file_, applied_.read);
  // Reloads only after two checks in a row have found the same fingerprint: before that, an editor
  // may still be writing a file.
  const bool settled = std::exchange(applied_.seen_fingerprint, now) == now;
  const bool is_due = applied_.is_deferred && !in_takeover();
  if (is_due || (settled && now != applied_.fingerprint)) (void)reload(false);
}

}  // namespace hat
