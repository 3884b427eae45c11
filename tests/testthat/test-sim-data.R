# The error is the package's and its message says so much.
expect_refused <- function(code, words) {
  expect_error(code, words, class = "gps_error_argument", fixed = TRUE)
}

# Whether the mean of x is within 5 standard errors of what it should be.
expect_mean <- function(x, mean, sd) {
  expect_lt(abs(base::mean(x) - mean), 5 * sd / sqrt(length(x)))
}

test_that("simulate_bars() returns the shapes it promises", {
  set.seed(1)
  bars <- simulate_bars(7, size = 3)
  expect_named(bars, c("y", "W", "latents", "pi", "sigma2"))
  expect_identical(dim(bars$y), c(7L, 9L))
  expect_identical(dim(bars$W), c(9L, 6L))
  expect_identical(dim(bars$latents), c(7L, 6L))
  expect_type(bars$y, "double")
  for (model in c("spike_slab", "max_spike_slab")) {
    slabs <- simulate_bars(1, model, size = 2)
    expect_named(slabs, c("y", "W", "latents", "pi", "sigma2", "mu", "psi", "values"))
    expect_identical(dim(slabs$y), c(1L, 4L))
    expect_identical(dim(slabs$latents), c(1L, 4L))
    expect_identical(dim(slabs$values), c(1L, 4L))
    expect_identical(slabs$mu, rep(1, 4))
    expect_identical(slabs$psi, rep(1, 4))
  }
})

test_that("bars are rows from the top, then columns from the left, pixels column by column", {
  components <- simulate_bars(1, size = 3, value = 7)$W
  expect_identical(matrix(components[, 1], 3), rbind(c(7, 7, 7), 0, 0))
  expect_identical(matrix(components[, 3], 3), rbind(0, 0, c(7, 7, 7)))
  expect_identical(matrix(components[, 4], 3), cbind(c(7, 7, 7), 0, 0))
  expect_identical(matrix(components[, 6], 3), cbind(0, 0, c(7, 7, 7)))
})

test_that("set.seed() governs all draws", {
  draw <- function(seed, ...) {
    set.seed(seed)
    list(simulate_bars(20, ...), simulate_clusters(20))
  }
  expect_identical(draw(1, "spike_slab"), draw(1, "spike_slab"))
  expect_false(identical(draw(1)[[1]]$y, draw(2)[[1]]$y))
  expect_false(identical(draw(1)[[2]]$y, draw(2)[[2]]$y))
})

test_that("without noise the data are the three superpositions", {
  set.seed(2)
  a <- simulate_bars(50, sigma2 = 0)
  expect_equal(a$y[, ], a$latents %*% t(a$W), tolerance = 1e-14)
  expect_identical(attr(a$y, "size"), c(5L, 5L))
  b <- simulate_bars(50, "spike_slab", sigma2 = 0)
  expect_equal(b$y[, ], (b$latents * b$values) %*% t(b$W), tolerance = 1e-14)
  c <- simulate_bars(50, "max_spike_slab", sigma2 = 0, prob = 0.5, mu = 0)
  for (n in 1:50) {
    contributions <- c$W %*% diag(c$latents[n, ] * c$values[n, ])
    expect_equal(c$y[n, ], apply(cbind(0, contributions), 1, max), tolerance = 1e-14)
  }
})

test_that("the maximum is never below zero, also with all bars on", {
  set.seed(3)
  bars <- simulate_bars(50, "max_spike_slab", prob = 1, mu = -3, psi = 1, sigma2 = 0)
  expect_true(any(rowSums(bars$values < 0) == 10))
  expect_identical(min(bars$y), 0)
  expect_identical(max_superposition(matrix(c(-1, 2), 2), matrix(1:2)), rbind(c(0, 0), c(2, 4)))
})

test_that("moments of the bars are those asked for", {
  set.seed(4)
  bars <- simulate_bars(4000, "spike_slab", prob = 0.2, value = 10, sigma2 = 2, mu = 3, psi = 0.5)
  expect_mean(bars$latents, 0.2, sqrt(0.2 * 0.8))
  expect_mean(bars$values, 3, sqrt(0.5))
  expect_mean((bars$values - 3)^2, 0.5, 0.5 * sqrt(2))
  noise <- bars$y - (bars$latents * bars$values) %*% t(bars$W)
  expect_mean(noise, 0, sqrt(2))
  expect_mean(noise^2, 2, 2 * sqrt(2))
  expect_lt(abs(cor(noise[, 1], noise[, 2])), 5 / sqrt(4000))
  expect_lt(abs(cor(bars$latents[, 1], bars$latents[, 2])), 5 / sqrt(4000))
})

test_that("parameters may differ from bar to bar", {
  set.seed(5)
  prob <- c(0, 1, 0.1, 0.9)
  mu <- c(-5, 0, 5, 9)
  psi <- c(1, 4, 0, 9)
  bars <- simulate_bars(4000, "spike_slab", size = 2, prob = prob, mu = mu, psi = psi)
  expect_identical(bars$pi, prob)
  for (h in 1:4) {
    expect_lte(abs(mean(bars$latents[, h]) - prob[h]), 5 * sqrt(prob[h] * (1 - prob[h]) / 4000))
    expect_lte(abs(mean(bars$values[, h]) - mu[h]), 5 * sqrt(psi[h] / 4000))
  }
  expect_identical(unique(bars$values[, 3]), 5)
})

test_that("bad arguments of simulate_bars() are refused by name", {
  for (n in list(0, -1, 2.5, NA, "5", NULL, c(1, 2), Inf)) expect_refused(simulate_bars(n), "`n`")
  for (size in list(1, 0, 2.5, NA, "5", NULL)) {
    expect_refused(simulate_bars(5, size = size), "`size`")
  }
  for (prob in list(-0.1, 1.1, NA, "a", NULL, numeric(0), c(0.1, 0.2), c(rep(0.2, 9), 2),
                    list(0.1), factor(1))) {
    expect_refused(simulate_bars(5, prob = prob), "`prob`")
  }
  for (x in list(NA, NaN, Inf, "1", NULL, 1e151)) {
    expect_refused(simulate_bars(5, value = x), "`value`")
    expect_refused(simulate_bars(5, "spike_slab", mu = x), "`mu`")
  }
  for (x in list(-1, NA, Inf, "1", NULL)) {
    expect_refused(simulate_bars(5, sigma2 = x), "`sigma2`")
    expect_refused(simulate_bars(5, "spike_slab", psi = x), "`psi`")
  }
  expect_refused(simulate_bars(5, "spike_slap"), "Did you mean \"spike_slab\"?")
  expect_refused(simulate_bars(5, model = 1), "`model`")
  expect_refused(simulate_bars(1e9), "`n` and `size` ask for 1000000000 x 25 values")
  expect_refused(simulate_bars(5, size = 2e6), "`size` ask for")
})

test_that("the largest numbers allowed stay finite", {
  bars <- simulate_bars(20, "spike_slab", value = -1e150, mu = 1e150, psi = 1e300, sigma2 = 1e300)
  expect_true(all(is.finite(bars$y)))
  for (layout in c("random", "line")) {
    clusters <- simulate_clusters(separation = 1e150, sd = 1e150, layout = layout)
    expect_true(all(is.finite(unlist(clusters))))
    clusters <- simulate_clusters(separation = 1e-150, sd = 1e-150, layout = layout)
    expect_true(all(is.finite(unlist(clusters))))
  }
})

test_that("simulate_clusters() returns the shapes it promises", {
  set.seed(6)
  for (layout in c("random", "line")) {
    clusters <- simulate_clusters(20, n_clusters = 3, n_dims = 4, layout = layout)
    expect_named(clusters, c("y", "mu", "sigma", "pi", "cluster", "latents"))
    expect_identical(dim(clusters$y), c(20L, 4L))
    expect_identical(dim(clusters$mu), c(4L, 3L))
    expect_identical(clusters$sigma, c(1, 1, 1))
    expect_equal(clusters$pi, c(1, 1, 1) / 3)
    expect_identical(clusters$cluster, rep_len(1:3, 20))
    expect_identical(clusters$latents, diag(1L, 3)[clusters$cluster, ])
    expect_identical(dim(simulate_clusters(1, 1, 1, layout)$y), c(1L, 1L))
    expect_null(dimnames(clusters$y))
  }
  expect_identical(tabulate(simulate_clusters()$cluster), c(50L, 50L, 50L))
})

test_that("random means keep their distance within the positive box", {
  for (seed in 1:50) {
    set.seed(seed)
    mu <- simulate_clusters(separation = 4, sd = 2)$mu
    expect_gte(min(dist(t(mu))), 8)
    expect_gte(min(mu), 0)
    expect_lte(max(mu), 20)
  }
})

test_that("the box grows where the means cannot fit", {
  set.seed(7)
  line <- simulate_clusters(40, n_clusters = 20, n_dims = 1)
  expect_gte(min(dist(t(line$mu))), 6)
  plane <- simulate_clusters(200, n_clusters = 100)
  expect_gte(min(dist(t(plane$mu))), 6)
  expect_gt(max(plane$mu), 15)
})

test_that("the line has equal steps, jitter across and an offset", {
  set.seed(8)
  mu <- simulate_clusters(1000, n_clusters = 1000, n_dims = 3, layout = "line", separation = 5,
                          sd = 2)$mu
  expect_equal(mu[1, ], 10 * 1:1000)
  expect_mean(mu[-1, ], 10, 1.5)
  expect_mean((mu[-1, ] - 10)^2, 1.5^2, 1.5^2 * sqrt(2))
})

test_that("clusters are spherical with the standard deviation asked for", {
  set.seed(9)
  clusters <- simulate_clusters(6000, n_clusters = 3, n_dims = 2, sd = 3)
  expect_identical(clusters$sigma, c(9, 9, 9))
  deviation <- clusters$y - t(clusters$mu)[clusters$cluster, ]
  expect_mean(deviation, 0, 3)
  expect_mean(deviation^2, 9, 9 * sqrt(2))
  expect_lt(abs(cor(deviation)[1, 2]), 5 / sqrt(6000))
})

test_that("what stands in the place of another argument is told with both names", {
  expect_refused(simulate_bars(100, 5), "simulate_bars(n, size = 5)")
  expect_refused(simulate_clusters(100, "line"), "simulate_clusters(n, layout = \"line\")")
  expect_refused(simulate_clusters(100, 3, "line"), "`n_dims`, the third argument")
  expect_refused(simulate_clusters(3, 100), "at least `n_clusters`, which is 100, not 3")
  for (call in list(quote(simulate_scenes(120)), quote(simulate_scenes(120, 30)))) {
    expect_refused(eval(call), "`objects`, the first argument")
    expect_refused(eval(call), "simulate_scenes(n = 120)")
  }
})

test_that("bad arguments of simulate_clusters() are refused by name", {
  for (n in list(2, 0, 3.5, NA, "5", NULL)) expect_refused(simulate_clusters(n), "`n`")
  for (x in list(0, 1.5, NA, "3", NULL, 1:2)) {
    expect_refused(simulate_clusters(n_clusters = x), "`n_clusters`")
    expect_refused(simulate_clusters(n_dims = x), "`n_dims`")
  }
  for (x in list(0, -1, NA, Inf, "6", NULL, c(1, 2))) {
    expect_refused(simulate_clusters(separation = x), "`separation`")
    expect_refused(simulate_clusters(sd = x), "`sd`")
  }
  expect_refused(simulate_clusters(layout = "lines"), "Did you mean \"line\"?")
  expect_refused(simulate_clusters(1e8, n_dims = 1e8), "`n_dims` ask for")
})

test_that("digits8 is the collection, upright", {
  expect_named(digits8, c("x", "label"))
  expect_identical(dim(digits8$x), c(1797L, 64L))
  expect_type(digits8$x, "integer")
  expect_identical(attr(digits8$x, "size"), c(8L, 8L))
  expect_identical(range(digits8$x), c(0L, 16L))
  expect_identical(colnames(digits8$x)[c(1, 2, 9, 64)], c("r1c1", "r2c1", "r1c2", "r8c8"))
  published <- c(178L, 182L, 177L, 183L, 181L, 182L, 181L, 179L, 174L, 180L)
  expect_identical(tabulate(digits8$label + 1L), published)
  expect_identical(digits8$label[1:10], 0:9)
  first <- matrix(digits8$x[1, ], 8)
  expect_identical(first[1, ], c(0L, 0L, 5L, 13L, 9L, 1L, 0L, 0L))
  expect_identical(first[8, ], c(0L, 0L, 6L, 13L, 10L, 0L, 0L, 0L))
})

test_that("bars stand on a baseline", {
  for (model in c("binary_sparse", "spike_slab", "max_spike_slab")) {
    set.seed(7)
    plain <- simulate_bars(20, model, size = 3)
    for (intercept in list(100, 1:9)) {
      set.seed(7)
      raised <- simulate_bars(20, model, size = 3, intercept = intercept)
      expect_near(raised$y - plain$y, matrix(rep_len(intercept, 9), 20, 9, byrow = TRUE), 1e-12)
      expect_identical(raised$intercept, as.double(rep_len(intercept, 9)))
      expect_identical(raised[names(plain)[-1]], plain[-1])
    }
  }
  expect_gps_error(simulate_bars(20, intercept = 1:3), "`intercept` must be one number, or 25")
  expect_gps_error(simulate_bars(20, intercept = NA), "`intercept` must be")
})
