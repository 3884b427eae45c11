# Three clusters in three columns, n x 3, with the labels as slots: what a mixture's E-step gives.
cluster_state <- function(covariance, n = 90, n_latents = 3L) {
  set.seed(51)
  label <- rep(seq_len(n_latents), length.out = n)
  centres <- matrix(rnorm(3 * n_latents, sd = 4), 3)
  y <- t(centres[, label]) + matrix(rnorm(3 * n), n)
  model <- gps_bind(model_gaussian_mixture(n_latents, covariance), y)
  list(y = y, state = list(model = model, params = gps_init(model, y), selected = matrix(label),
                           prob_on = matrix(runif(n, 0.5, 1))))
}

# Affinities of the data after learning from the state's expectations.
learned_affinity <- function(selector, state, y) {
  state$memory <- gps_learn(selector, state, y)
  gps_affinity(selector, state, y)
}

unit_selectors <- function() {
  list(
    exact = selector_gp(), exact_ard = selector_gp(kernel_rbf(ard = TRUE) + kernel_bias()),
    matern = selector_gp(kernel_matern() + kernel_linear(ard = TRUE)),
    features = selector_gp(kernel_linear() + kernel_bias()),
    ichol = selector_gp(method = "ichol", rank = 30),
    inducing = selector_gp(method = "inducing", rank = 30),
    fitc = selector_gp(method = "inducing", rank = 30, objective = "fitc"),
    fourier = selector_gp(method = "fourier", rank = 30),
    divide = selector_gp(method = "divide", rank = 40)
  )
}

test_that("a mixture's learned ranking depends on no column's unit and on no origin", {
  for (covariance in c("full", "diagonal", "spherical")) {
    case <- cluster_state(covariance, 40)
    by_column <- covariance != "spherical"
    exact <- if (by_column) 2^c(-20, 3, 17) else 2^-9
    other <- if (by_column) c(1e-6, -3.7, 1e6) else 3.7e5
    shift <- c(1e3, -50, 700) * apply(case$y, 2, sd)
    # Those of full covariances are found as those of diagonal ones.
    few <- c("exact_ard", "ichol", "fourier")
    for (name in if (covariance == "full" && !is_full()) few else names(unit_selectors())) {
      selector <- unit_selectors()[[name]]
      info <- paste(covariance, name)
      own <- learned_affinity(selector, case$state, case$y)
      rescale <- function(scale) t(t(case$y) * scale)
      expect_identical(learned_affinity(selector, case$state, rescale(exact)), own, info = info)
      # The Fourier frequencies of a column do not change their sign with it.
      if (name == "fourier") other <- abs(other)
      expect_near(learned_affinity(selector, case$state, rescale(other)), own, 1e-8)
      expect_near(learned_affinity(selector, case$state, t(t(rescale(other)) + shift * abs(other))),
                  own, 1e-8)
    }
  }
})

test_that("the learned ranking of the other models does not depend on the data's unit", {
  bars <- bars_data()
  models <- list(model_binary_sparse(10), model_spike_slab(10), model_max_spike_slab(10))
  for (model in models) {
    model <- gps_bind(model, bars$y)
    state <- list(model = model, params = gps_init(model, bars$y),
                  selected = matrix(rep(1:4, each = 120), 120),
                  prob_on = 1 * (bars$y[, 1:4] > 2.5))
    # One unit for all columns, which these models find in the same way.
    is_first <- inherits(model, "gps_binary_sparse")
    few <- c("exact", "ichol", "divide")
    for (name in if (is_first || is_full()) names(unit_selectors()) else few) {
      selector <- unit_selectors()[[name]]
      own <- learned_affinity(selector, state, bars$y)
      expect_identical(learned_affinity(selector, state, 2^13 * bars$y), own, info = name)
      expect_near(learned_affinity(selector, state, 1e-5 * bars$y), own, 1e-8)
    }
  }
})

test_that("a fit in another unit is the same fit, and predicts the same", {
  bars <- bars_data()
  new <- simulate_bars(15, value = 5)$y
  # The model's own numbers round with the unit: after many iterations a tie may fall otherwise.
  few <- function(...) short_control(max_iter = 3, mend = FALSE, ...)
  runs <- list(
    list(selector_gp(refit_every = 1), few()), list(selector_gp(kernel_linear()), few()),
    list(selector_gp(method = "ichol", rank = 30, refit_every = 1), few()),
    list(selector_gp(method = "inducing", rank = 20, refit_every = 1), few(batch_size = 40))
  )
  for (run in runs) {
    fit <- function(scale) {
      set.seed(52)
      gps_fit(scale * bars$y, model_binary_sparse(10), run[[1]], n_selected = 4, control = run[[2]])
    }
    own <- fit(1)
    for (scale in 2^c(-10, 13)[is_full() | c(TRUE, FALSE)]) {
      other <- fit(scale)
      expect_identical(other$selected, own$selected)
      expect_equal(other$kernel_trace, own$kernel_trace, tolerance = 1e-8)
      expect_equal(coef(other)$W / scale, coef(own)$W, tolerance = 1e-8)
      expect_identical(predict(other, scale * new, "selected"), predict(own, new, "selected"))
    }
  }
})

test_that("lengthscales and variances that a user gives are in the data's units", {
  bars <- bars_data()
  model <- gps_bind(model_binary_sparse(10), bars$y)
  state <- list(model = model, params = gps_init(model, bars$y),
                selected = matrix(rep(1:4, each = 120), 120), prob_on = 1 * (bars$y[, 1:4] > 2.5))
  targets <- cbind(state$prob_on, matrix(0, 120, 6))
  kernels <- list(
    kernel_rbf(0.7, 9), kernel_matern(1.5, 0.7, 9), kernel_linear(0.02),
    kernel_rbf(0.7, seq(5, 29), ard = TRUE), kernel_linear(seq_len(25) / 500, ard = TRUE),
    kernel_rbf(0.7, 20, ard = TRUE) + kernel_linear(0.01, ard = TRUE)
  )
  for (kernel in kernels) {
    kernel <- kernel + kernel_white(0.2)
    process <- gp_fit(bars$y, targets, kernel, optimise = FALSE)
    expect_near(learned_affinity(selector_gp(kernel), state, bars$y),
                unname(gp_loo(process)$mean), 1e-8)
  }
  # With a mean in the model, distances only: inner products are about the middle of the data.
  case <- cluster_state("diagonal")
  targets <- outer(c(case$state$selected), 1:3, "==") * c(case$state$prob_on)
  for (kernel in list(kernel_rbf(0.7, 3), kernel_rbf(0.7, c(2, 3, 5), ard = TRUE))) {
    kernel <- kernel + kernel_white(0.2)
    process <- gp_fit(case$y, targets, kernel, optimise = FALSE)
    expect_near(learned_affinity(selector_gp(kernel), case$state, case$y),
                unname(gp_loo(process)$mean), 1e-8)
  }
})

test_that("units are spreads that one value hardly moves, and numbers for whatever data", {
  set.seed(53)
  y <- matrix(rnorm(3 * 400, sd = c(1, 10, 1e-3)), 3)
  model <- gps_bind(model_gaussian_mixture(2, "diagonal"), t(y))
  selector <- selector_gp()
  units <- find_units(selector, model, y)
  expect_equal(units$scale, c(1, 10, 1e-3), tolerance = 0.15)
  expect_equal(units$centre, apply(y, 1, median))
  expect_identical(find_units(selector, model, y[, sample(400)]), units)
  far <- find_units(selector, model, replace(y, 5, 1e9))
  expect_equal(far$scale, units$scale, tolerance = 0.02)
  sphere <- gps_bind(model_gaussian_mixture(2, "spherical"), t(y))
  expect_equal(find_units(selector, sphere, replace(y, 5, 1e9))$scale,
               find_units(selector, sphere, y)$scale, tolerance = 0.02)
  odd <- list(zeros = 0 * y, constant = 0 * y + c(3, 0, -5), one_point = y[, 1, drop = FALSE],
              mostly_equal = y * rep(c(0, 0, 0, 1), each = 3), huge = y * 1e150, tiny = y * 1e-150,
              largest = sign(y) * 1.7e308)
  for (name in names(odd)) {
    for (each in list(model, sphere, gps_bind(model_binary_sparse(2), t(y)))) {
      units <- find_units(selector, each, odd[[name]])
      expect_true(all(is.finite(units$scale) & units$scale > 0), info = name)
      expect_true(all(is.finite(units$centre)), info = name)
      expect_true(name == "largest" || all(is.finite(in_units(odd[[name]], units))), info = name)
      far <- in_units(0 * y + c(1e300, -1e300, 1e3), units)
      expect_true(all(is.finite(far)), info = name)
    }
  }
})

test_that("a kernel keeps its unit from fit to fit; without one data are taken as they are", {
  fit <- a_fit("gp")
  y <- bars_data()$y
  expect_gt(fit$gp$units$scale, 0)
  expect_null(fit$gp$units$centre)
  more <- update(fit, start = fit, max_iter = 1)
  expect_identical(more$gp$units, fit$gp$units)
  old <- fit
  old$gp$units <- NULL
  old$kernel_theta[["log_var_lin"]] <- fit$kernel_theta[["log_var_lin"]] -
    2 * log(fit$gp$units$scale)
  old$kernel_trace <- NULL
  expect_identical(predict(old, y[1:9, ], "selected"), predict(fit, y[1:9, ], "selected"))
  expect_equal(gps_affinity(old$selector, old, y), gps_affinity(fit$selector, fit, y),
               tolerance = 1e-8)
  for (units in list(1, list(scale = 0), list(scale = c(1, 2)), list(scale = NA_real_),
                     list(centre = 1:25, scale = 1), list(scale = "1"),
                     list(scale = Sys.Date()))) {
    bad <- fit
    bad$gp$units <- units
    expect_gps_error(predict(bad), "`gp$units`")
  }
})

test_that("units in minibatches are those of all data", {
  bars <- bars_data()
  task <- new_task(t(bars$y), model_binary_sparse(10), selector_gp(method = "ichol", rank = 20), 4,
                   NULL, short_control(batch_size = 10), c(1L, 2L))
  for (k in 1:3) {
    batch <- batch_task(task, list(rows = 10 * k + 1:10, first = 0))
    expect_identical(begin_kernel(task$selector, batch)$units, task_units(task$selector, task))
  }
})

test_that("one far value does not spoil the learned ranking of the other points", {
  n <- 150
  for (covariance in c("diagonal", "spherical")) {
    case <- cluster_state(covariance, n, 6L)
    for (name in c("exact", "exact_ard", "ichol", "inducing", "fourier", "divide")) {
      selector <- unit_selectors()[[name]]
      right <- function(y) {
        affinity <- learned_affinity(selector, case$state, y)
        mean((max.col(affinity, "first") == case$state$selected)[-7])
      }
      own <- right(case$y)
      for (far in c(1e6, 99999999, -1e9)) {
        y <- replace(case$y, cbind(7, 2), far)
        expect_gt(right(y), own - 0.02)
      }
    }
  }
})

test_that("a far value that a basis has not seen is no noise of all others", {
  case <- cluster_state("diagonal", 300, 6L)
  right <- function(basis_points) {
    y <- replace(case$y, cbind(7, 2), 1e9)
    task <- step_task(selector_gp(method = "ichol", rank = 40), case$state$model, t(y), c(1L, 2L),
                      1L)
    state <- new_state(case$state$params, 0L, 0)
    state[c("selected", "prob_on")] <- lapply(case$state[c("selected", "prob_on")], t)
    memory <- begin_kernel(task$selector, task)
    seen <- in_units(t(y)[, basis_points], memory$units)
    memory$basis <- new_basis("ichol", task$selector$kernel, memory$theta, seen, 40L)
    state$memory <- memory
    state$memory <- regress_sums(task, state)
    state$view <- block_view(task, state$memory, task$blocks[[1]])
    affinity <- block_affinity(task$selector, task, state, task$blocks[[1]], NULL)
    mean((max.col(t(affinity), "first") == case$state$selected)[-7])
  }
  expect_gt(right(setdiff(1:300, 7)), right(1:300) - 0.05)
})

test_that("fits of mixtures go on in the units that they had", {
  set.seed(12)
  y <- cbind(a = rnorm(90, rep(c(0, 9, 18), 30)), b = 1e3 * rnorm(90))
  # Spherical clusters hardly see column a, which is told.
  told <- function(code) suppressWarnings(code, classes = "gps_warning_units")
  for (covariance in c("full", "diagonal", "spherical")) {
    methods <- c("exact", "ichol", "inducing", "fourier", "divide")
    # Each method and each covariance; all pairs in `make test-full`.
    few <- list(full = 1:2, diagonal = 3:4, spherical = c(1, 5))[[covariance]]
    for (method in if (is_full()) methods else methods[few]) {
      fit <- told(gps_fit(y, model_gaussian_mixture(3, covariance), selector_gp(method = method),
                          n_selected = 2, control = quick_control()))
      for (given in list(y, y[, 2:1])) {
        more <- told(update(fit, y = given, start = fit, max_iter = 1))
        expect_identical(more$gp$units$scale, permute_units(fit$gp$units, match(
          colnames(given), colnames(y)
        ))$scale)
      }
    }
  }
})
