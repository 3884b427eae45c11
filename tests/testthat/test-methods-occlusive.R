# Methods of a fit whose components have locations.

test_that("printing says what was fitted, and summary how components are used", {
  fit <- scene_fit()
  text <- printed(fit)
  expect_match(text[2], "4 components, size = 8 x 8, clutter = 0.05", fixed = TRUE)
  expect_true(any(grepl("3 of 4 components at 11 x 13 places", text, fixed = TRUE)))
  summary <- summary(fit)
  expect_equal(summary$usage, colSums(predict(fit)), tolerance = 1e-12)
  expect_length(summary$usage, 4)
  expect_true(all(summary$events$event %in% c("sigma2_floor", "pi_clamped", "recentred", "reseeded",
                                              "merged", "swapped", "renewed", "joined",
                                              "split", "moved")))
  expect_printed(summary, "each component is on", fixed = TRUE)
})

test_that("copies of a component, shifted too, are nearly the same", {
  fit <- scene_fit()
  fit$params$alpha[] <- 0.1
  fit$params$alpha[, 2:5, 3:6] <- 0.9
  set.seed(24)
  fit$params$w[] <- runif(length(fit$params$w))
  expect_identical(dim(summary(fit)$duplicates), c(0L, 2L))
  fit$params$alpha[3, , ] <- fit$params$alpha[1, c(8, 1:7), ]
  fit$params$w[3, , , ] <- fit$params$w[1, c(8, 1:7), , ]
  expect_identical(summary(fit)$duplicates, cbind(1L, 3L))
  expect_printed(summary(fit), "Nearly the same: 1 and 3", fixed = TRUE)
})

test_that("free parameters are counted without a background that is fixed", {
  fit <- scene_fit()
  df <- 4 * 64 + 4 * 64 * 3 + 4 + 3 + 1 + 1
  expect_identical(attr(logLik(fit), "df"), df)
  expect_identical(attr(logLik(fit), "nobs"), 60L)
  fixed <- gps_bind(model_occlusive(4, c(8, 8), c(11, 13), background = 0), t(fit$y))
  expect_identical(count_free(fixed), df - 3)
  expect_named(coef(fit), c("alpha", "w", "pi", "background", "sigma2", "clutter"))
  for (clutter in list(0, c(fixed = 0.1), c(background = 0.1))) {
    model <- gps_bind(model_occlusive(4, c(8, 8), c(11, 13), clutter), t(fit$y))
    expect_identical(count_free(model), df - 1)
    expect_identical("clutter" %in% names(model$params), !identical(names(clutter), "background"))
    params <- replace(coef(fit), "clutter", 0.2)
    expect_gps_error(gps_estep(model, params, t(fit$y), matrix(1L, 60, 1)),
                     if (is.null(model$params$clutter)) "has no parameter" else
                       "as the model fixes it, not 0.2")
  }
  # Parameters of an earlier version lack it.
  older <- coef(fit)[setdiff(names(coef(fit)), "clutter")]
  fit$params$clutter <- 0.05
  expect_identical(gps_estep(fit$model, older, t(fit$y), t(fit$selected)),
                   gps_estep(fit$model, coef(fit), t(fit$y), t(fit$selected)))
})

test_that("fitted images, residuals and predictions have the shapes of the data", {
  fit <- scene_fit()
  y <- scene_data()$y
  expect_identical(dim(fitted(fit)), dim(y))
  expect_equal(fitted(fit) + residuals(fit), y, tolerance = 1e-12)
  for (type in c("prob", "latent", "state")) {
    expect_identical(dim(predict(fit, type = type)), c(60L, 4L))
    expect_identical(dim(predict(fit, y[1:2, , , ], type)), c(2L, 4L))
  }
  expect_equal(sum(predict(fit, type = "loglik")), fit$bound, tolerance = 1e-12)
  objects <- predict(fit, type = "objects")
  expect_named(objects, c("point", "component", "row", "column", "prob"))
  expect_equal(nrow(objects), sum(predict(fit, type = "state")))
  expect_identical(expectations(fit), predict(fit))
  expect_identical(dim(predict(fit, type = "selected")), c(60L, 3L, 3L))
})

test_that("simulated scenes are images with a table of what is where", {
  drawn <- simulate(scene_fit(), 2, seed = 1, n = 5)
  expect_length(drawn, 2)
  expect_identical(dim(drawn[[1]]$y), c(5L, 11L, 13L, 3L))
  expect_named(drawn[[1]]$latents, c("point", "component", "row", "column"))
})

test_that("states and draws of a posterior name components and places", {
  fit <- scene_fit()
  states <- posterior_states(fit, 3, top = 20)
  expect_near(sum(states$probability), 1, 1e-9)
  best <- predict(fit, type = "objects")
  best <- best[best$point == 3, c("component", "row", "column")]
  expect_identical(states$latents[[1]], `rownames<-`(best, NULL))
  draws <- posterior_sample(fit, 400, points = 1:6, seed = 1)
  expect_identical(dim(draws), c(400L, 6L, 4L))
  prob <- predict(fit)[1:6, ]
  expect_lt(max(abs(apply(draws, 2:3, mean) - prob) - 5 * sqrt(prob * (1 - prob) / 400)), 1e-6)
  expect_identical(dim(posterior_sample(fit)), c(60L, 4L))
  sampled <- scene_fit("scene_sampled")
  expect_identical(dim(posterior_sample(sampled, 3)), c(3L, 20L, 4L))
  expect_s3_class(posterior_states(sampled, 1)$latents[[1]], "data.frame")
  words <- format(posterior_states(fit, 3, 1)$latents)
  expect_identical(words, paste(sprintf("%d at (%d, %d)", best$component, best$row, best$column),
                                collapse = ", "))
  expect_printed(posterior_states(fit, 3, 2), words, fixed = TRUE)
  expect_printed(posterior_states(fit, 3, 2)$latents[1], words, fixed = TRUE)
  expect_identical(dim(expectations(sampled)), c(20L, 4L))
  expect_printed(sampled, "Gibbs sampling")
})

test_that("update goes on from a fit", {
  fit <- scene_fit()
  again <- suppressWarnings(update(fit, max_iter = 2, start = fit), classes = "gps_warning")
  expect_identical(again$model$image, c(11L, 13L, 3L))
  expect_gt(again$bound, fit$bound - 0.05 * abs(fit$bound))
})

test_that("saved fits come back whole, and what was edited is refused", {
  fit <- scene_fit()
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(fit, file)
  again <- readRDS(file)
  y <- scene_data()$y[1:3, , , ]
  expect_identical(predict(again, y), predict(fit, y))
  refused <- function(change) {
    expect_error(predict(change(fit)), class = "gps_error_argument")
  }
  refused(function(fit) within_list(fit, selected = fit$selected + 4L * 143L))
  refused(function(fit) {
    fit$model$grid <- c(13L, 11L)
    fit
  })
  refused(function(fit) {
    fit$model$lowest <- "0"
    fit
  })
  refused(function(fit) {
    fit$model$extent <- NaN
    fit
  })
  refused(function(fit) {
    fit$model$noise_range <- 1
    fit
  })
  refused(function(fit) {
    fit$model$size <- c(80L, 80L)
    fit
  })
  refused(function(fit) {
    fit$model$options$n_components <- 400
    fit
  })
  refused(function(fit) {
    fit$model$n_components <- 5L
    fit
  })
  refused(function(fit) {
    fit$params$alpha <- fit$params$alpha[, -1, ]
    fit
  })
  refused(function(fit) {
    fit$params$alpha[1] <- 1.5
    fit
  })
  refused(function(fit) {
    fit$params$w[1] <- NA
    fit
  })
  refused(function(fit) within_list(fit, image_dim = c(13L, 13L, 3L)))
  refused(function(fit) {
    fit$model$image <- NULL
    fit
  })
  refused(function(fit) {
    fit$model$clutter <- 0.5
    fit
  })
  refused(function(fit) {
    fit$model$background <- 3
    fit
  })
})
