// SPDX-License-Identifier: Apache-2.0
// tests/thread_sanitizer.cc: what ThreadSanitizer does not report, in every program of its build.
//
// To write the time of a log line, glog calls mktime(), which replaces the C library's copy of the
// name of the time zone under a lock. Debian's glog and C library are not compiled for
// ThreadSanitizer, so it sees the memory being replaced, and not the lock.

extern "C" const char* __tsan_default_suppressions() { return "race:libglog\n"; }
