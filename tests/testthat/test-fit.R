# The whole thing: what a fit finds, its defaults, and what it weighs.
# @srrstats {G5.6, G5.9b}

found_bars <- function(selector, n = 300) {
  set.seed(41)
  bars <- simulate_bars(n, value = 5)
  fit <- gps_fit(bars$y, model_binary_sparse(10), selector, 5,
                 control = gps_control(max_iter = 40, n_starts = 3, progress = FALSE))
  list(n_found = sum(match_components(fit, bars)$matched), fit = fit)
}

test_that("hand-crafted selection and learned ones find the easy bars", {
  for (selector in list(selector_handcrafted(), selector_gp(kernel_linear()),
                        selector_gp(kernel_rbf()))) {
    result <- found_bars(selector)
    expect_identical(result$n_found, 10L)
    expect_lt(abs(result$fit$params$pi - 0.2), 5 * sqrt(0.16 / 3000))
    # Truncation to five of ten leaves a little more noise than the true 2.
    expect_gt(result$fit$params$sigma2, 1.9)
    expect_lt(result$fit$params$sigma2, 2.2)
  }
})

test_that("random selection does not: it is the selector that finds them", {
  expect_lt(found_bars(selector_random())$n_found, 10)
})

test_that("learned selection finds clusters whichever the covariance", {
  set.seed(42)
  data <- simulate_clusters(150, separation = 8)
  for (covariance in c("full", "diagonal", "spherical")) {
    set.seed(1)
    fit <- gps_fit(data$y, model_gaussian_mixture(3, covariance), selector_gp(kernel_rbf()), 2,
                   control = gps_control(max_iter = 40, n_starts = 4, progress = FALSE))
    cluster <- fit$selected[cbind(max.col(t(fit$prob_on)), 1:150)]
    expect_gt(adjusted_rand(cluster, data$cluster), 0.98)
    expect_true(all(match_components(fit, data, 0.99)$matched))
  }
})

test_that("defaults: six of many latents, all of few; a quarter of the clusters, two at least", {
  selected_of <- function(model) check_n_selected(NULL, model)
  expect_identical(selected_of(model_binary_sparse(3)), 3L)
  expect_identical(selected_of(model_binary_sparse(6)), 6L)
  expect_identical(selected_of(model_binary_sparse(50)), 6L)
  expect_identical(selected_of(model_gaussian_mixture(1)), 1L)
  expect_identical(selected_of(model_gaussian_mixture(3)), 2L)
  expect_identical(selected_of(model_gaussian_mixture(20)), 5L)
  set.seed(1)
  y <- matrix(rnorm(100), 25)
  fit <- gps_fit(y, model_binary_sparse(4), control = gps_control(max_iter = 2, n_starts = 2,
                                                                  progress = FALSE))
  expect_identical(fit$n_selected, 4L)
  expect_s3_class(fit$selector, "gps_selector_gp")
  expect_identical(fit$max_active, 4L)
})

test_that("numbers of slots and active latents outside their ranges are refused by name", {
  y <- matrix(rnorm(100), 25)
  for (bad in list(5, 0, -1, 2.5, NA, c(1, 2), Inf, TRUE, list(2))) {
    expect_gps_error(gps_fit(y, model_binary_sparse(4), n_selected = bad),
                     "`n_selected` must be a whole number between 1 and 4")
  }
  expect_gps_error(gps_fit(y, model_binary_sparse(4), n_selected = "2"),
                   "`n_selected` must be NULL, \"auto\" or a whole number up to 4")
  for (bad in list(4, 0, 2.5, NA, "2")) {
    expect_gps_error(gps_fit(y, model_binary_sparse(4), n_selected = 3, max_active = bad),
                     "`max_active` must be a whole number between 1 and 3")
  }
})

test_that("max_active bounds what is on at once", {
  set.seed(1)
  y <- simulate_bars(100, size = 3, value = 5)$y
  set.seed(2)
  fit <- gps_fit(y, model_binary_sparse(6), selector_handcrafted(), 4, max_active = 1,
                 control = short_control(max_iter = 10))
  expect_identical(fit$max_active, 1L)
  expect_lte(max(colSums(fit$prob_on)), 1 + 1e-12)
})

test_that("one of everything works with every selector", {
  set.seed(1)
  y <- matrix(rnorm(40), 10)
  selectors <- list(selector_handcrafted(), selector_gp(), selector_random(), selector_full())
  models <- list(model_binary_sparse(3), model_gaussian_mixture(3),
                 model_gaussian_mixture(3, "diagonal"), model_gaussian_mixture(3, "spherical"))
  short <- short_control(max_iter = 2)
  for (selector in selectors) {
    is_full <- inherits(selector, "gps_selector_full")
    for (model in models) {
      one_dim <- quiet_degenerate(gps_fit(y[, 1, drop = FALSE], model, selector,
                                          if (!is_full) 2, control = short))
      expect_true(is.finite(one_dim$bound))
      expect_identical(dim(one_dim$y), c(1L, 10L))
      one_slot <- quiet_degenerate(gps_fit(y, model, selector, if (!is_full) 1, control = short))
      expect_identical(dim(one_slot$prob_on)[2], 10L)
    }
    for (model in list(model_binary_sparse(1), model_gaussian_mixture(1))) {
      one_latent <- gps_fit(y, model, selector, 1, control = short)
      expect_identical(dim(one_latent$selected), c(1L, 10L))
    }
    one_point <- suppressWarnings(
      gps_fit(y[1, , drop = FALSE], model_binary_sparse(2), selector, if (!is_full) 1,
              control = short),
      classes = "gps_warning"
    )
    expect_identical(ncol(one_point$selected), 1L)
    expect_true(is.finite(one_point$bound))
  }
})

test_that("one point cannot teach a selector, and the fit says so", {
  y <- matrix(rnorm(4), 1)
  expect_warning(
    expect_warning(
      expect_warning(
        gps_fit(y, model_binary_sparse(3), selector_gp(), 2, control = short_control(max_iter = 2)),
        "One data point cannot teach a selector", class = "gps_warning"
      ), "`y` is constant", class = "gps_warning"
    ), "more latents (3) than data points (1)", fixed = TRUE, class = "gps_warning"
  )
})

test_that("a fit is little larger than the data, the parameters and the slots", {
  set.seed(1)
  y <- simulate_bars(2500)$y
  model <- model_binary_sparse(10)
  # The trace is as long as it gets: eight starts and all iterations.
  fit <- gps_fit(y, model, selector_handcrafted(), 2,
                 control = gps_control(tol = 0, progress = FALSE))
  parts <- as.double(object.size(y)) + as.double(object.size(fit$params)) + 12 * 2500 * 2
  expect_lte(as.double(object.size(fit)), 1.1 * parts)
  expect_lte(length(serialize(fit, NULL)), 1.1 * parts)
  bare <- gps_fit(y, model, selector_handcrafted(), 5,
                  control = short_control(max_iter = 1, keep_data = FALSE))
  expect_null(bare$y)
})

test_that("the default selector's fit holds no kernel matrix", {
  set.seed(1)
  y <- simulate_bars(2000)$y
  fit <- gps_fit(y, model_binary_sparse(10), n_selected = 5, control = short_control(max_iter = 1))
  parts <- as.double(object.size(y)) + as.double(object.size(fit$params)) + 12 * 2000 * 5
  expect_lte(as.double(object.size(fit)), 1.1 * parts)
  expect_lte(length(serialize(fit, NULL)), 1.1 * parts)
})

test_that("names travel with the fit", {
  set.seed(1)
  y <- matrix(rnorm(40), 10, dimnames = list(letters[1:10], c("u", "v", "w", "x")))
  fit <- gps_fit(y, model_binary_sparse(2), selector_full(), control = short_control(max_iter = 2))
  expect_identical(fit$row_names, letters[1:10])
  expect_identical(fit$col_names, c("u", "v", "w", "x"))
  images <- gps_fit(array(y, c(10, 2, 2)), model_binary_sparse(2), selector_full(),
                    control = short_control(max_iter = 2))
  expect_identical(images$image_dim, c(2L, 2L))
})
