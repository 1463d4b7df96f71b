// SPDX-License-Identifier: Apache-2.0
// engine/send_turns.h: the order in which streams send on a lane that cannot take all their bytes.
//
// A stream asks budget() before it sends. While the lane is congested, budget() returns 0 and the
// stream joins a queue. When the lane is no longer congested, serve() calls on_turn() of the queued
// streams by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) on two levels: groups take
// turns, and so do the streams of each group. In one turn a group, or a stream, may send kTurnBytes
// minus the bytes by which its last turn exceeded this number. So a group of many streams gets no
// more of the lane than a group of one stream.
//
// In a group, streams of a higher priority get a larger part of the group's bytes
// (engine/priority_shares.h). Streams of the same priority take turns.
//
// A stream leaves the queue when its turn begins. If the stream has used up its turn, or the lane
// becomes congested, budget() puts the stream into the queue again: first of its group and priority
// if a part of its turn is left, last otherwise.
//
// Bounds   Between two turns of a waiting stream, each other stream of its group and priority has
//          at most one turn, and each other group has at most kTurnBytes for each turn of the
//          stream's group. Of the bytes of a group, a waiting priority gets at least its part, that
//          is 1/21 for low. A turn exceeds kTurnBytes by at most the bytes of one send.
// Memory   Only the first stream of a group makes the object allocate.
// Thread   the lane's worker.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>

#include "base/linked_list.h"
#include "config/hints.h"
#include "engine/frame.h"
#include "engine/priority_shares.h"

namespace hat::engine {

class Lane;

class SendTurns {
 public:
  // A turn is as large as a stream's window, so that a message up to this size needs one turn.
  static constexpr int64_t kTurnBytes = kStreamWindowBytes;
  // The budget of a stream that shares the lane with no waiting stream.
  static constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

  // A stream that sends on the lane. The destructor leaves the queue.
  class Member : private Linked {
   public:
    // Makes a member of the group with the number `group`.
    explicit Member(uint32_t group) : group_(group) {}
    virtual ~Member() = default;

    // Leaves the queue if the member waits, and gives up the rest of its turn. Call this before the
    // member changes to another lane.
    void stop_waiting_for_turn() {
      unlink();
      deficit_ = std::min<int64_t>(deficit_, 0);
    }
    bool waits_for_turn() const { return is_linked(); }
    // Moves the member to another group. If it waits for a turn, it leaves the queue.
    void set_group(uint32_t group) {
      stop_waiting_for_turn();
      group_ = group;
    }
    // Sets the priority of what the member sends next; at first it is normal. A member that waits
    // for a turn keeps its place in the queue, and has the new priority when it waits again.
    void set_priority(Priority priority) { priority_ = priority; }

   private:
    friend class SendTurns;
    friend class LinkedList<Member>;
    // Sends what the member can send, within budget(). It must also read what can be read at once
    // and sent, because the queue has already forgotten the member. It must not destroy the member.
    virtual void on_turn() = 0;

    uint32_t group_;
    Priority priority_ = Priority::kNormal;
    int64_t deficit_ = 0;  // the bytes that the member may still send; negative: sent too much
  };

  explicit SendTurns(const Lane& lane) : lane_(lane) {}
  SendTurns(const SendTurns&) = delete;
  SendTurns& operator=(const SendTurns&) = delete;

  // Returns how many bytes `member` may send now. If the result is 0, `member` has joined the
  // queue, and its on_turn() is called when it may send.
  size_t budget(Member& member);
  // Records that `member` has sent frames of `bytes` bytes, with their headers.
  void sent(Member& member, size_t bytes);
  // Gives turns until the lane is congested or no member waits. The lane calls this function each
  // time that it is no longer congested.
  void serve();

 private:
  struct Group : Linked {
    int64_t deficit = 0;  // as Member::deficit_, of all members of the group together
    std::array<LinkedList<Member>, PriorityShares::kCount> waiting;  // by Priority
    PriorityShares shares;

    LinkedList<Member>& of(Priority priority) { return waiting[PriorityShares::index(priority)]; }
    bool empty() const {
      return std::ranges::all_of(waiting, [](const auto& list) { return list.empty(); });
    }
  };

  void wait(Member& member);
  void give_turn(Group& group);

  const Lane& lane_;
  std::map<uint32_t, Group> groups_;
  LinkedList<Group> turns_;    // the groups that have waiting members, in the order of their turns
  Member* current_ = nullptr;  // the member whose on_turn() runs
};

}  // namespace hat::engine
