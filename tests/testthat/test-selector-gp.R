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
  expect_identical(unlist(fit$kernel_trace[1, -(1:2)]), coef(kernel))
  none <- gps_fit(t(fit$y), model_binary_sparse(10), selector_random(), n_selected = 4,
                  control = quick_control())
  expect_null(none$kernel_trace)
})
