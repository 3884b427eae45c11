# Panels of figures.

# The words of a drawing.
drawn_words <- function(code) {
  path <- tempfile(fileext = ".pdf")
  on.exit(unlink(path))
  grDevices::pdf(path, 10, 7, compress = FALSE, useKerning = FALSE)
  force(code)
  grDevices::dev.off()
  lines <- grep(") Tj$", readLines(path, warn = FALSE), value = TRUE, useBytes = TRUE)
  sub("^.*Tm \\((.*)\\) Tj$", "\\1", lines, useBytes = TRUE)
}

test_that("where something is counted, ticks are at whole numbers alone", {
  x_labels <- function(...) {
    words <- drawn_words(draw_figure(axis_panel(whole_part, c(1, 3), c(0, 1), "", "", "", NULL,
                                                y_ticks = 0, y_labels = "foot", ...)))
    as.numeric(grep("^[0-9.]+$", words, value = TRUE))
  }
  expect_equal(x_labels(), c(1, 1.5, 2, 2.5, 3))
  expect_equal(x_labels(ticks = "whole"), 1:3)
})

test_that("ticks have labels that differ, whatever the number of digits", {
  old <- options(digits = 3)
  on.exit(options(old))
  expect_identical(tick_labels(c(-8.0034, -8.0032)), c("-8.0034", "-8.0032"))
  expect_identical(tick_labels(pretty(c(0, 1))), c("0.0", "0.2", "0.4", "0.6", "0.8", "1.0"))
  # A bound that hardly rises any more.
  words <- drawn_words(draw_figure(axis_panel(whole_part, 1:2, c(-8.0034, -8.0032), "", "", "",
                                              NULL)))
  expect_true(all(c("-8.00340", "-8.00325") %in% words))
})

test_that("labels that leave some out leave out as many between any two", {
  for (case in list(c(36, 34), c(64, 16), c(5, 9), c(1, 0), c(7, 3))) {
    places <- labelled_places(case[1], case[2])
    expect_identical(places[1], 1)
    expect_lte(length(unique(diff(places))), 1)
    expect_lte(length(places), max(1, case[2]))
  }
})

test_that("a scale of colours says what its numbers are", {
  set.seed(1)
  noisy <- gps_fit(matrix(rbinom(60, 1, 0.4), 20), model_noisy_or(2), selector_full(),
                   control = quick_control())
  expect_true("colours in probabilities of a one" %in% drawn_words(plot(noisy)))
  expect_true("colours in units of the data" %in% drawn_words(plot(a_fit("gp"), size = NA)))
})
