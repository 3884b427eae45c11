# Masked pixels of model E.

test_that("occlusive: masked pixels have no say, channels, logs and windows of all sizes", {
  mask <- function(case) {
    set.seed(2)
    case$y[runif(length(case$y)) < 0.15] <- NA
    case$y[3, ] <- NA
    case
  }
  cases <- list(occlusive_case(1, n = 5), occlusive_case(2, n_channels = 3, n = 5),
                occlusive_case(7, clutter = 0, n = 4),
                occlusive_case(4, image = c(4, 3), size = c(4, 3), n_channels = 2, n = 4),
                occlusive_case(5, clutter = c(fixed = 0.05), n = 4))
  for (case in lapply(cases, mask)) {
    case$selected[2, 1] <- 0L
    found <- gps_estep(case$model, case$params, case$y, case$selected,
                       want = c("stats", "response"))
    truth <- brute_force_occlusive(case$model, case$params, case$y, case$selected)
    for (name in c("log_evidence", "prob_on", "response")) {
      expect_near(found[[name]], truth[[name]], 1e-10)
    }
    for (name in names(truth$stats)) {
      expect_near(c(found$stats[[name]]), c(truth$stats[[name]]), 1e-10)
    }
    # Gains in single precision, and the ranking of all locations.
    y <- t(case$y)
    block <- new_block(0, ncol(y), missing = find_missing(y))
    inputs <- block_inputs(case$model, case$params, fill_data(y), block)
    open <- list(task = list(y = fill_data(y)), block = block)
    n_pixels <- prod(case$model$grid)
    asked <- ask_missing(case, open, inputs, c(2L, n_pixels + 3L), 2 * n_pixels + c(1, 5, 9))
    expect_near(asked$gain, asked$joint[-1, ] - rep(asked$joint[1, ], each = 3), 1e-4)
    ranked <- block_handcrafted(case$model, inputs, fill_data(y), block)
    expect_true(all(is.finite(ranked)))
  }
})

test_that("occlusive: an iteration on masked images never lowers the bound", {
  for (case in list(occlusive_case(11, n = 30), occlusive_case(12, n_channels = 3, n = 30))) {
    y <- gps_draw(case$model, case$params, 30)$y
    y[runif(length(y)) < 0.15] <- NA
    params <- case$params
    bounds <- numeric(15)
    for (i in seq_along(bounds)) {
      step <- gps_estep(case$model, params, y, case$selected)
      bounds[i] <- sum(step$log_evidence)
      params <- gps_mstep(case$model, params, step$stats)$params
    }
    expect_no_fall(bounds)
    expect_gt(bounds[15], bounds[1] + 1)
  }
})

test_that("occlusive: what fits and predictions make of masked images", {
  set.seed(3)
  objects <- scene_objects()
  objects$image <- objects$image[1:2, , , , drop = FALSE]
  objects$mask <- objects$mask[1:2, , , drop = FALSE]
  scenes <- simulate_scenes(objects, 40, c(12, 12), prob = 0.5)
  y <- scenes$y
  masked <- array(runif(40 * 12 * 12) < 0.15, c(40, 12, 12, 3))
  y[masked] <- NA
  fit <- gps_fit(y, model_occlusive(2, c(10, 10)), selector_handcrafted(), n_selected = 2,
                 control = gps_control(max_iter = 25, progress = FALSE))
  expect_identical(fit$n_missing, sum(is.na(y)))
  imputed <- predict(fit, type = "imputed")
  expect_identical(dim(imputed), dim(y))
  expect_identical(imputed[!is.na(y)], y[!is.na(y)])
  expect_false(anyNA(imputed))
  owners <- predict(fit, type = "segmentation")
  expect_true(all(owners %in% 0:2))
  expect_s3_class(predict(fit, y[1:3, , , ], type = "objects"), "data.frame")
  old <- model_occlusive(2, c(10, 10), clutter = c(background = 0.05))
  expect_gps_error(gps_fit(y, old), "does not allow for missing", "data")
})

test_that("pixels are filled from those around them", {
  model <- gps_bind(model_occlusive(1, c(2, 2), c(4, 5)), matrix(runif(60), 3))
  y <- matrix(as.double(1:60), 20)
  gone <- y
  gone[c(7, 8, 9, 20), 2] <- NA
  gone[, 3] <- NA
  filled <- fill_cells(model, fill_data(gone), find_missing(gone))
  expect_identical(filled[, 1], y[, 1])
  expect_identical(filled[-c(7:9, 20), 2], y[-c(7:9, 20), 2])
  around <- matrix(y[, 2], 4)[c(2, 3, 4), c(1, 2, 3)]
  expect_equal(filled[7, 2], mean(around[-c(5, 6)]))
  expect_true(all(is.finite(filled)))
})

test_that("a run with masked pixels goes on from its checkpoint", {
  set.seed(1)
  images <- array(rnorm(40 * 64, sd = 0.1), c(40, 8, 8))
  images[5, 2, 2] <- NA
  file <- tempfile()
  on.exit(unlink(file))
  fit_for <- function(max_iter, checkpoint = NULL) {
    set.seed(3)
    gps_fit(images, model_occlusive(2, c(3, 3), image = c(8, 8)), selector_handcrafted(),
            control = gps_control(max_iter = max_iter, checkpoint = checkpoint, progress = FALSE))
  }
  fit_for(2, file)
  expect_identical(coef(gps_resume(file, images, max_iter = 4)), coef(fit_for(4)))
})
