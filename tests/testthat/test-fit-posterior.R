test_that("the states of a point are those of brute force", {
  skip_if_not_installed("jsonlite")
  case <- jsonlite::fromJSON(test_path("oracle", "A_case2.json"))
  affinity <- matrix(0, case$N, 4)
  affinity[cbind(c(row(case$sel0)), c(case$sel0) + 1)] <- 1
  fit <- fit_at(case$Y_rows, model_binary_sparse(4, shared_prob = FALSE),
                list(W = case$W, pi = case$pi, sigma2 = case$sigma2), affinity, 2)
  for (n in seq_len(case$N)) {
    q <- case$q[n, ]
    mask <- case$K[n, ]
    found <- posterior_states(fit, n)
    order <- order(-q)
    expect_equal(found$probability, q[order], tolerance = 1e-10)
    expect_equal(found$log_joint, case$logjoint_all[n, mask[order] + 1], tolerance = 1e-10)
    on <- lapply(mask[order], function(m) which(bitwAnd(m, 2^(0:3)) > 0))
    expect_identical(found$latents, on)
  }
  expect_identical(nrow(posterior_states(fit, 1, top = 2)), 2L)
  expect_identical(posterior_states(fit, 1, top = 2), posterior_states(fit, 1)[1:2, ])
})

test_that("states of zero probability are left out, and clusters are one at a time", {
  fit <- a_fit("mixture")
  found <- posterior_states(fit, 5)
  expect_true(all(found$probability > 0))
  expect_equal(sum(found$probability), 1, tolerance = 1e-12)
  expect_true(all(lengths(found$latents) == 1))
  expect_identical(found$latents[[1]], which(predict(fit, type = "state")[5, ] == 1))
})

test_that("draws have the probabilities of the posterior", {
  fit <- a_fit("random")
  points <- c(4, 9, 9, 33)
  draws <- posterior_sample(fit, 4000, points, seed = 7)
  expect_identical(dim(draws), c(4000L, 4L, 10L))
  expect_type(draws, "integer")
  expected <- expectations(fit)[points, ]
  frequency <- apply(draws, 2:3, mean)
  expect_true(all(abs(frequency - expected) <= 5 * sqrt(expected * (1 - expected) / 4000) + 1e-12))
  # Pairs of latents too: the joint, not the product of the margins.
  states <- posterior_states(fit, 4, top = 100)
  latents <- fit$selected[1:2, 4]
  both <- sum(states$probability[vapply(states$latents, function(on) all(latents %in% on), NA)])
  drawn <- mean(draws[, 1, latents[1]] * draws[, 1, latents[2]])
  expect_lte(abs(drawn - both), 5 * sqrt(both * (1 - both) / 4000) + 1e-12)
})

test_that("a seed repeats the draws and gives the generator back", {
  fit <- a_fit("handcrafted")
  set.seed(1)
  before <- .Random.seed
  first <- posterior_sample(fit, 3, seed = 5)
  expect_identical(.Random.seed, before)
  expect_identical(posterior_sample(fit, 3, seed = 5), first)
  posterior_sample(fit)
  expect_false(identical(.Random.seed, before))
  expect_identical(dimnames(first), list(NULL, paste0("case", 1:120), NULL))
  one <- posterior_sample(fit, points = 3:4)
  expect_identical(dim(one), c(2L, 10L))
  expect_identical(rownames(one), c("case3", "case4"))
})

test_that("points, counts and draws out of range are refused", {
  fit <- a_fit("gp")
  refused <- function(code) expect_error(code, class = "gps_error_argument")
  refused(posterior_states(fit, 0))
  refused(posterior_states(fit, 121))
  refused(posterior_states(fit, 1:2))
  refused(posterior_states(fit, 1, top = 0))
  refused(posterior_sample(fit, 0))
  refused(posterior_sample(fit, points = 121))
  refused(posterior_sample(fit, points = c(1, NA)))
  refused(posterior_sample(fit, points = integer()))
  refused(posterior_sample(fit, points = "1"))
  expect_gps_error(posterior_sample(fit, 1e8), "`n_draws` and `points` ask for 100000000 x 1200")
})

test_that("clusters with names have them in draws of all kinds", {
  set.seed(1)
  fit <- gps_fit(iris[1:4], model_gaussian_mixture(3), selector_full(), start = iris$Species,
                 control = quick_control())
  species <- levels(iris$Species)
  expect_identical(posterior_states(fit, 1)$latents[[1]], "setosa")
  expect_identical(colnames(posterior_sample(fit, 1, 1:3)), species)
  expect_identical(dimnames(posterior_sample(fit, 2, 1:3)), list(NULL, NULL, species))
  expect_identical(colnames(simulate(fit, 1, seed = 1, n = 4)[[1]]$latents), species)
  # Those without names have the numbers.
  expect_type(posterior_states(a_fit("mixture"), 1)$latents[[1]], "integer")
  expect_null(dimnames(posterior_sample(a_fit("mixture"), 2, 1:3)))
  expect_null(dimnames(simulate(a_fit("mixture"), 1, seed = 1, n = 4)[[1]]$latents))
})
