// Places are counted for one process.
#include "runtime/rendezvous/places.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace tutti {
namespace {

TEST(Places, NoMoreThanThereAre) {
  Places places;
  EXPECT_TRUE(places.take(2));
  EXPECT_TRUE(places.take(2));
  EXPECT_FALSE(places.take(2));
  EXPECT_TRUE(places.take(3));
  places.giveBack();
  EXPECT_FALSE(places.take(2));
  places.giveBack();
  EXPECT_TRUE(places.take(2));
}

TEST(Places, ThoseOfTheParentAreNotTheChilds) {
  Places places;
  EXPECT_TRUE(places.take(1));
  const pid_t child = fork();
  if (child == 0) _exit(places.take(1) && !places.take(1) ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(places.take(1));
}

}  // namespace
}  // namespace tutti
