// SPDX-License-Identifier: Apache-2.0
// bench/account.h: decides which calls a measurement counts, so that its results fulfil Little's
// law: clients ÷ calls per second = mean time of a call + mean time between two calls of a client.
//
// Each client makes one call at a time (a closed loop). The measurement has a window of time:
//  - A call counts for the rate if it ends in the window.
//  - The time of a call counts if the call begins in the window, even if it ends after the window.
//  - A call that is in flight during the whole window counts with the window's length.
// So the mean time includes slow calls that did not end in the window.
//
// An Account is plain data and can be in shared memory. One thread at a time may use it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace hat::bench {

struct Window {
  using Clock = std::chrono::steady_clock;

  Clock::time_point begin;
  Clock::time_point end = Clock::time_point::max();
  // True if the measurement ends after a number of calls. The rate then excludes calls that began
  // before the window.
  bool by_count = false;

  bool holds(Clock::time_point time) const { return time >= begin && time < end; }
  bool counts(Clock::time_point begun, Clock::time_point ended) const {
    return holds(ended) && (begun >= begin || !by_count);
  }
  // Returns true if the call is in flight when the window ends.
  bool cuts_off(Clock::time_point begun, Clock::time_point ended) const {
    return begun < end && ended >= end;
  }
  // Returns the call's time if the time counts, otherwise std::nullopt.
  std::optional<Clock::duration> time_of(Clock::time_point begun, Clock::time_point ended) const {
    if (holds(begun)) return ended - begun;
    if (cuts_off(begun, ended)) return end - begin;
    return std::nullopt;
  }
};

struct Account {
  using Clock = Window::Clock;

  uint32_t clients = 0;
  uint64_t ended = 0;       // calls that ended in the window
  uint64_t timed = 0;       // calls whose time counts
  uint64_t cut_off = 0;     // timed calls that were in flight when the window ended
  uint64_t fewest = 0;      // `ended` of the client with the fewest calls
  uint64_t most = 0;        // `ended` of the client with the most calls
  Clock::duration time{};   // sum of the times of all timed calls
  Clock::duration think{};  // sum of the pauses (in the window) before calls that begin in it

  // Counts one call of a client. The client's previous call ended at `before`. Returns the call's
  // time if the time counts, otherwise std::nullopt.
  std::optional<Clock::duration> add_call(const Window& window, Clock::time_point before,
                                          Clock::time_point begun, Clock::time_point ended_at) {
    if (window.counts(begun, ended_at)) ++ended;
    if (window.cuts_off(begun, ended_at)) ++cut_off;
    if (window.holds(begun)) think += begun - std::max(before, window.begin);
    const auto counted = window.time_of(begun, ended_at);
    if (counted) {
      ++timed;
      time += *counted;
    }
    return counted;
  }

  // Completes the account of one client. Call this before the account is added to another account.
  void close() {
    clients = 1;
    fewest = most = ended;
  }

  void add(const Account& other) {
    fewest = clients == 0 ? other.fewest : std::min(fewest, other.fewest);
    most = std::max(most, other.most);
    clients += other.clients;
    ended += other.ended;
    timed += other.timed;
    cut_off += other.cut_off;
    time += other.time;
    think += other.think;
  }

  double mean_us() const { return each_us(time); }
  double think_us() const { return each_us(think); }

 private:
  double each_us(Clock::duration sum) const {
    using Micro = std::chrono::duration<double, std::micro>;
    return timed == 0 ? 0 : Micro(sum).count() / static_cast<double>(timed);
  }
};

}  // namespace hat::bench
