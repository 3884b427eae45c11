test_that("refused objects", {
  expect_gps_error(scene_objects(0), "`n` must be a whole number of at least 1, not 0")
  expect_gps_error(scene_objects(size = "big"),
                   "`size` must be one or two whole numbers (height, width), not \"big\"")
  expect_gps_error(scene_objects(size = 1:3), "`size` must be one or two whole numbers")
  expect_gps_error(scene_objects(size = c(8, 5)), "`size` must be at least 6 pixels, not 5")
  expect_gps_error(scene_objects(size = 7.5), "`size` must be a whole number")
  expect_gps_error(scene_objects(channels = NA), "`channels` must be a whole number")
  expect_gps_error(scene_objects(1e5, 1000),
                   "`n`, `size` and `channels` ask for")
  set.seed(1)
  local_value("most_redrawn", 10L)
  expect_gps_error(scene_objects(300, 6, 1), "No 300 objects that differ enough were found")
})

test_that("objects that are none", {
  image <- array(0.5, c(2, 3, 3, 1))
  mask <- array(1, c(2, 3, 3))
  scenes <- function(...) simulate_scenes(list(...), 2, 5)
  made <- "`objects` must be objects, as made by scene_objects(), not"
  expect_gps_error(simulate_scenes(TRUE, 2), paste(made, "TRUE"))
  expect_gps_error(simulate_scenes(NULL, 2), paste(made, "NULL"))
  expect_gps_error(simulate_scenes(data.frame(image = 1), 2), made)
  expect_gps_error(scenes(mask = mask),
                   "`objects$image` must be an array n x height x width x channels, not NULL")
  expect_gps_error(scenes(image = image[, , 1, 1], mask = mask), "`objects$image` must be an array")
  expect_gps_error(scenes(image = array("a", dim(image)), mask = mask),
                   "`objects$image` must be an array")
  expect_gps_error(scenes(image = image[0, , , , drop = FALSE], mask = mask),
                   "`objects$image` must be an array")
  expect_gps_error(scenes(image = image), "`objects$mask` must be an array of 2 x 3 x 3, not NULL")
  expect_gps_error(scenes(image = image, mask = mask[, , 1:2]),
                   "`objects$mask` must be an array of 2 x 3 x 3, not a numeric")
  expect_gps_error(scenes(image = image / 0, mask = mask),
                   "`objects$image` must have finite values")
  expect_gps_error(scenes(image = image, mask = mask / 2),
                   "`objects$mask` must have only 0 and 1")
  expect_gps_error(scenes(image = image, mask = NA & mask), "`objects$mask` must have only 0 and 1")
  mask[2, , ] <- 0
  expect_gps_error(scenes(image = image, mask = mask), "`objects$mask` has no pixel of object 2")
  # Without the axis of channels, and with a logical mask, they are fine.
  mask[2, 2, 2] <- 1
  expect_identical(dim(scenes(image = image[, , , 1], mask = mask == 1)$y), c(2L, 5L, 5L))
})

test_that("refused scenes", {
  set.seed(1)
  objects <- scene_objects(2)
  scenes <- function(...) simulate_scenes(objects, ...)
  expect_gps_error(scenes(1.5), "`n` must be a whole number of at least 1, not 1.5")
  expect_gps_error(scenes(2, size = c(10, 9)),
                   "`size` must be at least that of the objects, 10 x 10, not 10 x 9")
  expect_gps_error(scenes(2, size = "a"), "`size` must be one or two whole numbers")
  expect_gps_error(scenes(1e9), "`n` and `size` ask for")
  expect_gps_error(scenes(2, prob = 1.1), "`prob` must be a number between 0 and 1, not 1.1")
  expect_gps_error(scenes(2, prob = c(0.1, 0.2, 0.3)),
                   "`prob` must be one number, or 2 of them (one for each object)")
  expect_gps_error(scenes(2, prob = c(0.1, NA)), "`prob` must be a number between 0 and 1, not NA")
  expect_gps_error(scenes(2, sigma = -1), "`sigma` must be a number of at least 0, not -1")
  expect_gps_error(scenes(2, wrap = NA), "`wrap` must be TRUE or FALSE, not NA")
  expect_gps_error(scenes(2, background = c(0, 1)),
                   "`background` must be one number, or 3 of them (one for each channel)")
  expect_gps_error(scenes(2, background = Inf), "`background` must be a number between -1e+150")
})

test_that("refused matches of pictures", {
  set.seed(1)
  objects <- scene_objects(2)
  scenes <- simulate_scenes(objects, 2, 12)
  found <- list(alpha = array(0.5, c(2, 4, 4)), w = array(1, c(2, 4, 4, 3)))
  pictures <- "must be a fit or list with `alpha` and `w`, objects, or simulated scenes, not"
  expect_gps_error(match_components(diag(2), objects), paste("`found`", pictures))
  expect_gps_error(match_components(found, NULL), paste("`truth`", pictures, "NULL"))
  expect_gps_error(match_components(found, list(W = diag(2))), paste("`truth`", pictures))
  expect_gps_error(match_components(list(alpha = "a", w = found$w), objects),
                   "`found$alpha` must be a numeric array, not \"a\"")
  expect_gps_error(match_components(list(alpha = found$alpha[, , 1], w = found$w), objects),
                   "`found$mask` must be an array of 2 x 4 x 4")
  grey <- list(alpha = found$alpha, w = found$w[, , , 1])
  expect_gps_error(match_components(grey, scenes),
                   "`found` must have 3 channels like `truth`, not 1")
  expect_gps_error(match_components(found, scenes, threshold = 2),
                   "`threshold` must be a number between 0 and 1, not 2")
  expect_gps_error(match_components(objects, list(latents = 1, objects = 2)),
                   "`truth` must be objects, as made by scene_objects(), not 2")
  # Components that nobody sees are matched with nothing, silently.
  found$alpha[] <- 0.1
  expect_identical(match_components(found, scenes)$matched, c(FALSE, FALSE))
})

test_that("refused truths of what was selected", {
  set.seed(1)
  y <- simulate_scenes(scene_objects(2, 6), 8, 10, prob = 0.5)
  fit <- gps_fit(y$y, model_occlusive(2, size = c(6, 6)), selector_handcrafted(), n_selected = 2,
                 control = short_control(max_iter = 2))
  recall <- function(latents = y$latents, ...) selection_recall(fit, latents, ...)
  expect_true(is.na(recall(y$latents[0, ])))
  columns <- "`latents` must be a data frame with columns point, object, row and column, not"
  expect_gps_error(recall(matrix(1, 8, 2)), columns)
  expect_gps_error(recall(y$latents[c("point", "object", "row")]), columns)
  changed <- function(name, value) {
    latents <- y$latents
    latents[[name]][1] <- value
    latents
  }
  expect_gps_error(recall(changed("point", 9)),
                   "`latents$point` must be whole numbers between 1 and 8")
  expect_gps_error(recall(changed("object", 3)),
                   "`latents$object` must be whole numbers between 1 and 2")
  expect_gps_error(recall(changed("row", 0)),
                   "`latents$row` must be whole numbers between 1 and 10")
  expect_gps_error(recall(changed("column", 1.5)),
                   "`latents$column` must be whole numbers between 1 and 10")
  expect_gps_error(recall(changed("column", NA)), "`latents$column` must be whole numbers")
  expect_gps_error(recall(changed("row", "a")), "`latents$row` must be whole numbers")
  expect_gps_error(recall(within = -1), "`within` must be a finite number of at least 0, not -1")
  expect_gps_error(recall(within = "a"), "`within` must be a finite number")
  expect_gps_error(recall(all_objects = 1), "`all_objects` must be TRUE or FALSE, not 1")
  expect_gps_error(recall(truth = diag(2)), "`truth` must be a fit or list with `alpha` and `w`")
  expect_gps_error(selection_recall(fit$params, y$latents), "`fit` must be")
})

test_that("pictures of objects are drawn", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  set.seed(1)
  objects <- scene_objects(3, channels = 2)
  objects$names <- c("a", "b", "c")
  objects$image[1] <- 5
  old <- graphics::par(no.readonly = TRUE)
  drawn <- withVisible(plot(objects))
  expect_false(drawn$visible)
  expect_identical(drawn$value$dim, dim(objects$image)[2:3])
  some <- plot(objects, select = c("c", "a"), main = "Two of three")
  expect_identical(some$colours, drawn$value$colours[, c(3, 1)])
  expect_identical(plot(objects, n = 2)$colours, drawn$value$colours[, 1:2])
  expect_gps_error(plot(objects, select = "d"), "there is no object \"d\"")
  expect_identical(graphics::par("mar"), old$mar)
  expect_error(plot(structure(list(), class = "gps_objects")), class = "gps_error_argument")
})
