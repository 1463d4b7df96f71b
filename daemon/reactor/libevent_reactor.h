// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/libevent_reactor.h: the reactor over kernel sockets, by libevent, and over rings
// of shared memory, which it polls while it is awake.
//
// Thread   One thread creates, runs and destroys it; any thread may call post() and stop().
#pragma once

#include <event2/event.h>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/descriptor.h"
#include "base/owned.h"
#include "base/reactor.h"
#include "client/ring/memory.h"
#include "client/ring/spin_policy.h"
#include "daemon/reactor/listen_socket.h"

namespace hat {

class KernelStream;
class RingStream;

class LibeventReactor final : public Reactor {
 public:
  LibeventReactor();
  ~LibeventReactor() override;

  // Runs event-loop iterations until stop(); runs all work that was posted before stop().
  void run();
  void iterate();  // one iteration, which may sleep
  void stop();
  // Runs `work` on the reactor's thread, in a later iteration.
  void post(std::function<void()> work);

  // Lets the kernel probe TCP connections that are made or accepted from now on, after `silence`
  // without traffic; 0 means never. The kernel closes a connection after three unanswered probes,
  // 10 s apart.
  void probe_tcp_after(std::chrono::seconds silence) { probe_tcp_after_ = silence; }

  // Accepts connections on a socket on which other reactors may listen too, and reports them to
  // `events`.
  std::unique_ptr<Listener> listen(const ListenSocket& socket, ListenerEvents& events);

  // Continues a connection that another process had accepted, with the descriptors that
  // ByteStream::descriptors() returned there. Makes a stream over a socket if `memory` is empty,
  // else over rings.
  std::unique_ptr<ByteStream> resume_accepted(Descriptor socket, hatrpc::ring::Memory memory,
                                              StreamEvents& events);

  TimePoint now() const override;
  std::unique_ptr<ByteStream> connect(const Address& to, StreamEvents& events) override;
  std::unique_ptr<ByteStream> resume(std::vector<Descriptor> descriptors,
                                     StreamEvents& events) override;
  std::unique_ptr<Timer> timer(std::function<void()> on_time) override;
  std::unique_ptr<Watch> watch(int descriptor, std::function<void()> on_readable) override;
  void stay_awake_until(TimePoint when) override;
  void add_iteration_events(IterationEvents& events) override;
  void remove_iteration_events(IterationEvents& events) override;

 private:
  friend class KernelStream;
  friend class KernelListener;
  friend class KernelTimer;
  friend class KernelWatch;
  friend class RingStream;

  void note_event() { had_events_ = true; }
  void end_iteration();
  void run_posted();
  void yield();
  bool asks_kernel();
  void wait(int flags);
  void poll_rings();
  void cool_rings(TimePoint idle_since);

  Owned<event_base, event_base_free> base_;
  mutable TimePoint now_{};
  mutable bool now_is_fresh_ = false;
  bool had_events_ = false;   // in this iteration
  uint32_t quiet_polls_ = 0;  // spinning iterations since a socket had an event
  hatrpc::ring::SpinPolicy spin_policy_;
  std::vector<IterationEvents*> iteration_events_;
  std::vector<KernelStream*> read_again_;
  std::vector<RingStream*> hot_rings_;
  uint32_t ring_polls_ = 0;
  bool stopped_ = false;
  std::chrono::seconds probe_tcp_after_{0};
  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;
  Descriptor wake_fd_;
  Owned<event, event_free> wake_event_;
};

}  // namespace hat
