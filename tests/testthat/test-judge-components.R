# The error is the package's and its message says so much.
expect_refused <- function(code, words) {
  expect_error(code, words, class = "gps_error_argument", fixed = TRUE)
}

test_that("a permutation is recovered whatever signs and scales", {
  set.seed(1)
  truth <- matrix(rnorm(60), 12)
  order <- c(3, 5, 1, 2, 4)
  found <- truth[, order] %*% diag(c(1, -2, 1e-200, 1e200, -0.5))
  match <- match_components(found, truth)
  expect_identical(match$permutation, order(order))
  expect_equal(match$similarity, rep(1, 5), tolerance = 1e-14)
  expect_identical(match$matched, rep(TRUE, 5))
})

test_that("the cosine is not centred and the threshold counts from itself", {
  truth <- cbind(c(1, 0), c(0, 1))
  found <- cbind(c(3, 4), c(1, 0))
  match <- match_components(found, truth, threshold = 0.8)
  expect_identical(match$permutation, 2:1)
  expect_equal(match$similarity, c(1, 0.8), tolerance = 1e-15)
  expect_identical(match_components(found, truth, threshold = 0.81)$matched, c(TRUE, FALSE))
  constant <- match_components(matrix(1, 2), matrix(5, 2))
  expect_equal(constant$similarity, 1)
  expect_true(match_components(matrix(1, 1), matrix(1, 1), threshold = 1)$matched)
})

test_that("the assignment is the best one, not the greedy one", {
  angle <- function(degrees) rbind(cos(degrees * pi / 180), sin(degrees * pi / 180))
  truth <- angle(c(0, 30))
  found <- angle(c(20, 80))
  # Greedy: found 1 for truth 2 at 10 degrees, leaving 80; the best pairs are at 20 and 50.
  match <- match_components(found, truth)
  expect_identical(match$permutation, 1:2)
  expect_equal(match$similarity, cos(c(20, 50) * pi / 180))
})

test_that("fewer and more found components than true ones work", {
  truth <- diag(4)
  fewer <- match_components(truth[, c(4, 2)], truth)
  expect_identical(fewer$permutation, c(NA, 2L, NA, 1L))
  expect_identical(fewer$similarity, c(0, 1, 0, 1))
  expect_identical(fewer$matched, c(FALSE, TRUE, FALSE, TRUE))
  more <- match_components(cbind(1, truth[, 4:1], 0), truth)
  expect_identical(more$permutation, 5:2)
  # A component that nothing is assigned to is not found, whatever the threshold.
  expect_identical(match_components(truth[, c(4, 2)], truth, threshold = 0)$matched, fewer$matched)
})

test_that("zero columns have similarity 0", {
  match <- match_components(cbind(0, c(1, 1)), cbind(c(2, 2), 0))
  expect_identical(match$permutation, 2:1)
  expect_equal(match$similarity, c(1, 0))
  expect_identical(match_components(matrix(0, 3, 2), matrix(0, 3, 2))$similarity, c(0, 0))
})

test_that("fits and lists of parameters stand for their components", {
  set.seed(2)
  bars <- simulate_bars(1)
  expect_true(all(match_components(bars$W[, 10:1], bars)$matched))
  expect_identical(match_components(bars, bars)$permutation, 1:10)
  clusters <- simulate_clusters()
  expect_identical(match_components(clusters$mu, clusters)$permutation, 1:3)
  expect_identical(match_components(list(W = diag(2), mu = c(1, 1)), diag(2))$permutation, 1:2)
  fit <- structure(list(found = diag(3)[, 3:1]), class = c("fit_of_test", "gps_fit"))
  registerS3method("coef", "fit_of_test", function(object, ...) list(W = object$found, pi = 0.2))
  expect_identical(match_components(fit, diag(3))$permutation, 3:1)
})

test_that("data frames and names are welcome", {
  truth <- diag(2)
  dimnames(truth) <- list(c("a", "b"), c("x", "y"))
  expect_identical(match_components(as.data.frame(truth), truth)$permutation, 1:2)
  expect_null(names(match_components(truth, truth)$similarity))
})

test_that("bad arguments of match_components() are refused by name", {
  for (bad in list(NULL, 1:3, "a", list(), list(pi = 1), list(W = 1:3), matrix("a"),
                   matrix(NA_real_, 3, 3), matrix(Inf, 3, 3), matrix(1i, 3, 3),
                   matrix(0, 3, 0), array(0, c(3, 1, 1)))) {
    expect_refused(match_components(bad, diag(3)), "`found`")
    expect_refused(match_components(diag(3), bad), "`truth`")
  }
  expect_refused(match_components(list(a = 1), diag(3)), "not a list of length 1")
  expect_refused(match_components(diag(2), diag(3)), "`found` has 2 rows, `truth` 3.")
  for (bad in list(-0.1, 1.1, NA, "a", NULL, c(0.1, 0.2))) {
    expect_refused(match_components(diag(3), diag(3), threshold = bad), "`threshold`")
  }
})

test_that("the adjusted Rand index has its hand-worked values", {
  # Pairs together in both 1, in a 2, in b 1, of 6: expected 1/3, largest 3/2.
  expect_equal(adjusted_rand(c(1, 1, 2, 2), c(1, 1, 2, 3)), 4 / 7)
  # 0, 2, 2 of 6: expected 2/3, largest 2.
  expect_equal(adjusted_rand(c(1, 1, 2, 2), c(1, 2, 1, 2)), -0.5)
  # 2, 4, 7 of 15: expected 28/15, largest 11/2.
  found <- adjusted_rand(c(1, 1, 1, 2, 2, 3), c(1, 1, 2, 2, 2, 2))
  expect_equal(found, (2 - 28 / 15) / (5.5 - 28 / 15))
  expect_identical(adjusted_rand(c(1, 1, 2, 3), c("z", "z", "x", "y")), 1)
})

test_that("the adjusted Rand index is symmetric, 0 by chance and 1 where nothing is to decide", {
  set.seed(3)
  a <- sample(5, 5000, replace = TRUE)
  b <- sample(3, 5000, replace = TRUE)
  expect_identical(adjusted_rand(a, b), adjusted_rand(b, a))
  expect_lt(abs(adjusted_rand(a, b)), 0.005)
  expect_identical(adjusted_rand(rep(1, 4), rep(2, 4)), 1)
  expect_identical(adjusted_rand(1:4, 4:1), 1)
  expect_identical(adjusted_rand(1, 1), 1)
  expect_identical(adjusted_rand(rep(1, 4), 1:4), 0)
  expect_error(adjusted_rand(1:3, 1:4), class = "gps_error_argument")
  expect_error(adjusted_rand(c(1, NA), 1:2), class = "gps_error_argument")
  expect_identical(adjusted_rand(rep(1:2, 1e5), rep(1:2, 1e5)), 1)
})

test_that("recall counts the active latents that were selected", {
  y <- rbind(c(1, 0, 0), c(0, 1, 0), c(0, 0, 1))
  model <- model_binary_sparse(3)
  params <- list(W = diag(3), pi = 0.5, sigma2 = 1)
  affinity <- rbind(c(3, 2, 1), c(1, 3, 2), c(2, 3, 1))
  fit <- fit_at(y, model, params, affinity, 2)
  # Selected: 1 and 2; 2 and 3; 1 and 2.
  latents <- rbind(c(1, 0, 1), c(0, 1, 1), c(0, 0, 1))
  expect_equal(selection_recall(fit, latents), 3 / 5)
  expect_equal(selection_recall(fit, latents == 1), 3 / 5)
  expect_identical(selection_recall(fit, 0 * latents), NA_real_)
  # Truth in another order: true latent 1 is component 3, 2 is 1, 3 is 2.
  truth <- diag(3)[, c(3, 1, 2)]
  expect_equal(selection_recall(fit, latents[, c(3, 1, 2)], truth = truth), 3 / 5)
  expect_equal(selection_recall(fit, latents[, 3:1], truth = truth), 3 / 5 - 1 / 5)
  # A true component that no component of the fit is left for is never selected.
  wide <- cbind(diag(3), 1)
  expect_equal(selection_recall(fit, cbind(latents, 1), truth = wide), 3 / 8)
})

test_that("a component that looks like none of the true ones finds none of them", {
  model <- model_binary_sparse(3)
  latents <- rbind(c(1, 0, 1), c(0, 1, 1), c(0, 0, 1))
  affinity <- rbind(c(3, 2, 1), c(1, 3, 2), c(2, 3, 1))
  recall <- function(W) {
    fit <- fit_at(diag(3), model, list(W = W, pi = 0.5, sigma2 = 1), affinity, 2)
    selection_recall(fit, latents, truth = diag(3))
  }
  with_third <- function(third) cbind(c(1, 0, 0), c(0, 1, 0), third)
  expect_equal(recall(with_third(c(0, 0, -2))), 3 / 5)
  # Component 3 is left over for the true one, and selected for it in one of three points.
  expect_equal(recall(with_third(c(1, 0, 1))), 2 / 5)
  expect_equal(recall(with_third(c(0, 0, 0))), 2 / 5)
  expect_equal(recall(with_third(c(0.3, 0, 1))), 3 / 5)
  expect_equal(recall(matrix(1, 3, 3)), 0)
})

test_that("recall of a full selection is one, of a random one the share of slots", {
  bars <- bars_data()
  full <- a_fit("full")
  expect_equal(selection_recall(full, bars$latents[, 1:8]), 1)
  recall <- selection_recall(a_fit("random"), bars$latents)
  expect_lt(abs(recall - 0.4), 5 * sqrt(0.24 / sum(bars$latents)))
})

test_that("latents that do not fit are refused", {
  fit <- a_fit("gp")
  latents <- bars_data()$latents
  expect_refused(selection_recall(fit, latents[-1, ]), "must be a matrix of 120 x 10")
  expect_refused(selection_recall(fit, latents[, -1]), "must be a matrix of 120 x 10")
  expect_refused(selection_recall(fit, latents * 2), "only 0 and 1")
  expect_refused(selection_recall(fit, latents, within = 1), "no locations")
  expect_refused(selection_recall(fit, latents, truth = diag(3)), "the fit has")
})
