# Neighbours by an index, held against the search among all points.

cluster_points <- function(n, n_clusters, n_dims, spread = 3, seed = 1) {
  set.seed(seed)
  mu <- matrix(rnorm(n_clusters * n_dims, sd = spread), n_dims)
  mu[, sample.int(n_clusters, n, TRUE), drop = FALSE] + matrix(rnorm(n * n_dims), n_dims)
}

exact_near <- function(y, rank, at = y, own = seq_len(ncol(y)), scale = rep(1, nrow(y))) {
  .Call(C_gp_near, y, scale, at, own, 0L, rank)
}

test_that("with all cells it finds what the search among all points does", {
  y <- cluster_points(700, 40, 5)
  y[, 100:140] <- y[, 1:41]
  scale <- c(1, 0.3, 2, 1, 1e-3)
  index <- new_index(y, scale, 9L)
  index$n_probes <- ncol(index$centres)
  own <- seq_len(700)
  expect_identical(search_index(index, y, y, own, 9L), exact_near(y, 9L, scale = scale))
  new <- y[, 1:30] + 0.2
  expect_identical(search_index(index, y, new, NULL, 9L),
                   exact_near(y, 9L, new, NULL, scale))
})

test_that("it finds the share of true neighbours that it says, and enough", {
  y <- cluster_points(6000, 150, 8)
  true <- exact_near(y, 20L)
  index <- new_index(y, rep(1, 8), 20L)
  expect_lt(index$n_probes, ncol(index$centres) / 4)
  found <- search_index(index, y, y, seq_len(6000), 20L)
  recall <- mean(vapply(1:6000, function(n) mean(true[, n] %in% found[, n]), 1))
  expect_gte(index$recall, enough_recall)
  expect_equal(recall, index$recall, tolerance = 0.02)
  # Nearest first, none twice, and never the point itself.
  distance <- vapply(1:6000, function(n) colSums((y[, found[, n]] - y[, n])^2), numeric(20))
  expect_true(all(diff(distance) >= 0))
  expect_true(all(apply(found, 2, anyDuplicated) == 0))
  expect_false(any(found == col(found)))
})

test_that("points without clusters are found as well, or all cells are refused", {
  y <- cluster_points(4000, 1, 3)
  index <- new_index(y, rep(1, 3), 10L)
  expect_gte(index$recall, enough_recall)
  local_value("most_probed", 0)
  local_value("enough_recall", 2)
  expect_null(new_index(y, rep(1, 3), 10L))
  engine <- hold_data(new_engine("neighbours", 10L, use_index = TRUE), kernel_rbf(1, 1), c(0, 0), y,
                      1L)
  engine <- add_index(engine, 4000, rep(1, 3))
  expect_identical(find_near(engine, y, seq_len(4000), scale = rep(1, 3)), exact_near(y, 10L))
})

test_that("any number of parts gives the same bits", {
  y <- cluster_points(3000, 60, 4)
  index <- new_index(y, rep(1, 4), 8L)
  found <- search_index(index, y, y, seq_len(3000), 8L)
  local_value("asked_at_once", 700)
  expect_identical(search_index(index, y, y, seq_len(3000), 8L), found)
})

test_that("few and equal points have an index, too", {
  for (y in list(matrix(c(0, 1, 3), 1), matrix(2, 3, 50), matrix(c(0, 1), 2, 40))) {
    rank <- as.integer(min(5, ncol(y) - 1))
    index <- new_index(y, rep(1, nrow(y)), rank)
    if (is.null(index)) next
    found <- search_index(index, y, y, seq_len(ncol(y)), rank)
    expect_identical(found, exact_near(y, rank))
  }
  engine <- hold_data(new_engine("neighbours", 5L, use_index = TRUE), kernel_rbf(1, 1), c(0, 0),
                      matrix(1), 1L)
  expect_null(add_index(engine, 1, 1)$index)
})

test_that("cells that are none are refused", {
  y <- cluster_points(100, 4, 2)
  index <- new_index(y, c(1, 1), 3L)
  for (bad in c(0L, NA, ncol(index$centres) + 1L)) {
    index$cell[7] <- bad
    expect_error(search_index(index, y, y, 1:100, 3L), class = "gps_error_model")
  }
})

test_that("a regression predicts by it", {
  y <- cluster_points(2000, 50, 3)
  targets <- cbind(sin(y[1, ]), y[2, ])
  kernel <- kernel_rbf(1, 1) + kernel_white(0.1)
  fits <- lapply(c(FALSE, TRUE), function(index) {
    gp_fit(t(y), targets, kernel, "neighbours", rank = 12, optimise = FALSE, index = index)
  })
  expect_identical(fits[[1]]$lml, fits[[2]]$lml)
  loo <- lapply(fits, gp_loo)
  is_same <- rowSums(loo[[1]]$mean == loo[[2]]$mean) == 2
  expect_gt(mean(is_same), 0.8)
  new <- t(y[, 1:200]) + 0.3
  means <- lapply(fits, function(fit) predict(fit, new)$mean)
  expect_gt(mean(means[[1]] == means[[2]]), 0.8)
  expect_error(gp_fit(t(y), targets, kernel, "ichol", index = TRUE), "`index` means nothing",
               class = "gps_error_argument")
  expect_error(selector_gp(method = "neighbours", index = 3), "`index`",
               class = "gps_error_argument")
})

fit_clusters <- function(y, index, ..., max_iter = 8) {
  set.seed(5)
  gps_fit(t(y), model_gaussian_mixture(90, "spherical"),
          selector_gp(method = "neighbours", rank = 12, index = index),
          control = gps_control(max_iter = max_iter, n_threads = 1, progress = FALSE,
                                mend = FALSE, ...))
}

# The fits that are compared with others, made once.
shared_clusters <- local({
  fits <- list()
  y <- cluster_points(9000, 90, 6)
  function(index) {
    name <- as.character(index)
    if (is.null(fits[[name]])) fits[[name]] <<- fit_clusters(y, index)
    fits[[name]]
  }
})

test_that("a fit by it is as good, says so, and predicts the same from a file", {
  exact <- shared_clusters(FALSE)
  by_index <- shared_clusters(TRUE)
  expect_lt(abs(exact$bound - by_index$bound) / 9000, 0.05)
  expect_printed(by_index, "12 nearest neighbours, of which an index finds [0-9.]+ %")
  expect_false(any(grepl("index", printed(exact))))
  expect_null(exact$gp$index)
  new <- t(cluster_points(300, 90, 6, seed = 1))
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(by_index, file)
  expect_identical(predict(readRDS(file), new), predict(by_index, new))
  # A point is predicted alike by itself.
  expect_equal(predict(by_index, new[7, ]), predict(by_index, new)[7, , drop = FALSE],
               tolerance = 1e-12)
  broken <- by_index
  broken$gp$index$cell <- broken$gp$index$cell[-1]
  expect_error(predict(broken, new), "`gp$index`", fixed = TRUE, class = "gps_error_argument")
})

test_that("left to itself, it is there where the search would take long, and for new data", {
  y <- cluster_points(9000, 90, 6)
  small <- fit_clusters(y, NULL)
  expect_false(small$gp$by_index)
  expect_identical(small$params, shared_clusters(FALSE)$params)
  expect_gte(small$gp$index$recall, enough_recall)
  expect_null(fit_clusters(y, NULL, keep_data = FALSE, max_iter = 1)$gp$index)
  local_value("most_distances_exact", 1e6)
  large <- fit_clusters(y, NULL)
  expect_true(large$gp$by_index)
  expect_identical(large$params, shared_clusters(TRUE)$params)
})

# The nearest others of whole numbers, whose distances are exact, of equal ones those of smaller
# number.
true_near <- function(y, rank) {
  vapply(seq_len(ncol(y)), function(n) {
    distance <- colSums((y - y[, n])^2)
    distance[n] <- Inf
    near <- order(distance)[seq_len(rank)]
    replace(near, is.infinite(distance[near]), 0L)
  }, integer(rank))
}

test_that("all points among themselves have their exact neighbours, clustered or not, and tied", {
  near_clusters <- round(10 * cluster_points(900, 60, 3, spread = 20))
  set.seed(2)
  cases <- list(
    clustered = near_clusters, shifted = near_clusters + 1e6,
    tied = matrix(sample.int(5, 1600, TRUE) + 0, 2), equal = matrix(7, 3, 600),
    line = matrix(round(rexp(700, 1e-4)), 1), apart = matrix(2^(1:520 / 20) %/% 1, 1),
    spread_out = matrix(round(rnorm(700 * 12, sd = 100)), 12)
  )
  for (name in names(cases)) {
    expect_identical(exact_near(cases[[name]], 9L), true_near(cases[[name]], 9L), info = name)
  }
  few <- cases$spread_out[, 1:513]
  expect_identical(c(exact_near(few, 1L)), true_near(few, 1L))
  expect_identical(exact_near(few, 514L), rbind(true_near(few, 512L), matrix(0L, 2, 513)))
})

test_that("scales of columns tell which points are near, all among themselves as some of them", {
  y <- cluster_points(1200, 60, 4)
  scale <- c(1, 0.1, 3, 1e-4)
  some <- seq(5L, 1200L, by = 7L)
  expect_identical(exact_near(y, 12L, scale = scale)[, some],
                   exact_near(y, 12L, y[, some], some, scale))
})
