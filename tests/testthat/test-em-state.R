# Tasks and states have the fields that em-plan.R declares, whatever the fit, and no others.

expect_declared <- function(y, model, selector, n_selected, control) {
  suppressWarnings({
    task <- new_task(y, model, selector, n_selected, NULL, control)
    states <- list(first_state(task, NULL))
    for (iteration in 1:3) states[[iteration + 1]] <- try_step(task, states[[iteration]])
    states <- c(states, list(run_em(hold_back(task), states[[1]])))
    states <- c(states, list(finish(task, states[[length(states)]])))
  }, classes = "gps_warning")
  expect_setequal(names(task), names(make_task(list())))
  declared <- names(new_state(list(), 0L, 0))
  for (state in states) expect_setequal(names(state), declared)
}

test_that("states of all kinds of fits have the declared fields", {
  set.seed(31)
  y <- t(simulate_bars(120)$y)
  control <- function(...) gps_control(max_iter = 20, n_threads = 1, progress = FALSE, ...)
  expect_declared(y, model_binary_sparse(10), selector_gp(), 4, control(n_starts = 3))
  expect_declared(y, model_binary_sparse(10, intercept = TRUE), selector_handcrafted(), 4,
                  control(n_starts = 1))
  expect_declared(y, model_spike_slab(10), selector_gp(method = "inducing", rank = 30), 4,
                  control(n_starts = 2, method = "gibbs"))
  expect_declared(y, model_binary_sparse(10), selector_gp(method = "fourier", rank = 30), 4,
                  control(n_starts = 1, batch_size = 40))
  expect_declared(y, model_gaussian_mixture(3), selector_full(), 3, control(n_starts = 2))
  scenes <- scene_data()
  expect_declared(read_data(scenes$y)$y, set_image(model_occlusive(3, c(8, 8)), c(11, 13, 3)),
                  selector_handcrafted(), 3, control(n_starts = 1))
})

test_that("the task of a prediction has the declared fields", {
  set.seed(32)
  y <- simulate_bars(60)$y
  fit <- gps_fit(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
                 control = gps_control(max_iter = 3, n_starts = 1, progress = FALSE))
  task <- new_prediction_task(fit, t(y), "prob")
  expect_setequal(names(task), names(make_task(list())))
  expect_setequal(names(prediction_state(fit)), names(new_state(list(), 0L, 0)))
})

test_that("a field that is not declared is refused", {
  expect_error(make_task(list(wizard = 1)), "names")
})
