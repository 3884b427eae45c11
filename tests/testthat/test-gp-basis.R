# Pivots, features and leave-one-out from sums. The marginal likelihood: test-gp-inducing.R.

# Incomplete Cholesky factorisation of a matrix, one pivot at a time.
greedy_cholesky <- function(k, rank) {
  left <- diag(k)
  factor <- matrix(0, nrow(k), rank)
  pivots <- integer(rank)
  for (q in seq_len(rank)) {
    # The first of those that are the largest but for rounding.
    equal <- min(256 * .Machine$double.eps * max(diag(k)), 1e-6 * max(left))
    p <- which(left >= max(left) - equal)[1]
    before <- seq_len(q - 1)
    column <- k[, p] - factor[, before, drop = FALSE] %*% factor[p, before]
    factor[, q] <- replace(column / sqrt(left[p]), pivots[before], 0)
    pivots[q] <- p
    left <- replace(pmax(left - factor[, q]^2, 0), pivots[seq_len(q)], 0)
  }
  list(pivots = pivots, factor = factor)
}

# K without noise.
plain_kernel <- function(kernel, y) {
  theta <- gp_theta(kernel, y)
  .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), theta, y, 1L) -
    diag(white_variance(kernel, theta, nrow(y)), ncol(y))
}

# What leave-one-out gives on all points.
loo_of <- function(basis, kernel, theta, y, targets) {
  engine <- engine_of(basis, kernel, theta, y)
  sums <- engine_sums(engine, engine_view(engine, y), targets)
  prepared <- engine_prepare(engine, theta, sums = sums)
  prepared$cross <- sums$cross
  engine_loo(prepared, targets)
}

# A basis of each kind on the same points.
all_bases <- function(kernel, theta, y, rank) {
  with_objective <- function(objective) new_basis("inducing", kernel, theta, y, rank, objective)
  list(ichol = new_basis("ichol", kernel, theta, y, rank), dtc = with_objective("dtc"),
       vfe = with_objective("vfe"), fitc = with_objective("fitc"))
}

# Targets in slots and the same ones dense.
slot_toy <- function(n, n_latents = 6L, n_slots = 3L) {
  selected <- vapply(seq_len(n), function(i) sort(sample.int(n_latents, n_slots)), integer(n_slots))
  selected[n_slots, seq(1, n, by = 4)] <- 0L
  prob_on <- matrix(stats::runif(n_slots * n), n_slots) * (selected > 0)
  dense <- matrix(0, n_latents, n)
  dense[cbind(c(selected), c(col(selected)))[selected > 0, ]] <- prob_on[selected > 0]
  slots <- slot_targets(list(selected = selected, prob_on = prob_on), list(n_latents = n_latents))
  list(slots = slots, dense = dense)
}

for (name in names(oracle_kernels)) {
  test_that(paste("pivots, factor and leave-one-out are exact:", name), {
    oracle <- read_oracle(name)
    expected <- oracle$ichol
    kernel <- oracle_kernels[[name]]
    theta <- stats::setNames(oracle$theta, oracle$theta_names)
    y <- t(oracle$X)
    found <- choose_pivots(kernel, theta, y, expected$Q, 0, factor = TRUE)
    expect_identical(found$pivots, expected$pivots_0based + 1L)
    expect_near(found$factor, expected$L, 1e-10)
    expect_near(found$trace, expected$residual_trace, 1e-10)

    basis <- new_basis("ichol", kernel, theta, y, expected$Q, tol = 0)
    expect_equal(basis$extra, expected$residual_trace[expected$Q + 1] / ncol(y), tolerance = 1e-10)
    expect_identical(basis$pivots, found$pivots)
    basis$extra <- 0
    loo <- loo_of(basis, kernel, theta, y, t(oracle$Y))
    expect_near(t(loo$mean), expected$loo_mean, 1e-10)
    expect_near(loo$variance, expected$loo_var, 1e-10)

    for (objective in if (is.null(oracle$inducing)) NULL else c("dtc", "vfe", "fitc")) {
      basis <- new_inducing(t(oracle$inducing$Z), objective)
      loo <- loo_of(basis, kernel, theta, y, t(oracle$Y))
      expect_near(t(loo$mean), oracle$inducing[[objective]]$loo_mean, 1e-10)
      expect_near(loo$variance, oracle$inducing[[objective]]$loo_var, 1e-10)
    }
  })
}

test_that("pivots taken several at a time are those taken one at a time", {
  set.seed(3)
  for (n in c(20, 90, 700)) {
    y <- matrix(rnorm(4 * n), 4)
    y[, 2] <- y[, 1]
    for (kernel in list(kernel_composition(), kernel_rbf(lengthscale = 0.05),
                        kernel_rbf(ard = TRUE) + kernel_linear(ard = TRUE),
                        kernel_matern(1.5) + kernel_bias())) {
      rank <- min(n - 2, 120)
      expected <- greedy_cholesky(plain_kernel(kernel, y), rank)
      found <- choose_pivots(kernel, gp_theta(kernel, y), y, rank, 0, factor = TRUE)
      expect_identical(found$pivots, expected$pivots)
      expect_near(found$factor, expected$factor, 1e-10)
    }
  }
})

test_that("pivots and factor are those of kernlab", {
  skip_if_not_installed("kernlab")
  from <- function(name) getExportedValue("kernlab", name)
  set.seed(4)
  # Of few digits, so that rounding does not decide between points that are alike.
  x <- matrix(round(8 * rnorm(60 * 3)) / 8, 60)
  expected <- from("inchol")(x, from("rbfdot")(sigma = 0.5 / 1.3^2), tol = 1e-12, maxiter = 15)
  kernel <- kernel_rbf(lengthscale = 1.3)
  found <- choose_pivots(kernel, gp_theta(kernel, t(x)), t(x), 15, 0, factor = TRUE)
  expect_identical(found$pivots, as.integer(from("pivots")(expected)))
  expect_near(found$factor, matrix(expected@.Data, 60), 1e-10)
})

test_that("a factorisation stops at its tolerance, its rank, and where only rounding is left", {
  set.seed(5)
  y <- matrix(rnorm(3 * 50), 3)
  theta <- function(kernel) gp_theta(kernel, y)
  smooth <- kernel_rbf(lengthscale = 3)
  found <- choose_pivots(smooth, theta(smooth), y, 50, 0.01)
  share <- found$trace / found$trace[1]
  n <- length(share)
  expect_true(share[n] <= 0.01 && share[n - 1] > 0.01 && length(found$pivots) == n - 1)
  expect_true(all(diff(found$trace) <= 0))
  expect_length(choose_pivots(smooth, theta(smooth), y, 7, 0)$pivots, 7)
  expect_null(found$factor)

  linear <- kernel_linear() + kernel_bias()
  expect_length(choose_pivots(linear, theta(linear), y, 50, 0)$pivots, 4)
  twice <- y[, rep(1:20, 2)]
  rough <- kernel_rbf(lengthscale = 0.3)
  found <- choose_pivots(rough, gp_theta(rough, twice), twice, 40, 0)
  expect_setequal(found$pivots, 1:20)
  expect_identical(choose_pivots(rough, gp_theta(rough, y), y[, 1, drop = FALSE], 9, 0)$pivots, 1L)
  # Points that have nothing to do with each other are all alike: the first of them comes first.
  apart <- kernel_rbf(lengthscale = 1e-3)
  expect_identical(choose_pivots(apart, gp_theta(apart, y), y, 40, 0)$pivots, 1:40)
  # Where the kernel is 0 at all points, one of them stands for all.
  zero <- matrix(0, 3, 5)
  found <- choose_pivots(kernel_linear(), gp_theta(kernel_linear(), zero), zero, 5)
  expect_identical(found$pivots, 1L)
  expect_identical(found$trace, c(0, 0))
})

test_that("all points as basis give the exact Gaussian process", {
  data <- smooth_toy(40, 3, 4)
  y <- t(data$x)
  goal <- t(data$targets)
  new <- matrix(rnorm(3 * 9), 3)
  kernels <- list(kernel_composition(), kernel_matern(2.5, ard = TRUE) + kernel_white(0.05))
  for (kernel in kernels) {
    theta <- gp_theta(kernel, y)
    expected <- gp_loo_moments(kernel, theta, y, goal)
    at_new <- gp_predict_moments(kernel, theta, y, goal, new)
    for (basis in all_bases(kernel, theta, y, 40)) {
      basis$z <- y
      basis$extra <- 0
      loo <- loo_of(basis, kernel, theta, y, goal)
      expect_near(loo$mean, expected$mean, 1e-10)
      expect_near(loo$variance, expected$variance, 1e-10)
      found <- basis_features(basis, kernel, theta, y)
      scale <- if (is_scaled(basis)) found$scale else rep(1, 40)
      expect_near(crossprod(found$features) * (scale %o% scale), plain_kernel(kernel, y), 1e-10)
      predicted <- predict_by(basis, kernel, theta, found, goal, new)
      expect_near(predicted$mean, at_new$mean, 1e-10)
      expect_near(predicted$variance, at_new$variance, 1e-10)
    }
  }
})

test_that("leave-one-out equals refits with the basis and its noise fixed", {
  data <- smooth_toy(25, 2, 3)
  y <- t(data$x)
  goal <- t(data$targets)
  for (kernel in list(kernel_composition(), kernel_matern(1.5) + kernel_white(0.02))) {
    theta <- gp_theta(kernel, y)
    for (basis in all_bases(kernel, theta, y, 8)) {
      loo <- loo_of(basis, kernel, theta, y, goal)
      features <- basis_features(basis, kernel, theta, y)
      for (n in 1:25) {
        rest <- basis_features(basis, kernel, theta, y[, -n])
        alone <- predict_by(basis, kernel, theta, rest, goal[, -n], y[, n, drop = FALSE])
        expect_near(loo$mean[, n], alone$mean[, 1], 1e-10)
        # What is observed has the basis' noise; the kernel of "dtc" is that of the features alone.
        variance <- alone$variance + basis_noise(basis, kernel, theta)
        if (basis$objective == "dtc") variance <- variance - features$residual[n]
        expect_near(loo$variance[n], variance, 1e-10)
      }
    }
  }
})

test_that("a point of any weight in the sums is taken out of them", {
  data <- smooth_toy(30, 2, 3)
  y <- t(data$x)
  toy <- slot_toy(30)
  kernel <- kernel_composition()
  theta <- gp_theta(kernel, y)
  for (basis in all_bases(kernel, theta, y, 9)) {
    found <- basis_features(basis, kernel, theta, y)
    weight <- 0.3
    moments <- feature_moments(found)
    moments$gram <- weight * moments$gram
    cross <- weight * cross_targets(toy$dense, found$features, found$scale)
    prepared <- prepare_from(basis, kernel, theta, moments)
    loo <- view_means(prepared, cross, found, toy$slots, weight)
    for (n in c(1, 17, 30)) {
      f <- found$features[, n]
      scale <- if (is_scaled(basis)) found$scale[n] else 1
      without <- moments
      without$gram <- moments$gram - weight * tcrossprod(f)
      cross_without <- cross - weight * f %o% (toy$dense[, n] / scale)
      rest <- prepare_from(basis, kernel, theta, without)
      expected <- view_means(rest, cross_without, found)[, n]
      expect_near(loo[, n], expected, 1e-10)
    }
  }
})

test_that("targets in slots give what dense ones give", {
  set.seed(6)
  n <- 600
  y <- matrix(rnorm(4 * n), 4)
  toy <- slot_toy(n)
  kernel <- kernel_composition()
  theta <- gp_theta(kernel, y)
  for (basis in all_bases(kernel, theta, y, 30)) {
    found <- basis_features(basis, kernel, theta, y)
    cross <- cross_targets(toy$dense, found$features, found$scale)
    expect_near(cross_targets(toy$slots, found$features, found$scale), cross, 1e-12)
    prepared <- prepare_from(basis, kernel, theta, feature_moments(found))
    by_slots <- view_means(prepared, cross, found, toy$slots)
    dense <- view_means(prepared, cross, found, toy$dense)
    expect_near(by_slots, dense, 1e-12)
    plain <- view_means(prepared, cross, found)
    expect_near(plain, predict_by(basis, kernel, theta, found, toy$dense, y)$mean, 1e-12)
    leverage <- colSums((prepared$transform %*% found$features)^2)
    expect_true(all(leverage >= 0 & leverage < 1))
  }
})

test_that("slots that name no latent are refused", {
  features <- matrix(1, 2, 3)
  wrong <- slot_targets(list(selected = matrix(c(1L, 2L, 9L), 1), prob_on = matrix(1, 1, 3)),
                        list(n_latents = 4L))
  expect_gps_error(cross_targets(wrong, features), "names latent 9 of 4", "model")
})

test_that("sums over three blocks are those over one", {
  set.seed(7)
  n <- 2000
  y <- matrix(rnorm(3 * n), 3)
  toy <- slot_toy(n)
  kernel <- kernel_composition()
  theta <- gp_theta(kernel, y)
  blocks <- split(seq_len(n), rep(1:3, c(300, 1100, 600)))
  for (basis in all_bases(kernel, theta, y, 20)) {
    found <- basis_features(basis, kernel, theta, y)
    whole <- feature_moments(found)
    cross <- cross_targets(toy$slots, found$features, found$scale)
    parts <- lapply(blocks, function(at) {
      at_block <- basis_features(basis, kernel, theta, y[, at])
      list(moments = feature_moments(at_block),
           cross = cross_targets(cut_targets(toy$slots, at), at_block$features, at_block$scale))
    })
    add <- function(what) Reduce(`+`, lapply(parts, what))
    sums <- list(gram = add(function(p) p$moments$gram),
                 residual = add(function(p) p$moments$residual),
                 n_points = add(function(p) p$moments$n_points))
    expect_near(sums$gram, whole$gram, 1e-12)
    expect_near(sums$residual, whole$residual, 1e-12)
    expect_identical(sums$n_points, whole$n_points)
    expect_near(add(function(p) p$cross), cross, 1e-12)
    a <- view_means(prepare_from(basis, kernel, theta, whole), cross, found, toy$slots)
    b <- view_means(prepare_from(basis, kernel, theta, sums), add(function(p) p$cross), found,
                    toy$slots)
    expect_near(a, b, 1e-12)
  }
})

test_that("data far from the origin lose no digits", {
  data <- smooth_toy(60, 3, 2)
  far <- t(data$x + 2^14)
  # Shifts by powers of 2 are exact as long as the numbers have few digits.
  near <- far - 2^14
  kernel <- kernel_rbf() + kernel_bias() + kernel_white(0.05)
  theta <- gp_theta(kernel, near)
  goal <- t(data$targets)
  bases <- Map(list, all_bases(kernel, theta, near, 12), all_bases(kernel, theta, far, 12))
  for (pair in bases) {
    expect_identical(pair[[1]]$pivots, pair[[2]]$pivots)
    a <- loo_of(pair[[1]], kernel, theta, near, goal)
    b <- loo_of(pair[[2]], kernel, theta, far, goal)
    expect_near(a$mean, b$mean, 1e-12)
    expect_near(a$variance, b$variance, 1e-12)
  }
})

test_that("leave-one-out stays accurate as the noise vanishes", {
  data <- smooth_toy(80, 2, 3)
  y <- t(data$x)
  goal <- t(data$targets)
  for (noise in c(1e-2, 1e-4, 1e-6, 1e-8)) {
    kernel <- kernel_rbf(lengthscale = 1) + kernel_white(noise)
    theta <- gp_theta(kernel, y)
    basis <- new_basis("inducing", kernel, theta, y, 20, "dtc")
    loo <- loo_of(basis, kernel, theta, y, goal)
    # By an orthogonal factorisation of the features over the noise.
    f <- basis_features(basis, kernel, theta, y)$features
    q <- qr(rbind(t(f), diag(sqrt(noise), nrow(f))))
    left <- 1 - rowSums(qr.Q(q)[1:80, ]^2)
    fitted <- t(f) %*% qr.coef(q, rbind(t(goal), matrix(0, nrow(f), 3)))
    expected <- goal - t((t(goal) - fitted) / left)
    # Both lose 1 / (1 - leverage) of the machine's precision.
    expect_near(loo$mean, expected, 1e3 * .Machine$double.eps / min(left))
    expect_near(loo$variance / noise, 1 / left, 1e3 * .Machine$double.eps / min(left)^2)
  }
})

test_that("a matrix of moments without noise gets jitter, and says so", {
  y <- matrix(rnorm(20), 2)
  kernel <- kernel_rbf()
  theta <- gp_theta(kernel, y)
  basis <- new_basis("inducing", kernel, theta, y, 4, "dtc")
  prepared <- prepare_from(basis, kernel, theta,
                           feature_moments(basis_features(basis, kernel, theta, y)))
  expect_gt(prepared$jitter, 0)
  expect_identical(prepared$noise, prepared$jitter)
  basis$objective <- "fitc"
  expect_gps_error(basis_features(basis, kernel, theta, y), "must have white noise")
})

test_that("any number of threads gives the same bits", {
  set.seed(8)
  y <- matrix(rnorm(5 * 3000), 5)
  goal <- matrix(rnorm(2 * 3000), 2)
  kernel <- kernel_composition() + kernel_matern(1.5, ard = TRUE)
  theta <- gp_theta(kernel, y)
  once <- function(n_threads) {
    found <- choose_pivots(kernel, theta, y, 60, 0, n_threads, factor = TRUE)
    basis <- new_inducing(y[, found$pivots], "fitc")
    list(found, basis_features(basis, kernel, theta, y, n_threads),
         evaluate_basis(basis, kernel, theta, y, goal, 2L, n_threads, inputs = TRUE))
  }
  expect_identical(once(1L), once(2L))
})
