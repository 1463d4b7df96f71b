// SPDX-License-Identifier: Apache-2.0
// client/ring/path_claim.h: frees the path of a unix socket that a killed server left behind.
//
//   PathClaim claim(path);  // then bind(2) and listen(2); the claim ends with its scope
//
// bind(2) fails with EADDRINUSE at any path that exists. A claim removes the path only if it is a
// socket that refuses connections: a listening server's path stays, and so does a file of another
// kind. A socket that is bound and does not listen yet refuses connections too. A claim therefore
// locks the path's folder (flock(2)) until it ends, so that a claim of another process waits until
// this one's socket listens. If the lock cannot be had within a second, nothing is removed.
#pragma once

#include <sys/socket.h>

namespace hatrpc::ring {

class PathClaim {
 public:
  // `type`: of the socket that is going to be bound. An abstract address ("\0name") has no path:
  // nothing is done.
  explicit PathClaim(const char* path, int type = SOCK_STREAM);
  ~PathClaim();
  PathClaim(const PathClaim&) = delete;
  PathClaim& operator=(const PathClaim&) = delete;

 private:
  int folder_;  // locked; -1: it is not
};

}  // namespace hatrpc::ring
