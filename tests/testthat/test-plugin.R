# The package of inst/examples/plugin, whose model in C is its own: what a fit of it can do, in
# sessions of their own.

# Runs code in a new session that sees the library `folder`, and returns what it printed.
run_with <- function(folder, code) {
  script <- tempfile(fileext = ".R")
  writeLines(c(sprintf(".libPaths(c(%s, .libPaths()))", dQuote(folder, FALSE)),
               "options(gpselect.threads = 1, warn = 1)", code), script)
  libraries <- paste(c(folder, .libPaths()), collapse = .Platform$path.sep)
  suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), script, stdout = TRUE,
                           stderr = TRUE, env = paste0("R_LIBS=", shQuote(libraries)),
                           timeout = 120))
}

test_that("a package with a model in C is installed, fitted, shown, stored and predicted with", {
  skip_on_cran()
  skip_on_os("windows")
  skip_if(!nzchar(Sys.which("make")), "There is no compiler.")
  plugin <- system.file("examples", "plugin", package = "gpselect")
  skip_if(plugin == "", "The example is not installed.")
  folder <- tempfile("library")
  dir.create(folder)
  libraries <- paste(.libPaths(), collapse = .Platform$path.sep)
  # A copy, since compiling writes beside the source.
  file.copy(plugin, folder, recursive = TRUE)
  # The sessions below load it.
  said <- suppressWarnings(system2(
    file.path(R.home("bin"), "R"),
    c("CMD", "INSTALL", "--no-docs", "--no-test-load", paste0("--library=", shQuote(folder)),
      shQuote(file.path(folder, "plugin"))),
    stdout = TRUE, stderr = TRUE, env = paste0("R_LIBS=", shQuote(libraries)), timeout = 180
  ))
  expect_true(dir.exists(file.path(folder, "gpspoisson")), info = said)
  expect_false(any(grepl("warning", said, ignore.case = TRUE)), info = said)
  first <- run_with(folder, c(
    "library(gpselect)", "library(gpspoisson)", "set.seed(1)",
    "rate <- cbind(c(2, 20, 5, 1), c(15, 1, 5, 9), c(1, 4, 25, 30))",
    "cluster <- sample(3, 300, TRUE)", "y <- t(matrix(rpois(1200, rate[, cluster]), 4))",
    "fit <- gps_fit(y, model_poisson(3), selector_gp(), n_selected = 2)", "print(fit)",
    "found <- match_components(coef(fit)$rate, rate)", "stopifnot(all(found$similarity > 0.99))",
    "full <- gps_fit(y, model_poisson(3), selector_full())",
    "stopifnot(abs(full$bound - fit$bound) < 1)",
    "stopifnot(diff(full$trace$bound[full$trace$start == 0]) > -1e-6)",
    "joint <- sapply(1:3, function(k) log(coef(full)$pi[k]) +",
    "  colSums(dpois(t(y), coef(full)$rate[, k], log = TRUE)))",
    "wanted <- log(rowSums(exp(joint)))",
    "stopifnot(all.equal(predict(full, y, 'loglik'), wanted, tolerance = 1e-12))",
    "class <- predict(fit, type = 'class')",
    "stopifnot(mean(class[cluster == 1] == class[cluster == 1][1]) > 0.95)",
    "stopifnot(dim(predict(fit, y[1:5, ], 'response')) == c(5, 4), dim(residuals(fit)) == dim(y))",
    "summary(fit)", "logLik(fit)", "pdf(NULL)", "plot(fit)", "str(coef(fit))",
    "drawn <- simulate(fit, 1, seed = 1)[[1]]", "stopifnot(dim(drawn$y) == dim(y))",
    "again <- update(fit, selector = selector_handcrafted())",
    "affinity <- gps_affinity(selector_handcrafted(), fit, y)",
    "stopifnot(dim(affinity) == c(300, 3))",
    "screened <- gps_fit(y, model_poisson(3), selector_handcrafted(gps_screen()), n_selected = 2)",
    "stopifnot(abs(screened$bound - full$bound) < 1)",
    "batched <- gps_fit(y, model_poisson(3), selector_full(), control = gps_control(",
    "  batch_size = 100, max_iter = 20))",
    "stopifnot(batched$bound > full$bound - 50)",
    "gaps <- replace(y, sample(length(y), 240), NA)", "gaps[7, ] <- NA",
    "full <- gps_fit(gaps, model_poisson(3), selector_full(), start = coef(full))",
    "stopifnot(diff(full$trace$bound) > -1e-6)",
    "joint <- sapply(1:3, function(k) log(coef(full)$pi[k]) +",
    "  colSums(dpois(t(gaps), coef(full)$rate[, k], log = TRUE), na.rm = TRUE))",
    "wanted <- log(rowSums(exp(joint)))", "stopifnot(abs(wanted[7]) < 1e-6)",
    "stopifnot(all.equal(predict(full, type = 'loglik'), wanted, tolerance = 1e-12))",
    "filled <- (exp(joint - wanted) %*% t(coef(full)$rate))[is.na(gaps)]",
    "stopifnot(all.equal(predict(full, type = 'imputed')[is.na(gaps)], filled))",
    sprintf("saveRDS(list(fit = fit, y = y, p = predict(fit, y)), %s)",
            dQuote(file.path(folder, "fit.rds"), FALSE)),
    "cat('first is done\\n')"
  ))
  expect_true(any(grepl("first is done", first)), info = paste(first, collapse = "\n"))
  expect_true(any(grepl("Model +Poisson mixture: 3 clusters", first)))
  second <- run_with(folder, c(
    sprintf("kept <- readRDS(%s)", dQuote(file.path(folder, "fit.rds"), FALSE)),
    "library(gpselect)", "stopifnot(identical(predict(kept$fit, kept$y), kept$p))",
    "print(kept$fit)", "u <- update(kept$fit)", "stopifnot(abs(u$bound - kept$fit$bound) < 1)",
    "odd <- kept$fit", "odd$params$rate <- odd$params$rate[, 1:2]",
    "stopifnot(inherits(try(predict(odd), TRUE), 'try-error'))",
    "odd <- kept$fit", "odd$model$options$floor_rate <- 1:2",
    "stopifnot(inherits(tryCatch(predict(odd), error = identity), 'gps_error_model'))",
    "odd <- kept$fit", "odd$model$stats <- odd$model$stats[-1]",
    "stopifnot(inherits(tryCatch(print(odd), error = identity), 'gps_error_model'))",
    "cat('second is done\\n')"
  ))
  expect_true(any(grepl("second is done", second)), info = paste(second, collapse = "\n"))
  unlink(file.path(folder, "gpspoisson"), recursive = TRUE)
  # No session has it any more.
  kept <- suppressWarnings(readRDS(file.path(folder, "fit.rds")))
  expect_gps_error(predict(kept$fit, kept$y), "gpspoisson", "model")
})
