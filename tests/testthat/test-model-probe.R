# check_gps_model(): each fault planted alone gives its own finding, and right models give none.

# A right model of R functions: sums of columns and normal noise, all of whose functions are there.
probe_parts <- function(n_latents = 4) {
  list(
    n_latents = n_latents,
    init = function(y) {
      list(W = matrix(stats::rnorm(ncol(y) * n_latents, 0, 2), ncol(y)), prob = 0.3, sigma = 1.5)
    },
    log_joint = function(params, y, states) {
      colSums(stats::dnorm(y, params$W %*% states, params$sigma, log = TRUE)) +
        colSums(states) * stats::qlogis(params$prob) + nrow(states) * log1p(-params$prob)
    },
    mstep = function(params, y, posterior) {
      mean <- posterior_mean(posterior)
      list(prob = mean(mean))
    },
    draw = function(params, n) {
      latents <- matrix(stats::rbinom(n * n_latents, 1, params$prob), n)
      noise <- stats::rnorm(n * nrow(params$W), sd = params$sigma)
      list(y = latents %*% t(params$W) + noise, latents = latents)
    },
    lower = list(prob = 0.01, sigma = 0.01), upper = list(prob = 0.99)
  )
}

probe_with <- function(..., session = FALSE) {
  changed <- utils::modifyList(probe_parts(), list(...))
  check_gps_model(do.call(model_custom, changed), session = session)
}

# The one finding that there is.
expect_finding <- function(report, fault, where, words) {
  expect_false(report$is_right)
  expect_identical(report$findings$fault, fault)
  expect_identical(report$findings$where, where)
  expect_match(report$findings$what, words)
  expect_gt(nchar(report$findings$advice), 20)
  expect_printed(report, fault)
}

# Functions of several points at once, and of selected latents alone.
joint_together <- function(params, y, states) {
  on <- matrix(states, dim(states)[1])
  each <- y[, rep(seq_len(ncol(y)), each = dim(states)[2]), drop = FALSE]
  matrix(probe_parts()$log_joint(params, each, on), dim(states)[2])
}

joint_few <- function(params, y, states, latents) {
  colSums(dnorm(y, params$W[, latents, drop = FALSE] %*% states, params$sigma, log = TRUE)) +
    colSums(states) * qlogis(params$prob) + ncol(params$W) * log1p(-params$prob)
}

test_that("right models of R functions give no finding, in every form", {
  set.seed(5)
  seed <- .Random.seed
  report <- probe_with(session = TRUE)
  expect_identical(.Random.seed, seed)
  expect_s3_class(report, "gps_model_check")
  expect_true(report$is_right, info = paste(report$findings$what, collapse = "\n"))
  expect_identical(nrow(report$findings), 0L)
  expect_identical(sum(report$checks$outcome == "right"), 7L)
  expect_printed(report, "7 of 7 checks right: no fault found")
  # Draws are held against any log joint in the same way: those above are.
  for (log_joint in list(joint_few, joint_together)) {
    report <- probe_with(log_joint = log_joint, vectorised = identical(log_joint, joint_together),
                         draw = NULL)
    expect_true(report$is_right, info = paste(report$findings$what, collapse = "\n"))
  }
  for (form in seq_len(nrow(custom_forms))) {
    for (mstep in c("own", "none", "gradient")[seq_len(if (is_full() || form == 1) 3 else 1)]) {
      # Derivatives are of points one by one.
      if (mstep == "gradient" && any(unlist(custom_forms[form, ]))) next
      # How points are handed over is all that forms differ in: draws are held against two.
      draws <- is_full() || mstep == "own" && form %in% c(1, 4)
      model <- do.call(custom_sparse, c(list(5), custom_forms[form, ], mstep = mstep,
                                        draws = draws))
      report <- check_gps_model(model, session = FALSE)
      expect_true(report$is_right, info = paste(report$findings$what, collapse = "\n"))
    }
  }
})

test_that("all built-in models are clean", {
  models <- list(
    model_binary_sparse(5), model_binary_sparse(4, FALSE, intercept = TRUE), model_spike_slab(4),
    model_spike_slab(4, "full", FALSE), model_max_spike_slab(4), model_gaussian_mixture(4),
    model_gaussian_mixture(3, "diagonal"), model_gaussian_mixture(3, "spherical"),
    model_occlusive(3, c(3, 3)), model_binary_sparse(1), model_gaussian_mixture(1),
    model_noisy_or(4), model_noisy_or(4, FALSE), model_noisy_or(1),
    model_poisson_mixture(3), model_poisson_mixture(1)
  )
  for (model in models) {
    report <- check_gps_model(model)
    expect_true(report$is_right, info = paste(c(report$model, report$findings$what),
                                              collapse = "\n"))
  }
  bars <- simulate_bars(40, size = 3)$y
  for (y in list(bars, bars[1, , drop = FALSE], as.data.frame(bars))) {
    expect_true(check_gps_model(model_spike_slab(3), y)$is_right)
  }
  expect_true(check_gps_model(gps_bind(model_binary_sparse(4), bars))$is_right)
})

test_that("values of a wrong number, kind or orientation are told apart", {
  expect_finding(probe_with(log_joint = function(params, y, states) {
    rowSums(dnorm(y, params$W %*% states, params$sigma, log = TRUE))
  }), "length", "log_joint", "8 states it returns a double vector of length 6")
  expect_finding(
    probe_with(log_joint = function(params, y, states) t(joint_together(params, y, states)),
               vectorised = TRUE),
    "orientation", "log_joint", "5 points and 8 states it returns a numeric matrix \\(5 x 8\\)"
  )
  expect_finding(probe_with(log_joint = function(params, y, states) {
    log(-params$sigma) + numeric(ncol(states))
  }), "nan", "log_joint", "NaN for state 1 of data point 1, and in 192 of 192")
  expect_finding(probe_with(log_joint = function(params, y, states) rep(-Inf, ncol(states))),
                 "impossible", "log_joint", "data point 1 are -Inf, and of 24 of 24")
  expect_finding(probe_with(log_joint = function(params, y, states) stop("no such thing")),
                 "error", "log_joint", "no such thing")
  expect_finding(probe_with(init = function(y) list(1)), "error", "init", "named list")
})

test_that("what depends on its company or on an order is found", {
  expect_finding(probe_with(log_joint = function(params, y, states) {
    joint_together(params, matrix(y[, 1], nrow(y), ncol(y)), states)
  }, vectorised = TRUE), "block", "log_joint", "two data points together")
  good <- probe_parts()$log_joint
  expect_finding(probe_with(log_joint = function(params, y, states) {
    value <- good(params, y, states)
    value - max(value)
  }), "block", "log_joint", "other states of the call")
  expect_finding(probe_with(log_joint = function(params, y, states, latents) {
    joint_few(params, y, states, sort(latents))
  }), "order", "log_joint", "order of the latents")
  expect_finding(probe_with(log_joint = function(params, y, states, latents) {
    joint_few(params, y, states, latents) - nrow(states)
  }, draw = NULL), "slots", "log_joint", "selected and off")
})

test_that("M-steps, draws and derivatives are held against the log joint", {
  expect_finding(probe_with(mstep = function(params, y, posterior) list(prob = 0.98), draw = NULL),
                 "mstep", "mstep", "M-step 1 lowers")
  # Of all points at once, which is the faster way.
  probe_draw <- function(...) probe_with(vectorised = TRUE, log_joint = joint_together, ...)
  spread <- function(params, n) {
    latents <- matrix(stats::rbinom(n * 4, 1, params$prob), n)
    list(y = latents %*% t(params$W) + stats::rnorm(n * nrow(params$W), sd = params$sigma^2),
         latents = latents)
  }
  expect_finding(probe_draw(draw = spread), "draw", "draw", "disagrees .* about .*`sigma`")
  turned <- function(params, n) {
    drawn <- probe_parts()$draw(params, n)
    list(y = drawn$y, latents = drawn$latents[, 4:1])
  }
  expect_finding(probe_draw(draw = turned), "draw", "draw", "disagrees .* about")
  # Nothing normalises it, which neither posteriors nor M-steps would show.
  expect_finding(probe_with(log_joint = function(params, y, states) {
    joint_together(params, y, states) + nrow(y) * log(params$sigma)
  }, vectorised = TRUE), "draw", "draw", "about `sigma`")
  gradient <- function(params, y, states, weights) {
    residual <- y - params$W %*% states
    list(W = residual %*% (weights * t(states)), prob = 0, sigma = 0)
  }
  report <- probe_with(gradient = gradient, mstep = NULL, draw = NULL)
  expect_identical(unique(report$findings$fault), "gradient")
})

test_that("calls that leave something behind, or draw random numbers, are found", {
  good <- probe_parts()$log_joint
  expect_finding(probe_with(log_joint = function(params, y, states) {
    good(params, y, states) + stats::rnorm(1)
  }), "random", "log_joint", "R's random numbers")
  kept <- 0
  expect_finding(probe_with(log_joint = function(params, y, states) {
    kept <<- kept + 1
    good(params, y, states)
  }), "input", "log_joint", "changes `kept`")
  dll <- skip_without_tables("faults")
  change <- getNativeSymbolInfo("change", dll)$address
  expect_finding(probe_with(log_joint = function(params, y, states) {
    value <- good(params, y, states)
    .Call(change, states)
    value
  }), "input", "log_joint", "changes its argument `states`")
})

test_that("members are not asked about latents or slots that there are not", {
  set.seed(12)
  y <- matrix(rnorm(24), 6)
  model <- gps_bind(model_spike_slab(4), y)
  case <- native_case(model, gps_init(model, y), y)
  none <- matrix(0L, 1, 6)
  some <- none + 2L
  expect_equal(dim(ask_gains(case, none + 1L, some)$gain), c(1L, 6L))
  expect_error(ask_gains(case, none, some), "`given` names latent 0", class = "gps_error_model")
  expect_error(ask_gains(case, some, none), "`candidates` names latent 0",
               class = "gps_error_model")
  expect_error(ask_states(case, NULL), "`selected` must be of type", class = "gps_error_model")
  it <- problem_of(case)
  expect_error(.Call(C_probe_gains, model$native, it$problem, it$y, it$block,
                     rbind(none + 1L, some), none + 3L, new_states(1L, 1L, list()), 0L),
               "More latents are given than slots", class = "gps_error_model")
})

test_that("what functions need of the session is found in a new one", {
  skip_on_cran()
  good <- probe_parts()$log_joint
  assign("gps_hidden_scale", 2, envir = globalenv())
  on.exit(rm("gps_hidden_scale", envir = globalenv()))
  expect_finding(probe_with(log_joint = function(params, y, states) {
    good(params, y, states) / get("gps_hidden_scale", envir = globalenv())
  }, draw = NULL, mstep = NULL, session = TRUE), "global", "log_joint", "needs `gps_hidden_scale`")
  expect_finding(probe_with(log_joint = function(params, y, states) {
    assign("gps_hidden_scale", sum(y), envir = globalenv())
    good(params, y, states)
  }, draw = NULL, mstep = NULL), "global", "log_joint", "sets `gps_hidden_scale`")
  attachNamespace("tools")
  on.exit(detach("package:tools"), add = TRUE)
  expect_finding(probe_with(log_joint = function(params, y, states) {
    good(params, y, states) + nchar(file_ext("none"))
  }, draw = NULL, mstep = NULL, session = TRUE), "session", "log_joint", "stops: .*file_ext")
  options(gps_hidden = 1)
  on.exit(options(gps_hidden = NULL), add = TRUE)
  report <- probe_with(log_joint = function(params, y, states) {
    good(params, y, states) + getOption("gps_hidden", 0)
  }, draw = NULL, mstep = NULL, session = TRUE)
  expect_finding(report, "session", "log_joint", "other values")
})

test_that("the twelve faults of the help page have twelve names", {
  # Each stands in a test above.
  twelve <- c("length", "orientation", "nan", "impossible", "block", "mstep", "draw", "order",
              "global", "session", "input", "random")
  expect_identical(anyDuplicated(twelve), 0L)
  page <- paste(utils::capture.output(tools::Rd2txt(
    utils:::.getHelpFile(utils::help("check_gps_model", package = "gpselect")),
    options = list(underline_titles = FALSE)
  )), collapse = " ")
  for (fault in twelve) expect_match(page, fault, fixed = TRUE)
})

# A model of native/faults.c.
fault_model <- function(symbol) {
  model_native("gpsfaults", symbol, 5L, class = "gps_fault_test", name = "Sums of columns")
}

registerS3method("gps_init", "gps_fault_test", function(model, y) {
  list(W = matrix(stats::rnorm(model$n_dims * model$n_latents), model$n_dims))
}, envir = asNamespace("gpselect"))

test_that("members of models in C that break their contract are found, each by its own finding", {
  skip_without_tables("faults")
  report <- check_gps_model(fault_model("right"))
  expect_true(report$is_right, info = paste(report$findings$what, collapse = "\n"))
  expect_finding(check_gps_model(fault_model("overrun")), "overrun", "log_joint",
                 "outside of its scratch")
  expect_finding(check_gps_model(fault_model("half")), "nan", "log_joint", "NaN for state 5")
  expect_finding(check_gps_model(fault_model("possible")), "empty", "log_joint", "empty slot")
  expect_finding(check_gps_model(fault_model("forgets")), "unwritten", "accumulate", "`data_on`")
  expect_finding(check_gps_model(fault_model("sets")), "overwritten", "accumulate", "`on_on`")
  expect_finding(check_gps_model(fault_model("lone_gain")), "gain", "gain", "Beside 1 latent")
  expect_finding(check_gps_model(fault_model("propose_none")), "propose", "propose",
                 "proposes latent 6 of 5")
  expect_finding(check_gps_model(fault_model("propose_worst")), "propose", "propose",
                 "less than the best of as many random")
  report <- check_gps_model(fault_model("tilted"))
  expect_identical(unique(report$findings$fault), "conditional")
})

test_that("the tables of other tests are clean, and one without members has less to ask", {
  skip_without_tables()
  report <- check_gps_model(table_model("whole"), draw_counts(30))
  expect_true(report$is_right, info = paste(report$findings$what, collapse = "\n"))
  expect_true(check_gps_model(table_model("gathered"), draw_counts(30))$is_right)
  expect_finding(check_gps_model(table_model("gathered_twice"), draw_counts(30)),
                 "accumulate_latent", "accumulate_latent", "another statistic `on`")
  expect_finding(check_gps_model(table_model("weighs_not"), draw_counts(30)),
                 "weights", "accumulate", "another statistic")
  least <- table_model("least", prepared = list(), events = character())
  report <- check_gps_model(least, draw_counts(30))
  expect_true(report$is_right)
  expect_true("the table has none" %in% report$checks$outcome)
})

test_that("arguments of check_gps_model() and its report are checked", {
  expect_gps_error(check_gps_model(1), "`model` must be a model")
  expect_gps_error(check_gps_model(model_binary_sparse(3), "a"), "`y` must be")
  expect_gps_error(check_gps_model(model_binary_sparse(3), session = 2), "`session` must be")
  expect_gps_error(check_gps_model(model_binary_sparse(3), what = 2), "Unknown argument `what`")
  bound <- gps_bind(model_binary_sparse(3), matrix(1:20 / 2, 5))
  expect_gps_error(check_gps_model(bound, matrix(1, 5, 3)), "`y` must have 4 columns, not 3")
  expect_gps_error(print(structure(list(), class = "gps_model_check")), "check_gps_model()")
})

test_that("a mixture of many clusters is checked on as many rows as it needs", {
  for (C in c(3, 40)) {
    report <- check_gps_model(model_gaussian_mixture(C, "diagonal"), session = FALSE)
    expect_true(report$is_right)
    expect_match(report$data, sprintf("^%d x", max(24, 2 * C)))
  }
})

test_that("a single data point, where the noise stands at its floor, has no false faults", {
  for (model in list(model_spike_slab(3), model_spike_slab(3, intercept = TRUE))) {
    set.seed(6)
    report <- check_gps_model(model, matrix(rnorm(500), 1), session = FALSE)
    expect_true(report$is_right, info = paste(report$findings$what, collapse = "\n"))
  }
  # Variances of very different sizes.
  set.seed(15)
  y <- 1000 * simulate_bars(40, size = 3)$y[1, , drop = FALSE]
  expect_true(check_gps_model(model_gaussian_mixture(1), y, session = FALSE)$is_right)
})
