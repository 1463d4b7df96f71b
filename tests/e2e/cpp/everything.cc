// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/everything.cc: two values of the struct Everything (probe.thrift). The clients in
// other languages use the same values.
#include "tests/e2e/cpp/everything.h"

#include <limits>

namespace probe_peer {
namespace {

probe::Point point(int32_t x, int32_t y) {
  probe::Point result;
  result.x = x;
  result.y = y;
  return result;
}

}  // namespace

probe::Everything full_everything() {
  probe::Everything all;
  all.yes = true;
  all.no = false;
  all.tiny = std::numeric_limits<int8_t>::min();
  all.short_one = std::numeric_limits<int16_t>::min();
  all.medium = std::numeric_limits<int32_t>::min();
  all.large = std::numeric_limits<int64_t>::min();
  all.real = -2.5e-300;
  all.text = "Grüße";
  all.blob = std::string("\x00\xff\x80\x01", 4);
  all.colour = probe::Colour::BLUE;
  all.instant = 1'700'000'000'123'456'789;
  all.point = point(1, -1);
  all.point.__set_label("corner");
  all.shape.__set_polygon({point(0, 0), point(3, 0), point(0, 4)});
  for (int32_t i = 0; i < 40; ++i) all.numbers.push_back(i * i - 100);
  all.points = {point(5, 6), point(7, 8)};
  all.words = {"alpha", "beta", ""};
  all.counts = {{"one", 1}, {"minus one", -1}};
  all.index = {{1, {"a", "b"}}, {-2, {}}};
  all.flags = {{true, false, true}, {}, {false}};
  all.blobs = {std::string("\x00", 1), std::string(), std::string("abc")};
  all.__set_present("here");
  all.reals = {0.0, 1.5, -1e300};
  all.far_away = 200;
  return all;
}

probe::Everything empty_everything() {
  probe::Everything all;
  all.colour = probe::Colour::RED;
  all.shape.__set_radius(0.0);
  return all;
}

}  // namespace probe_peer
