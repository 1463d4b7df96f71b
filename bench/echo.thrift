# SPDX-License-Identifier: Apache-2.0
// bench/echo.thrift: the service of the echo benchmark.
namespace cpp hat.bench

service Echo {
  binary echo(1: binary data);
  binary bulk(1: binary data);  // does the same as echo(), but can have other hints
}
