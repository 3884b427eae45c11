# What "auto" chooses, why, and whether selection pays.

clusters_of <- function(n, C, D) {
  set.seed(1)
  mu <- matrix(rnorm(C * D, sd = 3), D)
  t(mu[, sample.int(C, n, TRUE)]) + matrix(rnorm(n * D), n)
}

picked <- function(model, n, D, ..., batched = FALSE) {
  y <- matrix(0, D, n)
  choose_auto(selector_gp(...), nominal_model(model, y), y, batched)
}

test_that("many clusters are ranked by neighbours, few are all looked at", {
  many <- picked(model_gaussian_mixture(800, "spherical"), 20000, 16)
  expect_identical(many, list(method = "neighbours", why = "by the numbers of points and clusters"))
  expect_true(picked(model_gaussian_mixture(50), 20000, 10)$all)
  # The same clusters cost more where covariances are full and dimensions many.
  expect_true(picked(model_gaussian_mixture(100, "diagonal"), 20000, 40)$all)
  expect_null(picked(model_gaussian_mixture(100), 20000, 40)$all)
  expect_identical(picked(model_gaussian_mixture(100), 20000, 40)$method, "neighbours")
})

test_that("what neighbours cannot do, and data that other rules are for, are left to these", {
  mixture <- model_gaussian_mixture(800, "spherical")
  expect_identical(picked(mixture, 2000, 2), list(method = "exact"))
  expect_identical(picked(mixture, 2000, 2, batched = TRUE), list(method = "ichol"))
  expect_identical(picked(model_binary_sparse(10), 2001, 2, batched = TRUE), list(method = "ichol"))
  expect_identical(picked(mixture, 2001, 2, batched = TRUE)$method, "neighbours")
  expect_identical(picked(mixture, 2001, 2, kernel = kernel_linear())$method, "exact")
  expect_identical(picked(mixture, 2001, 2, kernel = kernel_periodic()), list(method = "ichol"))
  expect_identical(picked(model_binary_sparse(10), 2001, 4), list(method = "ichol"))
  expect_null(picked(model_gaussian_mixture(3), 2001, 2, screen = gps_screen())$all)
})

test_that("a fit that looks at all clusters is that of selector_full(), and says so", {
  y <- clusters_of(2100, 4, 3)
  fit <- function(...) {
    set.seed(2)
    gps_fit(y, model_gaussian_mixture(4, "diagonal"), ...,
            control = gps_control(max_iter = 30, n_starts = 2, n_threads = 1, progress = FALSE))
  }
  auto <- fit()
  full <- fit(selector_full())
  expect_identical(auto$params, full$params)
  expect_identical(auto$bound, full$bound)
  expect_identical(auto$n_selected, 4L)
  expect_printed(auto, "all latents, which take less time than learning to select")
  expect_identical(predict(auto, y[1:5, ]), predict(full, y[1:5, ]))
  file <- tempfile(fileext = ".rds")
  saveRDS(auto, file)
  expect_identical(predict(readRDS(file), y[1:5, ]), predict(full, y[1:5, ]))
  unlink(file)
  # Whoever says how many has them selected.
  two <- fit(n_selected = 2)
  expect_identical(two$n_selected, 2L)
  expect_printed(two, "20 nearest neighbours (chosen by the numbers of points and clusters)",
                 fixed = TRUE)
  expect_lt((full$bound - two$bound) / 2100, 0.01)
  expect_identical(gps_fit(y, model_gaussian_mixture(4, "diagonal"), start = auto,
                           control = gps_control(max_iter = 1, progress = FALSE))$n_selected, 4L)
})
