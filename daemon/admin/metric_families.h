// SPDX-License-Identifier: Apache-2.0
// daemon/admin/metric_families.h: the metric families of a page, in the types of the library
// prometheus-cpp, which writes their text.
//
// The object is kept between pages, because most series of a page are those of the page before it,
// with other values. A series whose labels are the same at the same place keeps them, so that a
// page of 85,000 series does not allocate 200,000 strings.
//
// Bounds   The object holds the series of the last page: about 1.5 times the size of its text.
// Thread   Only one thread uses an object.
#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hat {

class MetricFamilies {
 public:
  using Type = prometheus::MetricType;
  // The labels of a series, name and value, in the order in which the page shows them.
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // Begins a page, which has no series yet.
  void begin_page();
  // Begins a metric family. The functions below add series to the family that was begun last.
  void begin(std::string_view name, std::string_view help, Type type);
  // Adds a series of a counter or gauge.
  void add(Labels labels, double value);
  void add(Labels labels, uint64_t value) { add(labels, static_cast<double>(value)); }
  // Adds the series of a histogram: one for each bucket, the sum and the count. Returns the
  // histogram; the caller sets all of its members before the next call.
  prometheus::ClientMetric::Histogram& add_histogram(Labels labels, size_t buckets);
  // Adds a family that consists of one series without labels.
  void counter(std::string_view name, std::string_view help, double value) {
    begin(name, help, Type::Counter);
    add({}, value);
  }
  void gauge(std::string_view name, std::string_view help, double value) {
    begin(name, help, Type::Gauge);
    add({}, value);
  }

  // Returns the number of series that the page has.
  size_t series() const { return series_; }
  // Ends the page; returns its text.
  std::string text();

 private:
  // Returns the next element of the family that was begun last, with these labels.
  prometheus::ClientMetric& next(Labels labels);
  // Removes elements of the family that was begun last that belong to the page before.
  void end_family();

  // The first `begun_` families belong to this page, and the first `added_` elements of the last
  // one of these.
  std::vector<prometheus::MetricFamily> families_;
  size_t begun_ = 0;
  size_t added_ = 0;
  size_t series_ = 0;
};

}  // namespace hat
