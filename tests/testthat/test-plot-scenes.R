# Figures of fits whose components have locations.

test_that("every figure of a scene fit draws or is refused with the reason", {
  fit <- scene_fit()
  truth <- scene_data()
  for (which in c("components", "bound", "selection", "affinity", "scene")) {
    expect_silent(draw_quiet(plot(fit, which)))
  }
  expect_silent(draw_quiet(plot(fit)))
  expect_silent(draw_quiet(plot(fit, truth = truth)))
  expect_silent(draw_quiet(plot(fit, truth = truth$objects)))
  expect_silent(draw_quiet(plot(fit, "scene", point = c(7, 1, 60, 3, 4))))
  expect_silent(draw_quiet(plot(fit, "affinity", point = 9)))
  expect_silent(draw_quiet(plot(scene_fit("scene_sampled"), c("components", "scene"))))
  refused <- function(words, ...) {
    expect_error(draw_quiet(plot(...)), words, class = "gps_error_argument", fixed = TRUE)
  }
  refused("whose selector has learned a kernel", fit, "kernel")
  refused("a fit of model_gaussian_mixture()", fit, "clusters")
  refused("a fit of model_gaussian_mixture()", fit, "functions")
  refused("`beside` is not for models", fit, beside = fit)
  refused("`point` is for the figure", fit, point = 1)
  refused("`point` is for the figure", a_fit("gp"), "affinity", point = 1)
  refused("at most 6 points, not 7", fit, "scene", point = 1:7)
  refused("`point` must be whole numbers between 1 and 60", fit, "scene", point = 61)
  refused("`point` must be one point", fit, "affinity", point = 1:2)
  refused("components have locations", a_fit("gp"), "scene")
  refused("`truth` must be", fit, truth = "objects")
})

test_that("a fit without its data draws what needs none", {
  fit <- scene_fit()
  fit["y"] <- list(NULL)
  expect_silent(draw_quiet(plot(fit)))
  for (which in c("scene", "affinity")) {
    expect_error(draw_quiet(plot(fit, which)), "has not kept", class = "gps_error_argument")
  }
})

test_that("grey images, many components, one component, a plain mask draw", {
  set.seed(23)
  y <- simulate_scenes(scene_objects(2, 6, channels = 1), 12, size = c(9, 8), prob = 0.5)$y
  for (n in c(1, 45)) {
    fit <- suppressWarnings(
      gps_fit(y, model_occlusive(n, c(7, 6)), selector_random(), n_selected = min(n, 2),
              control = quick_control()), classes = "gps_warning"
    )
    expect_silent(draw_quiet(plot(fit, c("components", "scene"))))
    fit$params$alpha[] <- 0.3
    expect_silent(draw_quiet(plot(fit, c("components", "scene"), point = 2)))
  }
})

test_that("rasters have the data's colours between the limits, and gaps", {
  values <- cbind(c(0, 1, 0.5, NA), c(0, 0, 2, 0), c(0, 0, 0.5, 0))
  raster <- picture_raster(values, c(2, 2), c(0, 1))
  expect_identical(as.vector(as.matrix(raster)), c("#000000", "#FF0000", "#80FF80", NA))
  grey <- picture_raster(cbind(c(1, 3)), c(2, 1), c(1, 3))
  expect_identical(as.vector(as.matrix(grey)), c("#000000", "#FFFFFF"))
})

test_that("the inner pixel of a set is in it, across borders too", {
  model <- list(grid = c(6L, 9L), size = c(3L, 3L))
  rows <- c(6, 1, 2)
  pixels <- as.vector(outer(rows, 6 * (c(9, 1, 2) - 1), "+"))
  expect_identical(inner_pixel(model, pixels), c(1L, 1L))
  expect_null(inner_pixel(model, integer()))
})

test_that("scenes stand beside each other where that makes them larger", {
  expect_identical(scenes_across(1, c(7, 3.3)), 1L)
  expect_identical(scenes_across(6, c(7, 3.3)), 2L)
  expect_identical(scenes_across(6, c(4, 12)), 1L)
})
