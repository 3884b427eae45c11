# Interrupts and time limits: what a fit returns that is cut short, and when it is none.

small_bars <- function(n = 60) {
  set.seed(21)
  simulate_bars(n, size = 3, value = 5)$y
}

# Affinities that call `at_call` in their n-th call.
selector_at <- function(n, at_call) {
  n_calls <- 0
  selector_custom(function(params, y) {
    n_calls <<- n_calls + 1
    if (n_calls == n) at_call()
    matrix(rep(seq_len(6), each = nrow(y)), ncol = 6)
  })
}

signal_interrupt <- function() {
  signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
}

press_interrupt <- function() {
  tools::pskill(Sys.getpid(), tools::SIGINT)
  # R looks for signals every thousand evaluations or so.
  for (i in 1:5000) sqrt(i)
}

# What belongs together in a fit: its bound is that of its parameters on its slots.
expect_together <- function(fit, y) {
  step <- gps_estep(fit$model, fit$params, y, t(fit$selected))
  expect_near(fit$bound, sum(step$log_evidence), 1e-10)
  expect_near(t(fit$prob_on), step$prob_on, 1e-10)
}

test_that("an interrupt gives the last complete E-step with a warning", {
  skip_on_os("windows")
  for (press in list(signal_interrupt, press_interrupt)) {
    set.seed(1)
    expect_warning(
      fit <- gps_fit(small_bars(), model_binary_sparse(6), selector_at(7, press), 3,
                     control = short_control(max_iter = 20, tol = 0, polish = FALSE, mend = FALSE)),
      "interrupted", class = "gps_warning"
    )
    expect_identical(fit$status, "interrupted")
    expect_identical(fit$n_iter, 6L)
    set.seed(1)
    five <- gps_fit(small_bars(), model_binary_sparse(6), selector_at(0, NULL), 3,
                    control = short_control(max_iter = 5, tol = 0, polish = FALSE))
    expect_identical(fit$params, five$params)
    expect_identical(fit$bound, fit$trace$bound[6])
    expect_together(fit, small_bars())
  }
})

test_that("before the first E-step is complete an interrupt is one like any", {
  skip_on_os("windows")
  for (press in list(signal_interrupt, press_interrupt)) {
    answer <- tryCatch(gps_fit(small_bars(), model_binary_sparse(6), selector_at(1, press), 3,
                               control = short_control(max_iter = 20)), interrupt = identity)
    expect_s3_class(answer, "interrupt")
  }
  # On a part of the data points there is no fit of all.
  set.seed(21)
  y <- simulate_bars(start_rows + 50, size = 3, value = 5)$y
  expect_s3_class(tryCatch(
    gps_fit(y, model_binary_sparse(6), selector_at(start_iterations + 3, press_interrupt), 3,
            control = gps_control(max_iter = 20, n_starts = 5, progress = FALSE)),
    interrupt = identity
  ), "interrupt")
})

test_that("an interrupt in a start gives the best start, and one in a second the first", {
  skip_on_os("windows")
  set.seed(1)
  expect_warning(
    fit <- gps_fit(small_bars(), model_binary_sparse(6),
                   selector_at(start_iterations + 1, press_interrupt), 3,
                   control = gps_control(max_iter = 20, n_starts = 5, progress = FALSE)),
    "interrupted", class = "gps_warning"
  )
  expect_identical(nrow(fit$starts), 1L)
  expect_together(fit, small_bars())
  at_start <- start_iterations + 3
  expect_warning(
    fit <- gps_fit(small_bars(), model_binary_sparse(6), selector_at(at_start, press_interrupt), 3,
                   control = gps_control(max_iter = 20, n_starts = 5, progress = FALSE)),
    "interrupted", class = "gps_warning"
  )
  expect_identical(fit$status, "interrupted")
  expect_identical(nrow(fit$starts), 2L)
  expect_together(fit, small_bars())
})

test_that("an interrupt in the last pass does not lose the fit", {
  skip_on_os("windows")
  set.seed(1)
  expect_warning(
    fit <- gps_fit(small_bars(), model_binary_sparse(6), selector_at(6, press_interrupt), 3,
                   control = short_control(max_iter = 5, tol = 0)),
    "interrupted", class = "gps_warning"
  )
  expect_identical(fit$n_iter, 5L)
  expect_identical(fit$status, "interrupted")
  expect_together(fit, small_bars())
  # Nothing is left pending.
  expect_silent(for (i in 1:1000) sqrt(i))
})

test_that("the generator is as after two uniforms, interrupted or not", {
  skip_on_os("windows")
  set.seed(1)
  suppressWarnings(gps_fit(small_bars(), model_binary_sparse(6), selector_at(3, press_interrupt), 3,
                           control = short_control(max_iter = 5)))
  after <- .Random.seed
  set.seed(1)
  runif(2)
  # small_bars() is lazy: it draws with a seed of its own before the fit does.
  set.seed(21)
  simulate_bars(60, size = 3, value = 5)
  runif(2)
  expect_identical(after, .Random.seed)
})

test_that("directions of many points, or of many groups, answer while they are looked for", {
  x <- matrix(1, 50, 2e4)
  for (sizes in list(2e4L, rep(20L, 1000))) {
    is_over <- FALSE
    setTimeLimit(elapsed = 0.1, transient = TRUE)
    tryCatch({
      .Call(C_leading_directions, x, NULL, sizes, 1000L)
      is_over <- TRUE
    }, error = function(condition) NULL)
    setTimeLimit()
    expect_false(is_over)
  }
})

test_that("setTimeLimit() gives the best fit so far and leaves the generator alone", {
  y <- small_bars()
  slow <- selector_custom(function(params, y) {
    Sys.sleep(0.05)
    matrix(0, nrow(y), 6)
  })
  set.seed(1)
  expect_warning({
    setTimeLimit(elapsed = 0.3, transient = TRUE)
    fit <- gps_fit(y, model_binary_sparse(6), slow, 3,
                   control = short_control(max_iter = 1000, tol = 0))
  }, "interrupted", class = "gps_warning")
  setTimeLimit()
  expect_identical(fit$status, "interrupted")
  expect_gt(fit$n_iter, 0)
  expect_true(all(is.finite(fit$params$W)) && is.finite(fit$bound))
  after <- .Random.seed
  set.seed(1)
  runif(2)
  expect_identical(after, .Random.seed)
})

# Interrupts at drawn moments are answered within a second of CPU time; what is returned belongs
# together; and the session is as it was.
expect_answers <- function(moments) {
  found <- interrupt_at(moments)
  if (nrow(found) < nrow(moments)) {
    fail(paste(c("No answer:", attr(found, "output")), collapse = "\n"))
  }
  for (i in seq_len(nrow(found))) {
    label <- sprintf("%s after %.3f s", found$work[i], moments$wait[i])
    expect(found$cpu[i] <= 1, sprintf("%s took %.2f CPU seconds to answer.", label, found$cpu[i]))
    expect(found$sound[i], sprintf("%s left what does not belong together.", label))
    expect_identical(found$next_fit[i], "gps_fit")
  }
  found
}

test_that("an interrupt at any moment is answered at once by what belongs together", {
  skip_on_cran()
  # CPU time at the signal is read in /proc.
  skip_if_not(file.exists("/proc/self/stat"))
  set.seed(31)
  works <- c("binary_exact_gp", "mixture", "occlusive", "batches", "gp_predict", "estep")
  found <- expect_answers(data.frame(work = works, wait = round(runif(6, 0.1, 0.4), 3)))
  expect_true(any(found$class == "gps_fit"))
})

test_that("at fifty moments every kind of work is interrupted", {
  skip_unless_full()
  skip_if_not(file.exists("/proc/self/stat"))
  set.seed(32)
  works <- rep_len(sample(names(interrupted_work)), 50)
  found <- expect_answers(data.frame(work = works, wait = round(rexp(50, 1 / 1.2), 3) + 0.02))
  expect_gt(sum(found$class == "gps_fit"), 10)
})

test_that("an interrupt is not lost where warnings are errors, nor is the fit", {
  skip_on_os("windows")
  fit_with <- function() {
    set.seed(1)
    gps_fit(small_bars(), model_binary_sparse(6), selector_at(7, signal_interrupt), 3,
            control = short_control(max_iter = 20, tol = 0, polish = FALSE, mend = FALSE))
  }
  old <- options(warn = 2)
  on.exit(options(old))
  expect_message(fit <- fit_with(), "interrupted")
  expect_identical(fit$status, "interrupted")
  options(old)
  # A handler that jumps finds the fit in the warning.
  condition <- tryCatch(fit_with(), warning = identity)
  expect_identical(condition$fit$params, fit$params)
})

test_that("two interrupts are as one, and the session's generator is as after a fit", {
  skip_on_os("windows")
  press_twice <- function() {
    tools::pskill(Sys.getpid(), tools::SIGINT)
    tools::pskill(Sys.getpid(), tools::SIGINT)
    for (i in 1:5000) sqrt(i)
  }
  set.seed(1)
  fit <- suppressWarnings(
    gps_fit(small_bars(), model_binary_sparse(6), selector_at(3, press_twice), 3,
            control = short_control(max_iter = 20, tol = 0)), classes = "gps_warning"
  )
  expect_identical(fit$status, "interrupted")
  expect_silent(for (i in 1:1000) sqrt(i))
})

test_that("a time limit ends a fit in the middle of a pass, after one complete E-step", {
  set.seed(21)
  y <- simulate_bars(400, value = 5)$y
  # Time is out in the first E-step, which is completed.
  first <- gps_fit(y, model_binary_sparse(10), selector_handcrafted(), 8,
                   control = short_control(method = "gibbs", time_limit = 1e-3))
  expect_identical(first$status, "time_limit")
  expect_identical(first$n_iter, 1L)
  expect_identical(first$bound, first$trace$bound)
  # An E-step that would take hours.
  model <- gps_bind(model_binary_sparse(10), y)
  selected <- matrix(1:5, 400, 5, byrow = TRUE)
  params <- gps_init(model, y)
  expect_error(
    with_deadline(elapsed() + 0.2, gps_estep(model, params, y, selected, method = "gibbs",
                                             sweeps = c(1e6, 1))),
    class = "gps_time_limit"
  )
  expect_identical(clock$deadline, Inf)
  for (seed in 1:3) {
    set.seed(seed)
    fit <- gps_fit(small_bars(), model_binary_sparse(6), selector_gp(), 3,
                   control = gps_control(max_iter = 1e5, n_starts = 3, tol = 0, progress = FALSE,
                                         time_limit = 0.05 * seed))
    expect_identical(fit$status, "time_limit")
    expect_together(fit, small_bars())
  }
})

test_that("an interrupt of the fit in gps_denoise() ends the call and carries the fit", {
  skip_on_os("windows")
  set.seed(3)
  image <- matrix(rnorm(400, 100, 20), 20)
  n_calls <- 0
  ranking <- selector_custom(function(params, y) {
    n_calls <<- n_calls + 1
    if (n_calls == 3) signal_interrupt()
    y %*% params$W
  })
  answer <- suppressWarnings(tryCatch(
    gps_denoise(image, 20, selector = ranking, size = 4, model = model_spike_slab(8),
                n_selected = 4),
    interrupt = identity
  ))
  expect_s3_class(answer, "interrupt")
  expect_s3_class(answer$fit, "gps_fit")
})

test_that("an interrupt of one of several fits ends the call that makes them", {
  skip_on_os("windows")
  y <- small_bars()
  control <- short_control(max_iter = 4)
  n_calls <- 0
  at <- Inf
  ranking <- selector_custom(function(params, y) {
    n_calls <<- n_calls + 1
    if (n_calls == at) signal_interrupt()
    matrix(rep(seq_len(6), each = nrow(y)), ncol = 6)
  })
  model <- model_binary_sparse(6)
  fit <- gps_fit(y, model, ranking, 3, control = control)
  works <- list(
    choose = function() {
      gps_choose(y, model, 6, selector = ranking, n_selected = 3, control = control)
    },
    compare = function() {
      compare_selectors(y, model, list(a = ranking, b = ranking), 1, 3, control = control)
    },
    bootstrap = function() gps_bootstrap(fit, 2)
  )
  if (requireNamespace("recipes", quietly = TRUE)) works$step <- function() {
    recipe <- recipes::recipe(~ ., data = as.data.frame(y))
    options <- list(selector = ranking, n_selected = 3, control = control)
    recipes::prep(step_gpselect(recipe, recipes::all_predictors(), num_comp = 6, model = model,
                                options = options))
  }
  for (name in names(works)) {
    n_calls <- 0
    at <- 4
    answer <- suppressWarnings(tryCatch(works[[name]](), interrupt = identity))
    expect_s3_class(answer, "interrupt")
    expect_s3_class(answer$fit, "gps_fit")
    expect_identical(n_calls, 4, info = name)
  }
})
