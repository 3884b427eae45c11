# Panels of figures.

test_that("where something is counted, ticks are at whole numbers alone", {
  x_labels <- function(...) {
    file <- tempfile(fileext = ".pdf")
    on.exit(unlink(file))
    grDevices::pdf(file, compress = FALSE)
    draw_figure(axis_panel(whole_part, c(1, 3), c(0, 1), "", "", "", NULL, y_ticks = 0,
                           y_labels = "foot", ...))
    grDevices::dev.off()
    lines <- readLines(file, warn = FALSE)
    as.numeric(sub(".*[(]([0-9.]+)[)] Tj$", "\\1", grep("[0-9][)] Tj$", lines, value = TRUE)))
  }
  expect_equal(x_labels(), c(1, 1.5, 2, 2.5, 3))
  expect_equal(x_labels(ticks = "whole"), 1:3)
})
