// kv/options.cc: turns the words of the command line into options.
#include "kv/options.h"

#include <optional>
#include <string_view>
#include <vector>

#include "base/number.h"

namespace hat {

const char* const kKvHelp =
    R"(hatkv: the key-value service of kv/hatkv.thrift, a stock Thrift server over LMDB.

usage: hatkv --listen ADDRESS --data FOLDER [options]

  --listen ADDRESS    tcp:HOST:PORT or unix:/PATH; port 0 takes a free one
  --data FOLDER       where the store lies; made if it is not there
  --server KIND       threaded (default), threadpool, nonblocking
  --framed            framed transport (default)
  --buffered          buffered transport, which is unframed
  --protocol NAME     binary (default), compact
  --threads N         workers of threadpool and nonblocking; default 16
  --map-bytes N       the store's first size in bytes, it grows; default 1073741824
  --readers N         reads at once; default 1024
  --help, --version

Prints one line, `listening on ADDRESS`, when it takes calls; SIGTERM and SIGINT end it.

examples:
  hatkv --listen tcp:127.0.0.1:9091 --data /var/lib/hatkv
  hatkv --listen unix:/run/hatkv.sock --data /tmp/kv --buffered --protocol compact
)";

namespace {

using Words = std::vector<std::string_view>;

constexpr std::string_view kHint = " (hatkv --help lists all options)";

std::unexpected<Error> wrong(std::string_view option, std::string_view found,
                             std::string_view expected) {
  return fail(std::string(option) + ": found '" + std::string(found) + "', expected " +
              std::string(expected) + std::string(kHint));
}

template <class Number>
Result<void> take_number(std::string_view option, std::string_view word, Number& number) {
  const auto found = parse_number<Number>(word);
  if (!found || *found == 0) return wrong(option, word, "a number from 1");
  number = *found;
  return {};
}

Result<void> parse_server(std::string_view word, ServerKind& server) {
  if (word == "threaded") {
    server = ServerKind::kThreaded;
  } else if (word == "threadpool") {
    server = ServerKind::kThreadPool;
  } else if (word == "nonblocking") {
    server = ServerKind::kNonblocking;
  } else {
    return wrong("--server", word, "threaded, threadpool or nonblocking");
  }
  return {};
}

Result<void> parse_protocol(std::string_view word, bool& compact) {
  if (word != "binary" && word != "compact") {
    return wrong("--protocol", word, "binary or compact");
  }
  compact = word == "compact";
  return {};
}

// An option that takes a value. nullopt: there is none of that name.
Result<std::optional<bool>> take_value(std::string_view option, std::string_view word,
                                       KvOptions& options) {
  if (option == "--listen") {
    auto address = parse_address(word);
    if (!address) return std::unexpected(in("--listen", std::move(address.error())));
    options.listen = std::move(*address);
  } else if (option == "--data") {
    options.data = word;
  } else if (option == "--server") {
    HAT_TRY_VOID(parse_server(word, options.server));
  } else if (option == "--protocol") {
    HAT_TRY_VOID(parse_protocol(word, options.compact));
  } else if (option == "--threads") {
    HAT_TRY_VOID(take_number(option, word, options.threads));
  } else if (option == "--map-bytes") {
    HAT_TRY_VOID(take_number(option, word, options.map_bytes));
  } else if (option == "--readers") {
    HAT_TRY_VOID(take_number(option, word, options.readers));
  } else {
    return std::nullopt;
  }
  return true;
}

}  // namespace

Result<KvCommand> parse_options(int argc, char** argv) {
  KvOptions options;
  bool listen_given = false;
  const Words words(argv + 1, argv + argc);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view option = words[i];
    if (option == "--help" || option == "-h") return HelpWanted{};
    if (option == "--version") return VersionWanted{};
    if (option == "--framed" || option == "--buffered") {
      options.framed = option == "--framed";
      continue;
    }
    const std::string_view word = i + 1 < words.size() ? words[i + 1] : std::string_view();
    HAT_TRY(const auto known, take_value(option, word, options));
    if (!known) return fail("unknown option '" + std::string(option) + "'" + std::string(kHint));
    if (option == "--listen") listen_given = true;
    ++i;
  }
  if (!listen_given) return fail("--listen is missing" + std::string(kHint));
  if (options.data.empty()) return fail("--data is missing" + std::string(kHint));
  if (options.server == ServerKind::kNonblocking && !options.framed) {
    return fail("--server nonblocking speaks framed alone; leave out --buffered");
  }
  return options;
}

}  // namespace hat
