# The words of the main refusals and warnings, as users read them.
# @srrstats {G5.2}

test_that("refused data", {
  fit <- function(y, ...) gps_fit(y, model_binary_sparse(4), selector_handcrafted(), ...)
  y <- matrix(c(1:11, Inf), 4)
  frame <- data.frame(length = 1:3, species = factor(c("a", "b", "c")))
  odd_images <- list(matrix(0, 2, 2), matrix(0, 2, 3))
  expect_snapshot(error = TRUE, cnd_class = TRUE, {
    fit(NULL)
    fit(list())
    fit(matrix(0, 0, 3))
    fit(1:10)
    fit(y)
    fit(frame)
    fit(odd_images)
    fit(matrix(1e160, 3, 3))
    fit(matrix("a", 2, 2))
  })
})

test_that("refused settings of a fit", {
  y <- matrix(1:40, 10)
  expect_snapshot(error = TRUE, cnd_class = TRUE, {
    gps_fit(y, "binary")
    gps_fit(y, model_binary_sparse(4), "gp")
    gps_fit(y, model_binary_sparse(4), control = list())
    gps_fit(y, model_binary_sparse(4), n_selected = 5)
    gps_fit(y, model_binary_sparse(4), n_selected = "auto", max_active = 5)
    gps_fit(y, model_binary_sparse(4), n_selected = 3, max_active = 4)
    gps_fit(y, model_binary_sparse(40), selector_full(), control = gps_control(method = "exact"))
    gps_fit(y, model_gaussian_mixture(4), control = gps_control(method = "gibbs"))
    gps_fit(y, model_gaussian_mixture(11))
    gps_fit(y, model_binary_sparse(4), start = list(V = 1))
    gps_fit(y, model_binary_sparse(4), start = list(W = 1:3))
    gps_fit(y, model_binary_sparse(4), start = list(sigma2 = 0))
  })
})

test_that("refused controls, models, selectors and screens", {
  expect_snapshot(error = TRUE, cnd_class = TRUE, {
    gps_control(maxiter = 10)
    gps_control(max_iter = 2.5)
    gps_control(tol = -1)
    gps_control(method = "gibs")
    gps_control(sweeps = 5)
    gps_control(checkpoint = 3)
    gps_control(monotone = TRUE, anneal = 2)
    gps_control(monotone = TRUE, method = "gibbs")
    model_binary_sparse(0)
    model_gaussian_mixture(3, "sperical")
    selector_gp(explore = 2)
    selector_gp("rbf")
    selector_gp(method = "exact", rank = 5)
    selector_gp(method = "cholesky")
    selector_custom(1)
    gps_screen(rank_by = "gredy")
    gps_screen(moves = TRUE)
  })
})

test_that("errors while a fit runs", {
  y <- matrix(rnorm(40), 10)
  control <- gps_control(max_iter = 3, n_starts = 1, progress = FALSE)
  expect_snapshot(error = TRUE, cnd_class = TRUE, {
    gps_fit(y, model_binary_sparse(4), selector_custom(function(params, y) stop("no file")), 2,
            control = control)
    gps_fit(y, model_binary_sparse(4), selector_custom(function(params, y) 1), 2,
            control = control)
  })
})

test_that("refused steps", {
  y <- matrix(rnorm(40), 10)
  model <- gps_bind(model_binary_sparse(4), y)
  set.seed(1)
  params <- gps_init(model, y)
  slots <- matrix(1:2, 10, 2, byrow = TRUE)
  expect_snapshot(error = TRUE, cnd_class = TRUE, {
    gps_estep(model_binary_sparse(4), params, y, slots)
    gps_estep(model, params, y[, 1:3], slots)
    gps_estep(model, params[1:2], y, slots)
    gps_estep(model, params, y, slots + 3)
    gps_estep(model, params, y, cbind(slots, 1))
    gps_estep(model, params, y, slots, want = "stat")
    gps_mstep(model, params, list(count = 10))
    gps_draw(model, params, 0)
  })
})

test_that("warnings", {
  control <- gps_control(max_iter = 1, n_starts = 1, progress = FALSE)
  set.seed(1)
  expect_snapshot({
    constant <- gps_fit(matrix(1, 6, 2), model_binary_sparse(2), selector_full(), control = control)
    wide <- gps_fit(matrix(1:4, 2), model_binary_sparse(3), selector_full(), control = control)
    lone <- gps_fit(matrix(1:4, 1), model_binary_sparse(2), selector_gp(), 1, control = control)
  })
})
