// SPDX-License-Identifier: Apache-2.0
#include "bench/dds/model.h"

#include <algorithm>

namespace hat::bench {
namespace {

constexpr Method kMethods[] = {
    {"hash.insert.c_rw",
     "Table II (a)",
     "A_CAS + W + A_FAO",
     {.put = 1, .compare_swap = 1, .fetch_add = 1}},
    {"hash.insert.c_w", "Table II (b)", "A_CAS + W", {.put = 1, .compare_swap = 1}},
    {"hash.insert.call", "Figure 5", "AM", {.call = 1}},
    {"hash.insert.local", "", "", {}},
    {"hash.find.c_rw", "Table II (c)", "A_FAO + R + A_FAO", {.get = 1, .fetch_add = 2}},
    {"hash.find.c_r", "Table II (d)", "R", {.get = 1}},
    {"hash.find.call", "Figure 5", "AM", {.call = 1}},
    {"hash.find.local", "", "", {}},
    {"queue.push.c_rw",
     "Table III (a)",
     "A_FAO + W + A_CAS-P",
     {.put = 1, .compare_swap_won = 1, .fetch_add_one = 1}},
    {"queue.push.c_w", "Table III (b)", "A_FAO + W", {.put = 1, .fetch_add_one = 1}},
    {"queue.push.checksum", "Figure 4", "A_FAO + W", {.put = 1, .fetch_add_one = 1}},
    {"queue.push.call", "Figure 4", "AM", {.call = 1}},
    {"queue.push.local", "Table III (c)", "", {}},
    {"queue.pop.c_rw",
     "Table III (d)",
     "A_FAO + R + A_CAS-P",
     {.get = 1, .compare_swap_won = 1, .fetch_add_one = 1}},
    {"queue.pop.c_r", "Table III (e)", "A_FAO + R", {.get = 1, .fetch_add_one = 1}},
    {"queue.pop.checksum",
     "",
     "A_FAO + R + A_CAS-P",
     {.get = 1, .compare_swap_won = 1, .fetch_add_one = 1}},
    {"queue.pop.call", "", "AM", {.call = 1}},
    {"queue.pop.local", "Table III (f)", "", {}},
};

}  // namespace

std::span<const Method> methods() { return kMethods; }

const Method* find_method(std::string_view name) {
  const auto* found = std::ranges::find(kMethods, name, &Method::name);
  return found == std::end(kMethods) ? nullptr : found;
}

double predicted_us(const Formula& formula, const Components& components) {
  return formula.put * components.put + formula.get * components.get +
         formula.compare_swap * components.compare_swap +
         formula.compare_swap_won * components.compare_swap_won +
         formula.fetch_add * components.fetch_add +
         formula.fetch_add_one * components.fetch_add_one + formula.call * components.call;
}

}  // namespace hat::bench
