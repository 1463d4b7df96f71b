# SPDX-License-Identifier: Apache-2.0
// bench/echo.thrift: the benchmark's service.
namespace cpp hat.bench

service Echo {
  binary echo(1: binary data);
  binary bulk(1: binary data);  // the same; another function, for other hints
}
