# Clusters as users of R want them: labels, names, uncertainty, an order, a start from a partition.
# @srrstats {G2.4d, G2.4e, G5.0, UL3.4}

clusters_fit <- function(start = NULL, covariance = "full", y = iris[1:4], n = 3, ...) {
  set.seed(1)
  gps_fit(y, model_gaussian_mixture(n, covariance), selector_full(), start = start,
          control = gps_control(n_starts = 2, progress = FALSE, n_threads = 1, ...))
}

test_that("uncertainty is 1 less the largest probability, for old and new data", {
  fit <- clusters_fit()
  prob <- predict(fit)
  doubt <- predict(fit, type = "uncertainty")
  expect_equal(unname(doubt), 1 - apply(prob, 1, max), tolerance = 1e-10)
  for (rows in list(c(1, 60, 140), 60)) {
    new <- predict(fit, iris[rows, 1:4], type = "uncertainty")
    expect_length(new, length(rows))
    expect_equal(unname(new), unname(doubt[rows]), tolerance = 1e-10)
  }
  selected <- a_fit("mixture")
  expect_equal(predict(selected, type = "uncertainty"), 1 - apply(predict(selected), 1, max),
               tolerance = 1e-10)
  expect_gps_error(predict(a_fit("handcrafted"), type = "uncertainty"), "is for mixtures")
})

test_that("uncertainty keeps its digits near 0", {
  set.seed(5)
  fit <- clusters_fit(y = cbind(c(rnorm(20), rnorm(20, 14))), n = 2)
  doubt <- predict(fit, type = "uncertainty")
  expect_true(all(doubt > 0 & doubt < 1e-8))
  expect_true(any(doubt < 1e-20))
})

test_that("summary counts points by cluster", {
  fit <- clusters_fit()
  table <- summary(fit)$classes
  class <- predict(fit, type = "class")
  expect_identical(table$points, tabulate(class, 3))
  expect_equal(table$expected, colSums(predict(fit)), tolerance = 1e-10)
  doubt <- tapply(predict(fit, type = "uncertainty"), class, mean)
  expect_equal(table$uncertainty, as.vector(doubt))
  expect_printed(summary(fit), "most probable cluster")
  expect_null(summary(a_fit("handcrafted"))$classes)
})

test_that("icl() is BIC and the labels' log probabilities", {
  fit <- clusters_fit()
  expect_equal(icl(fit), BIC(fit) - 2 * sum(log(apply(predict(fit), 1, max))), tolerance = 1e-12)
  expect_gps_error(icl(a_fit("handcrafted")), "is for mixtures")
  expect_gps_error(icl(1), "a fit of a mixture")
})

test_that("icl() has the size of mclust's and the other sign", {
  skip_if_not_installed("mclust")
  requireNamespace("mclust", quietly = TRUE)
  fit <- clusters_fit(max_iter = 500)
  params <- coef(fit)
  sigma <- params$sigma
  expected <- mclust::estepVVV(iris[1:4], list(
    pro = params$pi, mean = params$mu,
    variance = list(modelName = "VVV", d = 4, G = 3, sigma = sigma,
                    cholsigma = array(apply(sigma, 3, chol), dim(sigma)))
  ))
  best <- apply(expected$z, 1, max)
  of_mclust <- mclust::bic("VVV", expected$loglik, 150, 4, 3) + 2 * sum(log(best))
  expect_equal(icl(fit), -of_mclust, tolerance = 1e-8)
  expect_equal(mclust::icl(fit), icl(fit))
})

test_that("a partition starts a mixture, and names its clusters", {
  fit <- clusters_fit(iris$Species, max_iter = 1, mend = FALSE)
  moments <- lapply(split(iris[1:4], iris$Species), function(x) cov.wt(x, method = "ML"))
  first <- clusters_fit(iris$Species, max_iter = 0, mend = FALSE)
  expect_equal(coef(first)$mu[, "virginica"], moments$virginica$center, tolerance = 1e-10)
  expect_equal(coef(first)$sigma[, , "setosa"], moments$setosa$cov, tolerance = 1e-10)
  expect_equal(coef(first)$pi, c(setosa = 1, versicolor = 1, virginica = 1) / 3)
  expect_identical(levels(predict(fit, type = "class")), levels(iris$Species))
  expect_gt(mean(predict(fit, type = "class") == iris$Species), 0.95)
  expect_identical(colnames(predict(fit, iris[1:3, 1:4])), levels(iris$Species))
  expect_identical(colnames(expectations(fit)), levels(iris$Species))
  expect_identical(summary(fit)$classes$cluster, levels(iris$Species))
  number <- clusters_fit(as.integer(iris$Species), max_iter = 1, mend = FALSE)
  expect_identical(number$bound, fit$bound)
  expect_type(predict(number, type = "class"), "integer")
  on <- clusters_fit(fit, mend = FALSE)
  expect_identical(names(coef(on)$pi), levels(iris$Species))
})

test_that("words, kmeans() and centres start a mixture", {
  words <- clusters_fit(as.character(iris$Species), "diagonal", max_iter = 0, mend = FALSE)
  expect_equal(unname(coef(words)$sigma[, 1]),
               unname(apply(iris[1:50, 1:4], 2, var)) * 49 / 50, tolerance = 1e-10)
  set.seed(2)
  parts <- kmeans(iris[1:4], 3, nstart = 5)
  by_parts <- clusters_fit(parts, "spherical", max_iter = 0, mend = FALSE)
  expect_equal(unname(t(coef(by_parts)$mu)), unname(parts$centers), tolerance = 1e-10)
  by_centres <- clusters_fit(parts$centers[, 4:1], "spherical", max_iter = 0, mend = FALSE)
  # Numbers of rows are no names of clusters.
  expect_equal(t(coef(by_centres)$mu), `rownames<-`(parts$centers, NULL), tolerance = 1e-10)
  expect_type(predict(by_centres, type = "class"), "integer")
  named <- `rownames<-`(parts$centers, c("a", "b", "c"))
  by_name <- clusters_fit(named, "spherical", max_iter = 0, mend = FALSE)
  expect_equal(t(coef(by_name)$mu), named, tolerance = 1e-10)
  expect_equal(unname(coef(by_centres)$pi), tabulate(parts$cluster) / 150, tolerance = 1e-10)
})

test_that("a partition of complete rows starts with its centres where others have missing cells", {
  y <- as.matrix(iris[1:4])
  y[cbind(1:9, c(1, 2, 4))] <- NA
  set.seed(2)
  parts <- kmeans(na.omit(y), 3)
  control <- short_control(max_iter = 2)
  start_with <- function(start) {
    set.seed(3)
    gps_fit(y, model_gaussian_mixture(3), selector_full(), start = start, control = control)
  }
  fit <- start_with(parts)
  expect_identical(coef(fit), coef(start_with(parts$centers)))
  expect_identical(describe_fit(fit)[["Starts"]], "given centres")
  of_mclust <- structure(list(classification = parts$cluster,
                              parameters = list(mean = t(parts$centers))), class = "Mclust")
  expect_identical(coef(start_with(of_mclust)), coef(fit))
  one <- structure(list(classification = 1:2, parameters = list(mean = c(4, 7))), class = "Mclust")
  expect_identical(unpack_partition(one, 3), rbind(4, 7))
  expect_identical(unpack_partition(one, 2), 1:2)
  expect_gps_error(start_with(c(NA, rep(1:3, length.out = 149))), "give centres, one a row")
})

test_that("labels and centres that are none are refused in words", {
  species <- iris$Species
  expect_snapshot(error = TRUE, {
    clusters_fit(species[1:10])
    clusters_fit(replace(species, 7, NA))
    clusters_fit(as.integer(species) - 1L)
    clusters_fit(species, n = 4)
    clusters_fit(matrix(0, 2, 4))
    gps_fit(iris[1:4], model_binary_sparse(3), start = species)
  })
})

test_that("names are given up where mending moved a cluster", {
  set.seed(3)
  y <- rbind(matrix(rnorm(200), 100), matrix(rnorm(100, 8), 50), matrix(rnorm(100, 16), 50))
  wrong <- rep(c("a", "b", "c", "c"), each = 50)
  expect_warning(fit <- clusters_fit(wrong, y = y), "names are not kept", class = "gps_warning")
  expect_null(names(coef(fit)$pi))
  expect_type(predict(fit, type = "class"), "integer")
})

test_that("order_latents() changes numbers and nothing else", {
  fit <- clusters_fit()
  ordered <- order_latents(fit)
  expect_false(is.unsorted(rev(coef(ordered)$pi)))
  old <- order(-colSums(expectations(fit)))
  expect_identical(predict(ordered), predict(fit)[, old])
  expect_equal(predict(ordered, iris[1:9, 1:4]), predict(fit, iris[1:9, 1:4])[, old],
               tolerance = 1e-12)
  expect_identical(logLik(ordered), logLik(fit))
  back <- order_latents(ordered, order(old))
  expect_identical(coef(back), coef(fit))
  expect_identical(back$selected, fit$selected)
  expect_gps_error(order_latents(fit, c(1, 1, 2)), "a permutation of 1..3")
  expect_gps_error(order_latents(fit, c("a", "b", "c")), "the fit's latents have none")
  named <- fit
  named$latent_names <- c("low", "mid", "high")
  turned <- order_latents(named, c("high", "low", "mid"))
  expect_identical(turned$latent_names, c("high", "low", "mid"))
  expect_identical(turned$params, order_latents(fit, c(3, 1, 2))$params)
  expect_gps_error(order_latents(named, c("high", "low", "mit")), "Did you mean \"mid\"?")
  expect_gps_error(order_latents(named, c("high", "low", "low")), "or of the latents' names")
})

test_that("order_latents() of learned selections and sparse codes", {
  for (name in c("mixture", "gp", "sampled")) {
    fit <- a_fit(name)
    ordered <- order_latents(fit)
    old <- order(-colSums(expectations(fit)))
    expect_identical(unname(expectations(ordered)), unname(expectations(fit)[, old]))
    expect_equal(predict(ordered, type = "response"), predict(fit, type = "response"),
                 tolerance = if (name == "sampled") 0.2 else 1e-10)
    expect_true(all(diff(colSums(expectations(ordered))) <= 1e-9))
  }
  expect_gps_error(order_latents(a_fit("learner")), "selector of your own")
})
