// SPDX-License-Identifier: Apache-2.0
// client/ring/path_claim.h: frees the path of a unix socket that a killed server has left.
//
//   PathClaim claim(path);  // then bind(2) and listen(2); the claim ends with its scope
//
// bind(2) fails with EADDRINUSE at any path that exists. A claim removes the path only if it is a
// socket that refuses connections: the path of a listening server stays, and so does a file of
// another kind. A socket that is bound but does not listen yet refuses connections too. A claim
// therefore locks the path's folder (flock(2)) until it ends, so that a claim of another process
// waits until this process's socket listens. If the claim does not get the lock within a second, it
// removes nothing.
#pragma once

#include <sys/socket.h>

namespace hatrpc::ring {

class PathClaim {
 public:
  // `type` is the type of the socket that the caller will bind. An abstract address ("\0name") has
  // no path, so the claim does nothing.
  explicit PathClaim(const char* path, int type = SOCK_STREAM);
  ~PathClaim();
  PathClaim(const PathClaim&) = delete;
  PathClaim& operator=(const PathClaim&) = delete;

 private:
  int folder_;  // its descriptor, locked; -1 if it is not locked
};

}  // namespace hatrpc::ring
