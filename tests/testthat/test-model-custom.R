# Models of R functions: the model in C once more, in all forms, and functions that are at fault.

custom_case <- function(n = 40, n_latents = 5) {
  set.seed(3)
  y <- simulate_bars(n, size = 3)$y
  native <- gps_bind(model_binary_sparse(n_latents), y)
  params <- gps_init(native, y)
  selected <- draw_selected(n, n_latents, min(3, n_latents))
  list(y = y, native = native, params = params, selected = selected)
}

near <- function(found, wanted) {
  expect_near(c(found), c(wanted), 1e-12 * max(1, abs(wanted)))
}

test_that("a model of R functions gives the numbers of the model in C", {
  local_jit()
  case <- custom_case(8)
  gapped <- case$selected
  gapped[3, ] <- 0
  gapped[7, c(1, 3)] <- 0
  for (form in seq_len(nrow(custom_forms))) {
    model <- do.call(custom_sparse, c(list(5), custom_forms[form, ]))
    model <- gps_bind(model, case$y)
    for (selected in list(case$selected, gapped, matrix(1:5, 8, 5, byrow = TRUE))) {
      for (max_active in c(2, ncol(selected))) {
        for (beta in if (identical(selected, gapped)) c(1, 0.3) else 1) {
          step <- function(model) {
            gps_estep(model, case$params, case$y, selected, max_active, beta = beta,
                      want = c("stats", "latent", "prob"))
          }
          found <- step(model)
          wanted <- step(case$native)
          for (name in c("log_evidence", "prob_on", "latent", "prob")) {
            near(found[[name]], wanted[[name]])
          }
          new <- gps_mstep(model, case$params, found$stats)
          old <- gps_mstep(case$native, case$params, wanted$stats)
          for (name in names(old$params)) near(new$params[[name]], old$params[[name]])
          expect_identical(new$events, c(bounded = 0L))
        }
      }
    }
  }
})

test_that("three data points at once are no index of rows", {
  case <- custom_case(3)
  model <- gps_bind(custom_sparse(5, TRUE), case$y)
  near(gps_estep(model, case$params, case$y, case$selected)$log_evidence,
       gps_estep(case$native, case$params, case$y, case$selected)$log_evidence)
})

test_that("what an M-step gets are moments of the posterior, by brute force", {
  case <- custom_case(12)
  model <- gps_bind(custom_sparse(5), case$y)
  selected <- case$selected
  selected[2, 2] <- 0
  posterior <- gps_estep(model, case$params, case$y, selected, want = "stats")$stats
  mean <- matrix(0, 5, 12)
  second <- matrix(0, 5, 5)
  weights <- posterior_weights(posterior)
  expect_near(colSums(weights), rep(1, 12), 1e-14)
  for (n in 1:12) {
    for (state in seq_len(ncol(posterior$on))) {
      on <- numeric(5)
      held <- posterior$selected[posterior$on[, state] > 0, n]
      on[held[held > 0]] <- 1
      mean[, n] <- mean[, n] + weights[state, n] * on
      second <- second + weights[state, n] * tcrossprod(on)
    }
  }
  expect_near(posterior_mean(posterior), mean, 1e-14)
  expect_near(posterior_second(posterior), second, 1e-13)
  expect_gps_error(posterior_mean(1), "`posterior` must be what `mstep` gets")
})

test_that("blocks and sources give what all data together give", {
  case <- custom_case(1100)
  model <- gps_bind(custom_sparse(5, TRUE, TRUE), case$y)
  whole <- gps_estep(model, case$params, case$y, case$selected)
  y <- case$y
  source <- gps_source(nrow(y), ncol(y), function(from, to) y[from:to, , drop = FALSE])
  parts <- gps_estep(model, case$params, source, case$selected)
  near(parts$log_evidence, whole$log_evidence)
  near(posterior_mean(parts$stats), posterior_mean(whole$stats))
})

test_that("without an M-step optim() raises the bound, to where the closed form rests", {
  local_jit()
  case <- custom_case(8, 2)
  all <- matrix(1:2, 8, 2, byrow = TRUE)
  for (mstep in c("none", "gradient")) {
    # Numerical derivatives ask for many values.
    is_fast <- mstep == "none"
    model <- gps_bind(custom_sparse(2, is_fast, is_fast, mstep), case$y)
    own <- gps_bind(custom_sparse(2), case$y)
    stats <- gps_estep(model, case$params, case$y, all)$stats
    params <- case$params
    for (repetition in 1:4) params <- gps_mstep(model, params, stats)$params
    wanted <- gps_mstep(own, case$params, stats)$params
    for (name in names(wanted)) {
      expect_near(params[[name]], wanted[[name]], 2e-3 * max(abs(wanted[[name]])))
    }
    set.seed(1)
    fit <- gps_fit(case$y, custom_sparse(2, is_fast, is_fast, mstep), selector_full(),
                   control = gps_control(max_iter = 3, n_starts = 1, progress = FALSE))
    expect_no_fall(fit$trace$bound[fit$trace$start == 0])
  }
})

test_that("parameters stay within their limits, which also hold them fixed", {
  case <- custom_case(6, 3)
  init <- function(y) list(W = matrix(1, ncol(y), 3), pi = 0.2, sigma2 = 0.001)
  log_joint <- function(params, y, states) {
    -0.5 * colSums((y - params$W %*% states)^2) / params$sigma2 -
      0.5 * length(y) * log(params$sigma2)
  }
  make <- function(mstep) {
    gps_bind(model_custom(3, init, log_joint, mstep, lower = list(sigma2 = 4, pi = 0.2),
                          upper = list(pi = 0.2)), case$y)
  }
  model <- make(NULL)
  params <- gps_init(model, case$y)
  expect_identical(params$sigma2, 4)
  all <- matrix(1:3, 6, 3, byrow = TRUE)
  stats <- gps_estep(model, params, case$y, all)$stats
  new <- gps_mstep(model, params, stats)$params
  expect_identical(new$pi, 0.2)
  expect_gte(new$sigma2, 4)
  own <- gps_mstep(make(function(params, y, posterior) list(sigma2 = 1)), params, stats)
  expect_identical(own$params, params)
  expect_identical(own$events, c(bounded = 1L))
  odd <- params
  odd$sigma2 <- 1
  expect_gps_error(gps_estep(model, odd, case$y, all), "must lie between `lower` and `upper`")
})

test_that("all that a fit can do works for a model of R functions", {
  set.seed(2)
  y <- simulate_bars(120, size = 3)$y
  fit <- gps_fit(y, custom_sparse(6, TRUE, TRUE), selector_gp(kernel_rbf()), n_selected = 3,
                 control = gps_control(max_iter = 8, n_starts = 2, progress = FALSE))
  expect_printed(fit, "Custom model: 6 latents, functions = init, log_joint, mstep, draw")
  expect_printed(summary(fit), "Parameters")
  expect_named(coef(fit), c("W", "pi", "sigma2"))
  expect_identical(attr(logLik(fit), "df"), 6 * 9 + 2)
  for (type in c("prob", "latent", "state")) {
    expect_identical(dim(predict(fit, y[1:5, ], type)), c(5L, 6L))
  }
  near(sum(predict(fit, type = "loglik")), fit$bound)
  expect_gps_error(predict(fit, y, "response"), "has no response", class = "model")
  expect_gps_error(gps_affinity(selector_handcrafted(), fit, y), "has no method gps_handcrafted",
                   class = "model")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_invisible(plot(fit))
  expect_invisible(plot(fit, "bound"))
  expect_identical(dim(simulate(fit, 1, seed = 1)[[1]]$y), dim(y))
  expect_identical(dim(posterior_sample(fit, 2, points = 1:4)), c(2L, 4L, 6L))
  expect_s3_class(posterior_states(fit, 1), "data.frame")
  expect_identical(dim(expectations(fit)), c(120L, 6L))
  expect_s3_class(update(fit, max_iter = 2), "gps_fit")
  file <- tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), y), predict(fit, y))
})

test_that("what a model of R functions cannot do is refused", {
  case <- custom_case()
  model <- custom_sparse(5)
  fit <- function(...) gps_fit(case$y, model, ..., n_selected = 3)
  expect_gps_error(fit(selector_random(), control = gps_control(method = "gibbs")),
                   "\"gibbs\" is not for this model, whose log joint is an R function")
  expect_gps_error(fit(selector_gp(screen = gps_screen())), "`screen` must be NULL or FALSE")
  expect_gps_error(fit(selector_random(), control = gps_control(batch_size = 20)),
                   "`batch_size` is not for models of R functions")
  f <- function(y) list(a = 1)
  g <- function(params, y, states) numeric(ncol(states))
  expect_gps_error(model_custom(2, 1, g), "`init` must be a function of (y)")
  expect_gps_error(model_custom(2, f, g, mstep = 1), "`mstep` must be NULL or a function")
  expect_gps_error(model_custom(0, f, g), "`n_latents`")
  expect_gps_error(model_custom(2, f, g, lower = "a"), "`lower` must be a number or a named list")
  expect_gps_error(model_custom(2, f, g, vectorised = NA), "`vectorised`")
  expect_gps_error(model_custom(2, f, g, oops = 1), "oops")
  expect_gps_error(gps_bind(model_custom(2, f, g, lower = list(b = 1)), case$y),
                   "`lower` has no parameter \"b\"", class = "model")
})

test_that("shapes are checked on two points before the loop", {
  y <- matrix(rnorm(20), 5)
  f <- function(y) list(a = 1)
  odd_joints <- list(
    "must return 4 numbers, not" = function(params, y, states) 1,
    "must return numbers below Inf, not NaN at data point 1" =
      function(params, y, states) rep(NaN, ncol(states)),
    "below Inf, not Inf at data point 1" = function(params, y, states) rep(Inf, ncol(states)),
    "must return 4 numbers, not a character vector" = function(params, y, states) letters[1:4],
    "`log_joint` failed: oh" = function(params, y, states) stop("oh")
  )
  for (message in names(odd_joints)) {
    expect_gps_error(gps_bind(model_custom(2, f, odd_joints[[message]]), y), message,
                     class = "model")
  }
  g <- function(params, y, states) numeric(ncol(states))
  odd_inits <- list(
    "`init` must return a named list" = function(y) 1,
    "`init` must return finite numbers as `a`" = function(y) list(a = NA),
    "`init` must return finite numbers as `b`" = function(y) list(a = 1, b = "x"),
    "`init` failed: oh" = function(y) stop("oh")
  )
  for (message in names(odd_inits)) {
    expect_gps_error(gps_bind(model_custom(2, odd_inits[[message]], g), y), message,
                     class = "model")
  }
  flat <- function(params, y, states) numeric(dim(states)[2] * ncol(y))
  expect_gps_error(gps_bind(model_custom(2, f, flat, vectorised = TRUE), y),
                   "must return 4 x 2 numbers", class = "model")
  expect_gps_error(gps_bind(model_custom(2, f, g, gradient = function(...) list(b = 1)), y),
                   "`gradient` must return a list of finite numbers shaped like a", class = "model")
})

test_that("functions at fault in mid-fit give their error, where it was, and the last good state", {
  set.seed(1)
  y <- simulate_bars(40, size = 3)$y
  whole <- custom_sparse(4)
  run <- function(...) {
    changed <- whole
    changed$functions[names(list(...))] <- list(...)
    tryCatch(gps_fit(y, changed, selector_full(),
                     control = gps_control(max_iter = 12, n_starts = 1, progress = FALSE)),
             error = identity)
  }
  # The seventh call of an M-step fails.
  late <- function(fault) {
    count <- 0
    own <- whole$functions$mstep
    function(params, y, posterior) {
      count <<- count + 1
      if (count == 7) fault(own(params, y, posterior)) else own(params, y, posterior)
    }
  }
  odd <- list(
    "`mstep` failed: it is late" = late(function(new) stop("it is late")),
    "`mstep` must return finite numbers as `W`" = late(function(new) within_list(new, W = NaN)),
    "`mstep` must return `W` of 9 x 4" = late(function(new) within_list(new, W = new$W[, 1:2])),
    "`mstep` must return a named list" = late(function(new) NULL),
    "`mstep` must return parameters of the model, which has no \"more\"" =
      late(function(new) c(new, more = 1))
  )
  for (message in names(odd)) {
    condition <- run(mstep = odd[[message]])
    expect_s3_class(condition, "gps_error_model")
    expect_match(conditionMessage(condition), message, fixed = TRUE)
    expect_match(conditionMessage(condition), "Iteration 7 of the main run", fixed = TRUE)
    expect_named(condition$state$params, c("W", "pi", "sigma2"))
    expect_true(all(is.finite(unlist(condition$state$params))))
  }
  count <- 0
  joint <- whole$functions$log_joint
  condition <- run(log_joint = function(params, y, states) {
    count <<- count + 1
    if (count > 200) rep(NA_real_, ncol(states)) else joint(params, y, states)
  })
  expect_s3_class(condition, "gps_error_model")
  expect_match(conditionMessage(condition), "`log_joint` must return numbers below Inf, not NA")
  expect_match(conditionMessage(condition), "Iteration [0-9]+ of the main run")
  expect_named(condition$state$params, c("W", "pi", "sigma2"))
})

test_that("an M-step that lowers the bound is told of", {
  set.seed(1)
  y <- simulate_bars(60, size = 3)$y
  whole <- custom_sparse(4)
  fit <- function(model) {
    gps_fit(y, model, selector_full(),
            control = gps_control(max_iter = 8, n_starts = 1, progress = FALSE))
  }
  expect_warning(fit(whole), NA)
  own <- whole$functions$mstep
  whole$functions$mstep <- function(params, y, posterior) {
    new <- own(params, y, posterior)
    new$sigma2 <- new$sigma2 * 3 * stats::runif(1)
    new
  }
  expect_warning(fit(whole), "does not maximise the expected log joint",
                 class = "gps_warning_mstep")
})

test_that("an M-step is not blamed for what a selection of a single latent does", {
  set.seed(1)
  y <- matrix(rnorm(60), 30)
  joint <- function(params, y, states) colSums(states * params$gain) - sum(y^2) / 2
  model <- model_custom(3, function(y) list(gain = c(0, 0, 0)), joint,
                        function(params, y, posterior) params)
  model$functions$log_joint <- function(params, y, states) {
    drop(c(sin(5 * y[1]), y[2], cos(3 * y[2])) %*% states)
  }
  fit <- NULL
  expect_warning(fit <- gps_fit(y, model, selector_gp(), n_selected = 1,
                                control = gps_control(max_iter = 8, n_starts = 1,
                                                      progress = FALSE)), NA)
  expect_lt(min(diff(fit$trace$bound[fit$trace$start == 0])), -1e-6)
})

test_that("functions that take too little, and names that stand twice, are told of at once", {
  own <- custom_sparse(4)$functions
  for (kind in c("init", "log_joint", "mstep", "gradient", "draw")) {
    given <- list(n_latents = 4, init = own$init, log_joint = own$log_joint)
    given[[kind]] <- function() 1
    expect_gps_error(do.call(model_custom, given),
                     sprintf("`%s` must be a function of", kind))
    given[[kind]] <- function(...) 1
    expect_s3_class(do.call(model_custom, given), "gps_custom_model")
  }
  expect_gps_error(model_custom(4, own$init, own$log_joint, lower = list(pi = 0, pi = 0.1)),
                   "`lower` must be")
  twice <- function(y) list(W = 1, W = 2)
  y <- matrix(rnorm(20), 10)
  fit <- function(...) {
    gps_fit(y, model_custom(4, ...), selector_full(),
            control = gps_control(max_iter = 2, n_starts = 1, progress = FALSE))
  }
  expect_error(fit(twice, own$log_joint), "`init` must return .* one with \"W\" twice",
               class = "gps_error_model")
  expect_error(fit(own$init, own$log_joint, function(params, y, posterior) params[c(2, 2)]),
               "`mstep` must return .* one with \"pi\" twice", class = "gps_error_model")
})

test_that("latents that are drawn are 0 or 1", {
  own <- custom_sparse(4)
  y <- matrix(rnorm(20), 10)
  params <- gps_init(gps_bind(own, y), y)
  for (value in c(2, -1, 0.5)) {
    own$functions$draw <- function(params, n) {
      list(y = matrix(0, n, 2), latents = matrix(value, n, 4))
    }
    expect_error(gps_draw(gps_bind(own, y), params, 3), "`latents` that are 0 or 1, not",
                 class = "gps_error_model")
  }
  none <- model_custom(2, function(y) list(a = 1), function(params, y, states) 0 * states[1, ])
  expect_gps_error(gps_draw(gps_bind(none, y), list(a = 1), 3),
                   "model_custom(draw = ) gives it one", class = "model")
})

test_that("a stored model that was changed is refused", {
  set.seed(1)
  y <- simulate_bars(40, size = 3)$y
  fit <- gps_fit(y, custom_sparse(4), selector_random(), n_selected = 3,
                 control = gps_control(max_iter = 2, n_starts = 1, progress = FALSE))
  expect_s3_class(check_fit(fit), "gps_fit")
  odd <- list(
    function(fit) within_list(fit, params = within_list(fit$params, W = fit$params$W[, 1:2])),
    function(fit) within_list(fit, params = fit$params[-1]),
    function(fit) {
      fit$model$functions <- list()
      fit
    },
    function(fit) {
      fit$model$n_latents <- "4"
      fit
    },
    function(fit) {
      fit$model$params$W <- c("W.1", "nowhere")
      fit
    },
    function(fit) {
      fit$model$rule <- list(1)
      fit
    },
    function(fit) {
      class(fit$model) <- c("gps_nobody", "gps_model")
      fit
    }
  )
  for (change in odd) expect_error(print(change(fit)), class = "gps_error")
})
