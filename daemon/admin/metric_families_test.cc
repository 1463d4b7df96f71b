// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/metric_families.h"

#include <gtest/gtest.h>

#include <limits>

namespace hat {
namespace {

using Type = MetricFamilies::Type;

TEST(MetricFamilies, CountTheirSeries) {
  MetricFamilies families;
  families.begin_page();
  families.counter("a_total", "Counts a.", 3);
  families.begin("b", "Measures b.", Type::Gauge);
  families.add({{"x", "1"}, {"y", "two"}}, 0.25);
  families.begin("h", "Measures h.", Type::Histogram);
  auto& histogram = families.add_histogram({{"x", "1"}}, 2);
  histogram.bucket = {{4, 1e-6}, {5, std::numeric_limits<double>::infinity()}};
  histogram.sample_count = 5;
  histogram.sample_sum = 2.5;
  EXPECT_EQ(families.series(), 6u);
  EXPECT_EQ(families.text(),
            "# HELP a_total Counts a.\n# TYPE a_total counter\na_total 3\n"
            "# HELP b Measures b.\n# TYPE b gauge\nb{x=\"1\",y=\"two\"} 0.25\n"
            "# HELP h Measures h.\n# TYPE h histogram\n"
            "h_count{x=\"1\"} 5\nh_sum{x=\"1\"} 2.5\n"
            "h_bucket{x=\"1\",le=\"1e-06\"} 4\nh_bucket{x=\"1\",le=\"+Inf\"} 5\n");
}

// Adds a page to `families`; returns its text.
struct SomePage {
  std::vector<std::string> functions;
  size_t buckets;
  bool has_extra;

  std::string text_from(MetricFamilies& families) const {
    families.begin_page();
    families.begin("calls_total", "Counts calls.", Type::Counter);
    for (const std::string& name : functions) families.add({{"name", name}}, uint64_t{7});
    if (has_extra) families.gauge("extra", "Measures something else.", 1);
    families.begin("seconds", "Measures durations.", Type::Histogram);
    for (const std::string& name : functions) {
      auto& histogram = families.add_histogram({{"name", name}, {"side", "client"}}, buckets);
      for (size_t i = 0; i < buckets; ++i) histogram.bucket[i] = {i, static_cast<double>(i)};
      histogram.sample_count = buckets;
      histogram.sample_sum = 1;
    }
    families.gauge("last", "Is the last one.", static_cast<double>(families.series()));
    return families.text();
  }
};

TEST(MetricFamilies, KeepNothingThatChangesTheNextPage) {
  const SomePage pages[] = {
      {{"b", "d"}, 3, false},
      {{"a", "b", "c", "d"}, 3, false},
      {{"a", "b", "c"}, 5, true},
      {{"c"}, 1, true},
      {{}, 1, false},
      {{"a", "b"}, 2, false},
  };
  MetricFamilies kept;
  for (const SomePage& page : pages) {
    MetricFamilies fresh;
    EXPECT_EQ(page.text_from(kept), page.text_from(fresh));
  }
}

TEST(MetricFamilies, HaveTheLatestValues) {
  MetricFamilies families;
  for (const char* text : {"1", "2"}) {
    families.begin_page();
    families.gauge("g", "Measures g.", text[0] - '0');
    EXPECT_EQ(families.text(),
              std::string("# HELP g Measures g.\n# TYPE g gauge\ng ") + text + "\n");
  }
}

}  // namespace
}  // namespace hat
