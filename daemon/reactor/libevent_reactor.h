// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/libevent_reactor.h: the event loop of a worker. It waits on kernel sockets with
// libevent, and polls shared-memory rings while it is awake.
//
// Thread   One thread creates, runs and destroys the reactor; any thread may call post(), wake()
//          and stop(). With enter() and leave(), several threads can run it in turn.
#pragma once

#include <event2/event.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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

class LibeventReactor : public Reactor {
 public:
  LibeventReactor();
  ~LibeventReactor() override;

  // Runs event-loop iterations until stop() is called. Also runs all work posted before stop().
  void run();
  // Runs one iteration, which can sleep.
  void iterate() {
    end_iteration();
    await_events();
  }
  void stop();
  // Runs `work` on the reactor's thread, in a later iteration.
  void post(std::function<void()> work);
  // Makes the reactor run another iteration soon, even if it sleeps.
  void wake();

  // --- For an event loop that several threads run in turn (client/rdma/shared_loop.h) ---
  // Makes the calling thread the one that runs the reactor, until leave().
  void enter();
  void leave() { loop_thread_.leave(); }
  // Runs one half of iterate(): end_iteration() calls every IterationEvents, and await_events()
  // waits for events and handles them.
  void end_iteration();
  void await_events();
  // Handles the events that are ready, without waiting.
  void poll_events();
  // Makes the reactor poll the sockets rarely while it polls without finding events, as if it had
  // rings: for a worker most of whose messages come over RDMA.
  void poll_sockets_rarely() { asking_ = Asking::kRarely; }

  // Enables TCP keepalive on connections that are made or accepted from now on: the kernel sends
  // the first probe after `silence` without traffic, and closes a connection after three unanswered
  // probes, 10 s apart. 0 disables keepalive.
  void probe_tcp_after(std::chrono::seconds silence) { probe_tcp_after_ = silence; }

  // Requests the memory of rings that this reactor creates from now on from NUMA node `node`.
  // Requires that prefer_numa_node() works in this process.
  void prefer_memory_of(int node) { memory_node_ = node; }

  // Accepts connections on `socket` and reports them to `events`. Other reactors can listen on the
  // same socket.
  std::unique_ptr<Listener> listen(const ListenSocket& socket, ListenerEvents& events);

  // Continues a connection that another process had accepted, with the descriptors that
  // ByteStream::descriptors() returned in that process. Creates a stream over a socket if `memory`
  // is empty, and over rings otherwise.
  std::unique_ptr<ByteStream> resume_accepted(Descriptor socket, hatrpc::ring::Memory memory,
                                              StreamEvents& events);

  TimePoint now() const override;
  Duration cpu_time() const override;
  std::unique_ptr<ByteStream> connect(const Address& to, StreamEvents& events) override;
  std::unique_ptr<ByteStream> try_connect(const Address& to, StreamEvents& events,
                                          int& error) override;
  std::unique_ptr<ByteStream> resume(std::vector<Descriptor> descriptors,
                                     StreamEvents& events) override;
  std::unique_ptr<Timer> timer(std::function<void()> on_time) override;
  std::unique_ptr<Watch> watch(int descriptor, std::function<void()> on_readable) override;
  void poll_for(Duration time) override;
  void add_iteration_events(IterationEvents& events) override;
  void remove_iteration_events(IterationEvents& events) override;

 private:
  // How often the sockets are polled while polls find nothing and no ring is hot.
  enum class Asking : uint8_t { kOften, kRarely };

  friend class KernelStream;
  friend class KernelListener;
  friend class KernelTimer;
  friend class KernelWatch;
  friend class RingStream;

  void note_event() {
    had_events_ = true;
    found_work();
  }
  void found_work(Duration then_polls_for = Duration::zero());
  void run_posted();
  void yield();
  void judge_yield();
  bool asks_kernel();
  void wait(int flags);
  bool arm_rings();
  void disarm_rings();
  void poll_rings();
  void cool_rings(TimePoint idle_since);

  Owned<event_base, event_base_free> base_;
  mutable TimePoint now_{};
  mutable bool now_is_fresh_ = false;
  Asking asking_ = Asking::kOften;
  bool had_events_ = false;   // an event was handled in this iteration
  uint32_t quiet_polls_ = 0;  // iterations that polled instead of sleeping, since a socket last had
                              // an event
  TimePoint asked_kernel_{};  // when the sockets were last polled
  hatrpc::ring::SpinPolicy spin_policy_;
  uint32_t finds_ = 0;       // events, and calls of poll_for(), since the last yield
  Duration last_yield_{};    // the time of a yield that is not judged yet, or 0
  TimePoint polled_from_{};  // the end of the last yield if nothing was found since, or 0
  std::vector<IterationEvents*> iteration_events_;
  std::vector<KernelStream*> read_again_;
  std::vector<RingStream*> hot_rings_;
  bool rings_are_armed_ = false;  // every hot ring has asked for a doorbell, for a sleep
  uint32_t ring_polls_ = 0;
  bool stopped_ = false;
  std::chrono::seconds probe_tcp_after_{0};
  std::optional<int> memory_node_;
  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;
  Descriptor wake_fd_;
  Owned<event, event_free> wake_event_;
};

}  // namespace hat
