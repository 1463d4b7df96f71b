// SPDX-License-Identifier: Apache-2.0
// tests/e2e/go/go.mod: pins the Thrift library that the Go peers use.
module hatrpc.test/peers

go 1.18

require github.com/apache/thrift v0.17.0
