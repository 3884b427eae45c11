# Selectors of other packages: which rows they rank, in all that a fit does.

# The mean of the nearest neighbours' expectations. Whoever asks must say truly which rows of the
# data that were learned these are, and nothing for new data.
near_selector <- function(k, seen) {
  affinity <- function(params, y, memory, rows) {
    if (is.null(rows)) {
      seen$new <- seen$new + nrow(y)
    } else {
      seen$own <- seen$own + nrow(y)
      stopifnot(identical(unname(y), unname(memory$y[rows, , drop = FALSE])))
    }
    distance <- outer(rowSums(y^2), rowSums(memory$y^2), `+`) - 2 * y %*% t(memory$y)
    if (!is.null(rows)) distance[cbind(seq_along(rows), rows)] <- Inf
    t(apply(distance, 1, function(d) colMeans(memory$on[order(d)[1:k], , drop = FALSE])))
  }
  learn <- function(params, y, expectations) list(y = y, on = expectations)
  new_gps_selector("near_selector", "nearest neighbours", affinity, learn,
                   settings = list(k = k))
}

test_that("settings of any length are shown in a line", {
  shown <- function(settings) {
    utils::capture.output(print(new_gps_selector("mine", "x", function(params, y) y,
                                                 settings = settings)))
  }
  expect_identical(shown(list(k = 3)), "x: k = 3")
  expect_identical(shown(list(k = 1:2, name = c(a = "b"))), "x: k = (1, 2), name = b")
  expect_identical(shown(list(k = 1:1000)), "x: k = (1, 2, 3, 4, 5, ...)")
  expect_identical(shown(list(m = diag(2), e = integer())), "x: m = (1, 0, 0, 1), e = ()")
})

test_that("a selector of another package is told which rows it ranks", {
  set.seed(4)
  bars <- simulate_bars(150, size = 3)
  seen <- new.env()
  seen$own <- seen$new <- 0
  # Starts are short runs on other rows.
  fit <- gps_fit(bars$y, model_binary_sparse(6), near_selector(5, seen), n_selected = 4,
                 control = gps_control(max_iter = 8, n_starts = 2, progress = FALSE))
  expect_s3_class(fit$selector, "near_selector")
  expect_gt(seen$own, 8 * 150)
  expect_identical(seen$new, 0)
  expect_printed(fit, "nearest neighbours: k = 5")
  new <- predict(fit, bars$y[1:20, ])
  expect_identical(dim(new), c(20L, 6L))
  expect_gt(seen$new, 0)
})

test_that("what is wrong with a selector of another package is said by name", {
  affinity <- function(params, y, memory, rows) y
  expect_error(new_gps_selector("mine", 3, affinity), "label", class = "gps_error_argument")
  expect_error(new_gps_selector("mine", "x", "affinity"), "affinity", class = "gps_error_argument")
  expect_error(new_gps_selector("mine", "x", affinity, learn = 1), "learn",
               class = "gps_error_argument")
  for (class in list("gps_selector_gp", "gps_selector", "gps_selector_custom", c("a", "a"))) {
    expect_error(new_gps_selector(class, "x", affinity), "`class` must be",
                 class = "gps_error_argument")
  }
  expect_error(new_gps_selector("mine", "x", affinity, explore = 2), "explore",
               class = "gps_error_argument")
  set.seed(1)
  y <- simulate_bars(40, size = 3)$y
  fit_with <- function(affinity) {
    gps_fit(y, model_binary_sparse(6), new_gps_selector("mine", "mine", affinity), n_selected = 3,
            control = gps_control(max_iter = 3, n_starts = 1, progress = FALSE))
  }
  expect_error(fit_with(function(params, y, memory, rows) y[, 1:2]), "affinity",
               class = "gps_error")
  expect_error(fit_with(function(params, y, memory, rows) {
    matrix(NaN, nrow(y), 6)
  }), "affinity", class = "gps_error")
  expect_error(fit_with(function(params, y, memory, rows) stop("no neighbours")), "no neighbours",
               class = "gps_error")
})
