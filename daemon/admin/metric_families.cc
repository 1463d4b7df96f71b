// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/metric_families.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <sstream>

#include "base/check.h"

namespace hat {

using prometheus::ClientMetric;

void MetricFamilies::begin_page() {
  begun_ = 0;
  added_ = 0;
  series_ = 0;
}

void MetricFamilies::begin(std::string_view name, std::string_view help, Type type) {
  end_family();
  if (begun_ == families_.size()) families_.emplace_back();
  prometheus::MetricFamily& family = families_[begun_++];
  if (family.name != name) family = {std::string(name), std::string(help), type, {}};
  DCHECK(family.type == type);
  added_ = 0;
}

ClientMetric& MetricFamilies::next(Labels labels) {
  DCHECK_GT(begun_, 0u);
  auto& metrics = families_[begun_ - 1].metric;
  if (added_ == metrics.size()) metrics.emplace_back();
  ClientMetric& metric = metrics[added_++];
  const auto same = [](const ClientMetric::Label& kept, const auto& label) {
    return kept.name == label.first && kept.value == label.second;
  };
  if (std::ranges::equal(metric.label, labels, same)) return metric;
  metric.label.clear();
  metric.label.reserve(labels.size());
  for (const auto& [name, value] : labels) {
    metric.label.push_back({std::string(name), std::string(value)});
  }
  return metric;
}

void MetricFamilies::add(Labels labels, double value) {
  ClientMetric& metric = next(labels);
  const Type type = families_[begun_ - 1].type;
  DCHECK(type == Type::Counter || type == Type::Gauge);
  (type == Type::Counter ? metric.counter.value : metric.gauge.value) = value;
  ++series_;
}

ClientMetric::Histogram& MetricFamilies::add_histogram(Labels labels, size_t buckets) {
  ClientMetric& metric = next(labels);
  DCHECK(families_[begun_ - 1].type == Type::Histogram);
  metric.histogram.bucket.resize(buckets);
  series_ += buckets + 2;
  return metric.histogram;
}

void MetricFamilies::end_family() {
  if (begun_ > 0) families_[begun_ - 1].metric.resize(added_);
}

std::string MetricFamilies::text() {
  end_family();
  families_.resize(begun_);
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families_);
  return std::move(out).str();
}

}  // namespace hat
