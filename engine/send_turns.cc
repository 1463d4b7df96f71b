// SPDX-License-Identifier: Apache-2.0
#include "engine/send_turns.h"

#include <algorithm>

#include "base/check.h"
#include "engine/lane.h"

namespace hat::engine {

size_t SendTurns::budget(Member& member) {
  if (!lane_.congested()) {
    if (current_ == nullptr) {
      DCHECK(turns_.empty()) << "members wait, although the lane is not congested";
      return kUnlimited;
    }
    if (current_ == &member && member.deficit_ > 0) return static_cast<size_t>(member.deficit_);
  }
  wait(member);
  return 0;
}

void SendTurns::sent(Member& member, size_t bytes) {
  if (current_ != &member) return;
  member.deficit_ -= static_cast<int64_t>(bytes);
  groups_[member.group_].deficit -= static_cast<int64_t>(bytes);
}

void SendTurns::wait(Member& member) {
  if (member.waits_for_turn()) return;
  Group& group = groups_[member.group_];
  LinkedList<Member>& waiting = group.of(member.priority_);
  if (waiting.empty()) group.shares.begin_to_wait(member.priority_);
  if (member.deficit_ > 0) {
    waiting.push_front(member);
  } else {
    waiting.push_back(member);
  }
  if (!group.is_linked()) turns_.push_back(group);
}

void SendTurns::serve() {
  DCHECK(current_ == nullptr) << "a turn is running";
  while (!lane_.congested() && !turns_.empty()) {
    Group& group = turns_.front();
    if (group.deficit <= 0) group.deficit += kTurnBytes;
    while (group.deficit > 0 && !group.empty() && !lane_.congested()) give_turn(group);
    if (group.empty()) {
      group.deficit = std::min<int64_t>(group.deficit, 0);
      group.unlink();
    } else if (group.deficit <= 0) {
      group.unlink();
      turns_.push_back(group);
    }
  }
}

void SendTurns::give_turn(Group& group) {
  const Priority priority = group.shares.next([&](Priority one) { return !group.of(one).empty(); });
  Member& member = group.of(priority).front();
  member.unlink();
  if (member.deficit_ <= 0) member.deficit_ += kTurnBytes;
  if (member.deficit_ <= 0) return group.of(priority).push_back(member);
  group.shares.serve(priority);
  const int64_t before = group.deficit;
  current_ = &member;
  member.on_turn();
  current_ = nullptr;
  // The priority that had the turn pays, even if the member has begun a call of another priority.
  group.shares.use(priority, static_cast<uint64_t>(before - group.deficit));
  // A member that has nothing more to send does not save the rest of its turn for later.
  if (!member.waits_for_turn()) member.stop_waiting_for_turn();
}

}  // namespace hat::engine
