# What work other than a fit's tells of how far it is, and signals of package progressr. The line of
# a fit is tested in test-em-progress.R.

lines_of <- function(code) {
  said <- utils::capture.output(invisible(code), type = "message")
  trimws(strsplit(paste(said, collapse = ""), "\r")[[1]])
}

watched_bars <- function() {
  set.seed(1)
  simulate_bars(1200, size = 3, value = 5)$y
}

watched_fit <- function(y, ...) {
  set.seed(2)
  gps_fit(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
          control = gps_control(max_iter = 3, tol = 0, n_starts = 2, n_threads = 1, ...))
}

test_that("predictions, Gaussian processes and denoising tell it on stderr, if they take long", {
  y <- watched_bars()
  fit <- watched_fit(y, progress = FALSE)
  ask <- function(progress, ...) predict(fit, y, n_threads = 1, progress = progress, ...)
  expect_identical(lines_of(ask(TRUE)), character())
  local_value("shown_after", 0)
  local_value("block_doubles", 2^10)
  for (type in c("prob", "slots")) {
    told <- lines_of(found <- ask(TRUE, type = type))[-1]
    expect_match(told[1], "^point 512 of 1200, [0-9]+ s gone, [0-9]+ s left$")
    expect_match(told[3], "^point 1200 of 1200, [0-9]+ s gone, 0 s left$")
    expect_identical(lines_of(silent <- ask(FALSE, type = type)), character())
    expect_identical(found, silent)
  }
  x <- seq(0, 1, length.out = 20)
  regress <- function(progress) {
    gp_fit(x, sin(6 * x), kernel_rbf() + kernel_white(0.1), max_evals = 60, progress = progress)
  }
  told <- lines_of(found <- regress(TRUE))[-1]
  expect_length(told, nrow(found$trace))
  best <- cummax(found$trace$lml)
  n <- length(told)
  expect_match(told[n], sprintf("objective %.2f, evaluation %d of 60, ", best[n], n), fixed = TRUE)
  expect_identical(regress(FALSE)$theta, found$theta)
  set.seed(1)
  told <- lines_of(gps_denoise(matrix(rnorm(144), 12), 1, size = 3, n_train = 50,
                               control = gps_control(max_iter = 1, n_starts = 1, progress = TRUE)))
  expect_match(told, "^the main run, iteration 1 of 1", all = FALSE)
  expect_match(told, "^point 100 of 100", all = FALSE)
  expect_gps_error(predict(fit, progress = 1), "`progress` must be TRUE or FALSE")
  expect_gps_error(gp_fit(x, x, progress = NA), "`progress` must be TRUE or FALSE")
})

test_that("package progressr gets signals of all steps, whatever the line does", {
  skip_if_not_installed("progressr")
  loadNamespace("progressr")
  before <- options(progressr.enable = TRUE)
  on.exit(options(before))
  signals_of <- function(code) {
    found <- list()
    withCallingHandlers(code, progression = function(p) found[[length(found) + 1]] <<- unclass(p))
    lapply(stats::setNames(nm = c("type", "step", "message", "steps")), function(name) {
      unlist(lapply(found, `[[`, name))
    })
  }
  y <- watched_bars()
  seen <- signals_of(fit <- watched_fit(y, progress = FALSE))
  expect_identical(fit$params, watched_fit(y, progress = FALSE)$params)
  # Two starts of twelve iterations, and three of the main run.
  expect_identical(seen$type, c("initiate", rep("update", 27), "finish"))
  expect_identical(seen$step, as.double(1:27))
  expect_identical(seen$steps, 27)
  expect_match(seen$message[13], "^start 2 of 2, iteration 1 of 12")
  local_value("block_doubles", 2^10)
  seen <- signals_of(predict(fit, y, n_threads = 1))
  expect_identical(seen$step, c(512, 1024, 1200))
  batched <- signals_of(watched_fit(y[1:100, ], batch_size = 50, progress = FALSE))
  expect_identical(utils::tail(batched$step, 3), c(25, 26, 27))
  # An error ends the bar, too.
  local_value("em_update", function(...) stop("no luck"))
  expect_identical(signals_of(try(watched_fit(y, progress = FALSE), silent = TRUE))$type,
                   c("initiate", "finish"))
})
