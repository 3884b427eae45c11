# What must not matter: the units and offsets of columns, and the order of rows and columns.
# @srrstats {G5.9, G5.9a, UL1.4a}

# Data of every model, drawn.
equivariant_data <- function(name) {
  switch(name,
         binary_sparse = simulate_bars(80, size = 3, value = 5)$y,
         spike_slab = simulate_bars(80, "spike_slab", size = 3, value = 5)$y,
         max_spike_slab = simulate_bars(80, "max_spike_slab", size = 3, value = 5)$y,
         simulate_clusters(80, 3, 4, separation = 3)$y)
}

mixtures <- c("full", "diagonal", "spherical", "tied")

equivariant_model <- function(name) {
  switch(name, binary_sparse = model_binary_sparse(6), spike_slab = model_spike_slab(6),
         max_spike_slab = model_max_spike_slab(6), model_gaussian_mixture(3, name))
}

# A fit as it comes, starts, mending and rules of stopping included, or without them from `start`.
fit_equivariant <- function(y, name, selector, n_iter = 20, start = NULL, seed = 4, ...) {
  set.seed(seed)
  suppressWarnings(gps_fit(
    y, equivariant_model(name), selector, if (is.null(selector$kernel)) NULL else 2,
    start = start, control = gps_control(max_iter = n_iter, n_starts = if (is_full()) 3 else 2,
                                         progress = FALSE, ...)
  ), classes = "gps_warning")
}

# Parameters for data times `by` plus `offset`, by column.
transform_params <- function(params, by, offset = 0) {
  if (is.null(params[["sigma"]])) {
    params$W <- params$W * by
    params$sigma2 <- params$sigma2 * by[1]^2
    return(params)
  }
  params$mu <- params$mu * by + offset
  params$sigma <- switch(length(dim(params$sigma)) + 1, params$sigma * by[1]^2, NULL,
                         params$sigma * by^2, params$sigma * as.vector(tcrossprod(by)))
  params
}

# Largest relative difference of parameters, where columns have units: in those of the columns.
expect_transformed <- function(fit, before, by, offset = 0, tolerance) {
  wanted <- transform_params(before$params, by, offset)
  unit <- lapply(transform_params(lapply(before$params, function(x) x * 0 + 1), by), abs)
  for (name in names(wanted)) {
    expect_near(fit$params[[name]] / unit[[name]], wanted[[name]] / unit[[name]], tolerance)
  }
  expect_near(fit$bound + fit$n_points * sum(log(rep_len(by, fit$model$n_dims))), before$bound,
              max(tolerance, 1e-12))
}

powers_of <- function(name) {
  if (name %in% setdiff(mixtures, "spherical")) 2^c(-20, 0, 9, 20) else 2^13
}

test_that("powers of two change no bit but by themselves, whatever the selector and the rules", {
  set.seed(11)
  for (name in c("binary_sparse", "spike_slab", "max_spike_slab", mixtures)) {
    y <- equivariant_data(name)
    by <- powers_of(name)
    for (selector in list(selector_full(), selector_handcrafted())) {
      n_iter <- if (name == "max_spike_slab") 3 else if (is_full()) 20 else 4
      before <- fit_equivariant(y, name, selector, n_iter)
      after <- fit_equivariant(y * rep(by, each = nrow(y)), name, selector, n_iter)
      expect_identical(after$selected, before$selected)
      expect_identical(after$n_iter, before$n_iter)
      expect_transformed(after, before, by, tolerance = 0)
    }
  }
})

test_that("mixtures in other units and places are transformed mixtures", {
  set.seed(12)
  for (covariance in mixtures) {
    y <- equivariant_data(covariance)
    by <- if (covariance == "spherical") 3.7e4 else c(3e-6, 0.7, 1e3, 9e5)
    offset <- by * c(1e3, -300, 0, 40) * sqrt(mean(apply(y, 2, var)))
    moved <- y * rep(by, each = nrow(y)) + rep(offset, each = nrow(y))
    before <- fit_equivariant(y, covariance, selector_full(), 20, tol = 0)
    after <- fit_equivariant(moved, covariance, selector_full(), 20, tol = 0)
    expect_transformed(after, before, by, offset, 1e-8)
    expect_identical(predict(after, type = "class"), predict(before, type = "class"))
    start <- before$params
    once <- fit_equivariant(y, covariance, selector_handcrafted(), 1, start, tol = 0)
    moved_once <- fit_equivariant(moved, covariance, selector_handcrafted(), 1,
                                  transform_params(start, by, offset), tol = 0)
    expect_transformed(moved_once, once, by, offset, 1e-8)
  }
})

test_that("a common scale of any size is a matter of units in every model", {
  set.seed(13)
  for (name in c("binary_sparse", "spike_slab")) {
    y <- equivariant_data(name)
    start <- fit_equivariant(y, name, selector_full(), 5)$params
    before <- fit_equivariant(y, name, selector_full(), 15, start, tol = 0)
    for (by in c(1e-6, 3e3, 1e6)) {
      after <- fit_equivariant(y * by, name, selector_full(), 15, transform_params(start, by),
                               tol = 0)
      expect_transformed(after, before, by, tolerance = 1e-8)
    }
  }
})

# Parameters for data whose columns are in another order.
turn_params <- function(params, columns) {
  for (part in intersect(names(params), c("W", "mu"))) {
    if (is.matrix(params[[part]])) params[[part]] <- params[[part]][columns, ]
  }
  n_dim <- length(dim(params[["sigma"]]))
  if (n_dim == 2) params$sigma <- params$sigma[columns, ]
  if (n_dim == 3) params$sigma <- params$sigma[columns, columns, , drop = FALSE]
  params
}

test_that("the order of rows and columns does not matter from a given start", {
  set.seed(14)
  for (name in c("binary_sparse", "spike_slab", mixtures)) {
    y <- equivariant_data(name)
    start <- fit_equivariant(y, name, selector_full(), 3)$params
    rows <- sample.int(nrow(y))
    columns <- sample.int(ncol(y))
    before <- fit_equivariant(y, name, selector_full(), 15, start, tol = 0, mend = FALSE)
    after <- fit_equivariant(y[rows, columns], name, selector_full(), 15,
                             turn_params(start, columns), tol = 0, mend = FALSE)
    expect_near(after$bound, before$bound, 1e-9)
    expect_near(after$prob_on, before$prob_on[, rows], 1e-8)
  }
})

test_that("noise as small as rounding changes no result, but for the numbers of latents", {
  set.seed(15)
  y <- simulate_bars(200, size = 3, value = 10)$y
  fit <- function(y) {
    set.seed(16)
    gps_fit(y, model_binary_sparse(6), selector_full(), control = short_control(max_iter = 30))
  }
  before <- fit(y)
  after <- fit(y * (1 + .Machine$double.eps * rnorm(length(y))))
  place <- match_components(after, before)$permutation
  expect_near(after$bound, before$bound, 1e-10)
  expect_near(coef(after)$W[, place], coef(before)$W, 1e-10)
})

# Sampled states follow the random streams of rows by their numbers, so the max model has one latent
# on at most, where nothing is sampled.
test_that("one iteration with selection does not depend on order, whatever model and selector", {
  set.seed(16)
  learned <- function(...) {
    selector_gp(kernel_rbf() + kernel_linear() + kernel_white(), ..., explore = 0, screen = FALSE)
  }
  selectors <- list(selector_handcrafted(FALSE), learned(method = "exact"),
                    learned(method = "ichol", rank = 80), learned(method = "inducing", rank = 80),
                    selector_custom(function(params, y) {
                      if (is.null(params$W)) y %*% params$mu else y %*% params$W
                    }))
  names_of_models <- c("binary_sparse", "spike_slab", "max_spike_slab", mixtures)
  for (name in names_of_models) {
    y <- equivariant_data(name)
    start <- fit_equivariant(y, name, selector_full(), 3)$params
    rows <- sample.int(nrow(y))
    columns <- sample.int(ncol(y))
    # The exact process beside each of the others, by turns.
    few <- c(2, c(1, 3, 4, 5)[1 + match(name, names_of_models) %% 4])
    for (selector in selectors[if (is_full()) 1:5 else few]) {
      once <- function(y, start) {
        suppressWarnings(gps_fit(
          y, equivariant_model(name), selector, n_selected = 2, max_active = 1, start = start,
          control = short_control(max_iter = 1, tol = 0, mend = FALSE)
        ), classes = "gps_warning")
      }
      before <- once(y, start)
      after <- once(y[rows, columns], turn_params(start, columns))
      expect_identical(after$selected, before$selected[, rows])
      expect_near(after$bound, before$bound, 1e-8)
      expect_near(after$prob_on, before$prob_on[, rows], 1e-8)
    }
  }
})

test_that("moves of a mixture are transformed with its columns", {
  set.seed(15)
  clusters <- simulate_clusters(240, 4, 3, separation = 5)
  by <- c(2^-18, 1, 2^15)
  for (covariance in c("full", "diagonal")) {
    moves_of <- function(by) {
      y <- clusters$y * rep(by, each = 240)
      task <- new_task(t(y), model_gaussian_mixture(4, covariance), selector_full(), NULL, NULL,
                       short_control())
      # Two clusters share the points of one, and one has those of two.
      label <- c(1, 1, 2, 3)[clusters$cluster]
      label[label == 3] <- 3:4
      params <- list(mu = vapply(1:4, function(k) colMeans(y[label == k, ]), y[1, ]),
                     sigma = array(0, c(3, 3, 4)), pi = tabulate(label) / 240)
      for (k in 1:4) params$sigma[, , k] <- cov(y[label == k, ])
      if (covariance == "diagonal") params$sigma <- apply(params$sigma, 3, diag)
      state <- new_state(params, 0L, 0)
      state[inferred] <- pass(task, state)[inferred]
      find_moves(task, state)
    }
    before <- moves_of(c(1, 1, 1))
    after <- moves_of(by)
    expect_gt(length(before), 0)
    expect_identical(1L %in% before[[1]]$latents, TRUE)
    expect_identical(lapply(after, `[[`, "latents"), lapply(before, `[[`, "latents"))
    for (i in seq_along(before)) {
      expect_identical(after[[i]]$params, transform_params(before[[i]]$params, by))
      sigma <- before[[i]]$params$sigma
      if (covariance == "full") {
        expect_true(all(apply(sigma, 3, is_covariance)))
      } else {
        expect_true(all(sigma > 0))
      }
    }
  }
})

test_that("occlusive components do not depend on the unit of the images", {
  set.seed(5)
  images <- simulate_scenes(scene_objects(2, c(6, 6), channels = 1), 30, c(10, 10))$y
  fit_in <- function(unit) {
    set.seed(3)
    gps_fit(unit * images, model_occlusive(2, c(6, 6)), selector_handcrafted(), 2,
            control = gps_control(max_iter = 3, progress = FALSE))
  }
  plain <- fit_in(1)
  for (unit in c(2^-8, 255, 1e-6)) {
    fit <- fit_in(unit)
    expect_identical(fit$selected, plain$selected)
    expect_equal(coef(fit)$w / unit, coef(plain)$w, tolerance = 1e-8)
    expect_equal(fit$bound + length(images) * log(unit), plain$bound, tolerance = 1e-8)
  }
})

test_that("a column that hides the others from a model of one variance is told of", {
  set.seed(1)
  y <- cbind(simulate_bars(50, size = 3)$y, rnorm(50, sd = 1000))
  fit <- function(y, model) {
    gps_fit(y, model, selector_full(), control = short_control(max_iter = 1))
  }
  expect_warning(fit(y, model_binary_sparse(4)), "that of column 10 .*scale\\(y\\)",
                 class = "gps_warning_units")
  expect_warning(fit(y, model_gaussian_mixture(2, "spherical")), "\"diagonal\" covariances",
                 class = "gps_warning_units")
  expect_warning(fit(y, model_gaussian_mixture(2, "diagonal")), NA)
  expect_warning(fit(y[, 1:9], model_binary_sparse(4)), NA)
  expect_warning(fit(faithful, model_gaussian_mixture(2, "spherical")), NA)
})
