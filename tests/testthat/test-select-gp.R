learn_kernel <- function(n, ..., kernel = kernel_linear()) {
  set.seed(41)
  bars <- simulate_bars(n, value = 5)
  set.seed(42)
  gps_fit(bars$y, model_binary_sparse(10), selector_gp(kernel, refit_every = 4), n_selected = 4,
          control = gps_control(progress = FALSE, n_threads = 1, tol = 0, ...))
}

test_that("the kernel's trace has its beginning and a row for each refit", {
  fit <- learn_kernel(150, max_iter = 13, n_starts = 1, mend = FALSE)
  trace <- fit$kernel_trace
  expect_named(trace, c("start", "iteration", names(fit$kernel_theta)))
  kernel <- fit$selector$kernel
  expect_identical(unlist(trace[1, -(1:2)]), gp_theta(kernel, fit$y))
  expect_identical(unlist(trace[nrow(trace), -(1:2)]), fit$kernel_theta)
  expect_identical(trace$iteration, c(0L, fit$trace$iteration[fit$trace$refit]))
  expect_gte(nrow(trace), 4)
  expect_identical(trace$start, rep(0L, nrow(trace)))
  expect_named(coef(gp_fit(t(fit$y), expectations(fit), kernel)), names(trace)[-(1:2)])
})

test_that("short starts share a kernel, whose trace goes on in the main run", {
  for (n in c(150, 2100)) {
    fit <- learn_kernel(n, max_iter = 6, n_starts = 2)
    trace <- fit$kernel_trace
    expect_identical(trace[c("start", "iteration")],
                     rbind(data.frame(start = 1L, iteration = 0L),
                           fit$trace[fit$trace$refit, c("start", "iteration")]),
                     ignore_attr = TRUE)
    expect_setequal(trace$start, c(0L, 1L))
    expect_identical(unlist(trace[nrow(trace), -(1:2)]), fit$kernel_theta)
  }
})

test_that("going on from a fit, the trace begins with its kernel", {
  first <- learn_kernel(150, max_iter = 5, n_starts = 1)
  more <- update(first, start = first, max_iter = 1)
  expect_identical(unlist(more$kernel_trace[1, -(1:2)]), first$kernel_theta)
})

test_that("a kernel that nothing teaches has only a beginning; other selectors have no kernel", {
  kernel <- kernel_linear(3) + kernel_white(0.5)
  fit <- learn_kernel(150, max_iter = 2, n_starts = 1, kernel = kernel)
  # A variance that was given is in the data's unit, the trace in the selection's.
  given <- coef(kernel) + c(2 * log(fit$gp$units$scale), 0)
  expect_equal(unlist(fit$kernel_trace[1, -(1:2)]), given, tolerance = 1e-12)
  none <- gps_fit(t(fit$y), model_binary_sparse(10), selector_random(), n_selected = 4,
                  control = quick_control())
  expect_null(none$kernel_trace)
})

test_that("a refit that cannot begin is skipped and counted, and the fit goes on", {
  y <- t(bars_data()$y)
  for (method in c("exact", "ichol", "fourier", "divide")) {
    selector <- selector_gp(kernel_rbf() + kernel_white(), method = method, refit_every = 4,
                            rank = if (method != "exact") 40)
    task <- new_task(y, model_binary_sparse(10), selector, 4, NULL, short_control(), c(1L, 2L))
    state <- em_step(task, em_step(task, begin_state(task, 1)))
    expect_identical(state$memory$skipped, 0L)
    # What is prepared stays, so that only the refit meets a number that is none.
    state$memory$theta[] <- NaN
    state$memory[c("r2", "last_refit")] <- list(1, -Inf)
    after <- em_step(task, state)
    expect_identical(after$memory[c("skipped", "refit")], list(skipped = 1L, refit = FALSE),
                     info = method)
    expect_identical(after$memory$last_refit, after$iteration)
    row <- after$trace[[length(after$trace)]]
    expect_match(row$events, "refit_skipped 1", info = method)
    expect_true(is.finite(em_step(task, after)$bound))
  }
})

test_that("hyper-parameters that explain nothing begin anew, and are learned again from there", {
  y <- t(bars_data()$y)
  for (method in c("exact", "ichol", "inducing", "fourier", "neighbours")) {
    selector <- selector_gp(kernel_rbf() + kernel_white(), method = method, refit_every = 3,
                            rank = if (method != "exact") 40)
    task <- new_task(y, model_binary_sparse(10), selector, 4, NULL, short_control(), c(1L, 2L))
    state <- em_step(task, em_step(task, begin_state(task, 1L)))
    began <- state$memory$began
    # No point tells of another under so short a lengthscale.
    state$memory$theta[] <- log(c(1, 1e-4, 1e-9))
    state$memory[c("last_refit", "r2")] <- list(-Inf, 0)
    state <- em_step(task, state)
    expect_identical(unname(state$memory$theta), unname(began), info = method)
    expect_gt(state$memory$r2, least_signal)
    state <- em_step(task, state)
    expect_false(identical(unname(state$memory$theta), unname(began)), info = method)
    way <- trace_kernel(state$memory)
    expect_identical(unlist(utils::tail(way, 2)[1, -(1:2)], use.names = FALSE), unname(began))
  }
})

test_that("hyper-parameters that nothing can be made of are not taken", {
  y <- t(bars_data()$y)
  task <- new_task(y, model_binary_sparse(10), selector_gp(kernel_linear(), refit_every = 4), 4,
                   NULL, short_control(), c(1L, 2L))
  state <- em_step(task, begin_state(task, 1))
  memory <- state$memory
  memory[c("r2", "last_refit")] <- list(1, -Inf)
  targets <- state_targets(task$selector, task, state)
  regress <- function(memory) if (memory$refit) gps_abort("not finite", "numeric") else memory
  learned <- learn_memory(task$selector, task, memory, targets, state, regress)
  expect_identical(learned$skipped, 1L)
  expect_identical(learned$theta, memory$theta)
  expect_identical(learned$refits, memory$refits)
  expect_identical(learn_memory(task$selector, task, memory, targets, state, identity)$skipped, 0L)
})

test_that("fits with a kernel of one hyper-parameter are fits like others", {
  y <- bars_data()$y
  for (kernel in list(kernel_white(), kernel_linear(), kernel_bias())) {
    set.seed(4)
    fit <- gps_fit(y, model_binary_sparse(6), selector_gp(kernel), n_selected = 3,
                   control = quick_control())
    expect_identical(unlist(fit$kernel_trace[nrow(fit$kernel_trace), -(1:2), drop = FALSE]),
                     fit$kernel_theta)
    file <- tempfile(fileext = ".rds")
    saveRDS(fit, file)
    back <- readRDS(file)
    unlink(file)
    for (each in list(fit, back)) {
      expect_no_error(check_fit(each))
      expect_output(print(each))
      expect_output(print(summary(each)))
      expect_identical(dim(predict(each, y[1:5, ])), c(5L, 6L))
    }
    grDevices::pdf(NULL)
    plot(fit, "kernel")
    grDevices::dev.off()
    expect_s3_class(update(fit, start = fit, max_iter = 1), "gps_fit")
  }
})

test_that("lengthscales that the points of a refit suggest are found once for the same points", {
  y <- matrix(rnorm(40), 2)
  kernel <- kernel_composition()
  memory <- keep_scaled(list(), kernel, y, is_all = TRUE)
  expect_identical(memory$scaled$lengthscale, open_lengthscales(kernel, y))
  memory$scaled$lengthscale$one <- 7
  expect_identical(keep_scaled(memory, kernel, y + 0, is_all = TRUE), memory)
  other <- keep_scaled(memory, kernel, 2 * y, is_all = TRUE)
  expect_identical(other$scaled$lengthscale, open_lengthscales(kernel, 2 * y))
  # Rows that are sampled are others each time, and are not held.
  some <- keep_scaled(memory, kernel, y, is_all = FALSE)
  expect_identical(some$scaled, list(y = NULL, lengthscale = open_lengthscales(kernel, y)))
})
