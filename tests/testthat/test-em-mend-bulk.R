# Moves of many clusters: what each split promises, and which leave for which.

test_that("pairs of a bulk move are disjoint, cheapest with best", {
  leavers <- data.frame(from = c(3L, 1L, 5L, 2L), taker = c(4L, 0L, 3L, 0L), cost = c(1, 2, 3, 200))
  splits <- list(latent = c(1L, 6L, 7L), gain = c(90, 80, 60))
  pairs <- pair_moves(leavers, splits, 40)
  expect_identical(lapply(pairs, `[[`, "from"), list(3L))
  expect_identical(pairs[[1]]$split$latent, 1L)
  splits$latent[1] <- 8L
  pairs <- pair_moves(leavers, splits, 40)
  expect_identical(vapply(pairs, `[[`, 1L, "from"), c(3L, 1L))
  held <- list(latent = c(1L, 2L, 2L, 1L), point = c(1L, 1L, 2L, 2L), prob = c(0.5, 0.5, 0.9, 0.8))
  partners <- find_partners(held, 5)
  expect_near(c(partners$one, partners$other, partners$shared), c(1, 2, 0.25 + 0.72), 1e-12)
})

test_that("splits of many clusters at once are those of each by itself, and promise the same", {
  set.seed(12)
  of <- sort(sample.int(12, 90, replace = TRUE, prob = 1:12))
  residual <- matrix(rnorm(270), 3)
  residual[, of == 7] <- 1
  y <- matrix(rnorm(60), 20)
  for (covariance in c("spherical", "diagonal", "full", "tied")) {
    model <- gps_bind(model_gaussian_mixture(12, covariance), y)
    params <- gps_init(model, y)
    for (weights in list(NULL, runif(90, 0, 3))) {
      splits <- promising_splits(model, residual, of, weights, params)
      expect_identical(anyDuplicated(splits$latent), 0L)
      for (latent in unique(of)) {
        own <- of == latent
        each <- if (covariance == "spherical") {
          split_residual(residual[, own, drop = FALSE], latent, weights[own])
        } else {
          promising_split(model, residual, own, latent, weights, params)
        }
        at <- match(latent, splits$latent)
        expect_identical(is.null(each), is.na(at))
        if (is.null(each)) next
        # Two ways may find the same halves; many at once are tried along one direction more where
        # clusters have matrices.
        gain <- weighed_gain(model, each[names(each) != "gain"], residual[, own, drop = FALSE],
                             weights[own], params)
        if (has_matrices(model)) {
          expect_gte(splits$gain[at], gain - 1e-9 * abs(gain))
          each <- promising_splits(model, residual[, own, drop = FALSE], of[own], weights[own],
                                   params)
          gain <- each$gain
        }
        expect_equal(splits$gain[at], gain, tolerance = 1e-11)
        expect_equal(sort(splits$size[, at]), sort(each$size), tolerance = 1e-11)
        expect_equal(sort(splits$centres[, , at]), sort(each$centres), tolerance = 1e-11)
      }
    }
  }
  expect_length(promising_splits(model, residual[, 0], integer(), NULL, params)$latent, 0)
  mixed <- order(seq_len(90) %% 7)
  expect_equal(promising_splits(model, residual[, mixed], of[mixed], NULL, params)[-2],
               promising_splits(model, residual, of, NULL, params)[-2], tolerance = 1e-11)
})
