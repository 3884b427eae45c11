# gp_fit() and its methods with every engine.

engine_data <- function(n = 60) {
  data <- smooth_toy(n, 2, 3)
  dimnames(data$x) <- list(NULL, c("a", "b"))
  colnames(data$targets) <- c("u", "v", "w")
  data
}

engine_settings <- list(
  ichol = list(method = "ichol", rank = 15),
  vfe = list(method = "inducing", rank = 12),
  fitc = list(method = "inducing", rank = 12, objective = "fitc"),
  dtc = list(method = "inducing", rank = 12, objective = "dtc"),
  learned = list(method = "inducing", rank = 6, learn_inputs = TRUE, max_evals = 15),
  fourier = list(method = "fourier", rank = 20),
  divide = list(method = "divide", rank = 25),
  own = list(method = "divide", rank = 25, cross = FALSE)
)

engine_kernel <- function() {
  kernel_rbf(0.8, 1.2) + kernel_linear(0.3) + kernel_bias(0.2) + kernel_white(0.1)
}

toy <- engine_data()

fit_with <- function(settings, ..., data = toy, kernel = engine_kernel()) {
  defaults <- list(x = data$x, targets = data$targets, kernel = kernel)
  do.call(gp_fit, utils::modifyList(utils::modifyList(defaults, settings), list(...)))
}

# A number that moves with the log parameters, the engine kept as it is.
value_at <- function(fit, theta) {
  y <- t(fit$x)
  goal <- t(fit$targets)
  if (fit$method == "divide") {
    return(engine_evaluate(fit_engine(fit, 1L), theta, new_goal(goal))$value)
  }
  evaluate_basis(fit$basis, fit$kernel, theta, y, goal, nrow(goal))$value
}

# The fit with each piece of its engine's parts spoilt, one at a time.
damage_parts <- function(fit, part) {
  spoil <- function(x) {
    if (is.list(x)) return(x[-1])
    if (is.character(x)) return("other")
    if (is.logical(x)) return(NA)
    replace(x, 1, NaN)
  }
  unlist(lapply(part, function(name) {
    pieces <- setdiff(names(fit[[name]]), c("pivots", "residual"))
    lapply(pieces, function(piece) {
      fit[[name]][[piece]] <- spoil(fit[[name]][[piece]])
      fit
    })
  }), recursive = FALSE)
}

# What short fits of all engines say in a session of their own: one session, asked once.
said_elsewhere <- local({
  said <- NULL
  function() {
    if (!is.null(said)) return(said)
    fits <- lapply(engine_settings, fit_with, max_evals = 5)
    files <- c(tempfile(fileext = ".rds"), tempfile(fileext = ".rds"))
    on.exit(unlink(files))
    saveRDS(fits, files[1])
    run_script(c(
      sprintf("fits <- readRDS(%s)", deparse(files[1])), "new <- matrix(1:8 / 4, 4)",
      "say <- function(fit) list(predict(fit, new), gp_loo(fit), gp_gradient(fit))",
      sprintf("saveRDS(lapply(fits, say), %s)", deparse(files[2]))
    ))
    said <<- readRDS(files[2])
    said
  }
})

for (name in names(engine_settings)) {
  test_that(paste("likelihood, gradient and parameters agree with each other:", name), {
    fit <- fit_with(engine_settings[[name]])
    expect_identical(fit$method, engine_settings[[name]]$method)
    # Pivots are frozen in a search, whose values are another objective's.
    is_best <- if (name == "ichol") fit$lml %in% fit$trace$lml else fit$lml == max(fit$trace$lml)
    expect_true(is_best)
    expect_identical(as.numeric(logLik(fit)), fit$lml)
    expect_equal(value_at(fit, coef(fit)), fit$lml, tolerance = 1e-9)
    expect_equal(unname(coef(fit$kernel)), unname(coef(fit)), tolerance = 1e-14)
    still <- fit_with(engine_settings[[name]], optimise = FALSE, learn_inputs = FALSE)
    expect_gt(fit$lml, still$lml)
    expect_identical(nrow(still$trace), 1L)
    expect_identical(still$converged, NA)
    expect_equal(still$theta, coef(engine_kernel()), tolerance = 1e-14)
    expected <- vapply(seq_along(still$theta), function(j) {
      at <- function(step) value_at(still, replace(still$theta, j, still$theta[j] + step * 1e-3))
      (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / 12e-3
    }, 0)
    gradient <- gp_gradient(still)
    expect_identical(names(gradient), names(coef(still)))
    expect_lt(max(abs(gradient - expected)) / max(abs(expected)), 1e-6)
  })

  test_that(paste("predictions have the shapes, names and sense of the exact ones:", name), {
    data <- engine_data()
    fit <- fit_with(engine_settings[[name]])
    new <- data$x[1:3, ] + 0.1
    rownames(new) <- c("p", "q", "r")
    found <- predict(fit, new)
    expect_identical(dimnames(found$mean), list(c("p", "q", "r"), c("u", "v", "w")))
    expect_named(found$variance, c("p", "q", "r"))
    expect_identical(predict(fit, new[, c("b", "a")]), found)
    expect_near(unname(predict(fit, new[1, ])$mean), unname(found$mean[1, , drop = FALSE]), 1e-13)
    expect_true(all(found$variance > 0))
    expect_equal(residuals(fit), data$targets - fitted(fit))
    loo <- gp_loo(fit)
    expect_identical(dimnames(loo$mean), dimnames(data$targets))
    expect_true(all(loo$variance > 0))
    summed <- summary(fit)
    expect_gt(summed$loo_r2, 0.3)
    expect_identical(nobs(fit), 60L)
    expect_printed(summed, "Leave-one-out")
  })

  test_that(paste("a fit predicts the same bits in a new session, and refuses damage:", name), {
    fit <- fit_with(engine_settings[[name]], max_evals = 5)
    new <- matrix(1:8 / 4, 4)
    expect_identical(said_elsewhere()[[name]],
                     list(predict(fit, new), gp_loo(fit), gp_gradient(fit)))
    # Data, targets, basis and sums: nothing of all points times the rank.
    q <- if (is.null(fit$sums)) 0 else nrow(fit$sums$gram)
    expect_lt(as.numeric(object.size(fit)), 8 * (60 * 5 + q * (q + 60 / 4)) + 4e4)
    part <- if (fit$method == "divide") "divide" else c("basis", "sums")
    damaged <- c(lapply(part, function(name) replace(fit, name, list(NULL))),
                 damage_parts(fit, part), list(replace(fit, "method", list("other"))),
                 list(replace(fit, "method", list(NULL))))
    methods <- list(predict, gp_loo, gp_gradient, print, logLik)
    for (i in seq_along(damaged)) {
      bad <- damaged[[i]]
      class(bad) <- "gp_fit"
      # All of them look at the whole fit at their door: by turns, but in `make test-full`.
      for (method in if (is_full()) methods else methods[1 + c(i, i + 1) %% 5]) {
        expect_gps_error(method(bad), "is damaged")
      }
    }
  })
}

# Leave-one-out by what is left of the sums when a point is taken out of them.
test_that("leave-one-out equals explicit refits with the basis and its noise as they are", {
  data <- engine_data(25)
  for (name in c("ichol", "vfe", "fitc", "dtc", "fourier")) {
    fit <- fit_with(engine_settings[[name]], optimise = FALSE, data = data)
    loo <- gp_loo(fit)
    y <- t(fit$x)
    goal <- t(fit$targets)
    for (n in c(1, 7, 13, 25)) {
      rest <- basis_features(fit$basis, fit$kernel, fit$theta, y[, -n])
      found <- predict_by(fit$basis, fit$kernel, fit$theta, rest, goal[, -n], y[, n, drop = FALSE])
      expect_near(unname(loo$mean[n, ]), found$mean[, 1], 1e-10)
      # What the basis leaves unexplained is no part of the model of the observations here.
      is_dtc <- identical(fit$basis$objective, "dtc")
      left <- basis_features(fit$basis, fit$kernel, fit$theta, y[, n, drop = FALSE])$residual
      observed <- found$variance - (if (is_dtc) left else 0) + 0.1 + fit$basis$extra
      expect_near(unname(loo$variance[n]), observed, 1e-10)
    }
  }
})

test_that("sums over runs of points equal those of all at once", {
  data <- engine_data()
  y <- t(data$x)
  goal <- t(data$targets)
  for (name in c("ichol", "fitc", "fourier")) {
    fit <- fit_with(engine_settings[[name]], optimise = FALSE)
    parts <- lapply(list(1:20, 21:33, 34:60), function(run) {
      basis_sums(engine_of(fit$basis, fit$kernel, fit$theta, y[, run]), goal[, run])
    })
    added <- Reduce(function(a, b) Map(`+`, a, b), parts)
    expect_identical(names(added), names(fit$sums))
    for (sum in names(added)) expect_near(added[[sum]], fit$sums[[sum]], 1e-12)
  }
})

test_that("as many inducing points as points, and one block, are the exact Gaussian process", {
  data <- engine_data(25)
  new <- matrix(rnorm(10), 5)
  # No point is so near to others that they explain it.
  kernel <- kernel_rbf(0.8, 0.3) + kernel_linear(0.3) + kernel_white(0.1)
  exact <- gp_fit(data$x, data$targets, kernel, optimise = FALSE)
  for (settings in list(list(method = "inducing", rank = 25, objective = "dtc"),
                        list(method = "inducing", rank = 25, objective = "fitc"),
                        list(method = "inducing", rank = 25), list(method = "ichol", rank = 25),
                        list(method = "divide"))) {
    fit <- fit_with(settings, optimise = FALSE, data = data, kernel = kernel)
    expect_near(fit$lml, exact$lml, 1e-10)
    expect_near(gp_loo(fit)$mean, gp_loo(exact)$mean, 1e-10)
    expect_near(gp_loo(fit)$variance, gp_loo(exact)$variance, 1e-10)
    expect_near(predict(fit, new)$mean, predict(exact, new)$mean, 1e-10)
    expect_near(predict(fit, new)$variance, predict(exact, new)$variance, 1e-10)
  }
})

test_that("more rank comes nearer to the exact predictions", {
  data <- engine_data(120)
  exact <- gp_loo(gp_fit(data$x, data$targets, engine_kernel(), optimise = FALSE))$mean
  ranks <- list(ichol = c(5, 15, 40), inducing = c(5, 15, 40), fourier = c(10, 60, 400),
                divide = c(10, 40, 119))
  for (method in names(ranks)) {
    error <- vapply(ranks[[method]], function(rank) {
      fit <- fit_with(list(method = method, rank = rank), optimise = FALSE, data = data)
      mean((gp_loo(fit)$mean - exact)^2)
    }, 0)
    expect_true(all(diff(error) < 0), label = method)
  }
})

test_that("the bound is below the exact likelihood, and moving the inputs raises it", {
  data <- engine_data()
  exact <- gp_fit(data$x, data$targets, engine_kernel(), optimise = FALSE)
  fixed <- fit_with(engine_settings$vfe, optimise = FALSE)
  expect_lt(fixed$lml, exact$lml)
  fixed <- fit_with(list(method = "inducing", rank = 6))
  learned <- fit_with(list(method = "inducing", rank = 6, learn_inputs = TRUE))
  expect_gt(learned$lml, fixed$lml + 1)
  expect_false(identical(learned$basis$z, fixed$basis$z))
  expect_true(all(learned$basis$z >= apply(data$x, 2, min) &
                    learned$basis$z <= apply(data$x, 2, max)))
  expect_identical(attr(logLik(fixed), "df"), 5L)
  expect_identical(attr(logLik(learned), "df"), 17L)
})

test_that("pivots are chosen anew after the search, and the value is that of the last ones", {
  fit <- fit_with(engine_settings$ichol)
  again <- new_basis("ichol", fit$kernel, fit$theta, t(fit$x), 15, tol = engines[["ichol"]]$tol)
  expect_identical(fit$basis[c("z", "pivots")], again[c("z", "pivots")])
  # The search saw the targets in another unit. What is left is the kernel's variance without that
  # of the features: both round.
  expect_near(fit$basis$extra, again$extra, 1e-14 * exp(fit$theta[["log_var_rbf"]]))
  for (cap in 1:6) {
    fit <- fit_with(engine_settings$ichol, max_evals = cap)
    expect_lte(nrow(fit$trace), cap)
    expect_false(fit$converged)
    expect_true(fit$lml %in% fit$trace$lml)
  }
})

test_that("\"auto\" is exact for few points, linear kernels and no noise, and says why", {
  x <- matrix(seq(0, 6, length.out = 2001))
  targets <- sin(x)
  few <- gp_fit(x[1:50], targets[1:50], kernel_rbf(1, 1) + kernel_white(), method = "auto",
                optimise = FALSE)
  expect_identical(few$form, "dense")
  expect_printed(few, "Method exact was chosen: at most 2000 points", fixed = TRUE)
  linear <- gp_fit(x, targets, kernel_linear() + kernel_white(), method = "auto",
                   optimise = FALSE)
  expect_identical(linear$form, "features")
  expect_printed(linear, "chosen: the kernel is linear in the data")
  many <- gp_fit(x, targets, kernel_rbf(1, 1) + kernel_white(), method = "auto", rank = 30,
                 optimise = FALSE)
  expect_identical(many$method, "ichol")
  expect_lte(ncol(many$basis$z), 30)
  expect_printed(many, "Method ichol was chosen: more than 2000 points", fixed = TRUE)
  expect_identical(choose_method(kernel_rbf(), 1, 2001)$method, "exact")
  expect_match(choose_method(kernel_rbf(), 1, 2001)$why, "does without white noise")
})

test_that("the same call gives the same bits, whatever the session's random numbers and threads", {
  set.seed(1)
  before <- .Random.seed
  fits <- function(n_threads) {
    lapply(engine_settings, function(settings) {
      fit <- fit_with(settings, max_evals = 6, n_threads = n_threads)
      expect_identical(fit$call$n_threads, n_threads)
      # Calls differ by that.
      fit$call$n_threads <- NULL
      fit
    })
  }
  one <- fits(1)
  expect_identical(.Random.seed, before)
  set.seed(2)
  expect_identical(fits(2), one)
})

test_that("fits say what they stand on", {
  fits <- lapply(engine_settings, fit_with, optimise = FALSE, learn_inputs = FALSE)
  fits$learned <- fit_with(engine_settings$learned)
  words <- c(
    ichol = "15 pivots; what they leave adds", vfe = "12 inducing points (VFE), fixed",
    fitc = "12 inducing points (FITC), fixed", dtc = "12 inducing points (DTC), fixed",
    learned = "6 inducing points (VFE), learned", fourier = "20 cosines and sines",
    divide = "3 blocks of at most 20 points, crossed",
    own = "3 blocks of at most 20 points, not crossed"
  )
  for (name in names(words)) expect_printed(fits[[name]], words[[name]], fixed = TRUE)
  expect_printed(fits$vfe, "Log marginal likelihood (lower bound):", fixed = TRUE)
  expect_printed(fits$ichol, "Log marginal likelihood (of the approximation):", fixed = TRUE)
  expect_printed(fits$own, "Log marginal likelihood (sum over blocks):", fixed = TRUE)
})

test_that("a rank whose matrices would not fit is refused before anything is made", {
  expect_gps_error(gp_fit(1:6, 1:6, method = "fourier", rank = 2^30),
                   "`rank` = 1073741824 needs matrices of")
  expect_identical(check_rank(2^30, "ichol", 6L), 6L)
})

test_that("degenerate data give finite results with every engine", {
  set.seed(8)
  x <- matrix(rnorm(20), 10)
  cases <- list(
    one_point = list(x[1, , drop = FALSE], matrix(0.3)),
    constant_column = list(cbind(x, 3), x[, 1]),
    all_rows_equal = list(matrix(2, 10, 3), x[, 1]),
    all_zero = list(matrix(0, 10, 2), x[, 1]),
    duplicates = list(rbind(x, x, x[1:3, ]), c(x[, 1], x[, 1], x[1:3, 1])),
    zero_targets = list(x, matrix(0, 10, 3)),
    far = list(x + 1e6, x[, 1]),
    tiny = list(x * 1e-100, x[, 1] * 1e-100),
    huge = list(x * 1e100, x[, 1] * 1e100)
  )
  for (name in names(cases)) {
    data <- list(x = cases[[name]][[1]], targets = as.matrix(cases[[name]][[2]]))
    # Objectives of inducing points differ in one term, and divisions in how they predict.
    is_odd <- match(name, names(cases)) %% 2 == 1
    left <- if (!is_full()) if (is_odd) c("dtc", "own") else c("fitc", "divide")
    for (engine in setdiff(names(engine_settings), left)) {
      fit <- suppressWarnings(
        fit_with(engine_settings[[engine]], data = data, kernel = kernel_composition()),
        "gps_warning"
      )
      loo <- gp_loo(fit)
      found <- predict(fit)
      numbers <- c(fit$lml, coef(fit), loo$mean, loo$variance, found$mean, found$variance)
      label <- paste(name, engine)
      expect_true(all(is.finite(numbers)), label = label)
      expect_identical(dim(loo$mean), dim(fit$targets), label = label)
      expect_true(all(loo$variance > 0) && all(found$variance >= 0), label = label)
    }
  }
})

test_that("plots draw what an approximation predicts", {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  data <- engine_data(30)
  for (name in c("ichol", "fitc", "fourier", "divide")) {
    data$x <- data$x[, 1, drop = FALSE]
    fit <- fit_with(engine_settings[[name]], data = data, optimise = FALSE)
    drawn <- plot(fit, target = "v", n_grid = 20)
    expect_identical(drawn$mean, unname(predict(fit, drawn$grid)$mean[, "v"]))
  }
})
