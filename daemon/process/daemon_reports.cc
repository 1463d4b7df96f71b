// SPDX-License-Identifier: Apache-2.0
// daemon/process/daemon_reports.cc: what a daemon reports of its state to the admin server: links,
// fabric, certificates, whether it is ready.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "daemon/process/daemon.h"

namespace hat {
namespace {

CertificateReport report_of(const char* use, const std::string& file,
                            const CertificateFacts& facts) {
  return {.use = use,
          .file = file,
          .subject = facts.subject,
          .issuer = facts.issuer,
          .names = facts.names,
          .not_before = facts.not_before,
          .not_after = facts.not_after,
          .serial = facts.serial,
          .fingerprint = facts.fingerprint};
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

}  // namespace

std::vector<LinkReport> Daemon::links() const {
  std::vector<LinkReport> all;
  for (size_t i = 0; i < threads_.size(); ++i) {
    const auto status = threads_[i]->ask([](Worker& worker) { return worker.link_status(); });
    if (!status) continue;
    for (const LinkStatus& link : *status) {
      all.push_back({i, link.peer, link.address, link.state, link.last_error, link.sessions,
                     link.lanes, link.peer_names, link.cores, link.legs, link.is_slow});
    }
  }
  return all;
}

std::vector<LearnedReport> Daemon::learned() const {
  std::vector<LearnedReport> all;
  for (size_t i = 0; i < threads_.size(); ++i) {
    auto learned = threads_[i]->ask([](Worker& worker) { return worker.learned_status(); });
    if (!learned) continue;
    for (LearnedStatus& one : *learned) all.push_back({i, std::move(one)});
  }
  return all;
}

std::vector<SlowCallReport> Daemon::slowest_calls() const {
  using Seconds = std::chrono::duration<double>;
  const Seconds unix_now = std::chrono::system_clock::now().time_since_epoch();
  const TimePoint now = std::chrono::steady_clock::now();
  std::vector<SlowCallReport> all;
  for (size_t i = 0; i < threads_.size(); ++i) {
    auto calls = threads_[i]->ask([](Worker& worker) { return worker.slowest_calls(); });
    if (!calls) continue;
    for (CallRecord& call : *calls) {
      const Seconds began = unix_now - Seconds(now - call.began);
      all.push_back({i, began.count(), std::move(call)});
    }
  }
  return all;
}

SpanCounts Daemon::spans() const {
  if (!metrics_.spans) return {};
  return {metrics_.spans->written(), metrics_.spans->lost()};
}

std::string Daemon::config_file() const { return absolute_path(config_file_); }

std::vector<std::string> Daemon::manifest_files() const {
  Diagnostics unused;  // a reload reports these errors
  std::vector<std::string> files = config_files("manifests", node_->manifests, unused);
  for (std::string& file : files) file = absolute_path(file);
  return files;
}

std::string Daemon::fabric() const {
  const OpenedRdma& rdma = threads_.front()->rdma();
  return rdma.host ? rdma.what : "none, TCP carries all calls: " + rdma.what;
}

std::string Daemon::fabric_kind() const {
  const std::string fabric = rdma_fabric();
  return fabric.empty() ? "none" : fabric;
}

std::string Daemon::fabric_label() const {
  const OpenedRdma& rdma = threads_.front()->rdma();
  return rdma.host ? rdma.label : "none";
}

std::vector<WorkerPlacement> Daemon::placements() const {
  std::vector<WorkerPlacement> all;
  for (const auto& thread : threads_) all.push_back(thread->placement());
  return all;
}

std::vector<CertificateReport> Daemon::certificates() const {
  if (!applied_.tls) return {};
  const TlsConfig& config = *node_->link.tls;
  std::vector<CertificateReport> all = {
      report_of("certificate", config.certificate, applied_.tls->certificate())};
  for (const CertificateFacts& authority : applied_.tls->authorities()) {
    all.push_back(report_of("ca", config.ca, authority));
  }
  for (const CrlFacts& crl : applied_.tls->crls()) {
    all.push_back({.use = "crl",
                   .file = config.crl,
                   .subject = crl.issuer,
                   .issuer = crl.issuer,
                   .not_before = crl.last_update,
                   .not_after = crl.next_update,
                   .fingerprint = crl.fingerprint});
  }
  return all;
}

std::vector<std::string> Daemon::pending() const {
  std::vector<std::string> pending;
  if (draining()) pending.push_back("draining");
  if (phase_ == Phase::kStarting) {
    for (const auto& [lookup, name] : discovery_->all()) {
      if (name.addresses.empty()) pending.push_back("addresses of " + text_of(lookup));
    }
  }
  if (were_links_tried_)
    return pending;  // a peer that a reload adds does not make the node unready
  const std::vector<LinkReport> links = this->links();
  for (const LinkReport& link : links) {
    if (link.state == engine::LinkState::kConnecting) pending.push_back("link to " + link.peer);
  }
  const bool is_complete = links.size() == threads_.size() * node_->peers.size();
  were_links_tried_ = is_complete && pending.empty();
  return pending;
}

bool Daemon::alive() {
  return std::ranges::all_of(
      threads_, [](auto& thread) { return thread->ask([](Worker&) { return true; }).has_value(); });
}

}  // namespace hat
