scenes_by_hand <- function(scenes, size) {
  objects <- scenes$objects
  y <- array(0, c(dim(scenes$y)[1], size, dim(objects$image)[4]))
  latents <- scenes$latents[order(-scenes$latents$depth), ]
  for (i in seq_len(nrow(latents))) {
    at <- latents[i, ]
    for (r in 1:10) for (k in 1:10) {
      if (objects$mask[at$object, r, k] == 1) {
        y[at$point, (at$row + r - 2) %% size[1] + 1, (at$column + k - 2) %% size[2] + 1, ] <-
          objects$image[at$object, r, k, ]
      }
    }
  }
  y
}

test_that("objects are distinct, cover enough and come from the seed", {
  set.seed(1)
  objects <- scene_objects(24)
  n_pixels <- rowSums(objects$mask, dims = 1)
  expect_true(all(n_pixels >= 45 & n_pixels <= 92))
  expect_true(all(apply(objects$mask, c(1, 2), max)[, c(1, 10)] == 1))
  expect_true(all(apply(objects$mask, c(1, 3), max)[, c(1, 10)] == 1))
  inside <- objects$image[rep(objects$mask == 1, 3)]
  expect_true(all(inside >= 0.1 & inside <= 1))
  cosine <- best_shifts(objects$image, objects$image)$similarity
  expect_equal(diag(cosine), rep(1, 24))
  expect_lt(max(cosine[upper.tri(cosine)]), 0.9)
  set.seed(1)
  expect_identical(scene_objects(24), objects)
  expect_printed(objects, "24 objects of 10 x 10 pixels in 3 channels", fixed = TRUE)
})

test_that("scenes are what painting object by object gives", {
  for (wrap in c(FALSE, TRUE)) {
    set.seed(2)
    scenes <- simulate_scenes(scene_objects(5), 20, c(14, 17), prob = 0.5, sigma = 0, wrap = wrap)
    expect_identical(scenes$y, scenes_by_hand(scenes, c(14, 17)))
    nearest <- scenes$latents$depth == 1
    expect_identical(scenes$latents$visible[nearest], rep(1, sum(nearest)))
  }
  grey <- simulate_scenes(scene_objects(3, channels = 1), 4, 12, background = 0.5)
  expect_identical(dim(grey$y), c(4L, 12L, 12L))
  none <- simulate_scenes(scene_objects(2), 3, 12, prob = 0)
  expect_identical(nrow(none$latents), 0L)
  expect_gps_error(simulate_scenes(scene_objects(2), 3, 9), "`size` must be at least")
})

test_that("shifted objects are matched, with their shift, and candidates counted", {
  set.seed(3)
  scenes <- simulate_scenes(scene_objects(4), 30, c(20, 18), prob = 0.6, wrap = TRUE)
  alpha <- array(0.01, c(5, 14, 13))
  w <- array(0.3, c(5, 14, 13, 3))
  order <- c(3, 1, 5, 2)
  for (k in 1:4) {
    rows <- k - 1 + 1:10
    alpha[order[k], rows, 2 + 1:10] <- ifelse(scenes$objects$mask[k, , ] == 1, 0.9, 0.1)
    w[order[k], rows, 2 + 1:10, ] <- 2 * scenes$objects$image[k, , , ]
  }
  match <- match_components(list(alpha = alpha, w = w), scenes)
  expect_identical(match$permutation, as.integer(order))
  expect_equal(match$similarity, rep(1, 4))
  expect_identical(unname(match$shift), cbind(0:3, 2L))
  expect_named(match, c("permutation", "similarity", "iou", "matched", "shift"))
  expect_identical(match$iou, rep(1, 4))
  # Surplus pixels of features 0 are no matter of the cosine; rows that are missing are of both.
  surplus <- list(alpha = alpha, w = w)
  first <- matrix(alpha[3, , ] > 0.5, 14)
  surplus$w[3, , , ] <- surplus$w[3, , , ] * as.vector(first)
  surplus$alpha[3, , ] <- 0.9
  second <- matrix(alpha[1, , ] > 0.5, 14)
  surplus$alpha[1, 2:5, ] <- 0.1
  found <- match_components(surplus, scenes)
  expect_equal(found$similarity[1], 1)
  expect_equal(found$iou, c(sum(first) / 182, 1 - sum(second[2:5, ]) / sum(second), 1, 1))
  # An object that sticks out of the window counts in full.
  small <- list(alpha = alpha[, 1:13, 6:12], w = w[, 1:13, 6:12, ])
  inside <- vapply(1:4, function(k) sum(scenes$objects$mask[k, , 4:10]), 1)
  expect_equal(match_components(small, scenes$objects)$iou,
               inside / rowSums(scenes$objects$mask, dims = 1))
  few <- list(alpha = alpha[1:2, , ], w = w[1:2, , , ])
  expect_identical(is.na(match_components(few, scenes)$iou), c(TRUE, FALSE, TRUE, FALSE))
  expect_null(match_components(diag(3), diag(3))$iou)

  at <- scenes$latents
  row <- (at$row - 1 - (at$object - 1) + 1) %% 20
  latent <- 1 + row + 20 * ((at$column - 1 - 2) %% 18) + 360 * (order[at$object] - 1)
  selected <- matrix(0L, 5, 30)
  selected[cbind(at$object, at$point)] <- as.integer(latent)
  fit <- list(params = list(alpha = alpha, w = w), selected = selected,
              model = list(grid = c(20L, 18L)))
  expect_identical(scene_recall(fit, at, 0, scenes, FALSE), 0)
  expect_identical(scene_recall(fit, at, 1, scenes, FALSE), 1)
  expect_equal(location_errors(selected, fit$params, at, scenes, c(20, 18)), rep(1, nrow(at)))
  fit$params$alpha[3, , ] <- 0.01
  expect_identical(scene_recall(fit, at, 1, scenes, FALSE), 1)
  expect_equal(scene_recall(fit, at, 1, scenes, TRUE), mean(at$object != 1))
  expect_gps_error(scene_recall(fit, at[, 1:3], 1, scenes, FALSE), "`latents` must be a data frame")
})
