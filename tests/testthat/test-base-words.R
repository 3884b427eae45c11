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
  expect_gps_error(update(fit, n_latents = 4), "model = model_gaussian_mixture(n_components = )")
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

test_that("what follows from something that was told is not told again", {
  set.seed(1)
  brief <- gps_control(max_iter = 1, n_starts = 1, progress = FALSE)
  warned <- function(y, model) {
    kinds <- NULL
    withCallingHandlers(gps_fit(y, model, selector_full(), control = brief),
                        gps_warning = function(condition) {
      kinds <<- c(kinds, class(condition)[1])
      invokeRestart("muffleWarning")
    })
    kinds
  }
  y <- as.matrix(iris[1:4])
  expect_identical(warned(-y, model_max_spike_slab(2)), "gps_warning_negative")
  expect_identical(warned(y, model_max_spike_slab(2)), "gps_warning_baseline")
  images <- array(rnorm(400), c(4, 5, 20))
  expect_identical(warned(images, model_binary_sparse(8)), "gps_warning_reading")
  # A choice says once what each of its fits would say of the data.
  heard <- function(y, make) capture_warnings(gps_choose(y, make, 2, control = brief))
  expect_match(heard(images, model_binary_sparse), "images come first", all = FALSE)
  for (sign in c(-1, 1)) {
    expect_match(heard(sign * y, model_max_spike_slab), "function(k) model_max_spike_slab(k, inter",
                 fixed = TRUE, all = FALSE)
  }
})

test_that("clusters of too few points hide no columns that determine one another", {
  y <- unname(as.matrix(iris[1:4]))
  model <- gps_bind(model_gaussian_mixture(2), cbind(y, y[, 1] + y[, 2]))
  set.seed(1)
  params <- gps_init(model, cbind(y, y[, 1] + y[, 2]))
  params$pi <- c(1, 1e-5) / (1 + 1e-5)
  params$mu <- matrix(colMeans(cbind(y, y[, 1] + y[, 2])), 5, 2)
  params$sigma <- array(c(cov(cbind(y, y[, 1] + y[, 2])), diag(5)), c(5, 5, 2))
  found <- list(n_points = 150, usage = c(150, 0))
  expect_identical(find_degenerate(model, params, found),
                   c(collinear = paste("columns 1, 2 and 5 determine one another: each follows",
                                       "from the others")))
})

test_that("what a fit, a checkpoint or predictions are not is told, and what is new data", {
  gp <- gp_fit(1:9, sin(1:9), kernel_rbf(1, 1) + kernel_white(), optimise = FALSE)
  for (f in list(predict, simulate)) expect_gps_error(f(gp, wt = 2), "newdata = 2.")
  for (f in list(fitted, residuals, coef, logLik, summary, plot)) {
    message <- tryCatch(f(gp, weights = 1), error = conditionMessage)
    expect_match(message, "^Unknown argument `weights`. ")
    expect_no_match(message, "gps_fit")
  }
  named <- gp_fit(mpg ~ wt, mtcars, optimise = FALSE)
  for (f in list(predict, simulate)) {
    expect_gps_error(f(named, wt = 2), "newdata = data.frame(wt = ...)")
    expect_gps_error(f(named, horse = 2), "a data frame with the column \"wt\"")
  }
  mixture <- gps_fit(iris[1:4], model_gaussian_mixture(2), start = rep(1:2, 75),
                     control = gps_control(max_iter = 1, checkpoint = path <- tempfile()))
  expect_gps_error(predict(mixture, Sepal.Width = 2), "Sepal.Width = ..., Petal.Length = ...")
  loo <- gp_loo(gp)
  expect_gps_error(plot(loo), "plot(fit$targets, loo$mean)")
  expect_output(print(loo), "[$]variance")
  expect_gps_error(print(loo, nonsense = 1), "argument `nonsense`")
  expect_identical(as.data.frame(loo)$mean, loo$mean[, 1])
  saved <- readRDS(path)
  expect_gps_error(predict(saved), "gps_resume(file, y)")
  expect_gps_error(gps_fit(iris[1:4], model_gaussian_mixture(2), start = saved), "gps_resume(")
  expect_gps_error(gps_resume(saved, iris[1:4]), "the name of its file")
  expect_output(print(saved), "gps_resume(file, y)", fixed = TRUE)
})

test_that("starts of other sizes and patches that were cut have a way out", {
  y <- as.matrix(iris[1:4])
  brief <- gps_control(max_iter = 1, n_starts = 1, progress = FALSE)
  sparse <- model_binary_sparse(2, intercept = TRUE)
  fit <- gps_fit(y, sparse, control = brief)
  expect_gps_error(gps_fit(y, model_binary_sparse(3, intercept = TRUE), start = fit),
                   "gps_choose(y, model, c(2, 3))")
  expect_gps_error(gps_fit(y[, 1:2], sparse, start = fit), "list(W = coef(fit)$W[columns, ])")
  expect_gps_error(gps_fit(cbind(y, 1), sparse, start = fit), "Leave it out")
  begun <- gps_fit(y[, 1:2], sparse, start = list(W = coef(fit)$W[1:2, ]), control = brief)
  expect_s3_class(begun, "gps_fit")
  mixture <- gps_fit(y, model_gaussian_mixture(2), start = rep(1:2, 75), control = brief)
  expect_gps_error(gps_fit(y[, 1:2], mixture$model, start = mixture), "predict(fit, type = \"class")
  start <- function(model, from) gps_fit(y, model, start = from, control = brief)
  expect_gps_error(start(model_gaussian_mixture(2, "diagonal"), mixture),
                   "2 clusters, covariance = full. Its clusters can be one: start = predict(fit, t")
  expect_gps_error(start(model_spike_slab(2), fit), "start = list(W = coef(fit)$W)")
  expect_s3_class(start(model_spike_slab(2, intercept = TRUE), list(W = coef(fit)$W)), "gps_fit")
  expect_gps_error(start(sparse, mixture), "Leave it out")
  expect_gps_error(start(mixture$model, list(mixture)), "Take the fit out of the list")
  for (odd in list(summary(fit), sparse, brief, gp_fit(1:3, 1:3, optimise = FALSE))) {
    expect_gps_error(start(sparse, odd), "a fit, or a named list of parameters as coef() gives")
  }
  patches <- extract_patches(matrix(runif(144), 12), 6)
  expect_gps_error(assemble_patches(patches[, 1:10], c(12, 12)), "all patches of 6 x 6, of 36")
  expect_gps_error(assemble_patches(patches[, 1:9], c(12, 12)), "were columns left out?")
  expect_gps_error(assemble_patches(patches[1:9, ], c(12, 12)), "\"positions\")[rows, ]")
})

test_that("words for a criterion, numbers, kernels and columns that are meant otherwise", {
  y <- as.matrix(iris[1:4])
  choose <- function(...) gps_choose(y, ...)
  expect_gps_error(choose(model_gaussian_mixture, 2, "AIC"), "2 * df - 2 * bound")
  expect_gps_error(choose(model_gaussian_mixture, 2, "CV"), "Did you mean \"held-out\"?")
  expect_gps_error(choose(model_gaussian_mixture, 2, k = 5), "`n_latents`, which is given already")
  expect_gps_error(choose(model_gaussian_mixture, k = 5), "Did you mean `n_latents`?")
  sized <- list(a = model_gaussian_mixture(2), b = model_gaussian_mixture(3, "diagonal"))
  expect_warning(tell_own_numbers(sized, 2:20), "n_latents = c(2, 3)", fixed = TRUE,
                 class = "gps_warning_numbers")
  expect_silent(tell_own_numbers(list(a = model_gaussian_mixture, b = sized$b), 2:20))
  image <- matrix(0, 9, 9)
  expect_gps_error(gps_denoise(image, -1), "a number above 0, not -1. Left out, the noise")
  expect_gps_error(gps_denoise(image, 1e200), "from 1e-150 to 1e+150")
  expect_gps_error(gps_denoise(image, h = 5), "`sd` is the standard deviation of the noise")
  expect_gps_error(gp_fit(1:3, 1:3, normalize_y = TRUE), "trend = \"constant\"")
  expect_gps_error(gp_fit(dist(y[1:3, ]), 1:3), "d and not dist(d)")
  expect_gps_error(gps_fit(y, sized$a, dist = "euclidean"), "by densities, not distances")
  expect_gps_error(gps_fit(y, kernel_rbf()), "gps_fit(y, model, selector_gp(kernel))")
  expect_gps_error(gps_fit(y, "rbf"), "selector_gp(kernel_rbf())")
  expect_gps_error(selector_gp("spike_slab"), "gps_fit(y, model_spike_slab())")
  expect_gps_error(gps_fit(y, sized$a, mian = 1), "Unknown argument `mian`. There are")
  expect_identical(nearest_name("mian", c("main", "mean")), "main")
  expect_gps_error(gps_source(function(from, to) y, 150, 4), "The function comes third")
  expect_gps_error(gps_source(150, function(from, to) y, 4), "gps_source(n, d, read)")
  for (call in list(quote(gps_source(y, 4, mean)), quote(gps_source(150, 4, y)))) {
    expect_gps_error(eval(call), "gps_fit(y, model) takes a matrix as it is")
  }
  source <- gps_source(150, 4, function(from, to) y[from:to, , drop = FALSE], names(iris)[1:4])
  expect_gps_error(source[, "Sepal"], "Did you mean \"Sepal.Length\" or \"Sepal.Width\"?")
  expect_gps_error(source["a", ], "rows of a source have no names")
  colnames(source) <- NULL
  expect_gps_error(source[, "Sepal"], "colnames(source) <- names gives them")
})

test_that("a step tells of outcomes, and of the model's own number of latents", {
  skip_if_not_installed("recipes")
  recipe <- recipes::recipe(Sepal.Length ~ ., iris[1:4])
  step <- function(...) step_gpselect(recipe, ..., options = list(control = quick_control()))
  all <- recipes::all_predictors
  three <- model_gaussian_mixture(3)
  expect_warning(step(all(), model = three), "write num_comp = 3", class = "gps_warning_num_comp")
  expect_silent(step(all(), model = model_gaussian_mixture))
  expect_silent(chosen <- step(all(), recipes::all_outcomes(), num_comp = 2, model = three))
  expect_warning(recipes::prep(chosen), "\"Sepal.Length\" is an outcome",
                 class = "gps_warning_outcome")
  expect_no_warning(recipes::prep(step(all(), num_comp = 2, model = three)),
                    class = "gps_warning_outcome")
})

test_that("paths, pictures without a reader and connections are told what reads them", {
  model <- model_gaussian_mixture(2)
  for (path in c("~/x.csv", "~user/x.csv", "x~1.csv")) {
    expect_gps_error(gps_fit(path, model), sprintf("read first: read.csv(\"%s\")", path))
  }
  expect_gps_error(gps_fit("~/pics/a.jpg", model), "(jpeg::readJPEG(\"~/pics/a.jpg\"), 8)")
  expect_gps_error(gps_fit("~/pics", model), "A file is read first")
  expect_gps_error(gp_fit("mpg ~ x.raw", 1:3), "A formula has no quotes")
  for (formula in c("Species ~ .", "~ Species")) {
    expect_gps_error(gps_fit(formula, model, data = iris), "A formula has no quotes")
  }
  for (ending in c("bmp", "GIF", "webp")) {
    path <- paste0("a.", ending)
    expect_gps_error(gps_fit(path, model), "extract_patches(png::readPNG(\"a.png\"), 8)")
    expect_gps_error(gps_denoise(path), "Convert it to PNG, and read that: png::readPNG(\"a.png\")")
  }
  expect_gps_error(gps_fit(list("a.jpg", "b.jpg"), model), "lapply(y, jpeg::readJPEG)")
  expect_gps_error(gps_fit(list("a", 1:2), model), "1 to 2 values")
  expect_gps_error(assemble_patches("a.jpg", c(3, 3)), "extract_patches(jpeg::readJPEG(\"a.jpg\")")
  con <- file("a.csv")
  on.exit(close(con))
  expect_gps_error(gps_fit(con, model), "read.csv(con)")
  expect_gps_error(gps_fit(~ a, model, data = con), "read.csv(con)")
  expect_gps_error(gp_fit(con, 1), "read.csv(con)")
})

test_that("where data must be in memory, no source is named, and a source is told so", {
  said <- function(expr) conditionMessage(tryCatch(expr, error = identity))
  line <- gp_fit(1:5, c(2, 3, 5, 4, 6), optimise = FALSE)
  for (ending in c("csv", "parquet", "tsv", "h5", "bin", "other")) {
    path <- paste0("a.", ending)
    for (words in c(said(gp_fit(path, 1:3)), said(gp_fit(1:3, path)), said(predict(line, path)),
                    if (ending != "other") said(gp_fit(a ~ b, path)))) {
      expect_match(words, "A file is read first: (?!.*gps_source)", perl = TRUE)
    }
  }
  source <- gps_source(9, 2, function(from, to) matrix(0, to - from + 1, 2), c("a", "b"))
  model <- model_gaussian_mixture(2)
  expect_gps_error(gp_fit(source, 1:9), "as.matrix(source) reads it")
  expect_gps_error(predict(line, source), "as.matrix(source) reads it")
  expect_gps_error(gp_fit(a ~ b, source), "data = as.data.frame(as.matrix(source))")
  expect_identical(dim(as.data.frame(as.matrix(source))), c(9L, 2L))
  expect_gps_error(gps_fit(~ a, model, data = source), "no formula: give it as `y`")
  path <- tempfile(fileext = ".csv")
  on.exit(unlink(path))
  write.csv(mtcars, path, row.names = FALSE)
  expect_gps_error(gps_fit(~ mpg + cyl, model, data = gps_source_csv(path)),
                   "gps_source_csv(path, c(\"mpg\", \"cyl\")), and give it as `y`")
})

test_that("inputs and targets by a formula are told by the names of columns", {
  fit <- gp_fit(mpg ~ wt + hp, data = mtcars[1:8, ], optimise = FALSE)
  expect_gps_error(predict(fit, 2, 1), "predict(fit, c(2, ...)), or data.frame(wt = 2, hp = ...)")
  expect_gps_error(predict(fit, data.frame(wt = 2)),
                   "all inputs of the fit by name, but \"hp\" is missing: data.frame(wt = ..., hp")
  expect_gps_error(gp_fit(Species ~ ., iris), "`Species`, left of ~, must be numbers, not of")
  expect_gps_error(gp_fit(Species ~ ., iris), "model.matrix(~ 0 + Species, data)")
  expect_gps_error(gp_fit(a ~ b, data.frame(a = c("1", "2"), b = 1:2)), "as.numeric(a)")
  expect_gps_error(plot(fit, type = "l"), "axes, symbols and lines of its own")
})

test_that("names in a column, labels to choose with and new columns since a fit are told", {
  set.seed(5)
  d <- data.frame(name = paste0("n", 1:30), a = rnorm(30), b = rnorm(30))
  model <- model_gaussian_mixture(2)
  expect_gps_error(gps_fit(~ ., model, data = d), "~ . - name. If it names the data points, make")
  d$name <- rep(c("x", "y"), 15)
  expect_gps_error(gps_fit(d, model), "a column of 0 and 1 for each value")
  fit <- gps_fit(d[2:3], model, control = gps_control(max_iter = 1, n_starts = 1))
  d$new <- 1:30
  expect_gps_error(gps_fit(~ . - name, model, data = d, start = fit), "Not in the fit: \"new\".")
  expect_gps_error(gps_fit(d["a"], model, start = fit), "Not in the data: \"b\".")
  expect_gps_error(gps_choose(d[2:3], model_gaussian_mixture, 1:2, labels = 1:30),
                   "update(choice$fit, labels = )")
  expect_gps_error(plot(fit, type = "l"), "axes, symbols and lines of its own")
  expect_gps_error(plot(fit, type = "bound"), "Did you mean `which`?")
})

test_that("text beside `data`, a number to plan with, and a fit as a posterior are told the way", {
  model <- model_gaussian_mixture(3)
  fit <- gps_fit(iris[1:4], model, selector_full(),
                 control = gps_control(max_iter = 1, n_starts = 1))
  for (call in list(quote(gps_fit("a.csv", model, data = iris)),
                    quote(gps_choose("a.csv", model, data = iris)))) {
    expect_gps_error(eval(call), "`data` belongs to a formula. A file is read first: read.csv(")
  }
  expect_gps_error(gps_choose("~ a", model, data = iris), "A formula has no quotes: ~ a")
  expect_gps_error(gps_plan(1e6, model), "gps_source(1e+06, d, function(from, to)")
  expect_gps_error(posterior_mean(fit), "predict(fit, type = \"latent\")")
  expect_gps_error(extract_patches(list("a.jpg"), 8), "jpeg::readJPEG(\"a.jpg\")")
  con <- file("a.jpg")
  on.exit(close(con))
  expect_gps_error(gps_denoise(con), "A picture is read first")
})

test_that("letters are the same in every locale, a Turkish one among them", {
  expect_identical(gpselect:::upper_case(c("fitc", NA, "\u0131")), c("FITC", NA, "\u0131"))
  expect_identical(gpselect:::lower_case(c("ICL", "\u0130")), c("icl", "\u0130"))
  space <- asNamespace("gpselect")
  asks_locale <- vapply(ls(space, all.names = TRUE), function(name) {
    value <- get(name, space)
    used <- if (is.function(value)) all.names(body(value))
    any(c("tolower", "toupper", "casefold") %in% used)
  }, NA)
  expect_gt(length(asks_locale), 100)
  expect_identical(names(which(asks_locale)), character())
})

test_that("factors by mistake, empty columns and tables of counts are read as what they are", {
  y <- data.frame(a = faithful$eruptions, b = faithful$waiting)
  model <- model_gaussian_mixture(2)
  expect_gps_error(gps_fit(transform(y, b = factor(b)), model), "as.numeric(as.character())")
  expect_gps_error(gps_fit(transform(y, b = factor(paste("day", seq_along(b)))), model),
                   "If it names the data points")
  # Cells of NA alone are no TRUE and FALSE.
  expect_silent(tell_logical(transform(y, b = NA), "y"))
  expect_warning(tell_logical(transform(y, b = b > 70), "y"), "column \"b\"")
  expect_warning(tell_reading(Titanic), "a table of counts by 4 factors, and is read as 4",
                 class = "gps_warning_reading")
  expect_silent(tell_reading(margin.table(Titanic, 1:2)))
})

test_that("a column that is too low is called by its name", {
  expect_warning(gps_fit(quakes[1:100, ], model_max_spike_slab(2), selector_full(),
                         control = gps_control(max_iter = 1, n_starts = 1, progress = FALSE)),
                 "column 1 (\"lat\") has 100 %", fixed = TRUE, class = "gps_warning_negative")
})
