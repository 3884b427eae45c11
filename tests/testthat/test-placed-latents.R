# Latents with places on a grid: numbers, shapes, scattering, labels.

grid_model <- function() list(grid = c(3L, 4L), n_latents = 24L)

test_that("latents are numbered place by place, column by column, component by component", {
  model <- grid_model()
  expect_identical(count_choices(model), 2L)
  expect_identical(count_choices(list(n_latents = 7L)), 7L)
  latent <- matrix(c(0L, 1L, 3L, 4L, 12L, 13L, 24L, 18L), 2)
  place <- locate_latents(model, latent)
  expect_identical(place$component, c(0L, 1L, 1L, 1L, 1L, 2L, 2L, 2L))
  expect_identical(place$row, c(0L, 1L, 3L, 1L, 3L, 1L, 3L, 3L))
  expect_identical(place$column, c(0L, 1L, 1L, 2L, 4L, 1L, 4L, 2L))
  expect_identical(choice_of(list(), latent), latent)
  shaped <- shape_selected(latent, model, c("a", "b"))
  expect_identical(dim(shaped), c(2L, 4L, 3L))
  expect_identical(shaped["b", 1, ], c(component = 1L, row = 1L, column = 1L))
  expect_identical(unname(shaped[, 4, "row"]), c(3L, 3L))
})

test_that("probabilities of a component's places add up", {
  selected <- matrix(c(1L, 5L, 14L, 0L, 2L, 20L), 3)
  prob <- matrix(c(0.2, 0.3, 0.5, 0, 0.25, 1), 3)
  expect_near(scatter_choices(selected, prob, grid_model()),
              rbind(c(0.5, 0.5), c(0.25, 1)), 1e-15)
})

test_that("labels take empty slots, then the least probable, and keep the order", {
  state <- list(selected = matrix(c(3L, 8L, 0L, 2L, 5L, 9L), 3),
                prob_on = matrix(c(0.9, 0.1, 0, 0.5, 0.2, 0.7), 3))
  state <- add_labels(state, data.frame(point = c(1, 2, 1), latent = c(5, 1, 3)))
  expect_identical(state$selected, matrix(c(3L, 5L, 8L, 1L, 2L, 9L), 3))
  expect_identical(state$prob_on, matrix(c(0.9, 1, 0.1, 1, 0.5, 0.7), 3))
})

test_that("the kept share counts posterior mass on latents of the last selection", {
  last <- matrix(c(1L, 2L, 0L, 4L), 2)
  result <- list(selected = matrix(c(2L, 3L, 4L, 5L), 2),
                 prob_on = matrix(c(0.5, 0.25, 0.75, 0.5), 2))
  expect_near(kept_share(last, result), 1.25 / 2, 1e-15)
  result$prob_on[] <- 0
  expect_identical(kept_share(last, result), 0)
})
