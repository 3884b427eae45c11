# Owners of pixels against their definition.

# The posterior of owners in one state by pixel_terms() of helper-occlusive.R, with columns for
# slots that are off.
brute_share <- function(case, n, on) {
  terms <- pixel_terms(case$model, case$params, case$y[n, ], case$selected[n, on > 0])$terms
  share <- exp(terms - log_row_sums(terms))
  all <- matrix(0, nrow(terms), 1 + length(on))
  all[, c(1, 1 + which(on > 0))] <- share
  all
}

test_that("owners of pixels are those of the definition, averaged over states", {
  for (case in list(occlusive_case(1), occlusive_case(2, n_channels = 3, clutter = 0.2),
                    occlusive_case(3, size = c(5, 7), n_components = 1),
                    occlusive_case(9, n_channels = 2, clutter = c(background = 0.1)),
                    occlusive_case(4, clutter = 0))) {
    on <- cbind(0, c(1, 0, 0, 0), c(0, 1, 0, 1), c(1, 0, 1, 1), c(1, 1, 1, 1))
    prob <- c(0.1, 0.2, 0.3, 0, 0.4)
    for (n in 1:3) {
      owned <- own_pixels(case$model, case$params, case$y[n, ], case$selected[n, ], on, prob)
      expect_identical(dim(owned), c(case$model$grid, 5L))
      parts <- lapply(seq_along(prob), function(m) prob[m] * brute_share(case, n, on[, m]))
      expect_near(matrix(owned, ncol = 5), Reduce(`+`, parts), 1e-12)
    }
  }
})

test_that("a segmentation names the component with the largest weight", {
  for (case in list(occlusive_case(5), occlusive_case(6, n_channels = 2))) {
    set.seed(7)
    on <- matrix(rbinom(4 * 8, 1, 0.6), 4)
    selected <- t(case$selected)
    selected[4, 2] <- 0L
    task <- list(model = case$model, y = t(case$y))
    map <- segment_block(task, case$params, list(selected = selected), on, new_block(0, 8))
    expect_type(map, "integer")
    expect_identical(dim(map), c(case$model$grid, 8L))
    number <- rbind(0L, choice_of(case$model, selected))
    on[selected == 0] <- 0
    for (n in 1:8) {
      best <- max.col(brute_share(case, n, on[, n]), "first")
      expect_identical(c(map[, , n]), number[best, n])
    }
    part <- segment_block(task, case$params, list(selected = selected[, 3:5]), on[, 3:5],
                          new_block(2, 3))
    expect_identical(part, map[, , 3:5])
  }
})

test_that("clutter of old is background, and a state without components is all background", {
  case <- occlusive_case(8, clutter = c(background = 0.3))
  owned <- own_pixels(case$model, case$params, 50 + case$y[1, ], case$selected[1, ],
                      matrix(1, 4, 1), 1)
  expect_near(c(owned[, , 1]), rep(1, prod(case$model$grid)), 1e-12)
  owned <- own_pixels(case$model, case$params, case$y[1, ], c(0L, 0L), matrix(0, 2, 1), 1)
  expect_identical(c(owned), rep(c(1, 0, 0), each = prod(case$model$grid)))
})

test_that("predicted segmentations of scenes find the objects", {
  fit <- scene_fit()
  map <- predict(fit, type = "segmentation")
  expect_identical(dim(map), c(60L, 11L, 13L))
  expect_true(all(map %in% 0:4))
  is_object <- apply(scene_data()$y, 1:3, max) > 0.2
  expect_gt(mean((map > 0)[is_object]), 0.9)
  again <- predict(fit, scene_data()$y[1:5, , , ], "segmentation")
  expect_gt(mean(again == map[1:5, , ]), 0.95)
  expect_error(predict(a_fit("images"), type = "segmentation"), "have locations",
               class = "gps_error_argument")
})
