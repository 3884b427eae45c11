# Model E and its screens under inputs that are odd, extreme or wrong.

fit_few <- function(y, ..., components = 3, selector = selector_handcrafted(), start = NULL,
                    max_iter = 4) {
  set.seed(1)
  gps_fit(y, model_occlusive(components, c(7, 7)), selector, min(3, components), start = start,
          control = gps_control(max_iter = max_iter, n_threads = 1, progress = FALSE, ...))
}

few_scenes <- function() {
  set.seed(3)
  simulate_scenes(scene_objects(3, 6, 1), 50, size = c(12, 12), prob = 0.4)$y
}

test_that("a fit goes on with images of another size", {
  y <- few_scenes()
  first <- fit_few(y, max_iter = 12)
  # The slots of the first fit name latents that these images do not have, or others.
  for (small in list(y[, 1:9, 1:9], y[, 1:9, 1:12])) {
    again <- fit_few(small, start = first)
    expect_lte(max(again$selected), again$model$n_latents)
    expect_identical(dim(predict(again, type = "segmentation")), c(50L, dim(small)[2:3]))
  }
  wide <- fit_few(y[, 1:9, 1:12], max_iter = 0)
  high <- fit_few(y[, 1:12, 1:9], start = wide, max_iter = 0)
  params <- fit_few(y[, 1:12, 1:9], start = wide$params, max_iter = 0)$params
  expect_identical(high$params, params)
})

test_that("images of any scale are learned alike, or refused", {
  y <- few_scenes()
  reference <- fit_few(y, max_iter = 0)
  for (exponent in c(-450, 450)) {
    scaled <- fit_few(y * 2^exponent, max_iter = 0)
    expect_identical(scaled$params$w, reference$params$w * 2^exponent)
    expect_true(all(is.finite(unlist(fit_few(y * 2^exponent)$params))))
  }
  expect_error(fit_few(y * 1e300), "too large to square", class = "gps_error_argument")
  expect_error(fit_few(y * 1e-300), "too small to square", class = "gps_error_argument")
  set.seed(1)
  far <- gps_fit(y, model_occlusive(3, c(7, 7), background = 1e200), selector_handcrafted(), 3,
                 control = gps_control(max_iter = 2, progress = FALSE, n_threads = 1))
  expect_true(is.finite(far$bound))
})

test_that("one image is not constant, one grey level is", {
  y <- few_scenes()
  expect_no_warning(fit_few(y[1, , , drop = FALSE], components = 1, max_iter = 1))
  expect_warning(fit_few(0 * y + 3, max_iter = 1), "constant", class = "gps_warning")
})

test_that("a fixed background is what the model says, and sizes have limits", {
  set.seed(4)
  y <- array(stats::runif(20 * 8 * 8, 0, 0.1), c(20, 8, 8))
  fixed <- model_occlusive(2, c(4, 4), background = 0)
  expect_gps_error(gps_fit(y, fixed, start = list(background = 0.7)),
                   "`start$background` must be 0, as the model fixes it, not 0.7")
  expect_gps_error(gps_fit(y, model_occlusive(1e7, c(4, 4))), "parameters, more than 67,108,864")
  expect_gps_error(gps_screen(keep = FALSE, guided = c(0, 3)), "need `keep` = TRUE")
  expect_gps_error(gps_screen(keep = FALSE, conditional = c(1, 1)), "need `keep` = TRUE")
  expect_false(gps_screen(keep = FALSE)$keep)
})

test_that("one component, one slot, one image, windows as large as images: all are fitted", {
  set.seed(5)
  y <- array(stats::rnorm(12 * 64 * 3, sd = 0.05), c(12, 8, 8, 3))
  for (i in 1:9) y[i, i %% 5 + 1:4, (2 * i) %% 5 + 1:4, ] <- 0.8
  images <- list(grey = y[, , , 1], colour = y, one = y[1, , , 1, drop = FALSE],
                 flat = 0 * y[, , , 1] + 0.3)
  selectors <- list(selector_handcrafted(), selector_handcrafted(FALSE), selector_random(),
                    selector_gp(method = "exact"), selector_gp(method = "ichol", rank = 5))
  fits <- expand.grid(components = 1:2, n_selected = 1:2, image = names(images),
                      selector = seq_along(selectors), size = c(4, 8), stringsAsFactors = FALSE)
  fits <- fits[fits$n_selected <= fits$components, ]
  # All of them are slow; every seventh has each value beside most of the others.
  for (i in seq(1, nrow(fits), by = if (is_full()) 1 else 7)) {
    what <- fits[i, ]
    set.seed(1)
    fit <- suppressWarnings(
      gps_fit(images[[what$image]], model_occlusive(what$components, rep(what$size, 2)),
              selectors[[what$selector]], n_selected = what$n_selected,
              control = gps_control(max_iter = if (is_full()) 40 else 12, n_threads = 1,
                                    progress = FALSE, hold = 1,
                                    grow = if (i %% 2 == 0) 5)),
      classes = "gps_warning"
    )
    numbers <- c(fit$bound, unlist(coef(fit)))
    expect_true(all(is.finite(numbers)), label = paste(what, collapse = " "))
    expect_identical(dim(predict(fit)), c(nrow(images[[what$image]]), what$components))
  }
})
