# A new engine is a file of methods and a line in `engines`: regression by the nearest neighbours,
# which answers with the latents that these have on.

# The `rank` nearest of the points y to each of `points`, by number; with `own` not itself.
nearest_of <- function(y, points, rank, own = FALSE) {
  vapply(seq_len(ncol(points)), function(n) {
    distance <- colSums((y - points[, n])^2)
    if (own) distance[n] <- Inf
    order(distance)[seq_len(rank)]
  }, integer(rank))
}

# Means of the targets of neighbours, rank x points: a matrix, or of slots candidates.
neighbour_means <- function(targets, neighbours) {
  if (is.matrix(targets)) {
    return(apply(neighbours, 2, function(at) rowMeans(targets[, at, drop = FALSE])))
  }
  n_slots <- nrow(targets$selected) * nrow(neighbours)
  latent <- matrix(0L, n_slots, ncol(neighbours))
  affinity <- matrix(0, n_slots, ncol(neighbours))
  for (n in seq_len(ncol(neighbours))) {
    on <- c(targets$selected[, neighbours[, n]])
    sums <- tapply(c(targets$prob_on[, neighbours[, n]])[on > 0], on[on > 0], sum)
    latent[seq_along(sums), n] <- as.integer(names(sums))
    affinity[seq_along(sums), n] <- sums / nrow(neighbours)
  }
  new_candidates(latent, affinity)
}

nearest_methods <- list(
  engine_plan = function(engine, kernel, theta, y, n_threads = 1L, ...) {
    hold_data(engine, kernel, theta, y, n_threads)
  },
  engine_evaluate = function(engine, theta, goal, ...) {
    list(value = 0, gradient = numeric(length(theta)), jitter = 0)
  },
  engine_prepare = function(engine, theta, ...) {
    engine$neighbours <- nearest_of(engine$y, engine$y, engine$rank, own = TRUE)
    engine$jitter <- 0
    engine
  },
  engine_loo = function(engine, targets, points = NULL) {
    if (is.null(points)) points <- seq_len(ncol(engine$y))
    list(mean = neighbour_means(targets, engine$neighbours[, points, drop = FALSE]),
         variance = rep(1, length(points)))
  },
  engine_train = function(engine, targets) {
    engine$targets <- targets
    engine
  },
  engine_predict = function(engine, newdata, moments = FALSE) {
    list(mean = neighbour_means(engine$targets, nearest_of(engine$y, newdata, engine$rank)),
         variance = rep(1, ncol(newdata)))
  }
)

enter_nearest <- function(frame = parent.frame()) {
  for (verb in names(nearest_methods)) {
    registerS3method(verb, "gps_engine_nearest", nearest_methods[[verb]],
                     envir = asNamespace("gpselect"))
  }
  row <- list(nearest = list(kind = "nearest", rank = 5L, own = "rank"))
  local_value("engines", c(engines, row), frame)
  local_value("gp_methods", c(gp_methods, "nearest"), frame)
}

test_that("a regression finds it, predicts by it and tells of it", {
  enter_nearest()
  data <- smooth_toy(60, 2, 3)
  fit <- gp_fit(data$x, data$targets, kernel_rbf() + kernel_white(), "nearest", rank = 4,
                optimise = FALSE)
  near <- nearest_of(t(data$x), t(data$x), 4, own = TRUE)
  expect_equal(gp_loo(fit)$mean[7, ], colMeans(data$targets[near[, 7], ]), tolerance = 1e-12)
  new <- matrix(rnorm(6), 3)
  at <- nearest_of(t(data$x), t(new), 4)
  expect_equal(predict(fit, new)$mean[2, ], colMeans(data$targets[at[, 2], ]), tolerance = 1e-12)
  expect_printed(fit, "Gaussian process (nearest)", fixed = TRUE)
  expect_identical(gp_fit(data$x, data$targets, optimise = FALSE)$method, "exact")
  expect_identical(selector_gp()$method, "auto")
})

test_that("a selection learns and ranks by it, dense and with candidates, to the same fit", {
  enter_nearest()
  set.seed(11)
  bars <- simulate_bars(300, value = 5)
  fit_bars <- function() {
    set.seed(12)
    gps_fit(bars$y, model_binary_sparse(10), selector_gp(method = "nearest"), n_selected = 4,
            control = gps_control(progress = FALSE, n_threads = 1, max_iter = 15, n_starts = 1))
  }
  dense <- fit_bars()
  expect_printed(dense, "nearest 5")
  expect_identical(dim(predict(dense, bars$y[1:9, ])), c(9L, 10L))
  local_value("max_kept_affinities", 1)
  by_slots <- fit_bars()
  expect_equal(dim(by_slots$selected), dim(dense$selected))
  expect_lt(mean(abs(predict(by_slots, bars$y[1:9, ]) - predict(dense, bars$y[1:9, ]))), 0.01)
})

test_that("candidates rank as the same numbers do where they are dense", {
  enter_nearest()
  toy <- simulate_bars(40, value = 5)
  y <- t(toy$y)
  selected <- apply(toy$latents, 1, function(x) c(which(x > 0), integer(10))[1:6])
  slots <- list(selected = selected, prob_on = (selected > 0) * 0.9)
  engine <- engine_plan(new_engine("nearest", 5L), kernel_rbf(), 0, y)
  engine <- engine_prepare(engine, 0)
  few <- engine_loo(engine, slot_targets(slots, list(n_latents = 10L)), 1:40)$mean
  expect_s3_class(few, "gps_candidates")
  expect_equal(rank_answer(few, 10L), engine_loo(engine, dense_targets(slots, 10L))$mean,
               tolerance = 1e-12)
})
