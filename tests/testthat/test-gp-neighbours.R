# Regression by the nearest neighbours, held against what each point's own matrix says.

near_kernels <- function(n_dims) {
  scales <- seq(0.6, 1.7, length.out = n_dims)
  list(
    rbf = kernel_rbf(0.8, 1.2) + kernel_white(0.1),
    rbf_ard = kernel_rbf(0.8, scales, ard = TRUE) + kernel_white(0.1),
    all = kernel_matern(1.5, 0.7, 1.3) + kernel_linear(scales / 3, ard = TRUE) + kernel_bias(0.6) +
      kernel_matern(2.5, 0.5, rev(scales), ard = TRUE) + kernel_linear(0.2) + kernel_white(0.05)
  )
}

near_engine <- function(kernel, y, rank = 5L, n_threads = 1L) {
  theta <- kernel_theta(kernel, nrow(y))
  engine <- engine_plan(new_engine("neighbours", rank), kernel, theta, y, n_threads)
  engine_prepare(engine, theta, many = TRUE)
}

# The `rank` nearest other points of each by differences, in scaled columns, ties by number.
brute_near <- function(y, scale, rank) {
  vapply(seq_len(ncol(y)), function(n) {
    distance <- colSums(((y - y[, n]) * scale)^2)
    order(replace(distance, n, Inf))[seq_len(rank)]
  }, integer(rank))
}

kernel_matrix <- function(kernel, y) {
  .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), kernel_theta(kernel, nrow(y)), y, 1L)
}

slots_of <- function(n_points, n_latents, n_slots = 3L, seed = 4) {
  set.seed(seed)
  list(selected = replicate(n_points, sort(sample.int(n_latents, n_slots))),
       prob_on = matrix(runif(n_slots * n_points), n_slots))
}

test_that("with all other points as neighbours it is the exact engine's leave-one-out", {
  data <- smooth_toy(40, 3, 4)
  for (kernel in near_kernels(3)) {
    exact <- exact_engine(kernel, kernel_theta(kernel, 3), t(data$x), dense = TRUE)
    exact <- engine_loo(engine_prepare(exact, exact$theta), t(data$targets))
    local <- engine_loo(near_engine(kernel, t(data$x), 39L), t(data$targets))
    expect_equal(local$mean, exact$mean, tolerance = 1e-10)
    expect_equal(local$variance, exact$variance, tolerance = 1e-10)
  }
})

test_that("each point is predicted from its nearest others alone", {
  data <- smooth_toy(60, 3, 4)
  y <- t(data$x)
  for (kernel in near_kernels(3)) {
    engine <- near_engine(kernel, y, 7L)
    near <- brute_near(y, near_scales(kernel, engine$theta, 3), 7)
    expect_identical(engine$near, near)
    k <- kernel_matrix(kernel, y)
    loo <- engine_loo(engine, t(data$targets))
    for (n in c(1, 33, 60)) {
      at <- near[, n]
      w <- solve(k[at, at], k[at, n])
      expect_equal(engine$weights[, n], w, tolerance = 1e-10)
      expect_equal(loo$mean[, n], drop(w %*% data$targets[at, ]), tolerance = 1e-10)
      expect_equal(loo$variance[n], k[n, n] - sum(w * k[at, n]), tolerance = 1e-10)
    }
  }
})

test_that("targets in slots have the same means, as candidates", {
  y <- t(smooth_toy(50, 3)$x)
  slots <- slots_of(50, 12L)
  engine <- near_engine(near_kernels(3)$rbf, y, 6L)
  points <- c(7L, 3L, 50L)
  targets <- slot_targets(slots, list(n_latents = 12L))
  few <- engine_loo(engine, targets, points)$mean
  expect_s3_class(few, "gps_candidates")
  dense <- engine_loo(engine, dense_targets(slots, 12L), points)$mean
  expect_identical(rank_answer(few, 12L), dense)
  expect_equal(dim(few$latent), dim(few$affinity))
  expect_true(all(apply(few$latent, 2, function(x) !anyDuplicated(x[x > 0]))))
  # Lists longer than expected.
  many <- slot_targets(slots_of(50, 400L, 9L), list(n_latents = 400L))
  wide <- engine_loo(near_engine(near_kernels(3)$rbf, y, 40L), many, 1:50)$mean
  expect_gt(sum(wide$latent[, 1] > 0), 9 * 9)
  expect_identical(
    rank_answer(wide, 400L),
    engine_loo(near_engine(near_kernels(3)$rbf, y, 40L), dense_targets(many, 400L))$mean
  )
  targets$selected[2, 5] <- 13L
  expect_error(engine_loo(near_engine(near_kernels(3)$rbf, y, 49L), targets, points),
               class = "gps_error_model")
})

test_that("a short list has the best of a long one, as they are met, of equal ones the first", {
  slots <- slots_of(300, 60L, 5L)
  slots$prob_on[] <- sample(c(0, 0.25, 0.5, 0.75), length(slots$prob_on), replace = TRUE)
  slots$selected[slots$selected == 7L] <- 0L
  targets <- slot_targets(slots, list(n_latents = 60L))
  near <- replicate(40, sample.int(300, 20))
  near[15:20, 9] <- 0L
  weights <- matrix(sample(c(-1, 0.5, 1, 2), 800, replace = TRUE), 20)
  vote <- function(targets, length) {
    .Call(C_gp_near_vote, near, weights, 1:40, targets, length, 1L)
  }
  whole <- vote(targets, 100L)
  packed <- targets
  packed$rows <- .Call(C_gp_pack, targets)
  for (length in c(1L, 5L, 8L, 9L, 30L, 59L)) {
    short <- vote(targets, length)
    expect_identical(vote(packed, length), short)
    for (n in 1:40) {
      held <- which(whole$latent[, n] > 0)
      best <- sort(utils::head(held[order(-whole$affinity[held, n])], length))
      expect_identical(short$latent[, n], c(whole$latent[best, n], integer(length - length(best))))
      expect_identical(utils::head(short$affinity[, n], length(best)), whole$affinity[best, n])
    }
  }
  expect_identical(vote(packed, 100L), whole)
  packed$rows <- packed$rows[, -1]
  expect_error(vote(packed, 8L), "`rows`", class = "gps_error_model")
})

test_that("the objective is the log density of each point given its neighbours", {
  data <- smooth_toy(40, 3, 4)
  y <- t(data$x)
  for (kernel in near_kernels(3)) {
    engine <- near_engine(kernel, y, 6L)
    loo <- engine_loo(engine, t(data$targets))
    found <- engine_evaluate(engine, engine$theta, new_goal(t(data$targets)))
    density <- dnorm(t(data$targets), loo$mean, rep(sqrt(loo$variance), each = 4), log = TRUE)
    expect_equal(found$value, sum(density), tolerance = 1e-12)
    slots <- slots_of(40, 9L)
    goal <- new_goal(slot_targets(slots, list(n_latents = 9L)), 9L)
    dense <- engine_evaluate(engine, engine$theta, new_goal(dense_targets(slots, 9L)))
    expect_equal(engine_evaluate(engine, engine$theta, goal), dense, tolerance = 1e-10)
  }
})

test_that("its gradient is that of finite differences", {
  data <- smooth_toy(50, 3, 4)
  y <- t(data$x)
  slots <- slots_of(50, 9L)
  goals <- list(new_goal(t(data$targets)),
                new_goal(slot_targets(slots, list(n_latents = 9L)), 9L))
  for (kernel in near_kernels(3)) {
    for (goal in goals) {
      engine <- near_engine(kernel, y, 6L)
      engine$rows <- c(1L, 4L, 9L, 16L, 25L, 36L, 49L)
      engine <- engine_share(engine, goal)
      found <- engine_evaluate(engine, engine$theta, goal)
      slope <- numeric_gradient(function(theta) engine_evaluate(engine, theta, goal)$value,
                                engine$theta)
      expect_equal(unname(found$gradient), slope, tolerance = 1e-6)
    }
  }
})

test_that("rows in another order give the same results in that order", {
  data <- smooth_toy(80, 3, 4)
  kernel <- near_kernels(3)$all
  set.seed(3)
  order <- sample(80)
  one <- engine_loo(near_engine(kernel, t(data$x)), t(data$targets))
  other <- engine_loo(near_engine(kernel, t(data$x)[, order]), t(data$targets)[, order])
  expect_equal(other$mean, one$mean[, order], tolerance = 1e-12)
  expect_equal(other$variance, one$variance[order], tolerance = 1e-12)
})

test_that("any number of threads gives the same bits", {
  data <- smooth_toy(300, 3, 4)
  y <- t(data$x)
  slots <- slot_targets(slots_of(300, 30L), list(n_latents = 30L))
  kernel <- near_kernels(3)$all
  many <- rep_len(1:300, 5 * thread_work %/% (4 * 20 * 3) + 1)
  results <- lapply(c(1L, 2L, 5L), function(n_threads) {
    # 300 systems of 20 equations, and many points that their neighbours vote for.
    engine <- near_engine(kernel, y, 20L, n_threads)
    list(engine$near, engine$weights, engine_loo(engine, slots, many),
         engine_loo(engine, t(data$targets), many),
         engine_evaluate(engine, engine$theta, new_goal(slots, 30L)),
         engine_predict(engine_train(engine, t(data$targets)), y[, 1:20] + 0.1, moments = TRUE))
  })
  expect_identical(results[[2]], results[[1]])
  expect_identical(results[[3]], results[[1]])
})

test_that("equal points are neighbours by number, and their matrix can be factorised", {
  y <- matrix(rep(c(0, 1), each = 6), 2)
  engine <- near_engine(kernel_rbf(1, 1) + kernel_white(0.1), y, 2L)
  expect_identical(engine$near[, 1:4], cbind(2:3, c(1L, 3L), 1:2, 5:6))
  without <- near_engine(kernel_rbf(1, 1), y, 4L)
  expect_gt(without$jitter, 0)
  expect_true(all(is.finite(without$weights)))
})

test_that("few points have fewer neighbours, and one has none", {
  kernel <- kernel_rbf(0.8, 1) + kernel_white(0.1)
  engine <- near_engine(kernel, matrix(c(0, 1, 3), 1), 20L)
  expect_identical(engine$near, cbind(2:3, c(1L, 3L), 2:1))
  one <- near_engine(kernel, matrix(2, 1, 1), 20L)
  loo <- engine_loo(one, matrix(5))
  expect_identical(loo$mean, matrix(0))
  expect_equal(loo$variance, 0.9)
  few <- engine_loo(one, slot_targets(slots_of(1, 5L), list(n_latents = 5L)), 1L)$mean
  expect_identical(rank_answer(few, 5L), matrix(0, 5, 1))
})

test_that("far points and wide scales do not spoil the search", {
  set.seed(8)
  y <- rbind(rnorm(200) + 1e8, 1e-3 * rnorm(200))
  kernel <- kernel_rbf(1, c(1, 1e-3), ard = TRUE) + kernel_white(0.1)
  engine <- near_engine(kernel, y, 5L)
  expect_identical(engine$near, brute_near(y, near_scales(kernel, engine$theta, 2), 5))
})

test_that("new points are predicted from the nearest training points", {
  data <- smooth_toy(60, 3, 4)
  kernel <- near_kernels(3)$all
  fit <- gp_fit(data$x, data$targets, kernel, "neighbours", rank = 60, optimise = FALSE)
  exact <- gp_fit(data$x, data$targets, kernel, optimise = FALSE)
  new <- matrix(rnorm(15), 5)
  expect_equal(predict(fit, new), predict(exact, new), tolerance = 1e-9)
  expect_equal(gp_loo(fit), gp_loo(exact), tolerance = 1e-9)
  local <- gp_fit(data$x, data$targets, kernel, "neighbours", rank = 9, optimise = FALSE)
  one <- predict(local, new[1:2, ])
  scale <- near_scales(kernel, local$theta, 3)
  at <- order(colSums(((t(data$x) - new[2, ]) * scale)^2))[1:9]
  alone <- gp_fit(data$x[at, ], data$targets[at, ], kernel, optimise = FALSE)
  expect_equal(one$mean[2, ], predict(alone, new[2, , drop = FALSE])$mean[1, ], tolerance = 1e-9)
  expect_equal(one$variance[2], predict(alone, new[2, , drop = FALSE])$variance, tolerance = 1e-9)
})

test_that("logLik() is Vecchia's, and exact with all points before as neighbours", {
  data <- smooth_toy(40, 3, 4)
  kernel <- near_kernels(3)$rbf_ard
  exact <- gp_fit(data$x, data$targets, kernel, optimise = FALSE)
  fit <- gp_fit(data$x, data$targets, kernel, "neighbours", rank = 39, optimise = FALSE)
  expect_equal(c(logLik(fit)), c(logLik(exact)), tolerance = 1e-10)
  expect_gt(abs(fit$trace$lml - fit$lml), 1)
  expect_printed(fit, "39 nearest neighbours\n.*Log marginal likelihood \\(Vecchia's\\)")
})

test_that("a fit learns its parameters, and is the same from a file", {
  data <- smooth_toy(150, 2, 3)
  fit <- gp_fit(data$x, data$targets, kernel_rbf() + kernel_white(), "neighbours", rank = 10)
  exact <- gp_fit(data$x, data$targets, kernel_rbf() + kernel_white())
  expect_lt(max(abs(coef(fit) - coef(exact))), 0.7)
  expect_true(fit$converged)
  file <- tempfile()
  saveRDS(fit, file)
  again <- readRDS(file)
  expect_identical(predict(again, data$x[1:5, ] + 0.1), predict(fit, data$x[1:5, ] + 0.1))
  expect_identical(gp_loo(again), gp_loo(fit))
  expect_lt(max(abs(gp_gradient(fit))), 5)
  again$engine$rank <- -1
  expect_error(predict(again), class = "gps_error_argument")
})

test_that("a kernel that is linear in the data is refused", {
  data <- smooth_toy(30, 2, 1)
  kernel <- kernel_linear() + kernel_bias() + kernel_white()
  expect_error(gp_fit(data$x, data$targets, kernel, "neighbours"), "falls with distance",
               class = "gps_error_argument")
  expect_error(
    gps_fit(data$x, model_gaussian_mixture(3), selector_gp(kernel, method = "neighbours"),
            n_selected = 2),
    "falls with distance", class = "gps_error_argument"
  )
})
