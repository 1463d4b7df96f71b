// SPDX-License-Identifier: Apache-2.0
#include "base/system_error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace hat {
namespace {

TEST(SystemError, HasTheCodeOfWhatTheUserCanDo) {
  struct Row {
    int error;
    ErrorCode code;
  };
  for (const Row& row :
       {Row{ENOENT, ErrorCode::kNotFound}, Row{EADDRINUSE, ErrorCode::kBusy},
        Row{EACCES, ErrorCode::kDenied}, Row{EMFILE, ErrorCode::kExhausted},
        Row{ENOSPC, ErrorCode::kExhausted}, Row{EISDIR, ErrorCode::kInvalid},
        Row{EOPNOTSUPP, ErrorCode::kUnsupported}, Row{ECONNREFUSED, ErrorCode::kUnavailable},
        Row{EPIPE, ErrorCode::kClosed}, Row{EIO, ErrorCode::kSystem}}) {
    EXPECT_EQ(code_of_errno(row.error), row.code) << row.error;
  }
}

TEST(SystemError, NamesWhatFailedAndWhy) {
  const Result<void> failed = fail_errno("/data: cannot sync", ENOSPC);
  EXPECT_EQ(failed.error().message, "/data: cannot sync: No space left on device");
  const Error located = in("hatkv", failed.error());
  EXPECT_EQ(located.message, "hatkv: /data: cannot sync: No space left on device");
  EXPECT_EQ(located.code, ErrorCode::kExhausted);
}

}  // namespace
}  // namespace hat
