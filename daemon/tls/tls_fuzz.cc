// SPDX-License-Identifier: Apache-2.0
// daemon/tls/tls_fuzz.cc: sends arbitrary bytes, split in arbitrary places, to either side of a
// handshake. Verifies that the handshake never completes, that the stream delivers none of the
// bytes, and that its answer is of bounded size.
//
// Input: the first byte chooses the side. Steps follow, each a length and as many bytes.
#include <array>
#include <cstdio>
#include <cstdlib>

#include "daemon/tls/fake_certificates.h"
#include "daemon/tls/tls_stream.h"
#include "tests/fake_reactor.h"
#include "tests/fuzz/input.h"

namespace hat {
namespace {

constexpr size_t kAnswerBytesMax = 16 * 1024;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "tls_fuzz: %s\n", what);
  std::abort();
}

// The user of the TLS stream; it must receive none of the fuzzer's bytes.
struct Owner final : StreamEvents {
  void on_readable() override {
    std::array<std::byte, 512> buffer;
    const IoResult result = stream->read(buffer);
    require(result.kind != IoResult::Kind::kOk, "a stranger's bytes were passed on");
    if (result.kind != IoResult::Kind::kWouldBlock) failed = true;
    if (failed) stream->want_read(false);
  }
  void on_writable() override { stream->want_write(false); }

  std::unique_ptr<TlsStream> stream;
  bool failed = false;
};

}  // namespace
}  // namespace hat

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hat;
  static const auto context = fake_certificates().context("one/host-b");
  static const std::vector<std::string> allowed = {"host-a"};
  FuzzInput input(data, size);
  const bool initiates = (input.next() & 1) != 0;
  TlsCounters counters;
  Owner owner;
  const auto wire = std::make_shared<FakeStream::Wire>();
  const TlsStream::Options options{
      initiates ? TlsStream::Role::kInitiator : TlsStream::Role::kAcceptor, allowed, &counters};
  owner.stream = std::make_unique<TlsStream>(
      context->new_connection(), options,
      [&wire](StreamEvents& events) { return std::make_unique<FakeStream>(wire, events); }, owner);
  owner.stream->want_read(true);
  if (wire->writing) wire->events->on_writable();
  while (!input.empty() && !owner.failed) {
    wire->incoming += input.next_bytes();
    if (!wire->incoming.empty()) wire->notify_readable();
    if (wire->writing && !owner.failed) wire->events->on_writable();
  }
  wire->end = true;
  for (int i = 0; i < 4 && !owner.failed; ++i) wire->notify_readable();
  require(owner.failed, "it has ended, and nobody was told");
  require(owner.stream->peer_names().empty(), "a stranger has proved to be somebody");
  require(counters.handshakes.value() == 0, "a stranger was let in");
  require(wire->written.size() <= kAnswerBytesMax, "a stranger is answered without end");
  owner.stream.reset();
  return 0;
}
