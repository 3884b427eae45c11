# Fits that keep nothing of their data points.

lean_control <- function(...) {
  gps_control(max_iter = 4, n_starts = 1, progress = FALSE, n_threads = 1, keep_data = FALSE,
              keep_slots = FALSE, ...)
}

lean_fit <- function(n, selector = selector_handcrafted(), ...) {
  set.seed(21)
  y <- simulate_bars(n, value = 5)$y
  rownames(y) <- seq_len(n)
  gps_fit(y, model_binary_sparse(10), selector, n_selected = 4, control = lean_control(...))
}

test_that("a lean fit does not grow with the data, and says what it can say", {
  fit <- lean_fit(3000)
  expect_lt(abs(as.double(object.size(fit)) - as.double(object.size(lean_fit(200)))), 2000)
  expect_lt(as.double(object.size(lean_fit(3000, selector_gp(method = "ichol", rank = 20)))), 1e5)
  set.seed(21)
  whole <- gps_fit(simulate_bars(3000, value = 5)$y, model_binary_sparse(10),
                   selector_handcrafted(), n_selected = 4,
                   control = change_control(lean_control(), list(keep_slots = TRUE)))
  expect_identical(coef(fit), coef(whole))
  expect_identical(c(logLik(fit)), c(logLik(whole)))
  expect_identical(nobs(fit), 3000L)
  new <- bars_data()$y[1:7, ]
  expect_identical(predict(fit, new), predict(whole, new))
  expect_printed(fit, "not kept", fixed = TRUE)
  expect_printed(summary(fit), "by `pi`", fixed = TRUE)
  expect_length(simulate(fit, 2, n = 3), 2)
  expect_identical(fit[c("selected", "prob_on", "value", "y", "row_names")],
                   list(selected = NULL, prob_on = NULL, value = NULL, y = NULL,
                        row_names = NULL), ignore_attr = TRUE)
})

test_that("what needs the slots of a lean fit is refused in words", {
  fit <- lean_fit(100)
  y <- bars_data()$y[1:100, ]
  uses <- list(expectations = expectations, prob = predict,
               selected = function(fit) predict(fit, type = "selected"),
               affinity = function(fit) gps_affinity(selector_handcrafted(), fit, y),
               recall = function(fit) selection_recall(fit, matrix(1, 100, 10)),
               selection = function(fit) plot(fit, "selection"))
  for (name in names(uses)) {
    expect_error(uses[[name]](fit), "gps_control\\(keep_slots = TRUE\\)",
                 class = "gps_error_argument", info = name)
  }
  set.seed(22)
  exact <- gps_fit(y, model_binary_sparse(10), selector_gp(kernel_linear()), n_selected = 4,
                   control = change_control(lean_control(), list(keep_data = TRUE)))
  expect_gps_error(predict(exact, y[1:3, ]), "keep_slots = TRUE")
  expect_gps_error(fitted(exact), "keep_slots = TRUE")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (which in c("components", "bound")) expect_silent(plot(fit, which))
})

test_that("every model has lean fits that predict and go on", {
  set.seed(23)
  bars <- bars_data()$y
  scenes <- round(simulate_scenes(scene_objects(2, c(6, 6), 1), 10, c(10, 10))$y, 1)
  cases <- list(
    list(bars, model_spike_slab(6)), list(bars, model_max_spike_slab(6)),
    list(bars[, 1:2], model_gaussian_mixture(3)), list(scenes, model_occlusive(2, c(6, 6))),
    list(bars, model_binary_sparse(6), "gibbs")
  )
  for (case in cases) {
    control <- lean_control(method = if (length(case) > 2) case[[3]] else "auto")
    fit <- suppressWarnings(gps_fit(case[[1]], case[[2]], selector_handcrafted(), n_selected = 2,
                                    control = control), classes = "gps_warning")
    expect_null(fit$value)
    expect_identical(check_fit(fit), fit)
    new <- if (is.matrix(case[[1]])) case[[1]][1:3, ] else case[[1]][1:3, , ]
    expect_identical(nrow(predict(fit, new)), 3L)
    again <- suppressWarnings(update(fit, y = case[[1]], start = fit, max_iter = 2),
                              classes = "gps_warning")
    expect_s3_class(again, "gps_fit")
  }
})
