# What stands in the place of something else: the way out that messages name.

a_mixture <- function(y, model = model_gaussian_mixture(3), ...) {
  gps_fit(y, model, selector_full(), control = gps_control(max_iter = 1, n_starts = 1), ...)
}

flowers <- as.matrix(iris[1:4])

test_that("responses, distances, trees and fits of another size are told what is wanted", {
  species <- iris$Species
  model <- model_gaussian_mixture(3)
  for (call in list(quote(gps_fit(flowers, y = species, model = model)),
                    quote(gps_fit(flowers, species)), quote(gps_fit(flowers, species, model)),
                    quote(gps_fit(flowers[, 1:2], flowers[, 3])))) {
    expect_gps_error(eval(call), "Data are given twice")
  }
  expect_gps_error(gps_fit(flowers, model, gps_control()), "control = gps_control()")
  expect_gps_error(gps_fit(flowers, list(model)), "[[1]]")
  expect_gps_error(gps_fit(model), "they come first, gps_fit(y, model)")
  expect_gps_error(gps_fit(dist(flowers), model), "not distances of 150 points. Give the data")
  fit <- a_mixture(flowers, start = species)
  start <- function(x, y = flowers, n = 3) a_mixture(y, model_gaussian_mixture(n), start = x)
  expect_gps_error(start(hclust(dist(flowers[1:9, ]))), "cutree(tree, 3)")
  expect_gps_error(start(fit, n = 4), "it has 3 clusters, and the model 4")
  expect_gps_error(start(fit, flowers[, 1:2]), "it has 4 columns, and the data 2")
  expect_gps_error(start(list(mu = t(unname(coef(fit)$mu)))), "t() turns it")
  expect_gps_error(start("f.rds"), "readRDS(\"f.rds\")")
  flowers[3, ] <- NA
  expect_match(paste(printed(a_mixture(flowers)), collapse = "\n"), "1 row has no value at all")
  expect_no_match(paste(printed(fit), collapse = "\n"), "no value at all")
  unread <- tryCatch(gps_fit(not_there, model), error = identity)
  expect_identical(conditionCall(unread)[[1]], quote(gps_fit))
})

test_that("functions of too few arguments, constant inputs and quoted formulas are told", {
  expect_gps_error(selector_custom(function(x) x), "2 arguments (params, y), but it takes 1")
  expect_gps_error(selector_custom(function(params, y) y, function(...) 1),
                   "(params, y, memory), but it takes 2")
  expect_s3_class(selector_custom(function(...) 1), "gps_selector")
  expect_gps_error(kernel_custom(function(x) x), "(x, z, parameters), but it takes 1")
  x <- seq(0, 5, length.out = 8)
  gp <- function(x, ...) gp_fit(x, sin(seq(0, 5, length.out = 8)), optimise = FALSE, ...)
  expect_warning(gp(cbind(x, 1)), "constant in column 2", class = "gps_warning_constant")
  expect_no_warning(fit <- gp(x), class = "gps_warning_constant")
  expect_gps_error(gp_fit(mpg ~ wt, data = "mtcars"), "without quotes: data = mtcars")
  expect_gps_error(gp_fit("mpg ~ wt", mtcars), "A formula has no quotes: mpg ~ wt")
  expect_gps_error(gp(x, family = binomial), "normal noise")
  expect_gps_error(gp(x, sigma = 0.1), "kernel_white(sigma^2)")
  expect_gps_error(predict(fit, 1, return_std = TRUE), "`se.fit`")
  model <- model_gaussian_mixture(2)
  expect_gps_error(kernel_rbf() + model, "between two kernels")
  expect_gps_error(model * kernel_rbf(), "between a kernel and")
  expect_gps_error(model + 1, "`+` is not for an object")
  expect_gps_error(sum(kernel_rbf(), kernel_white()), "added by +")
  expect_gps_error(kernel_composition("rbf"), "of no arguments")
  expect_gps_error(lines(fit), "adds its means")
  expect_gps_error(gp(t(x)), "Is `x` transposed?")
  expect_gps_error(model_gaussian_mixture(2:5), "compares several")
  expect_gps_error(gps_control(n_threads = "all"), "NULL leaves")
  expect_gps_error(gps_fit(flowers, model, tuneLength = 3), "gps_choose() compares")
})

test_that("names of files are answered with what reads them", {
  said <- c("d.h5" = "gps_source_hdf5(\"d.h5\", dataset = \"name\")",
            "d.parquet" = "gps_source_parquet(\"d.parquet\")",
            "d.f32" = "gps_source_binary(\"d.f32\", d)",
            "d.csv.gz" = "read.csv(\"d.csv.gz\"), or gps_source_csv(\"d.csv.gz\")",
            "p.JPEG" = "extract_patches(jpeg::readJPEG(\"p.JPEG\"), 8)",
            "flowers" = "the name of an object stands without quotes")
  for (path in names(said)) expect_gps_error(a_mixture(path), said[[path]])
  expect_gps_error(a_mixture(c("a.png", "b.png")), "lapply(files, png::readPNG)")
  expect_gps_error(gps_denoise(c("a.png", "b.png")), "one picture at a time")
  expect_gps_error(gps_source("d.csv"), "gps_source_csv(\"d.csv\")")
  # All that is named is there.
  for (call in grep("^gps_", c(file_readers, picture_readers), value = TRUE)) {
    expect_true(is_exported(sub("[(].*$", "", call)))
  }
  expect_identical(dim(extract_patches(matrix(0, 9, 9), 8)), c(4L, 64L))
})

test_that("tables of text, lists and columns that are no numbers", {
  expect_gps_error(gp_fit(c("1", "2.5"), 1:2), "become numbers by as.numeric()")
  expect_gps_error(gp_fit(matrix(c("1", "2")), 1:2), "storage.mode(x) <- \"double\"")
  expect_gps_error(a_mixture(as.matrix(iris)), "makes text of all columns")
  expect_gps_error(a_mixture(c("a", "b")), "model.matrix(~ 0 + f)")
  expect_gps_error(a_mixture(NULL), "NULL is what $ gives")
  expect_gps_error(a_mixture(list(1:3, 4:6)), "If its vectors are columns: as.data.frame(y); if")
  expect_gps_error(a_mixture(list(1:3, 4:5)), "Its vectors have 2 to 3 values")
  expect_gps_error(a_mixture(iris), "Leave it out: y[-5]; or give a column of 0 and 1")
  two <- cbind(iris, text = "1")
  expect_gps_error(a_mixture(two), "Leave it out: y[sapply(y, is.numeric)]")
  expect_gps_error(a_mixture(two[c(1, 6)]), "stored as text become such by as.numeric()")
  expect_gps_error(a_mixture(~ ., data = two), "Leave it out: ~ . - Species - text")
  expect_gps_error(a_mixture(~ Sepal.Width + Species, data = two), "Leave it out: ~ Sepal.Width;")
  expect_gps_error(gp_fit(Sepal.Width ~ ., iris), "Leave it out: Sepal.Width ~ . - Species")
  expect_gps_error(gps_bind(model_gaussian_mixture(2), 1:3), "x[1, , drop = FALSE]")
  expect_gps_error(gps_bind(model_gaussian_mixture(2), iris[1:4]), "as.matrix() makes one of it")
})

test_that("what stands in another place, or is made of the data", {
  expect_gps_error(a_mixture(simulate_clusters(9)), "Its data are y$y.")
  expect_gps_error(a_mixture(digits8), "Its data are y$x.")
  expect_gps_error(a_mixture(dist(flowers[1:3, ])), "y = d, not dist(d)")
  y <- flowers[1:20, ]
  mixture <- model_gaussian_mixture(3)
  expect_gps_error(gps_fit(y, mixture, gps_control()), "control = gps_control()")
  expect_gps_error(gps_fit(y, mixture, 2), "n_selected = 2")
  expect_gps_error(gps_fit(y, mixture, n_selected = 4), "not 4: the model has no more")
  expect_gps_error(gps_fit(y, model_binary_sparse(3), n_selected = 2, max_active = 3),
                   "no more than `n_selected` can be on")
  expect_gps_error(a_mixture(y, start = hclust(dist(y))), "cutree(tree, 3)")
  expect_gps_error(a_mixture(y, start = matrix(1 / 3, 20, 3)), "max.col()")
  expect_gps_error(a_mixture(y, start = matrix(0, 4, 3)), "Is it transposed?")
  expect_gps_error(a_mixture(y, start = list(mu = matrix(0, 3, 4))), "(t() turns it)")
  expect_gps_error(model_occlusive(2, 6), "A square is c(6, 6).")
  skip_if_not_installed("recipes")
  expect_gps_error(step_gpselect(iris, model = mixture), "recipes::recipe(~ ., data = d)")
  expect_gps_error(step_data(iris, "training", gps_control()), "all_numeric_predictors()")
})

test_that("what may be transposed, a picture or constant is said to be so, and nothing else is", {
  wide <- t(flowers[1:60, ])
  hint <- "if yours are the columns, give t(y)"
  expect_gps_error(suppressWarnings(a_mixture(wide, model_gaussian_mixture(5))), hint)
  expect_gps_error(a_mixture(flowers[1:4, ], model_gaussian_mixture(5)), "data points, 4, not 5.")
  # A table of few rows and far more columns is told to be one, and that once.
  for (form in c("full", "diagonal", "spherical")) {
    said <- capture_warnings(a_mixture(wide, model_gaussian_mixture(2, form)))
    expect_identical(sum(grepl("t(y)", said, fixed = TRUE)), 1L)
    expect_match(said[1], "`y` is read as 4 data points of 60 columns. If data points are",
                 fixed = TRUE)
  }
  expect_true(suppressWarnings(tell_table_wide(as.data.frame(wide))))
  for (size in list(c(50, 1000), c(20, 200), c(1, 99))) {
    expect_no_warning(tell_table_wide(array(0, size)))
  }
  expect_no_warning(tell_table_wide(structure(wide, size = c(6, 10))))
  wide <- t(flowers[1:30, ])
  for (form in c("full", "diagonal")) {
    expect_warning(a_mixture(wide, model_gaussian_mixture(4, form)), hint, fixed = TRUE)
  }
  expect_gps_error(a_mixture(flowers[1, , drop = FALSE]), "from a single data point: give more")
  said <- tryCatch(a_mixture(flowers[1:4, ]), warning = conditionMessage)
  expect_no_match(said, "t(y)", fixed = TRUE)
  set.seed(1)
  brief <- gps_control(max_iter = 1, n_starts = 1, progress = FALSE)
  said <- capture_warnings(gps_fit(array(rnorm(400), c(4, 10, 10)), model_binary_sparse(8),
                                   control = brief))
  expect_true(any(grepl("more latents (8) than data points (4)", said, fixed = TRUE)))
  expect_false(any(grepl("t(y)", said, fixed = TRUE)))
  images <- array(rnorm(180), c(3, 6, 10))
  condition <- expect_gps_error(a_mixture(images, model_gaussian_mixture(5)), "points, 3, not 5.")
  expect_no_match(conditionMessage(condition), "t(y)", fixed = TRUE)
  said <- tryCatch(a_mixture(images, model_gaussian_mixture(1)), warning = conditionMessage)
  expect_match(said, "3 rows of 60 columns")
  expect_no_match(said, "t(y)", fixed = TRUE)
  expect_warning(tell_images_last(array(0, c(30, 40, 3))), "extract_patches(y, 8)",
                 fixed = TRUE)
  expect_no_warning(tell_images_last(array(0, c(200, 8, 3))))
  expect_warning(a_mixture(flowers * 0), "nothing in it for clusters to find", fixed = TRUE)
  expect_warning(a_mixture(flowers * 0, model_binary_sparse(2)), "noise variance will be at")
})

test_that("columns that are the same count twice where clusters have no full covariance", {
  for (form in c("diagonal", "spherical")) {
    expect_warning(a_mixture(cbind(flowers, flowers[, 1]), model_gaussian_mixture(3, form)),
                   "and 5 are the same", class = "gps_warning_columns")
  }
  # Equal means and variances are not enough, and columns that are constant are told otherwise.
  other <- cbind(flowers, rev(flowers[, 1]), 0, 0)
  said <- capture_warnings(a_mixture(other, model_gaussian_mixture(3, "diagonal")))
  expect_false(any(grepl("are the same", said)))
})

test_that("new data of another shape", {
  few <- array(stats::rnorm(80), c(20, 2, 2))
  fit <- suppressWarnings(a_mixture(few, model_gaussian_mixture(1, "spherical")))
  expect_gps_error(predict(fit, array(0, c(2, 2, 7))), "aperm(newdata, c(3, 1, 2))")
  fit <- suppressWarnings(a_mixture(unname(flowers)))
  expect_gps_error(predict(fit, 1:3), "must have 4 columns, not 3. A vector is one data point")
  expect_gps_error(predict(fit, flowers[, 1:3]), "must have 4 columns, not 3.")
  expect_gps_error(predict(fit, unname(t(flowers[1:3, ]))), "Is it transposed?")
  expect_gps_error(predict(fit, "class"), "predict(fit, type = \"class\")")
  expect_gps_error(predict(fit, list(1:4, 5:8)), "do.call(rbind, newdata)")
  expect_gps_error(gps_audit(fit, 10), "n = 10")
  expect_gps_error(plot(fit, flowers), "not a numeric matrix (150 x 4)")
  expect_gps_error(match_components(fit, flowers[1:5, ]), "Is `truth` transposed?")
  expect_gps_error(posterior_mean("abc"), "must be what `mstep` gets, not \"abc\".")
  expect_gps_error(gps_audit(list(fit)), "fits[[1]]")
  expect_gps_error(gps_audit("fit.rds"), "readRDS()")
  expect_gps_error(summary(fit, digits = 3), "It is an argument of print()")
})

test_that("kernels and numbers", {
  k <- kernel_rbf()
  expect_gps_error(k + 2, "A constant is kernel_bias(2), noise is kernel_white(2).")
  for (bad in list(-2, 0, NaN, c(1, 2))) {
    expect_gps_error(bad * k, "one finite number above 0")
    expect_gps_error(k * bad, "one finite number above 0")
  }
  expect_gps_error(k / 2, "multiply by 0.5")
  expect_gps_error(k^2, "kernel * kernel")
  expect_gps_error(k + kernel_white, "A function has to be called")
  expect_gps_error(k * "a", "between a kernel and a kernel or number")
  expect_identical(2L * k, kernel_rbf(2))
  expect_gps_error(kernel_rbf(lengthscale = 1:2), "unless `ard` = TRUE")
  expect_gps_error(kernel_rbf(flowers), "Data come with gp_fit(")
  expect_gps_error(gp_fit(c(1, NA), 1:2), "keep <- complete.cases(x, targets), x[keep] and")
})

test_that("arguments of other packages lead to ours, by a formula where they mean something else", {
  expect_gps_error(kernel_rbf(sigma = 2), "`variance` is its square if it is a standard deviation")
  expect_gps_error(kernel_rbf(gamma = 2), "`lengthscale` is sqrt(1 / (2 * gamma))")
  expect_gps_error(gp_fit(1:3, 1:3, noise = 1), "kernel_rbf() + kernel_white(variance)")
  expect_gps_error(gps_denoise(matrix(0, 9, 9), noise = 1), "Did you mean `sd`?")
  expect_gps_error(gps_denoise(matrix(0, 9, 9), var = 1), "`sd` is its root: sqrt(var).")
  expect_gps_error(gps_fit(x = flowers), "Did you mean `y`?")
  expect_gps_error(gps_fit(flowers, binary = "f"), "gps_source_binary(path, d)")
  expect_gps_error(gps_fit(flowers, 3), "model_gaussian_mixture(3)")
  expect_gps_error(gps_fit(flowers, "VVI"), "model_gaussian_mixture(3, covariance = \"diagonal\")")
  expect_gps_error(gps_fit(flowers, "gauss_mix"), "model_gaussian_mixture()")
  expect_gps_error(gps_fit(iris, ~ . - Species), "The formula comes first: gps_fit(")
  expect_gps_error(gp_fit(iris, Sepal.Width ~ .), "The formula comes first: gp_fit(Sepal.Width ~ .")
  # An argument of another function of ours is told to be so.
  expect_gps_error(model_gaussian_mixture(3, max_iter = 5), "is an argument of gps_control().")
  expect_gps_error(model_gaussian_mixture(data = iris), "Data are given to gps_fit(y, model).")
  expect_gps_error(gps_control(n_selected = 3), "`n_selected` is an argument of gps_fit().")
  expect_gps_error(gps_control(init = "kmeans"), "`start` is an argument of gps_fit().")
  expect_gps_error(model_binary_sparse(3, W = 1), "gps_fit(start = list(W = )) begins with it.")
  said <- tryCatch(gp_fit(1:3, 1:3, prior = 1), error = conditionMessage)
  expect_match(said, "^Unknown argument `prior`. All arguments are on")
  expect_null(nearest_name("skip", c("sep", "header")))
  # Every argument that a formula leads to is one.
  arguments <- unlist(lapply(getNamespaceExports("gpselect"), function(name) {
    names(formals(getExportedValue("gpselect", name)))
  }))
  ours <- vapply(conversions, `[[`, "", 2)
  expect_identical(setdiff(ours, c(arguments, "sigma2")), character())
})

test_that("files that hold other numbers than their source says", {
  path <- tempfile()
  wrong <- function(words, ...) {
    expect_warning(gps_source_binary(path, 2, ...), words, fixed = TRUE,
                   class = "gps_warning_bytes")
  }
  set.seed(1)
  for (y in list(rnorm(400), round(rnorm(400), 1), rpois(400, 3), 10^rnorm(400, 0, 3))) {
    writeBin(as.double(y), path)
    for (type in c("float", "int16", "int32")) wrong("`type` = \"double\"?", type = type)
    wrong("`endian`", endian = if (.Platform$endian == "little") "big" else "little")
    expect_silent(gps_source_binary(path, 2, endian = .Platform$endian))
    writeBin(as.double(y), path, size = 4)
    for (type in c("double", "int16")) wrong("`type` = \"float\"?", type = type)
    expect_silent(gps_source_binary(path, 2, "float", endian = .Platform$endian))
  }
  for (y in list(0:255, rpois(400, 2), 16100:16499)) {
    writeBin(as.integer(y), path, size = 2)
    expect_silent(gps_source_binary(path, 2, "int16", endian = .Platform$endian))
  }
  write.csv(flowers, path, eol = if (file.size(path) %% 2) "\n" else "\r\n")
  wrong("looks like text: gps_source_csv()?", type = "uint8", offset = file.size(path) %% 2)
  writeBin(c(as.raw(c(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0)), raw(118), raw(160)), path)
  wrong("`offset` = 128")
  expect_silent(gps_source_binary(path, 2, offset = 128))
  writeBin(c(charToRaw("PAR1"), raw(28)), path)
  wrong("gps_source_parquet()")
})

test_that("levels in another unit than the noise, or than their peak", {
  set.seed(2)
  image <- 200 * outer(sin(1:12 / 4), cos(1:12 / 5)) + rnorm(144, sd = 10)
  control <- gps_control(max_iter = 1, n_starts = 1)
  denoise <- function(image, sd) {
    gps_denoise(image, sd, model_spike_slab(2, intercept = TRUE), control = control)
  }
  expect_warning(denoise(image, 1000), "is it in its units?", class = "gps_warning_sd")
  expect_warning(denoise(image, 0.1), "is it in its units?", class = "gps_warning_sd")
  expect_no_warning(denoised <- denoise(image, 10), class = "gps_warning_sd")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_warning(plot(denoised, image / 255, peak = 255), "levels of `clean` go up to",
                 class = "gps_warning_peak")
  expect_warning(plot(denoised, image, peak = 1), "levels of `clean` go up to")
  expect_identical(peak_of(matrix(0:1, 2, 2), NULL), 1)
  expect_identical(peak_of(matrix(0:2, 3, 3), NULL), 255)
  expect_no_warning(plot(denoised, image))
})

test_that("events and starts are told in words", {
  said <- function(fit) paste(printed(fit), collapse = " ")
  set.seed(3)
  few <- suppressWarnings(a_mixture(flowers[c(1:20, 51:53), ], model_gaussian_mixture(2)))
  expect_match(said(few), "from random first values", fixed = TRUE)
  expect_match(said(few), "sigma_kept .* in the last M-step .clusters of too few points keep")
  expect_match(said(summary(few)), "sigma_kept: clusters of too few points", fixed = TRUE)
  expect_match(said(a_mixture(flowers, start = as.integer(iris$Species))), "Starts +given labels")
  several <- gps_fit(flowers, model_gaussian_mixture(2), selector_full(),
                     control = gps_control(max_iter = 1, n_starts = 2))
  expect_match(said(several), "best of 2; bounds .*; (no other|1 other) ends near the best")
  models <- list(model_binary_sparse(2), model_gaussian_mixture(2), model_max_spike_slab(2),
                 model_noisy_or(2), model_poisson_mixture(2), model_spike_slab(2),
                 model_occlusive(2, c(6, 6)))
  events <- unlist(lapply(models, `[[`, "events"))
  expect_identical(setdiff(events, names(event_words)), character())
})

test_that("what is no picture, or no place of patches, is answered with the way to it", {
  set.seed(1)
  image <- matrix(runif(100), 10)
  colours <- grDevices::as.raster(image)
  expect_gps_error(extract_patches(colours, 4), "colMeans(grDevices::col2rgb(as.matrix(image)))")
  levels <- matrix(colMeans(grDevices::col2rgb(as.matrix(colours))) / 255, nrow(colours))
  expect_near(levels, image, 1 / 255)
  expect_gps_error(extract_patches(array(1, c(3, 10, 10)), 4), "aperm(image, c(2, 3, 1))")
  expect_gps_error(extract_patches(replace(image, 5, NA), 4), "Fill the missing pixels first")
  patches <- extract_patches(image, 4)
  expect_gps_error(assemble_patches(patches, c(8, 8)), "cut from, of at least 10 x 10")
  expect_identical(assemble_patches(patches, c(10, 10)), image)
  expect_gps_error(assemble_patches(patches, image), "dim(image) second")
  expect_gps_error(assemble_patches(image, patches), "the patches come first")
  expect_gps_error(assemble_patches(as.data.frame(patches), c(10, 10)), "as.matrix(patches)")
  expect_gps_error(gps_denoise(image, 0.1, 4), "The height and width of patches is `size`")
  expect_gps_error(gps_denoise(image, 0.1, model_noisy_or(3)), "take model_spike_slab()")
  expect_gps_error(gps_denoise(image, 0.1, n_latents = 4), "model = model_spike_slab(n_latents = )")
  expect_gps_error(gps_denoise(image[1:4, 1:4], 0.1), "less than a patch of 8 x 8")
})

test_that("what stands in the place of models of a choice, or is asked of a choice", {
  choose <- function(...) gps_choose(flowers, ...)
  expect_gps_error(choose(model_occlusive, 2:3),
                   "function(k) model_occlusive(k, size = c(8, 8))")
  expect_gps_error(choose(kmeans, 2:3), "such as model_gaussian_mixture, not one that needs `x`")
  expect_gps_error(choose(2:4), "The numbers come third")
  expect_gps_error(choose("VVV", 2), "function(k) model_gaussian_mixture(k, \"full\")")
  expect_gps_error(choose(model_gaussian_mixture(), 2:3), "without parentheses")
  expect_gps_error(choose(model_gaussian_mixture, 2:3, covariance = "tied"),
                   "model = function(k) model_gaussian_mixture(k, covariance = )")
  expect_gps_error(choose(model_gaussian_mixture, 0:2), "not 0 among them")
  brief <- gps_control(max_iter = 1, n_starts = 1, progress = FALSE)
  expect_warning(expect_warning(choice <- choose(model_binary_sparse, 2, control = brief),
                                class = "gps_warning_baseline"), class = "gps_warning_unfinished")
  for (ask in list(predict, coef, summary)) expect_gps_error(ask(choice), "(choice$fit)")
  expect_gps_error(a_mixture(Species ~ ., data = iris), "`~ . - Species` fits the other columns")
})

test_that("arguments of a step stand where they belong", {
  skip_if_not_installed("recipes")
  expect_gps_error(step_gpselect(iris, model = model_poisson_mixture), "begins with the data frame")
  step <- function(...) {
    step_gpselect(recipes::recipe(~ ., data = iris), ..., model = model_gaussian_mixture)
  }
  all <- recipes::all_numeric_predictors
  expect_gps_error(step(all(), n_components = 3), "Did you mean `num_comp`?")
  expect_gps_error(step(all(), control = gps_control()), "options = list(control = )")
  expect_gps_error(step(all(), options = list(max_iter = 3)),
                   "options = list(control = gps_control(max_iter = ))")
  expect_gps_error(step(all(), options = gps_control()), "options = list(control = gps_control())")
  expect_warning(step(all(), 3), "num_comp = 3", fixed = TRUE)
  chosen <- step(recipes::all_predictors(), num_comp = 2)
  expect_error(recipes::prep(chosen), "recipes::all_numeric_predictors()", fixed = TRUE)
})

test_that("sources say what reads another kind of file, and what a function must return", {
  csv <- tempfile(fileext = ".csv")
  writeLines(c("a,b", "1,Inf", "3,4"), csv)
  expect_gps_error(gps_source_csv(csv), "`na = c(\"\", \"NA\", \"Inf\")`", "data")
  source <- gps_source_csv(csv, na = c("", "NA", "Inf"))
  expect_identical(source[, ], cbind(a = c(1, 3), b = c(NA, 4)))
  expect_gps_error(source[, "x"], "There are \"a\", \"b\".")
  expect_gps_error(gps_source_csv(csv, 1:9), "there is no column 3")
  expect_gps_error(gps_source_csv(iris), "Data in memory need no source")
  expect_gps_error(gps_source_csv("https://a.org/i.csv"), "download.file(url,")
  expect_gps_error(gps_source_csv(tempdir()), "It is a folder.")
  expect_gps_error(gps_write_binary("f.bin", flowers), "The data come first")
  picture <- tempfile()
  writeBin(as.raw(c(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, rep(1, 9))), picture)
  expect_gps_error(gps_source_csv(picture), "is a picture: png::readPNG()", "data")
  if (requireNamespace("nanoparquet", quietly = TRUE)) {
    expect_gps_error(gps_source_parquet(csv), "text: gps_source_csv()?", "data")
  }
  read_with <- function(read, n = 5) gps_source(n, 4, read)[1:5, ]
  expect_gps_error(read_with(function(from, to) t(flowers[from:to, ])), "return its t()", "data")
  expect_gps_error(read_with(function(from, to) iris[from:to, 1:4]), "as.matrix() makes", "data")
  expect_gps_error(gps_source(200, 4, function(from, to) flowers[from:to, ])[151:160, ],
                   "as many data points as `n` says, 200?", "data")
})

test_that("a fourth channel and patches with their means are noticed", {
  set.seed(1)
  brief <- gps_control(max_iter = 1, n_starts = 1, progress = FALSE)
  said <- function(y) capture_warnings(gps_fit(y, model_binary_sparse(2), control = brief))
  pictures <- lapply(1:6, function(i) array(runif(16), c(2, 2, 4)))
  expect_match(said(pictures), "function(image) image[, , 1:3]", fixed = TRUE, all = FALSE)
  colours <- lapply(pictures, function(image) image[, , 1:3])
  expect_false(any(grepl("opaque", said(colours))))
  patches <- extract_patches(10 + matrix(runif(64), 8), 4)
  expect_match(said(patches), "y - rowMeans(y)", fixed = TRUE, all = FALSE)
  expect_false(any(grepl("rowMeans", said(unclass(flowers)))))
})
