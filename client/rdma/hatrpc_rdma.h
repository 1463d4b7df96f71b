// SPDX-License-Identifier: Apache-2.0
// client/rdma/hatrpc_rdma.h: TRdma and TServerRdma for programs in C and for other languages (the
// Python module hatrpc uses it).
//
// Strings   are UTF-8 and may be NULL if they are optional; the library copies them.
// Errors    A function that fails returns NULL or a negative number, as each one says, and
//           hatrpc_rdma_error() returns the reason.
// Thread    as for the C++ classes (TRdma.h, TServerRdma.h).
#ifndef HATRPC_RDMA_H
#define HATRPC_RDMA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HATRPC_RDMA_API __attribute__((visibility("default")))

// The members of RdmaOptions (rdma_options.h); NULL stands for an empty text.
struct hatrpc_rdma_options {
  const char* manifest;
  const char* manifest_file;
  const char* config;
  const char* config_file;
  const char* service;
  const char* thrift_transport;
  const char* thrift_protocol;
};

// The kinds of errors: the values of TTransportException.
enum hatrpc_rdma_error_kind {
  HATRPC_RDMA_UNKNOWN = 0,
  HATRPC_RDMA_NOT_OPEN = 1,
  HATRPC_RDMA_TIMED_OUT = 2,
  HATRPC_RDMA_END_OF_FILE = 3,
  HATRPC_RDMA_INTERRUPTED = 4,
  HATRPC_RDMA_BAD_ARGS = 5
};

// Returns the kind and the text of this thread's last error. The text is valid until the thread's
// next error.
HATRPC_RDMA_API enum hatrpc_rdma_error_kind hatrpc_rdma_error(const char** text);

// --- Connections ---
struct hatrpc_rdma;

// Connects to `host`:`port`. Returns NULL after an error. A time-out of 0 means none, here and
// below; times are in milliseconds.
HATRPC_RDMA_API struct hatrpc_rdma* hatrpc_rdma_open(const char* host, int port,
                                                     const struct hatrpc_rdma_options* options,
                                                     int timeout_ms);
// Waits for bytes, and returns their number, at most `bytes`; 0 at the end; -1 after an error.
HATRPC_RDMA_API int64_t hatrpc_rdma_read(struct hatrpc_rdma* connection, void* into, size_t bytes,
                                         int timeout_ms);
// Writes all bytes. Returns 0, or -1 after an error.
HATRPC_RDMA_API int hatrpc_rdma_write(struct hatrpc_rdma* connection, const void* from,
                                      size_t bytes, int timeout_ms);
// Sends what was written. Returns 0, or -1 after an error.
HATRPC_RDMA_API int hatrpc_rdma_flush(struct hatrpc_rdma* connection);
// Writes the text of TRdma::describe() with a NUL into `into`; cuts off what does not fit.
HATRPC_RDMA_API void hatrpc_rdma_describe(struct hatrpc_rdma* connection, char* into, size_t bytes);
// Ends and frees the connection, which may be NULL.
HATRPC_RDMA_API void hatrpc_rdma_close(struct hatrpc_rdma* connection);

// --- Servers ---
struct hatrpc_rdma_server;

// Listens at `host`:`port`; an empty host is every address, and the kernel chooses a port for 0.
// Returns NULL after an error.
HATRPC_RDMA_API struct hatrpc_rdma_server* hatrpc_rdma_listen(
    const char* host, int port, const struct hatrpc_rdma_options* options);
HATRPC_RDMA_API int hatrpc_rdma_port(struct hatrpc_rdma_server* server);
// Waits for a client. Returns NULL after an error, HATRPC_RDMA_INTERRUPTED after
// hatrpc_rdma_interrupt().
HATRPC_RDMA_API struct hatrpc_rdma* hatrpc_rdma_accept(struct hatrpc_rdma_server* server);
// Makes hatrpc_rdma_accept() fail, now or once when it is called next.
HATRPC_RDMA_API void hatrpc_rdma_interrupt(struct hatrpc_rdma_server* server);
// Ends the server and all its connections, and frees the server, which may be NULL.
HATRPC_RDMA_API void hatrpc_rdma_server_close(struct hatrpc_rdma_server* server);

#ifdef __cplusplus
}
#endif

#endif  // HATRPC_RDMA_H
