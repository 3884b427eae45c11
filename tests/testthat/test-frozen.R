# Numbers of fixed problems, as tools/freeze.R has written them down. A change that is meant to
# change them makes the tables anew and says why.

for (table in names(frozen_tolerance)) {
  test_that(paste("the frozen numbers hold:", table), {
    then <- read_frozen(test_path("frozen", paste0(table, ".txt")))
    now <- frozen_numbers(table)
    expect_identical(names(now), names(then))
    distance <- frozen_distance(now, then)
    off <- names(which(distance > frozen_tolerance[[table]]))
    expect(length(off) == 0, paste0(length(off), " are off: ", toString(utils::head(
      sprintf("%s (%.3g)", off, distance[off]), 20
    ))))
  })
}
