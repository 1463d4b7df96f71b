// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/workload_test.cc: tests how hatkv-ycsb reads workload files, and which files it rejects.
#include "kv/ycsb/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hat::ycsb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Properties properties_of(const std::string& text) {
  Properties properties;
  EXPECT_TRUE(properties.read_text(text, "f"));
  return properties;
}

TEST(Workload, OurFilesAreThoseOfThePaper) {
  struct Row {
    const char* name;
    std::array<double, kDrawnOperations> weights;
  };
  for (const Row& row : {Row{"a", {.25, .25, .25, .25}}, Row{"b", {.475, .025, .475, .025}}}) {
    SCOPED_TRACE(row.name);
    Properties properties;
    ASSERT_TRUE(properties.read_file(std::string(HAT_WORKLOADS "/") + row.name));
    const auto workload = read_workload(properties);
    ASSERT_TRUE(workload) << workload.error().message;
    EXPECT_EQ(workload->weights, row.weights);
    EXPECT_EQ(workload->records, 100'000u);
    EXPECT_EQ(workload->insert_count, 100'000u);
    EXPECT_EQ(workload->multi_read_batch, 10u);
    EXPECT_EQ(workload->multi_update_batch, 10u);
    EXPECT_EQ(workload->fields * workload->field_bytes, 1000u);
    EXPECT_EQ(workload->distribution, Distribution::kZipfian);
    EXPECT_TRUE(workload->write_all_fields);
    EXPECT_THAT(unknown_keys(properties), IsEmpty());
  }
}

TEST(Workload, DefaultsAreCoreWorkloads) {
  const auto workload = read_workload(properties_of("recordcount=5"));
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(workload->weights, (std::array<double, kDrawnOperations>{.95, .05, 0, 0}));
  EXPECT_EQ(workload->distribution, Distribution::kUniform);
  EXPECT_EQ(workload->insert_count, 5u);
  EXPECT_EQ(workload->operations, 0u);
  EXPECT_EQ(workload->threads, 1u);
  EXPECT_FALSE(workload->write_all_fields);
  EXPECT_TRUE(workload->hashed_keys);
}

TEST(Workload, ReadsWhatIsSaid) {
  const auto workload = read_workload(properties_of(
      "recordcount=50\ninsertstart=10\ninsertcount=20\noperationcount=6\nthreadcount=3\n"
      "maxexecutiontime=9\nfieldcount=4\nfieldlength=8\nfieldnameprefix=f\nzeropadding=20\n"
      "insertorder=ordered\nrequestdistribution=latest\ndataintegrity=true\n"
      "writeallfields=true\n"));
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(workload->insert_start, 10u);
  EXPECT_EQ(workload->insert_count, 20u);
  EXPECT_EQ(workload->operations, 6u);
  EXPECT_EQ(workload->threads, 3u);
  EXPECT_EQ(workload->seconds, 9);
  EXPECT_EQ(workload->fields, 4u);
  EXPECT_EQ(workload->field_bytes, 8u);
  EXPECT_EQ(workload->field_prefix, "f");
  EXPECT_EQ(workload->zero_padding, 20u);
  EXPECT_FALSE(workload->hashed_keys);
  EXPECT_EQ(workload->distribution, Distribution::kLatest);
  EXPECT_TRUE(workload->data_integrity);
  EXPECT_TRUE(workload->write_all_fields);
}

struct RefusedWorkload {
  const char* text;
  const char* message;  // part of the message
};

const RefusedWorkload kRefused[] = {
    {"", "recordcount is missing"},
    {"recordcount=7 ", "f:1: recordcount: found '7 ', expected a number from 1"},
    {"recordcount=many", "f:1: recordcount: found 'many'"},
    {"recordcount=3000000000", "to 2147483647"},
    {"recordcount=5\nreadproportion=-1", "f:2: readproportion: found '-1', expected a proportion"},
    {"recordcount=5\nreadproportion=nan", "found 'nan'"},
    {"recordcount=5\nreadproportion=0\nupdateproportion=0", "has no operations"},
    {"recordcount=5\nscanproportion=0.1", "f:2: scanproportion: found '0.1', expected 0; use YCSB"},
    {"recordcount=5\ninsertproportion=1",
     "insertproportion: found '1', expected 0; use YCSB itself"},
    {"recordcount=5\nreadmodifywriteproportion=1", "expected 0; use YCSB itself"},
    {"recordcount=5\nmultireadproportion=1",
     "expected 0 unless workload=site.ycsb.workloads.MultiWorkload is set"},
    {"recordcount=5\nworkload=my.Workload", "workload: found 'my.Workload', expected site.ycsb"},
    {"recordcount=5\nrequestdistribution=hotspot", "expected uniform, zipfian or latest; use YCSB"},
    {"recordcount=5\nfieldlengthdistribution=zipfian", "found 'zipfian', expected constant"},
    {"recordcount=5\ninsertorder=sorted", "expected hashed or ordered"},
    {"recordcount=5\nwriteallfields=yes", "found 'yes', expected true or false"},
    {"recordcount=5\ninsertstart=5",
     "insertstart and insertcount must give at least one record within recordcount"},
    {"recordcount=5\ninsertcount=6", "within recordcount, which is 5"},
    {"recordcount=5\nthreadcount=0", "threadcount: found '0', expected a number from 1"},
    {"recordcount=5\nfieldlength=16000000", "more than 16777216 bytes"},
};

TEST(Workload, RefusesWithKeyPlaceAndWhatWasExpected) {
  for (const RefusedWorkload& row : kRefused) {
    SCOPED_TRACE(row.text);
    const auto workload = read_workload(properties_of(row.text));
    ASSERT_FALSE(workload);
    EXPECT_THAT(workload.error().message, HasSubstr(row.message));
  }
}

TEST(Workload, ReportsKeysThatNobodyKnows) {
  EXPECT_THAT(unknown_keys(properties_of("recordcount=5\nreadporportion=1\nhatkv.address=x\n"
                                         "measurementtype=raw\ninsertproportion=0\n")),
              ElementsAre("readporportion"));
}

}  // namespace
}  // namespace hat::ycsb
