# Arguments that no function has: each door refuses them, says what was meant and what there is.
# @srrstats {G2.12, G5.8b, UL7.0}

words_of <- function(code) {
  condition <- tryCatch(code, error = identity)
  expect_s3_class(condition, "gps_error_argument")
  conditionMessage(condition)
}

test_that("what was meant is told from synonyms, other functions and spelling", {
  y <- matrix(rnorm(40), 20)
  model <- model_gaussian_mixture(2)
  meets <- function(code, words) {
    message <- words_of(code)
    expect_match(message, words, fixed = TRUE)
  }
  list(
    meets(gps_fit(y, model, max_iter = 5), "`max_iter` is an argument of gps_control()"),
    meets(gps_fit(y, model, maxit = 5), "`max_iter` is an argument of gps_control()"),
    meets(gps_fit(y, model, maxiter = 5), "`max_iter` is an argument of gps_control()"),
    meets(gps_fit(y, model, kernel = 5), "`kernel` is an argument of selector_gp()"),
    meets(gps_fit(y, k = 3), "`n_components` is an argument of model_gaussian_mixture()"),
    meets(gps_fit(y, model, n.selected = 1), "Did you mean `n_selected`?"),
    meets(gps_fit(y, model, verbose = TRUE), "`progress` is an argument of gps_control()"),
    meets(gps_fit(y, model, seed = 1), "set.seed()"),
    meets(gps_fit(data = y, model = model), "Data are the first argument"),
    meets(gps_fit(y, model, selector_full(), 2, 1, gps_control(), NULL, NULL, NULL, 3),
          "without a name"),
    meets(gps_fit(model = model), "`y` is missing"),
    meets(gps_fit(y), "`model` is missing"),
    meets(gps_fit(y ~ x, y, model = model), "A formula needs `data`, a data frame"),
    meets(gps_fit(~ x, data = y, model = model), "`data` must be a data frame"),
    meets(gps_control(seed = 1), "set.seed()"),
    meets(gps_control(verbose = TRUE), "Did you mean `progress`?"),
    meets(gps_control(niter = 1), "Did you mean `max_iter`?"),
    meets(model_gaussian_mixture(k = 3), "Did you mean `n_components`?"),
    meets(model_binary_sparse(k = 3), "Did you mean `n_latents`?"),
    meets(model_spike_slab(3, covar = "full", x = 1),
          "There are `n_latents`, `covariance`, `shared_prob` and"),
    meets(model_max_spike_slab(3, shared = TRUE, FALSE, 5), "without a name"),
    meets(model_occlusive(3, c(5, 5), images = c(9, 9), colour = 1), "Did you mean `image`?"),
    meets(selector_gp(kernels = 1, x = 2), "Did you mean `kernel`?"),
    meets(selector_full(2), "There are no further arguments."),
    meets(selector_random(n = 2), "Unknown argument `n`."),
    meets(selector_handcrafted(FALSE, 1), "There is `screen`."),
    meets(selector_custom(mean, lern = mean), "Did you mean `learn`?"),
    meets(gps_screen(rank = "greedy", tempo = 1), "Unknown argument `tempo`."),
    meets(simulate_bars(5, seed = 1), "set.seed()"),
    meets(simulate_clusters(5, k = 2), "Unknown argument `k`."),
    meets(scene_objects(3, seed = 1), "set.seed()"),
    meets(simulate_scenes(scene_objects(2), 3, seed = 1), "set.seed()"),
    meets(gps_denoise(matrix(0, 9, 9), 1, max_iter = 1), "is an argument of gps_control()")
  )
})

test_that("every method refuses arguments that it does not have, and says which there are", {
  fit <- a_fit("mixture")
  gp <- gp_fit(1:9, sin(1:9), kernel_rbf(1, 1) + kernel_white(), optimise = FALSE)
  set.seed(1)
  denoised <- suppressWarnings(
    gps_denoise(matrix(rnorm(100), 10), 1, model_binary_sparse(2), size = 3,
                control = gps_control(max_iter = 1, n_starts = 1)),
    classes = "gps_warning"
  )
  objects <- list(fit, gp, model_binary_sparse(2), gps_bind(model_binary_sparse(2), t(fit$y)),
                  kernel_rbf(), selector_gp(), gps_control(), denoised, scene_objects(1),
                  gps_source(3, 1, function(from, to) 1), summary(fit), summary(gp), logLik(fit))
  for (object in objects) expect_gps_error(print(object, nonsense = 1), "argument `nonsense`")
  for (f in list(coef, logLik, nobs, fitted, residuals, summary, predict)) {
    for (object in list(fit, gp)) {
      if (inherits(object, "gp_fit") && identical(f, predict)) next
      expect_gps_error(f(object, nonsense = 1), "Unknown argument `nonsense`. ")
      expect_gps_error(f(object, type = "prob", nonsense = 1), "Unknown argument")
    }
  }
  expect_gps_error(coef(kernel_rbf(), nonsense = 1), "Unknown argument `nonsense`.")
  expect_gps_error(simulate(fit, times = 2), "Did you mean `nsim`?")
  expect_gps_error(predict(fit, newx = t(fit$y)), "Did you mean `newdata`?")
  expect_gps_error(predict(fit, nonsense = 1),
                   "There are `newdata`, `type`, `n_threads` and `progress`.")
  expect_gps_error(plot(fit, type = "bound"), "Did you mean `which`?")
  expect_gps_error(plot(fit, pch = 1), "There are `which`, `truth`, `beside`, `point`, `n`,")
  expect_gps_error(plot(denoised, pch = 1), "There are `clean`, `peak`, `main`, `col` and `key`.")
  expect_gps_error(plot(scene_objects(1), pch = 1), "Unknown argument `pch`.")
  expect_gps_error(update(fit, kernel = 1), "`kernel` is an argument of selector_gp()")
  expect_output(print(list(fit), digits = 3), "Fit by expectation maximisation")
})

test_that("functions of results and data refuse them as well", {
  calls <- alist(
    threshold = match_components(diag(2), diag(2), treshold = 0.9),
    within = selection_recall(a_fit("handcrafted"), diag(2), withn = 1),
    step = extract_patches(diag(4), 2, stepp = 1),
    positions = assemble_patches(diag(4), c(4, 4), positons = 1),
    top = posterior_states(a_fit("handcrafted"), 1, topp = 3),
    n_draws = posterior_sample(a_fit("handcrafted"), n_drws = 3),
    names = gps_source(3, 2, identity, nmes = "a"),
    offset = gps_source_binary("a", 2, ofset = 3),
    dataset = gps_source_hdf5("a", datast = "y")
  )
  for (name in names(calls)) {
    expect_gps_error(eval(calls[[name]]), sprintf("Did you mean `%s`?", name))
  }
})

test_that("settings that contradict each other are refused", {
  bars <- bars_data()$y
  fit <- function(...) {
    gps_fit(bars, model_binary_sparse(4), selector_full(), ..., control = quick_control())
  }
  expect_gps_error(fit(n_selected = 2), "selector_full() selects all 4 latents, which `n_selected`")
  expect_identical(fit(n_selected = 4)$n_selected, 4L)
  expect_gps_error(gps_fit(bars, model_gaussian_mixture(3, "spherical"), selector_full(), 1),
                   "selects all 3 clusters")
  for (selector in list(selector_full(), selector_gp())) {
    expect_gps_error(gps_fit(bars, model_gaussian_mixture(3), selector, max_active = 2),
                     "`max_active` must be 1, not 2: exactly one cluster is on.")
  }
  full <- a_fit("full")
  expect_identical(update(full, model = model_binary_sparse(3), max_iter = 1)$n_selected, 3L)
  few <- a_fit("handcrafted")
  expect_identical(update(few, selector = selector_full(), max_iter = 1)$n_selected, 10L)
  expect_gps_error(update(few, selector = selector_full(), n_selected = 4), "selects all 10")
})

test_that("a prediction has the types of its model", {
  for (name in c("mixture", "spherical")) {
    fit <- a_fit(name)
    y <- shape_rows(t(fit$y), fit, fit$row_names)
    expect_identical(unname(predict(fit, type = "class")), max.col(predict(fit), "first"))
    expect_identical(predict(fit, y[1:5, ], "class"), max.col(predict(fit, y[1:5, ]), "first"))
    expect_gps_error(predict(fit, type = "klass"), "Did you mean \"class\"?")
  }
  named <- a_fit("handcrafted")
  expect_gps_error(predict(named, type = "class"), "`type` = \"class\" is for mixtures")
  expect_gps_error(predict(named, type = "cluster"), "\"state\" says which latents are")
  expect_gps_error(predict(named, type = "objects"), "`type` = \"objects\"")
  condition <- expect_gps_error(predict(named, type = "nonsense"), "`type` must be one of \"prob\"")
  expect_no_match(conditionMessage(condition), "objects|class")
})

test_that("a time limit is a number of seconds", {
  for (bad in list(0, "10 min", -1, NA, NULL, 1:2)) {
    expect_gps_error(gps_control(time_limit = bad), "a number of seconds above 0 (Inf: none)")
  }
  expect_identical(gps_control(time_limit = 5L)$time_limit, 5)
})

test_that("tables of other shapes are refused with the way to give them", {
  fit <- function(y) gps_fit(y, model_binary_sparse(2), selector_full(), control = quick_control())
  expect_gps_error(fit(as.matrix(iris[1:4])[1, ]), "x[1, , drop = FALSE]")
  expect_gps_error(fit(as.list(iris[1:4])), "If its vectors are columns: as.data.frame(y)")
  expect_gps_error(fit("photo.jpg"), "extract_patches(jpeg::readJPEG(\"photo.jpg\"), 8)")
  expect_gps_error(fit(factor(c("a", "b"))), "not a factor vector of length 2. Categories")
  expect_gps_error(fit(as.Date("2020-01-01") + 1:3), "not a Date vector of length 3. Times")
  frame <- data.frame(a = 1:3)
  odd <- list(factor(1:3), as.character(1:3), as.Date("2020-01-01") + 1:3,
              as.POSIXct("2020-01-01", tz = "UTC") + 1:3, as.difftime(1:3, units = "days"),
              as.list(1:3), matrix(1, 3, 2), complex(3))
  class <- c("factor", "character", "Date", "POSIXct", "difftime", "list", "matrix", "complex")
  for (i in seq_along(odd)) {
    frame$odd <- odd[[i]]
    expect_gps_error(fit(frame), sprintf("Column 2 (\"odd\") of `y` must be numeric, not %s.",
                                         class[i]))
  }
  set.seed(1)
  images <- array(rnorm(400), c(4, 5, 20))
  expect_warning(suppressWarnings(fit(images), classes = "gps_warning_degenerate"),
                 "aperm(y, c(3, 1, 2)): images come first", fixed = TRUE, class = "gps_warning")
  expect_no_warning(fit(aperm(images, c(3, 1, 2))), message = "aperm")
  expect_no_warning(tell_images_last(array(0, c(60, 8, 200))))
  expect_warning(tell_images_last(array(0, c(10, 10, 7))), "If it is 7 images of 10 x 10")
  expect_no_warning(tell_images_last(array(0, c(9, 10, 10))))
  expect_no_warning(tell_images_last(array(0, c(10, 10, 10))))
  expect_gps_error(fit(a_fit("full")), "`y` must be a numeric matrix or data frame")
  expect_gps_error(fit(model_binary_sparse(2)), "not an object of class \"gps_model\".")
  expect_gps_error(gps_denoise("photo.jpg", 1), "read first: jpeg::readJPEG(\"photo.jpg\").")
  expect_gps_error(gps_denoise("photo", 1), "A file is read first: png::readPNG(\"photo\").")
  expect_gps_error(fit("scene.PNG"), "png::readPNG(\"scene.PNG\")")
  expect_gps_error(gps_denoise(array(0, c(9, 9, 2)), 1), "image[, , 1]")
  expect_gps_error(gps_denoise(array(0, c(9, 9, 4)), 1), "image[, , 1:3]")
})

test_that("invalid strings are refused in words, wherever a word is wanted", {
  fit <- a_fit("handcrafted")
  for (bad in list("\xff", structure("\xff", Encoding = "UTF-8"), local({
    x <- "\xff"
    Encoding(x) <- "bytes"
    x
  }))) {
    doors <- list(
      function() gps_control(method = bad), function() model_gaussian_mixture(2, bad),
      function() selector_gp(method = bad), function() gps_screen(rank_by = bad),
      function() simulate_bars(5, bad), function() predict(fit, type = bad),
      function() plot(fit, bad), function() gp_fit(1:5, 1:5, method = bad),
      function() gps_source_binary(bad, 1), function() read_objects(bad),
      function() read_objects(tempdir(), pattern = bad), function() gps_fit(bad, fit$model),
      function() gps_fit(t(fit$y), bad), function() gps_fit(t(fit$y), fit$model, bad),
      function() gps_control(max_iter = bad), function() gps_source(2, 1, mean, bad),
      function() gps_fit(t(fit$y), fit$model, start = stats::setNames(list(1), bad)),
      function() gps_estep(fit$model, fit$params, t(fit$y), t(fit$selected), want = bad),
      function() match_components(bad, fit), function() gps_source_hdf5(bad, "y")
    )
    for (door in doors) expect_s3_class(tryCatch(door(), error = identity), "gps_error")
  }
})

test_that("arguments that are columns of the data in lm() are refused by name", {
  d <- data.frame(u = 1:8, v = sin(1:8), wt = 1:8)
  model <- model_gaussian_mixture(2)
  fit <- gps_fit(as.matrix(d[1:2]), model, control = gps_control(max_iter = 2, n_starts = 1))
  line <- gp_fit(d$u, d$v)
  expect_gps_error(gp_fit(v ~ u, d, subset = wt > 2), "`subset`. Give the rows themselves")
  expect_gps_error(gp_fit(v ~ u, d, weights = wt), "`weights`. All data points weigh the same")
  expect_gps_error(gp_fit(v ~ u, d, offset = wt), "`offset`. Take it from the targets")
  expect_gps_error(gp_fit(v ~ u, d, na.action = na.exclude), "na.omit(get_all_vars(formula, d))")
  expect_gps_error(gp_fit(d$u, d$v, nugget = absent()), "`nugget`")
  expect_gps_error(gps_fit(~ u + v, model, data = d, subset = wt > 2), "`subset`. Give the rows")
  expect_gps_error(gps_fit(~ u + v, model, data = d, offset = wt), "`offset`. Latents have no")
  for (door in list(
    function() gps_choose(d, model_gaussian_mixture, 1:2, subset = wt > 2),
    function() gps_plan(d, model, subset = wt > 2), function() predict(line, 1:2, subset = wt > 2),
    function() predict(fit, d, subset = wt > 2), function() update(fit, subset = wt > 2),
    function() update(line, subset = wt > 2), function() plot(fit, subset = wt > 2),
    function() summary(fit, subset = wt > 2), function() gps_control(subset = wt > 2)
  )) expect_gps_error(door(), "Unknown argument `subset`")
  expect_warning(try(predict(fit, d, subset = wt > 2), silent = TRUE), NA)
  # Errors in what an argument does have are R's own, but where columns have names.
  for (door in list(function() update(fit, n_selected = absent),
                    function() gp_fit(v ~ u, data = absent))) {
    expect_true(is_foreign(expect_error(door(), "object 'absent' not found")))
  }
  for (door in list(
    function() gps_fit(~ u + v, model, data = d, weights = wt),
    function() gps_plan(~ u + v, model, data = d, weights = wt),
    function() gps_choose(~ u + v, model_gaussian_mixture, 1:2, data = d, weights = wt)
  )) expect_gps_error(door(), "`weights` cannot be computed: object 'wt' not found.")
  # Newer versions of R have a class of such errors. Ours say themselves what is wrong.
  lost <- function() {
    stop(structure(list(message = "object 'wt' not found", call = NULL),
                   class = c("getvarError", "error", "condition")))
  }
  expect_gps_error(gps_fit(d, model, subset = lost()), "Unknown argument `subset`")
  expect_gps_error(gps_fit(~ u + v, model, data = d, weights = lost()),
                   "`weights` cannot be computed: object 'wt' not found.")
  expect_gps_error(gps_fit(d, model, settings = gps_control(max_itr = 1)), "`max_itr`")
})

test_that("an unknown argument by the name of one that doors have among themselves is refused", {
  gp <- gp_fit(1:9, sin(1:9), kernel_rbf(1, 1) + kernel_white(), optimise = FALSE)
  fit <- a_fit("mixture")
  doors <- list(kernel_rbf, selector_gp, gps_control,
                function(...) gp_fit(1:3, 1:3, ...), function(...) gps_fit(fit$y, fit$model, ...),
                function(...) predict(gp, ...), function(...) update(gp, ...),
                function(...) update(fit, ...), function(...) coef(gp, ...),
                function(...) gps_resume("absent.rds", fit$y, ...))
  for (door in doors) {
    expect_gps_error(door(.known = "x"), "Unknown argument `.known`")
    expect_gps_error(door(known = "x"), "Unknown argument `known`")
  }
})

test_that("what cannot change in a run that goes on is told from what there is not", {
  go_on <- function(...) gps_resume("absent.rds", matrix(0, 3, 2), ...)
  expect_gps_error(go_on(tol = 1), "update(fit, start = fit, tol = ) begins another run")
  expect_gps_error(go_on(n_selected = 4), "`n_selected`. A run goes on with that")
  expect_gps_error(go_on(control = gps_control()), "is given by itself: max_iter = 500")
  expect_gps_error(go_on(maxiter = 9), "Did you mean `max_iter`?")
})

test_that("what stands in the wrong place is answered with the right one", {
  y <- matrix(rnorm(40), 20)
  model <- model_gaussian_mixture(2)
  expect_gps_error(gps_fit(model, y), "the data come first, gps_fit(y, model)")
  expect_gps_error(gps_fit(y, "mixture"),
                   "Did you mean model_gaussian_mixture() or model_poisson_mixture()?")
  expect_gps_error(gps_fit(y, "gaussian_mixture"), "Did you mean model_gaussian_mixture()?")
  expect_gps_error(gps_fit(y, model, kernel_rbf()), "is selector_gp(kernel)")
  expect_gps_error(gps_fit(y, model, control = list(max_iter = 2, tol = 0)),
                   "Write gps_control(max_iter = , tol = )")
  expect_gps_error(gps_fit(y, model, n_selected = "all"), "where selector_full() is for all")
  expect_gps_error(gp_fit(1:3, kernel_rbf()), "gp_fit(x, targets, kernel)")
  expect_gps_error(gps_fit(y, model_poisson_mixture(2)), "gaussian_mixture() takes any", "data")
  expect_gps_error(gps_fit(y, model_noisy_or(2)), "(y > level) + 0", "data")
  expect_identical(nearest_name("conf", c("none", "confidence", "prediction")), "confidence")
  expect_null(nearest_name("foo", c("tol", "y")))
  expect_gps_error(gps_source_csv("absent.csv"), paste("can be read in", quoted(getwd())))
})
