// SPDX-License-Identifier: Apache-2.0
#include "base/linked_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace hat {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Item : Linked {
  explicit Item(int its_number) : number(its_number) {}
  int number;
};

std::vector<int> drain(LinkedList<Item>& list) {
  std::vector<int> numbers;
  while (!list.empty()) {
    numbers.push_back(list.front().number);
    list.front().unlink();
  }
  return numbers;
}

TEST(LinkedList, KeepsTheOrderOfBothEnds) {
  Item one(1), two(2), three(3);
  LinkedList<Item> list;
  EXPECT_TRUE(list.empty());
  list.push_back(two);
  list.push_back(three);
  list.push_front(one);
  EXPECT_FALSE(list.empty());
  EXPECT_TRUE(two.is_linked());
  EXPECT_THAT(drain(list), ElementsAre(1, 2, 3));
  EXPECT_FALSE(two.is_linked());
}

TEST(LinkedList, LosesAnElementThatUnlinksItselfOrEnds) {
  Item one(1), three(3);
  auto two = std::make_unique<Item>(2);
  LinkedList<Item> list;
  for (Item* item : {&one, two.get(), &three}) list.push_back(*item);
  two.reset();
  one.unlink();
  one.unlink();  // does nothing the second time
  EXPECT_THAT(drain(list), ElementsAre(3));
}

TEST(LinkedList, LeavesItsElementsUnlinkedWhenItEnds) {
  Item one(1);
  {
    LinkedList<Item> list;
    list.push_back(one);
  }
  EXPECT_FALSE(one.is_linked());
  LinkedList<Item> other;
  other.push_back(one);
  EXPECT_THAT(drain(other), ElementsAre(1));
  EXPECT_THAT(drain(other), IsEmpty());
}

#if DCHECK_IS_ON()
TEST(LinkedListDeathTest, AnElementIsInOneListOnly) {
  Item one(1);
  LinkedList<Item> list, other;
  list.push_back(one);
  EXPECT_DEATH(other.push_back(one), "in another list");
}
#endif

}  // namespace
}  // namespace hat
