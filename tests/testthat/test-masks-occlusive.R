# Masks that are learned are those of the objects, whatever the background, the unit, the offset and
# a few numbers that are far off.

# CRAN's machines leave the slowest files out.
skip_on_cran()

mask_scenes <- function(...) {
  set.seed(1)
  n <- if (is_full()) 150 else 70
  simulate_scenes(scene_objects(3, size = c(6, 6)), n, size = c(13, 13), prob = 0.35, ...)
}

fit_masks <- function(y, ...) {
  set.seed(2)
  gps_fit(y, model_occlusive(4, c(8, 8), ...), selector_handcrafted(), n_selected = 3,
          control = gps_control(n_threads = 1, progress = FALSE))
}

# The true objects after `by` was added to all data.
mask_moved <- function(scenes, by) {
  scenes$objects$image <- scenes$objects$image + by
  scenes
}

expect_masks <- function(fit, scenes, least = 0.9, info = NULL) {
  match <- match_components(fit, scenes)
  expect_true(all(match$matched), info = info)
  expect_gt(min(match$iou), least)
}

test_that("masks are those of the objects, and clutter is what there is of it", {
  scenes <- mask_scenes()
  fit <- fit_masks(scenes$y)
  expect_masks(fit, scenes)
  expect_lt(fit$params$clutter, 2e-3)
  # A true share of clutter, on objects as elsewhere.
  spoilt <- scenes
  set.seed(3)
  n <- nrow(spoilt$y)
  is_clutter <- array(runif(n * 169) < 0.05, c(n, 13, 13))
  spoilt$y[rep(is_clutter, 3)] <- runif(3 * sum(is_clutter))
  fit <- fit_masks(spoilt$y)
  expect_masks(fit, scenes)
  expect_near(fit$params$clutter, 0.05, 0.006)
  expect_near(sqrt(fit$params$sigma2), 0.03, 0.003)
})

test_that("a coloured background, an offset, a hot and a stuck pixel at once change nothing", {
  scenes <- mask_scenes(background = c(0.3, 0.6, 0.4))
  y <- scenes$y - 4
  y[17, 5, 9, ] <- 20
  y[, 4, 6, 2] <- 50
  fit <- fit_masks(y)
  expect_masks(fit, mask_moved(scenes, -4), least = 0.8)
  expect_near(fit$params$background, c(0.3, 0.6, 0.4) - 4, 0.01)
})

test_that("a coloured or light background, a unit and an offset change nothing", {
  skip_unless_full()
  for (background in list(c(0.3, 0.6, 0.4), 1)) {
    expect_masks(fit_masks(mask_scenes(background = background)$y), mask_scenes())
  }
  scenes <- mask_scenes()
  fit <- fit_masks(scenes$y)
  scaled <- fit_masks(1024 * scenes$y)
  expect_identical(scaled$params$alpha > 0.5, fit$params$alpha > 0.5)
  expect_near(scaled$params$sigma2, 1024^2 * fit$params$sigma2, 1e-3)
  moved <- fit_masks(scenes$y - 4)
  expect_masks(moved, mask_moved(scenes, -4))
  negative <- scenes
  negative$objects$image <- -negative$objects$image
  expect_masks(fit_masks(-scenes$y), negative)
})

test_that("hot and dead pixels and a hot image cost themselves", {
  skip_unless_full()
  scenes <- mask_scenes()
  spoil <- list(
    hot = function(y) replace(y, cbind(17, 5, 9, seq_len(dim(y)[4])), 20),
    several = function(y) replace(y, cbind(3:12, 1:10, 3, 1), -300),
    dead = function(y) replace(y, slice.index(y, 2) == 4 & slice.index(y, 3) == 6, 0),
    stuck = function(y) replace(y, slice.index(y, 2) == 4 & slice.index(y, 3) == 6, 50),
    image = function(y) y + 20 * (slice.index(y, 1) == 8)
  )
  for (name in names(spoil)) {
    fit <- fit_masks(spoil[[name]](scenes$y))
    expect_masks(fit, scenes, least = 0.8, info = name)
    expect_near(sqrt(fit$params$sigma2), 0.03, 0.01)
  }
})
