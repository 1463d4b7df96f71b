// SPDX-License-Identifier: Apache-2.0
#include "bench/dds/team.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <thread>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/fabric/verbs/verbs_fabric.h"

namespace hat::bench {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::unique_ptr<engine::Fabric>> open_fabric(const TeamOptions& options, bool is_owner) {
  if (options.fabric == "loop") return engine::open_loop_fabric();
  HAT_TRY(std::unique_ptr<engine::VerbsFabric> fabric,
          engine::open_verbs_fabric({.device = is_owner ? "rxe2" : "rxe1"}));
  return fabric;
}

void pin_to(uint32_t core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// One process of the team, from its fork to its exit.
class Member {
 public:
  Member(const TeamOptions& options, std::span<const Step> steps, Board& board, uint32_t place)
      : options_(options),
        steps_(steps),
        board_(board),
        index_(place < options.owners ? place : place - options.owners) {
    const uint32_t members = options.owners + options.clients;
    if (options.pins && members <= std::thread::hardware_concurrency()) pin_to(place);
  }

  Result<void> run_owner(const engine::CallHandler& handler) {
    HAT_TRY(const auto fabric, open_fabric(options_, true));
    HAT_TRY(const auto target,
            engine::Target::create(*fabric, {.memory_bytes = options_.memory_bytes,
                                             .peers_max = options_.clients,
                                             .message_bytes_max = options_.message_bytes_max}));
    meet([] {});  // wait until the clients have written their connection data (cards) to the board
    for (uint32_t i = 0; i < options_.clients; ++i) {
      HAT_TRY(board_.owner_cards[index_][i], target->add(board_.client_cards[i][index_]));
    }
    const auto answer = [&] { target->poll(handler); };
    meet(answer);
    for (size_t i = 0; i < steps_.size(); ++i) {
      OwnerSide side{index_, *target, board_.owners[i][index_]};
      if (steps_[i].prepare) steps_[i].prepare(side);
      meet(answer);
      if (steps_[i].turn) {
        meet([&] { steps_[i].turn(side); });
      } else {
        meet(answer);
      }
      if (steps_[i].check) HAT_TRY_VOID(in_step(steps_[i], steps_[i].check(side)));
    }
    meet(answer);  // answer calls until all processes have finished their steps
    return {};
  }

  Result<void> run_client() {
    HAT_TRY(const auto fabric, open_fabric(options_, false));
    std::vector<std::unique_ptr<engine::Initiator>> all;
    std::vector<engine::Initiator*> owners;
    for (uint32_t i = 0; i < options_.owners; ++i) {
      HAT_TRY(all.emplace_back(), engine::Initiator::create(
                                      *fabric, {.message_bytes_max = options_.message_bytes_max}));
      owners.push_back(all.back().get());
      board_.client_cards[index_][i] = all.back()->card();
    }
    meet([] {});
    meet([] {});
    for (uint32_t i = 0; i < options_.owners; ++i) {
      HAT_TRY_VOID(all[i]->connect(board_.owner_cards[i][index_]));
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      ClientSide side{index_, owners, board_.clients[i][index_]};
      meet([] {});
      if (steps_[i].work) HAT_TRY_VOID(in_step(steps_[i], steps_[i].work(side)));
      meet([] {});
    }
    meet([] {});
    return {};
  }

 private:
  static Result<void> in_step(const Step& step, Result<void> done) {
    if (!done) return std::unexpected(in(step.name, std::move(done.error())));
    return {};
  }

  // Waits until all processes of the team have called meet(). Calls `turn` again and again while it
  // waits.
  template <class Turn>
  void meet(const Turn& turn) {
    const uint32_t generation = board_.generation.load();
    if (board_.arrived.fetch_add(1) + 1 == options_.owners + options_.clients) {
      board_.arrived.store(0);
      board_.generation.fetch_add(1);
      return;
    }
    for (uint32_t looks = 1; board_.generation.load() == generation; ++looks) {
      turn();
      constexpr uint32_t kLooksPerYield = 64;
      if (looks % kLooksPerYield == 0) std::this_thread::yield();
    }
  }

  const TeamOptions& options_;
  const std::span<const Step> steps_;
  Board& board_;
  const uint32_t index_;
};

void report(Board& board, const std::string& why) {
  if (board.failed.exchange(1) != 0) return;
  std::snprintf(board.why.data(), board.why.size(), "%s", why.c_str());
}

// Waits until all child processes have ended. If a child fails or `timeout` has passed, kills the
// other children and returns the error.
Result<void> wait_for(std::vector<pid_t> children, std::chrono::seconds timeout, Board& board) {
  const auto end = Clock::now() + timeout;
  std::optional<std::string> why;
  while (!children.empty()) {
    std::erase_if(children, [&](pid_t child) {
      int status = 0;
      if (waitpid(child, &status, WNOHANG) != child) return false;
      if (status != 0 && !why) {
        why = board.failed.load() != 0 ? board.why.data() : "a process of the run died";
      }
      return true;
    });
    if (!why && Clock::now() > end) {
      why = "the processes have not finished after " + std::to_string(timeout.count()) + " s";
    }
    if (why) {
      for (const pid_t child : children) kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (why) return fail(ErrorCode::kSystem, std::move(*why));
  return {};
}

}  // namespace

bool ClientSide::time(uint64_t operations, const std::function<bool(uint64_t)>& once) const {
  using Microseconds = std::chrono::duration<double, std::micro>;
  constexpr uint64_t kBatch = 32;  // operations per reading of the clock, to make readings rare
  engine::OperationCounts before;
  for (const engine::Initiator* owner : owners) before += owner->counts();
  std::vector<double> batches;
  batches.reserve(operations / kBatch + 1);
  const auto begin = Clock::now();
  auto last = begin;
  for (uint64_t i = 0; i < operations; ++i) {
    if (!once(i)) return false;
    const uint64_t done = i % kBatch + 1;
    if (done != kBatch && i + 1 != operations) continue;
    const auto now = Clock::now();
    batches.push_back(Microseconds(now - last).count() / double(done));
    last = now;
  }
  finding.mean_us = Microseconds(last - begin).count() / double(operations);
  std::ranges::nth_element(batches, batches.begin() + std::ssize(batches) / 2);
  finding.us = batches[batches.size() / 2];
  finding.operations = operations;
  for (const engine::Initiator* owner : owners) finding.counts += owner->counts();
  finding.counts -= before;
  return true;
}

bool ClientSide::touch(uint64_t offset, uint64_t bytes) const {
  for (engine::Initiator* owner : owners) {
    for (uint64_t at = 0; at < bytes; at += owner->local().size()) {
      const size_t part = std::min<uint64_t>(bytes - at, owner->local().size());
      if (!owner->get(offset + at, part)) return false;
    }
  }
  return true;
}

Result<void> run_team(const TeamOptions& options, std::span<const Step> steps,
                      const std::function<engine::CallHandler(uint32_t)>& handler_of,
                      Board& board) {
  if (steps.size() > kStepsMax) return fail(ErrorCode::kInvalid, "a team has at most 64 steps");
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (uint32_t place = 0; place < options.owners + options.clients; ++place) {
    const pid_t child = fork();
    if (child < 0) {
      report(board, "cannot create a process");
      break;
    }
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      Member member(options, steps, board, place);
      const auto done =
          place < options.owners ? member.run_owner(handler_of(place)) : member.run_client();
      if (!done) report(board, done.error().message);
      _exit(done ? 0 : 1);
    }
    children.push_back(child);
  }
  const bool all = children.size() == options.owners + options.clients;
  return wait_for(std::move(children), all ? options.timeout : std::chrono::seconds(0), board);
}

}  // namespace hat::bench
