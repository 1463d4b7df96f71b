// SPDX-License-Identifier: Apache-2.0
#include "base/arguments.h"

#include <gmock/gmock.h>

namespace hat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Lines = std::vector<std::string>;

// The command line of a program `store`, which has two options and the commands `get` and `load`.
struct Store {
  Store() {
    arguments.option("-c,--config", read_text(config));
    arguments.flag("-v,--verbose", verbose);
    Arguments& get = arguments.command("get");
    get.words("KEY...", 1, Arguments::kAnyNumber, keys);
    get.flag("--raw", raw);
    Arguments& load = arguments.command("load");
    load.option("--records", read_number(records, 1u, 100u));
    load.option("--rate", read_number(rate, 0.1, 3600.0, "seconds"));
    load.option("--order",
                read_one_of({"sorted", "random"}, [this](size_t index) { order = index; }));
    load.option("--from", [this](const std::string& value) -> Result<void> {
      files.push_back(value);
      return {};
    });
    load.option("--to", read_non_empty_text(to, "a file"));
    load.option("--connect", read_address(connect));
  }
  Result<Action> parse(const Lines& words) { return arguments.parse(words); }

  Arguments arguments{"store"};
  std::string config, to;
  bool verbose = false, raw = false;
  Lines keys, files;
  uint32_t records = 0;
  double rate = 0;
  size_t order = 9;
  Address connect;
};

TEST(Arguments, TakeOptionsInEveryForm) {
  for (const Lines& words : {Lines{"get", "k", "--config", "f", "-v"},
                             {"get", "k", "--config=f", "--verbose"},
                             {"-c", "f", "-v", "get", "k"},
                             {"-vcf", "get", "k"},
                             {"get", "-cf", "k", "-v"},
                             {"--config", "old", "get", "k", "-v", "--config", "f"}}) {
    Store store;
    const auto action = store.parse(words);
    ASSERT_TRUE(action) << action.error().message;
    EXPECT_EQ(*action, Action::kRun);
    EXPECT_EQ(store.arguments.chosen_command(), "get");
    EXPECT_EQ(store.config, "f");
    EXPECT_TRUE(store.verbose);
    EXPECT_THAT(store.keys, ElementsAre("k"));
  }
}

TEST(Arguments, TakeWordsAsTheyAre) {
  Store store;
  const Lines words = {"get",  "--raw", "[a,b]", "{}", "",   "-",
                       "load", "get",   "--",    "-k", "--", "a=b"};
  ASSERT_TRUE(store.parse(words));
  EXPECT_THAT(store.keys, ElementsAre("[a,b]", "{}", "", "-", "load", "get", "-k", "--", "a=b"));
  Store one;
  ASSERT_TRUE(one.parse({"get", "{}"}));
  EXPECT_THAT(one.keys, ElementsAre("{}"));
}

TEST(Arguments, TakeValuesAsTheyAre) {
  for (const char* value : {"", "-", "--", "-v", "--to", "[a]", "{}", "a,b", "true", "get"}) {
    Store store;
    ASSERT_TRUE(store.parse({"get", "k", "--config", value})) << value;
    EXPECT_EQ(store.config, value);
    Store joined;
    ASSERT_TRUE(joined.parse({std::string("--config=") + value, "get", "k"})) << value;
    EXPECT_EQ(joined.config, value);
    EXPECT_THAT(joined.keys, ElementsAre("k"));
  }
}

TEST(Arguments, ReadEachKindOfValue) {
  Store store;
  const auto action =
      store.parse({"load", "--records", "100", "--rate=0.1", "--order", "random", "--from", "a",
                   "--from", "b", "--to", "c", "--connect", "unix:/s"});
  ASSERT_TRUE(action) << action.error().message;
  EXPECT_EQ(store.records, 100u);
  EXPECT_EQ(store.rate, 0.1);
  EXPECT_EQ(store.order, 1u);
  EXPECT_THAT(store.files, ElementsAre("a", "b"));
  EXPECT_EQ(store.to, "c");
  EXPECT_EQ(to_string(store.connect), "unix:/s");
}

TEST(Arguments, NameTheMistake) {
  const struct {
    Lines words;
    const char* message;
  } rows[] = {
      {{}, "no command is given; expected get or load"},
      {{"laod"}, "'laod' is not a command of store (did you mean 'load'?); expected get or load"},
      {{"get", "k", "--rwa"}, "'--rwa' is not an option of store get (did you mean '--raw'?)"},
      {{"get", "k", "--cofnig=f"},
       "'--cofnig' is not an option of store get (did you mean '--config'?)"},
      {{"load", "--raw"}, "'--raw' is not an option of store load"},
      {{"--records", "1", "load"}, "'--records' is not an option of store load"},
      {{"-x"}, "'-x' is not an option of store"},
      {{"get"}, "found 0 arguments, expected KEY..."},
      {{"load", "all"}, "'all' is not an argument of store load"},
      {{"load", "--records"}, "--records: its value is missing"},
      {{"get", "k", "-c"}, "-c: its value is missing"},
      {{"get", "--raw=no", "k"}, "--raw takes no value"},
      {{"load", "--records", "0"}, "--records: found '0', expected a number from 1 to 100"},
      {{"load", "--records", "-1"}, "--records: found '-1', expected"},
      {{"load", "--records="}, "--records: found '', expected"},
      {{"load", "--rate", "nan"}, "--rate: found 'nan', expected seconds from 0.1 to 3600"},
      {{"load", "--order", "any"}, "--order: found 'any', expected sorted or random"},
      {{"load", "--to", ""}, "--to: found '', expected a file"},
      {{"load", "--connect", "here"}, "--connect: 'here' is not an address"},
  };
  for (const auto& row : rows) {
    Store store;
    const auto action = store.parse(row.words);
    ASSERT_FALSE(action) << row.message;
    EXPECT_THAT(action.error().message, testing::StartsWith(row.message));
  }
}

TEST(Arguments, GiveHelpForALineThatIsNotComplete) {
  for (const Lines& words :
       {Lines{"--help"}, {"-h"}, {"get", "-h"}, {"load", "--records", "0", "--help"}}) {
    EXPECT_EQ(Store().parse(words).value(), Action::kShowHelp);
  }
  EXPECT_EQ(Store().parse({"load", "--version"}).value(), Action::kShowVersion);
  Store store;
  ASSERT_TRUE(store.parse({"-h", "load"}));
  EXPECT_EQ(store.arguments.chosen_command(), "load");
}

TEST(Arguments, KnowTheirOptions) {
  EXPECT_THAT(Store().arguments.option_names(),
              ElementsAre("-h", "--help", "--version", "-c", "--config", "-v", "--verbose"));
}

}  // namespace
}  // namespace hat
