/* The fold tree over blocks: its sums, its bits, and that groups of a power of two of blocks fold
 * to the same bits. */
#include "check.h"
#include "blocks.h"

#include <string.h>

enum { MAX_BLOCKS = 70, LENGTH = 3 };

/* Numbers whose sums depend on the order of adding. */
static void fill_block(size_t block, double *result) {
  for (int i = 0; i < LENGTH; i++) {
    result[i] = sin((double)(block * 7 + (size_t)i)) * pow(10, (double)(block % 9));
  }
}

/* The definition: the largest power of two of blocks stands left, itself a balanced tree. */
static double tree_sum(size_t from, size_t n, int i) {
  if (n == 1) {
    double result[LENGTH];
    fill_block(from, result);
    return result[i];
  }
  size_t left = 1;
  while (2 * left < n) left *= 2;
  return tree_sum(from, left, i) + tree_sum(from + left, n - left, i);
}

static void fold_blocks(size_t from, size_t n, double *total) {
  double storage[GPS_MAX_LEVELS * LENGTH], result[LENGTH];
  gps_fold fold;
  fold_begin(&fold, storage, fold_levels(n), LENGTH);
  for (size_t b = 0; b < n; b++) {
    fill_block(from + b, result);
    fold_push(&fold, result);
  }
  fold_end(&fold, total);
}

static void test_tree(void) {
  for (size_t n = 1; n <= MAX_BLOCKS; n++) {
    double total[LENGTH];
    fold_blocks(0, n, total);
    int n_equal = 0;
    for (int i = 0; i < LENGTH; i++) n_equal += total[i] == tree_sum(0, n, i);
    CHECK(n_equal == LENGTH);
  }
}

/* A fold of folds, as R/data-blocks.R makes it of blocks of several times 512 points. */
static void test_groups(void) {
  for (size_t group = 1; group <= 16; group *= 2) {
    for (size_t n = 1; n <= MAX_BLOCKS; n++) {
      double storage[GPS_MAX_LEVELS * LENGTH], part[LENGTH], total[LENGTH], whole[LENGTH];
      const size_t n_groups = (n + group - 1) / group;
      gps_fold fold;
      fold_begin(&fold, storage, fold_levels(n_groups), LENGTH);
      for (size_t from = 0; from < n; from += group) {
        fold_blocks(from, n - from < group ? n - from : group, part);
        fold_push(&fold, part);
      }
      fold_end(&fold, total);
      fold_blocks(0, n, whole);
      CHECK(memcmp(total, whole, sizeof whole) == 0);
    }
  }
}

static void test_levels(void) {
  CHECK(fold_levels(0) == 1);
  CHECK(fold_levels(1) == 1);
  CHECK(fold_levels(2) == 2);
  CHECK(fold_levels(3) == 2);
  CHECK(fold_levels(4) == 3);
  CHECK(fold_levels(((size_t)1 << 22) - 1) == 22);
  CHECK(fold_levels((size_t)1 << 22) == 23);
  CHECK(fold_levels((size_t)1 << 40) <= GPS_MAX_LEVELS);
}

static void test_empty(void) {
  double storage[LENGTH], total[LENGTH] = {7, 7, 7};
  gps_fold fold;
  fold_begin(&fold, storage, 1, LENGTH);
  fold_end(&fold, total);
  for (int i = 0; i < LENGTH; i++) CHECK(total[i] == 0);
  fold_begin(&fold, storage, 1, 0);
  fold_push(&fold, total);
  fold_end(&fold, total);
}

int main(void) {
  test_tree();
  test_groups();
  test_levels();
  test_empty();
  return check_report();
}
