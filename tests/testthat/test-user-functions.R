# Every function that a user supplies, with every fault, in mid-fit: a classed error that names the
# function and says where the fit was, with the last good parameters inside.

# What a faulty function returns in place of its value `v`.
faults <- list(
  stop = function(v) stop("it is late"), null = function(v) NULL, text = function(v) "a",
  list = function(v) list(1), missing = function(v) replace(v, 1, NA),
  infinite = function(v) replace(v, seq_along(v), Inf), complex = function(v) v + 1i,
  short = function(v) if (is.null(dim(v))) v[-1] else v[-1, , drop = FALSE],
  empty = function(v) v[0]
)

# `f` with the same arguments, at fault from its call number `from` on. A fault of `part` is in that
# element of a list, unless it is one of the whole.
turns_faulty <- function(f, fault, from, part = NULL) {
  count <- 0
  is_of_all <- is.null(part) || fault %in% c("stop", "null", "text", "list")
  call <- function(frame) {
    count <<- count + 1
    value <- do.call(f, unname(mget(names(formals(f)), envir = frame)), quote = TRUE)
    if (count < from) return(value)
    if (is_of_all) return(faults[[fault]](value))
    value[[part]] <- faults[[fault]](value[[part]])
    value
  }
  made <- f
  body(made) <- quote(call(environment()))
  environment(made) <- list2env(list(call = call))
  made
}

some_bars <- function() {
  set.seed(1)
  simulate_bars(20, size = 3)$y
}

fit_with <- function(selector = selector_handcrafted(), model = model_binary_sparse(6),
                     y = some_bars(), n_selected = 3, ...) {
  control <- gps_control(max_iter = 12, n_starts = 1, progress = FALSE, ...)
  suppressWarnings(gps_fit(y, model, selector, n_selected, control = control))
}

expect_told <- function(code, words, class = "model", where = "Iteration [0-9]+ of the main run") {
  condition <- expect_error(code, words, class = paste0("gps_error_", class), fixed = TRUE)
  expect_match(conditionMessage(condition), where)
  expect_gt(length(condition$state$params), 1)
  expect_true(all(is.finite(unlist(condition$state$params))))
}

test_that("affinities, joints, M-steps, step sizes and sources at fault are told of", {
  affinity <- function(params, y) y %*% params$W
  own <- custom_sparse(4)
  changed <- function(name, f) {
    own$functions[[name]] <- f
    own
  }
  joint <- own$functions$log_joint
  mstep <- own$functions$mstep
  y <- some_bars()
  read <- function(from, to) y[from:to, , drop = FALSE]
  step <- function(t) (t + 1)^-0.7
  for (fault in names(faults)) {
    # Infinite affinities are the first of a ranking.
    if (fault != "infinite") {
      expect_told(fit_with(selector_custom(turns_faulty(affinity, fault, 3))), "`affinity`",
                  where = "^Iteration 3 of the main run: `affinity`")
    }
    expect_told(fit_with(selector_full(), changed("log_joint", turns_faulty(joint, fault, 45)),
                         n_selected = NULL), "`log_joint`")
    expect_told(fit_with(selector_full(), changed("mstep", turns_faulty(mstep, fault, 3, "W")),
                         n_selected = NULL), "`mstep`",
                where = "^Iteration 3 of the main run: `mstep`")
    expect_told(fit_with(batch_size = 5, step = turns_faulty(step, fault, 12)), "`step`")
    # What is missing in data is a missing cell.
    if (fault != "missing") {
      expect_told(fit_with(y = gps_source(20, 9, turns_faulty(read, fault, 9))),
                  "Reading data points 1 to 20", "data")
    }
  }
})

test_that("kernels and what learns at fault are told of", {
  value <- function(x, y, parameters) {
    square <- outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * tcrossprod(x, y)
    parameters[["v"]] * exp(-square / 200)
  }
  gradient <- function(x, y, parameters) list(v = value(x, y, list(v = 1)))
  kernel <- function(value, gradient) {
    selector_gp(kernel_custom(value, gradient, c(v = 1)), refit_every = 2)
  }
  affinity <- function(params, y, memory) if (is.null(memory)) y %*% params$W else y %*% memory
  learn <- function(params, y, expectations) crossprod(y, expectations)
  for (fault in names(faults)) {
    expect_told(fit_with(kernel(turns_faulty(value, fault, 14), gradient)), "`value`")
    expect_told(fit_with(kernel(value, turns_faulty(gradient, fault, 12, "v"))), "`gradient`")
    # A memory is what the user makes of it: nothing at all, too. What it spoils is the ranking.
    if (fault == "null") next
    expect_told(fit_with(selector_custom(affinity, turns_faulty(learn, fault, 7))),
                if (fault == "stop") "`learn` failed" else "`affinity`")
  }
})

test_that("what fails before the first iteration, or after the last, names the function", {
  own <- custom_sparse(4)
  for (fault in setdiff(names(faults), "short")) {
    own$functions$init <- turns_faulty(custom_sparse(4)$functions$init, fault, 1, "W")
    expect_error(fit_with(selector_full(), own, n_selected = NULL), "^`init`",
                 class = "gps_error_model")
  }
  fit <- fit_with(selector_full(), custom_sparse(4), n_selected = NULL)
  for (fault in names(faults)) {
    draw <- function(params, n) list(y = matrix(0, n, 9), latents = matrix(0, n, 4))
    fit$model$functions["draw"] <- list(turns_faulty(draw, fault, 1, "y"))
    expect_error(simulate(fit, 1), "`draw`", class = "gps_error_model")
  }
})

test_that("a pilot that fails says that it is the pilot", {
  affinity <- function(params, y) y %*% params$W
  set.seed(1)
  y <- simulate_bars(120, size = 4)$y
  expect_told(fit_with(selector_custom(turns_faulty(affinity, "stop", 5)), model_binary_sparse(8),
                       y, "auto"), "`affinity` failed: it is late",
              where = "^The pilot for `n_selected` = \"auto\": Iteration [0-9]+")
})

test_that("limits that cannot be, and arguments at each other's places, are told", {
  y <- matrix(rnorm(20), 5)
  f <- function(y) list(a = matrix(1, 2, 3), b = 1)
  g <- function(params, y, states) numeric(ncol(states))
  bind <- function(...) gps_bind(model_custom(2, f, g, ...), y)
  expect_gps_error(bind(lower = c(b = 1)), "must be a list: lower = list(b = )")
  expect_gps_error(bind(lower = list(b = 5), upper = 2),
                   "`lower` of `b` is 5, above its `upper`, 2", class = "model")
  expect_gps_error(bind(upper = list(a = matrix(9, 3, 2))),
                   "`a`, a numeric matrix (2 x 3), not a numeric matrix (3 x 2)", class = "model")
  expect_identical(bind(upper = list(a = matrix(9, 2, 3)))$limits$upper$a, matrix(9, 2, 3))
  expect_gps_error(model_custom(2, f, function(y, params, states) 1),
                   "`log_joint` gets its arguments by their places, (params, y, states)")
  expect_gps_error(model_custom(2, f, g, draw = function(n, params) 1), "its own are (n, params)")
  expect_s3_class(model_custom(2, function(x) f(x), function(theta, x, s) 1), "gps_model")
  expect_gps_error(selector_custom(function(y, params) y), "`affinity` gets its arguments by")
  expect_gps_error(selector_custom(function(params, y, memory) y, function(y, params, e) y),
                   "`learn` gets its arguments by")
})

test_that("errors of functions say what they were given, and which numbers are none", {
  y <- matrix(rnorm(20), 5)
  f <- function(y) list(a = matrix(1, 2, 3), b = 1)
  bind <- function(init, log_joint, ...) gps_bind(model_custom(2, init, log_joint, ...), y)
  expect_gps_error(bind(f, function(params, y, states) params$a %*% states),
                   "It was given params$a (2 x 3), params$b (1), y (4), states (2 x 4).",
                   class = "model")
  g <- function(params, y, states) numeric(ncol(states))
  expect_gps_error(bind(function(y) list(a = matrix(c(1, NaN), 2, 3)), g),
                   "a numeric matrix (2 x 3) has NaN in places 2, 4 and 6", class = "model")
  never <- model_custom(2, f, function(params, y, states) rep(-Inf, ncol(states)))
  never <- gps_bind(never, y)
  expect_gps_error(gps_estep(never, f(y), y, matrix(1:2, 5, 2, byrow = TRUE)),
                   "no state is possible at data point 1: `log_joint` is -Inf for all 4",
                   class = "numeric")
  expect_gps_error(gps_handcrafted(never, f(y), y), "selector_custom() has one of yours",
                   class = "model")
  gap <- selector_custom(function(params, y) replace(matrix(0, nrow(y), 3), 7, NA))
  expect_gps_error(gps_fit(y, model_gaussian_mixture(3), gap, n_selected = 2),
                   "but row 2 has NA for latent 2", class = "model")
})

test_that("where parameters begin and their units do not matter to optim()", {
  set.seed(4)
  y <- cbind(rnorm(60, sample(c(-6, 0, 6), 60, TRUE, c(.7, .2, .1))))
  log_joint <- function(params, y, states) {
    share <- colSums(states * exp(params$a)) / sum(exp(params$a))
    mean <- colSums(states * params$mu)
    log(share) + dnorm(rep(y, each = dim(states)[2]), mean, params$sd, log = TRUE)
  }
  bound_of <- function(a, unit) {
    model <- model_custom(3, function(y) list(mu = c(-4, 1, 4) * unit, a = a * c(1, -1, 0.5),
                                              sd = 2 * unit), log_joint,
                          lower = list(sd = 1e-3 * unit), rule = state_rule(1, 1),
                          vectorised = TRUE)
    fit <- gps_fit(y * unit, model, selector_full(),
                   control = gps_control(max_iter = 8, n_starts = 1, tol = 0, mend = FALSE))
    fit$bound + length(y) * log(unit)
  }
  one <- bound_of(0.5, 1)
  expect_near(bound_of(0, 1), one, 1e-2)
  expect_near(bound_of(1e-3, 1), one, 1e-2)
  expect_near(bound_of(0, 1e-6), one, 1e-2)
  expect_near(bound_of(0, 1e6), one, 1e-2)
})

test_that("optim() seeks parameters in units in which the loss bends alike", {
  bend <- c(4, 400, 1e-2, 0, 1)
  theta <- c(0, 1, 2, 3, 4)
  loss <- function(theta) sum(bend * theta^2) / 2 + if (theta[5] > 4) 1e200 else 0
  expect_equal(step_scales(theta, rep(1, 5), loss), c(0.5, 0.05, 10, 3, 4), tolerance = 1e-6)
  expect_identical(step_scales(theta, rep(2, 5)), c(2, 2, 2, 3, 4))
  expect_identical(array_sizes(list(a = c(3, 4), b = matrix(0, 2, 1))),
                   c(rep(sqrt(12.5), 2), 1, 1))
})
