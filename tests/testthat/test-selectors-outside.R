# Selectors that users write: those of inst/examples/selectors, and the rival that evolves states.

example_selectors <- function(...) {
  for (name in c(...)) {
    source(system.file("examples", "selectors", paste0(name, ".R"), package = "gpselect"),
           local = parent.frame())
  }
}

# What CONTRIBUTING.md asks of a selector: no point is ranked by its own expectations.
expect_left_out <- function(selector, y, expectations) {
  learned <- selector$learn(list(), y, expectations)
  rows <- seq_len(nrow(y))
  affinity <- selector$affinity(list(), y, learned, rows)
  expect_identical(dim(affinity), dim(expectations))
  for (i in c(3L, nrow(y))) {
    changed <- expectations
    changed[i, ] <- 7
    again <- selector$affinity(list(), y, selector$learn(list(), y, changed), rows)
    expect_identical(again[i, ], affinity[i, ])
    expect_false(identical(again, affinity))
    part <- selector$affinity(list(), y[i, , drop = FALSE], learned, i)
    expect_near(part, affinity[i, , drop = FALSE], 1e-12)
  }
  # New points are ranked by all: one that was learned from by itself, too.
  new <- selector$affinity(list(), y[1:4, ], learned, NULL)
  expect_identical(dim(new), c(4L, ncol(expectations)))
  expect_true(all(is.finite(new)))
}

expect_works <- function(selector, said) {
  set.seed(2)
  bars <- simulate_bars(150, size = 4)
  fit <- gps_fit(bars$y, model_binary_sparse(8), selector, n_selected = 4,
                 control = gps_control(n_starts = 1, max_iter = 25, progress = FALSE))
  expect_printed(fit, said)
  expect_gte(mean(selection_recall(fit, bars$latents, truth = bars)), 0.9)
  path <- withr_file()
  saveRDS(fit, path)
  expect_identical(predict(readRDS(path), bars$y[1:5, ], "selected"),
                   predict(fit, bars$y[1:5, ], "selected"))
  expect_identical(gps_audit(fit, n = 50)$verdict, "green")
}

withr_file <- function() tempfile(fileext = ".rds")

test_that("neighbours are those of a plain search, and leave the point out", {
  example_selectors("near")
  set.seed(1)
  y <- matrix(stats::rnorm(60), 20)
  on <- matrix(stats::runif(80), 20)
  selector <- selector_near(4)
  expect_left_out(selector, y, on)
  affinity <- selector$affinity(list(), y, selector$learn(list(), y, on), 1:20)
  distance <- as.matrix(stats::dist(y))
  diag(distance) <- Inf
  by_hand <- t(apply(distance, 1, function(d) colMeans(on[order(d)[1:4], ])))
  expect_near(affinity, unname(by_hand), 1e-12)
  # Fewer points than neighbours.
  few <- selector$affinity(list(), y[1:3, ], list(y = y[1:3, ], on = on[1:3, ]), 1:3)
  expect_near(few[1, ], colMeans(on[2:3, ]), 1e-12)
  expect_works(selector_near(10), "nearest neighbours: k = 10, 10 % explorers")
})

test_that("forests rank by the trees that did not see a point", {
  skip_if_not_installed("ranger")
  example_selectors("forest")
  set.seed(1)
  y <- matrix(stats::rnorm(120), 40)
  on <- matrix(stats::runif(120), 40)
  expect_left_out(selector_forest(20), y, on)
  # A latent that is never on, and one data point less than a tree needs.
  on[, 2] <- 0
  learned <- selector_forest(10)$learn(list(), y, on)
  expect_identical(learned$out_of_bag[, 2], numeric(40))
  expect_works(selector_forest(20), "regression forests: trees = 20, min_node = 5, seed = 1")
})

test_that("evolved states have the exact bound when they are all there is", {
  example_selectors("evolutionary")
  set.seed(1)
  y <- simulate_bars(30, size = 2)$y
  start <- list(W = matrix(stats::rnorm(16, sd = 4), 4), pi = 0.3, sigma2 = 3)
  fit <- fit_evolutionary(y, start, n_iter = 3, n_kept = 16, n_parents = 3, tol = -Inf)
  model <- gps_bind(model_binary_sparse(4), y)
  exact <- function(params) {
    mean(gps_estep(model, params, y, matrix(1:4, 30, 4, byrow = TRUE))$log_evidence)
  }
  expect_near(fit$curve$bound[1], exact(start), 1e-10)
  expect_identical(fit$curve$evaluations, (16 + 6) * c(1, 2, 3))
  known <- fit_evolutionary(y, start, n_iter = 2, n_kept = 16, n_parents = 3, learn = FALSE)
  expect_near(known$curve$bound, rep(exact(start), 2), 1e-10)
  one <- fit_evolutionary(y, start, n_iter = 1, n_kept = 16, n_parents = 3)
  estep <- gps_estep(model, start, y, matrix(1:4, 30, 4, byrow = TRUE), want = "stats")
  stepped <- gps_mstep(model, start, estep$stats)
  stepped <- if (is.null(stepped$params)) stepped else stepped$params
  expect_near(one$params$W, unname(stepped$W), 1e-6)
  expect_near(one$params$sigma2, stepped$sigma2, 1e-6)
  expect_near(one$params$pi, stepped$pi, 1e-10)
})

test_that("the bound of evolved states never falls, and a point's states differ", {
  example_selectors("evolutionary")
  set.seed(3)
  bars <- simulate_bars(40, size = 4)
  start <- list(W = colMeans(bars$y) + matrix(stats::rnorm(128, sd = 3), 16), pi = 0.2,
                sigma2 = mean(apply(bars$y, 2, stats::var)))
  fit <- fit_evolutionary(bars$y, start, n_iter = 12, n_kept = 12, n_generations = 2, tol = -Inf)
  expect_no_fall(fit$curve$bound)
  expect_gt(diff(range(fit$curve$bound)), 1)
  key <- paste(rep(1:40, each = 12), apply(fit$states, 1, paste, collapse = ""))
  expect_identical(anyDuplicated(key), 0L)
  expect_true(all(fit$states %in% c(0, 1)))
})
