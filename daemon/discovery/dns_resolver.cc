// SPDX-License-Identifier: Apache-2.0
// daemon/discovery/dns_resolver.cc: a Resolver over c-ares, on the event loop of libevent.
#include <ares.h>
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <event2/event.h>
#include <glog/logging.h>
#include <netdb.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <optional>

#include "base/check.h"
#include "base/owned.h"
#include "daemon/discovery/resolver.h"

namespace hat {
namespace {

// The most hosts in SRV records whose addresses are looked up, and the most addresses of such a
// host of one kind.
constexpr size_t kTargetsMax = 64;
constexpr size_t kAddressesOfTargetMax = 4096;
// The most addresses that are kept of one answer.
constexpr size_t kAddressesMax = 4096;

std::string quoted(const std::string& name) { return "'" + name + "'"; }

std::unexpected<Error> failed(const std::string& name, int status) {
  const bool is_absent = status == ARES_ENOTFOUND || status == ARES_ENODATA;
  return fail(is_absent ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
              "the lookup of " + quoted(name) + " has failed: " + ares_strerror(status));
}

// Returns the numeric address with these bytes of an in_addr or in6_addr.
Address numeric(int family, const void* bytes, uint16_t port) {
  char text[INET6_ADDRSTRLEN];
  CHECK(inet_ntop(family, bytes, text, sizeof text) != nullptr) << "family " << family;
  return {Address::Kind::kTcp, text, port, ""};
}

// Returns the shortest time to live of the records in the answer section of a DNS message; 0 if the
// message cannot be read.
std::chrono::seconds shortest_ttl(const unsigned char* message, int bytes) {
  ns_msg parsed;
  if (ns_initparse(message, bytes, &parsed) != 0) return {};
  auto shortest = std::chrono::seconds::max();
  for (int i = 0; i < ns_msg_count(parsed, ns_s_an); ++i) {
    ns_rr record;
    if (ns_parserr(&parsed, ns_s_an, i, &record) != 0) return {};
    shortest = std::min(shortest, std::chrono::seconds(ns_rr_ttl(record)));
  }
  return shortest;
}

void tidy(Resolved& answer) {
  std::ranges::sort(answer.addresses, {}, [](const Address& one) { return to_string(one); });
  const auto rest = std::ranges::unique(answer.addresses);
  answer.addresses.erase(rest.begin(), rest.end());
}

// Identifies the contents of a file; equal for two states without the file.
struct FileState {
  explicit FileState(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return;
    inode = info.st_ino;
    bytes = info.st_size;
    seconds = info.st_mtim.tv_sec;
    nanoseconds = info.st_mtim.tv_nsec;
  }
  friend bool operator==(const FileState&, const FileState&) = default;

  ino_t inode = 0;
  off_t bytes = 0;
  time_t seconds = 0;
  long nanoseconds = 0;
};

class DnsResolver final : public Resolver {
 public:
  DnsResolver(event_base* base, DnsServers servers)
      : base_(base), servers_(std::move(servers)), timeout_(evtimer_new(base, on_timeout, this)) {}
  ~DnsResolver() override {
    ends_ = true;
    if (channel_ != nullptr) ares_destroy(channel_);  // calls the callbacks of all lookups
  }

  void look_up(const Lookup& lookup, Done done) override {
    if (auto opened = open(); !opened) return done(std::unexpected(std::move(opened.error())));
    lookups_.push_back(std::make_unique<Running>(*this, lookup, std::move(done)));
    lookups_.back()->begin();
    after_work();
  }

  void wait(std::chrono::milliseconds longest) override {
    if (channel_ == nullptr) return;
    std::vector<pollfd> sockets;
    for (const auto& [socket, event] : events_) {
      const short wanted = event_get_events(event.get());
      sockets.push_back({socket,
                         static_cast<short>(((wanted & EV_READ) != 0 ? POLLIN : 0) |
                                            ((wanted & EV_WRITE) != 0 ? POLLOUT : 0)),
                         0});
    }
    timeval most{longest.count() / 1000, longest.count() % 1000 * 1000};
    timeval next{};
    const timeval& time = *ares_timeout(channel_, &most, &next);
    // Rounds up, so that the time has come when poll() returns.
    poll(sockets.data(), sockets.size(),
         static_cast<int>(time.tv_sec * 1000 + time.tv_usec / 1000 + 1));
    for (const pollfd& one : sockets) {
      const bool failed = (one.revents & (POLLERR | POLLHUP)) != 0;
      ares_process_fd(channel_, failed || (one.revents & POLLIN) != 0 ? one.fd : ARES_SOCKET_BAD,
                      (one.revents & POLLOUT) != 0 ? one.fd : ARES_SOCKET_BAD);
    }
    if (sockets.empty()) ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    after_work();
  }

 private:
  // Opens the channel, which reads resolv.conf. If that has changed, opens the channel again; the
  // lookups that run fail then.
  Result<void> open() {
    const FileState now(servers_.resolv_conf);
    if (channel_ != nullptr && now == opened_) return {};
    opened_ = now;
    if (channel_ != nullptr) {
      for (const auto& lookup : lookups_) lookup->is_cancelled = true;
      ares_cancel(channel_);
      after_work();
      ares_destroy(std::exchange(channel_, nullptr));
    }
    ares_options options{};
    options.sock_state_cb = on_socket_state;
    options.sock_state_cb_data = this;
    options.resolvconf_path = servers_.resolv_conf.data();
    options.udp_port = options.tcp_port = servers_.port;
    options.timeout = static_cast<int>(servers_.patience.count());
    options.tries = 2;
    const int status =
        ares_init_options(&channel_, &options,
                          ARES_OPT_SOCK_STATE_CB | ARES_OPT_RESOLVCONF | ARES_OPT_UDP_PORT |
                              ARES_OPT_TCP_PORT | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES);
    if (status == ARES_SUCCESS) return {};
    channel_ = nullptr;
    return fail(ErrorCode::kUnavailable, "names cannot be looked up with " + servers_.resolv_conf +
                                             ": " + ares_strerror(status));
  }

  // One lookup: of the addresses of one host; or of SRV records, and then of the addresses of each
  // host that these name.
  struct Running {
    // A host in SRV records, and its ports there.
    struct Target {
      Running& of;
      std::vector<uint16_t> ports;
      bool has_address = false;
      std::optional<Error> error;  // of the query for one kind of address that failed
    };

    Running(DnsResolver& its, Lookup what, Done then)
        : resolver(its), lookup(std::move(what)), done(std::move(then)) {}

    void begin() {
      ++queries;
      if (lookup.kind == Lookup::Kind::kService) {
        ares_search(resolver.channel_, lookup.name.c_str(), ns_c_in, ns_t_srv, on_services, this);
        return;
      }
      ares_addrinfo_hints hints{};
      hints.ai_family = AF_UNSPEC;
      hints.ai_socktype = SOCK_STREAM;
      hints.ai_flags = ARES_AI_NOSORT;
      ares_getaddrinfo(resolver.channel_, lookup.name.c_str(), nullptr, &hints, on_host, this);
    }

    static void on_host(void* self, int status, int, ares_addrinfo* found) {
      auto& lookup = *static_cast<Running*>(self);
      if (!lookup.resolver.ends_) lookup.take_host(status, found);
      if (found != nullptr) ares_freeaddrinfo(found);
      lookup.end_query();
    }

    void take_host(int status, const ares_addrinfo* found) {
      if (status != ARES_SUCCESS) return note(failed(lookup.name, status));
      for (const auto* node = found->nodes; node != nullptr; node = node->ai_next) {
        const sockaddr& at = *node->ai_addr;
        if (at.sa_family == AF_INET) {
          add(AF_INET, &reinterpret_cast<const sockaddr_in&>(at).sin_addr, lookup.port);
        } else if (at.sa_family == AF_INET6) {
          add(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(at).sin6_addr, lookup.port);
        }
        note(std::chrono::seconds(std::max(node->ai_ttl, 0)));
      }
      for (const auto* alias = found->cnames; alias != nullptr; alias = alias->next) {
        note(std::chrono::seconds(std::max(alias->ttl, 0)));
      }
    }

    static void on_services(void* self, int status, int, unsigned char* message, int bytes) {
      auto& lookup = *static_cast<Running*>(self);
      if (!lookup.resolver.ends_) lookup.take_services(status, message, bytes);
      lookup.end_query();
    }

    void take_services(int status, const unsigned char* message, int bytes) {
      ares_srv_reply* services = nullptr;
      if (status == ARES_SUCCESS) status = ares_parse_srv_reply(message, bytes, &services);
      if (status != ARES_SUCCESS) return note(failed(lookup.name, status));
      note(shortest_ttl(message, bytes));
      uint16_t lowest = UINT16_MAX;
      for (auto* one = services; one != nullptr; one = one->next) {
        lowest = std::min<uint16_t>(lowest, one->priority);
      }
      for (auto* one = services; one != nullptr; one = one->next) {
        const std::string_view host = one->host;
        if (one->priority != lowest || host.empty()) continue;  // empty: no service, RFC 2782
        targets.try_emplace(one->host, *this).first->second.ports.push_back(one->port);
      }
      ares_free_data(services);
      if (targets.size() > kTargetsMax) {
        LOG_EVERY_T(WARNING, 60) << "discovery: '" << lookup.name << "' names " << targets.size()
                                 << " hosts; only the first " << kTargetsMax << " are used";
        targets.erase(std::next(targets.begin(), kTargetsMax), targets.end());
      }
      queries += 2 * targets.size();
      for (auto& [host, target] : targets) {
        // These queries use neither /etc/hosts nor search domains: the names in records are whole.
        ares_query(resolver.channel_, host.c_str(), ns_c_in, ns_t_a, on_ipv4, &target);
        ares_query(resolver.channel_, host.c_str(), ns_c_in, ns_t_aaaa, on_ipv6, &target);
      }
    }

    static void on_ipv4(void* at, int status, int, unsigned char* message, int bytes) {
      auto& target = *static_cast<Target*>(at);
      target.of.take_target<ares_addrttl>(AF_INET, target, status, message, bytes,
                                          &ares_parse_a_reply, &ares_addrttl::ipaddr);
    }
    static void on_ipv6(void* at, int status, int, unsigned char* message, int bytes) {
      auto& target = *static_cast<Target*>(at);
      target.of.take_target<ares_addr6ttl>(AF_INET6, target, status, message, bytes,
                                           &ares_parse_aaaa_reply, &ares_addr6ttl::ip6addr);
    }

    template <class Record, class Parse, class Member>
    void take_target(int family, Target& target, int status, const unsigned char* message,
                     int bytes, Parse parse, Member address) {
      if (!resolver.ends_) {
        std::array<Record, kAddressesOfTargetMax> records;
        int count = records.size();
        if (status == ARES_SUCCESS) status = parse(message, bytes, nullptr, records.data(), &count);
        if (status == ARES_SUCCESS) {
          target.has_address |= count != 0;
          note(shortest_ttl(message, bytes));
          for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
            for (const uint16_t port : target.ports) add(family, &(records[i].*address), port);
          }
        } else {
          const auto is_it = [&](const auto& one) { return &one.second == &target; };
          note(failed(std::ranges::find_if(targets, is_it)->first, status), target.error);
        }
      }
      end_query();
    }

    void add(int family, const void* bytes, uint16_t port) {
      if (answer.addresses.size() == kAddressesMax) return;
      answer.addresses.push_back(numeric(family, bytes, port));
    }
    void note(std::chrono::seconds ttl) {
      answer.ttl = has_ttl ? std::min(answer.ttl, ttl) : ttl;
      has_ttl = true;
    }
    void note(std::unexpected<Error> why) { note(std::move(why), error); }
    // Keeps an error in `kept`; prefers one that is not kNotFound.
    static void note(std::unexpected<Error> why, std::optional<Error>& kept) {
      if (!kept || kept->code == ErrorCode::kNotFound) kept = std::move(why.error());
    }

    void end_query() {
      if (--queries == 0) resolver.finished_ = true;
    }

    // A service of which one host has no address still has those of the other hosts. But if it is
    // not known whether a host has addresses, the lookup has failed.
    Result<Resolved> result() {
      for (auto& [host, target] : targets) {
        if (!target.has_address && target.error) note(std::unexpected(*target.error));
      }
      if (is_cancelled) error = failed(lookup.name, ARES_ECANCELLED).error();
      const bool is_unknown = error && error->code != ErrorCode::kNotFound;
      if (is_unknown || answer.addresses.empty()) {
        return std::unexpected(error ? *error : failed(lookup.name, ARES_ENODATA).error());
      }
      tidy(answer);
      return std::move(answer);
    }

    DnsResolver& resolver;
    const Lookup lookup;
    Done done;
    std::map<std::string, Target, std::less<>> targets;  // by host; c-ares has pointers to them
    size_t queries = 0;                                  // that have not ended
    Resolved answer;
    bool has_ttl = false;
    bool is_cancelled = false;  // its answer can lack addresses that were still asked for
    std::optional<Error>
        error;  // of a query that failed; kNotFound only if all others are this too
  };

  // c-ares reports which events of a socket it waits for.
  static void on_socket_state(void* self, ares_socket_t socket, int readable, int writable) {
    auto& resolver = *static_cast<DnsResolver*>(self);
    resolver.events_.erase(socket);
    if (readable == 0 && writable == 0) return;
    const auto what = static_cast<short>(EV_PERSIST | (readable != 0 ? EV_READ : 0) |
                                         (writable != 0 ? EV_WRITE : 0));
    auto& event = resolver.events_[socket];
    event.reset(event_new(resolver.base_, socket, what, on_socket, self));
    event_add(event.get(), nullptr);
  }
  static void on_socket(evutil_socket_t socket, short what, void* self) {
    auto& resolver = *static_cast<DnsResolver*>(self);
    ares_process_fd(resolver.channel_, (what & EV_READ) != 0 ? socket : ARES_SOCKET_BAD,
                    (what & EV_WRITE) != 0 ? socket : ARES_SOCKET_BAD);
    resolver.after_work();
  }
  static void on_timeout(evutil_socket_t, short, void* self) {
    auto& resolver = *static_cast<DnsResolver*>(self);
    ares_process_fd(resolver.channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    resolver.after_work();
  }

  // Reports lookups that have ended, outside of the callbacks of c-ares, and sets the timer for its
  // next repetition of a query.
  void after_work() {
    while (std::exchange(finished_, false)) {
      std::list<std::unique_ptr<Running>> over;
      for (auto next = lookups_.begin(); next != lookups_.end();) {
        const auto at = next++;
        if ((*at)->queries == 0) over.splice(over.end(), lookups_, at);
      }
      for (const auto& lookup : over) lookup->done(lookup->result());
    }
    timeval wait{};
    if (ares_timeout(channel_, nullptr, &wait) != nullptr) {
      evtimer_add(timeout_.get(), &wait);
    } else {
      event_del(timeout_.get());
    }
  }

  event_base* const base_;
  DnsServers servers_;
  FileState opened_{""};  // the state of resolv.conf that the channel uses
  ares_channel channel_ = nullptr;
  std::map<ares_socket_t, Owned<event, event_free>> events_;
  Owned<event, event_free> timeout_;
  std::list<std::unique_ptr<Running>> lookups_;
  bool finished_ = false;  // a lookup has no query left
  bool ends_ = false;      // the destructor runs
};

}  // namespace

std::unique_ptr<Resolver> make_dns_resolver(event_base* base, DnsServers servers) {
  return std::make_unique<DnsResolver>(base, std::move(servers));
}

}  // namespace hat
