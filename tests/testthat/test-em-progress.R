# What a fit says of how far it is.

test_that("a fit tells phase, iteration, bound and time on stderr, and output has nothing", {
  set.seed(1)
  y <- simulate_bars(60, size = 3, value = 5)$y
  fit_with <- function(progress) {
    set.seed(2)
    gps_fit(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
            control = gps_control(max_iter = 3, n_starts = 2, n_threads = 1, progress = progress))
  }
  said <- capture.output(
    output <- capture.output(fit <- fit_with(TRUE)), type = "message"
  )
  expect_identical(output, character())
  lines <- trimws(strsplit(paste(said, collapse = ""), "\r")[[1]])
  expect_match(lines[2], paste0("^start 1 of 2, iteration 1 of 12, bound -[0-9.]+, ",
                                "[0-9]+ s gone, [0-9]+ s left$"))
  main <- grep("^the main run, iteration 3 of 3", lines, value = TRUE)
  expect_length(main, 1)
  bounds <- fit$trace$bound[fit$trace$start == 0]
  expect_match(main, sprintf("bound %.2f (%+.2g), ", bounds[3], diff(bounds[2:3])), fixed = TRUE)
  expect_identical(capture.output(silent <- fit_with(FALSE), type = "message"), character())
})
