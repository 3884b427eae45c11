# What new users of R and of other packages write first, and the words that answer them.

test_that("a missing argument is named by the function that needs it, in all functions", {
  for (name in getNamespaceExports("gpselect")) {
    f <- get(name, asNamespace("gpselect"))
    has_none <- vapply(formals(f), function(x) is.name(x) && !nzchar(as.character(x)), NA)
    if (!any(names(formals(f))[has_none] != "...")) next
    expect_gps_error(f(), "is missing")
  }
  expect_gps_error(selection_recall(1), "selection_recall() needs `fit` and `latents`")
  expect_gps_error(gpselect::match_components(), "match_components() needs `found` and `truth`")
  expect_gps_error(do.call(model_binary_sparse, list()), "`n_latents` is missing")
})

test_that("words of other packages are understood", {
  y <- as.matrix(iris[1:4])
  mixture <- model_gaussian_mixture(3)
  expect_snapshot(error = TRUE, {
    gps_fit(y, model_gaussian_mixture)
    gps_fit(y, mixture, selector_full)
    gps_fit(y, mixture, "handcrafted")
    gps_fit(y, "gaussian_mixture")
    gps_fit(y, mixture, start = "kmeans")
    model_gaussian_mixture(3, "VVI")
    gps_source(10, 3, function(i) i)
  })
})

test_that("arguments of other packages are answered by ours", {
  fit <- a_fit("mixture")
  expect_gps_error(predict(fit, type = "classification"), "Did you mean \"class\"?")
  expect_gps_error(predict(fit, type = "probabilities"), "Did you mean \"prob\"?")
  y <- as.matrix(iris[1:4])
  of_model <- "an argument of model_binary_sparse(): model = model_binary_sparse(n_latents = )"
  expect_gps_error(update(a_fit("full"), n_latents = 4), of_model)
  expect_gps_error(gps_denoise(matrix(0, 20, 20), 1, n_latents = 4),
                   "model = model_spike_slab(n_latents = )")
  expect_gps_error(gps_choose(y, model_gaussian_mixture, G = 2:3), "Did you mean `n_latents`?")
  expect_gps_error(simulate_clusters(100, k = 3), "Did you mean `n_clusters`?")
  expect_gps_error(simulate_bars(100, K = 3), "Unknown argument `K`. There are")
})

test_that("doubles that are read as floats are noticed, floats are not", {
  path <- tempfile()
  on.exit(unlink(path))
  set.seed(1)
  kinds <- list(decimals = as.vector(t(iris[1:4])), random = rnorm(400), whole = 1:400 + 0,
                wide = exp(rnorm(400, sd = 9)))
  for (values in kinds) {
    writeBin(values, path, endian = "little")
    expect_warning(gps_source_binary(path, 4, "float"), "look like doubles", class = "gps_warning")
    expect_silent(gps_source_binary(path, 4))
    writeBin(values, path, size = 4, endian = "little")
    expect_silent(gps_source_binary(path, 4, "float"))
  }
})
