// SPDX-License-Identifier: Apache-2.0
// client/ring/path_claim.h: removes a unix socket's path that a killed server has left, so that a
// new server can bind the path.
//
//   PathClaim claim(path);  // then bind(2) and listen(2); the claim ends with its scope
//
// A claim is necessary because bind(2) fails with EADDRINUSE if the path exists. A claim removes
// the path only if it is a socket that refuses connections. The path of a listening server and a
// file of another kind stay.
//
// A new server's socket also refuses connections between bind(2) and listen(2). Therefore a claim
// locks the path's folder (flock(2)) until the claim ends: a claim in another process waits until
// the socket of this process listens. A claim that does not get the lock within a second removes
// nothing.
#pragma once

#include <sys/socket.h>

namespace hatrpc::ring {

class PathClaim {
 public:
  // Removes `path` if it is a stale socket, and locks its folder. `type` is the type of the socket
  // that the caller will bind. For an abstract address ("\0name") the claim does nothing.
  explicit PathClaim(const char* path, int type = SOCK_STREAM);
  ~PathClaim();
  PathClaim(const PathClaim&) = delete;
  PathClaim& operator=(const PathClaim&) = delete;

 private:
  int folder_;  // the descriptor of the locked folder, or -1
};

}  // namespace hatrpc::ring
