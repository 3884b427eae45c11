# Data that are read in blocks: the same fits as from a matrix, and what is said where that fails.
# @srrstats {UL7.4}

source_fit <- function(y, model = model_binary_sparse(6), selector = selector_handcrafted(),
                       n_selected = if (!inherits(selector, "gps_selector_full")) 3,
                       max_iter = 4, n_starts = 2, ...) {
  set.seed(71)
  gps_fit(y, model, selector, n_selected,
          control = gps_control(max_iter = max_iter, n_starts = n_starts, progress = FALSE, ...))
}

bars <- function(n = 1100) {
  set.seed(72)
  simulate_bars(n, size = 3, value = 5)$y
}

# Fits to sources of some kinds, several blocks each, are those to the matrix.
expect_same_fits <- function(y, ..., kinds = "fun") {
  with_small_blocks({
    expected <- without_data(source_fit(y, ...))
    for (source in Filter(Negate(is.null), all_sources(y, kinds))) {
      expect_identical(without_data(source_fit(source, ...)), expected)
    }
  })
}

test_that("a source gives the fit that its numbers give as a matrix", {
  y <- bars(600)
  # Files are read below: what a fit does with rows does not depend on where they come from.
  expect_same_fits(y)
  expect_same_fits(y, model_gaussian_mixture(4, "diagonal"), n_selected = 2, kinds = "binary")
  expect_same_fits(y, selector = selector_full())
  expect_same_fits(y[1:150, ], selector = selector_gp())
  expect_same_fits(y[1:300, ], model_spike_slab(6), max_iter = 2)
  expect_same_fits(y[1:60, ], model_max_spike_slab(4), max_iter = 2)
  expect_same_fits(y[1:300, ], selector = selector_random(), method = "gibbs", max_iter = 2)
  expect_same_fits(y, selector = selector_custom(function(params, y, memory) y %*% memory,
                                                 function(params, y, expectations) {
                                                   crossprod(y, expectations)
                                                 }))
})

test_that("new data are read once, data of a fit in every iteration", {
  y <- bars(600)
  passes <- 0
  source <- gps_source(600, 9, function(from, to) {
    passes <<- passes + (to - from + 1) / 600
    y[from:to, , drop = FALSE]
  })
  fit <- source_fit(source, max_iter = 6, n_starts = 1, tol = 0, mend = FALSE, polish = FALSE)
  expect_gt(passes, 6)
  passes <- 0
  prob <- predict(fit, source)
  expect_equal(passes, 1, tolerance = 1e-12)
  expect_identical(dim(prob), c(600L, 6L))
})

test_that("starts and trials on sampled rows, mending and growing are the same", {
  y <- bars(2600)
  expect_same_fits(y, model_gaussian_mixture(3, "diagonal"), n_selected = 2, max_iter = 12)
  expect_same_fits(y[1:300, ], max_iter = 30, n_starts = 1)
  expect_same_fits(y, grow = 300, max_iter = 3)
})

test_that("scenes are read from sources, too", {
  y <- scene_data()$y
  image <- dim(y)[-1]
  y <- matrix(y, nrow(y))
  fit_scenes <- function(y) {
    set.seed(73)
    gps_fit(y, model_occlusive(4, c(8, 8), image = image), selector_handcrafted(), n_selected = 3,
            control = short_control(max_iter = 8))
  }
  expect_identical(without_data(fit_scenes(function_source(y))), without_data(fit_scenes(y)))
})

test_that("with one start a source's initialisation sees a sample", {
  set.seed(74)
  y <- matrix(rnorm(2 * 5000), 5000) + 8 * (seq_len(5000) %% 3)
  largest <- 0
  source <- gps_source(5000, 2, function(from, to) {
    largest <<- max(largest, to - from + 1)
    y[from:to, , drop = FALSE]
  })
  fit <- with_small_blocks(source_fit(source, model_gaussian_mixture(3, "diagonal"),
                                      selector_full(), NULL, n_starts = 1, max_iter = 20))
  expect_identical(largest, 512)
  expect_near(sort(fit$params$mu[1, ]), c(0, 8, 16), 0.02)
})

test_that("a source says what it is", {
  y <- bars(20)
  expect_printed(function_source(y),
                 "Source of 20 data points of 9 dimensions, from a function read(from, to)",
                fixed = TRUE)
  one <- binary_source(y[1, 1, drop = FALSE])
  expect_printed(one, "Source of 1 data point of 1 dimension, from the binary file")
  fit <- source_fit(binary_source(y))
  expect_printed(fit, "20 points of 9 dimensions, from the binary file")
  expect_printed(source_fit(function_source(y)), "20 points of 9 dimensions, not kept")
})

test_that("sources are refused that cannot be", {
  read <- function(from, to) matrix(0, to - from + 1, 2)
  expect_gps_error(gps_source(0, 2, read), "`n` must be a whole number of at least 1, not 0")
  expect_gps_error(gps_source(2.5, 2, read), "`n` must be a whole number of at least 1, not 2.5")
  expect_gps_error(gps_source(NA, 2, read), "`n` must be")
  expect_gps_error(gps_source(3e9, 2, read), "`n` must be")
  expect_gps_error(gps_source(10, "2", read), "`d` must be a whole number of at least 1")
  expect_gps_error(gps_source(10, 2, "read"), "`read` must be a function of (from, to)")
  expect_gps_error(gps_source(10, 2, read, rownames), "`names` must be NULL or 2 names, not a func")
  expect_gps_error(gps_source(10, 2, read, "a"), "`names` must be NULL or 2 names, not \"a\"")
  source <- gps_source(10, 2, read)
  expect_gps_error(source_fit(within_list(source, n = 2.5)), "`y` must be a source, as made by")
  expect_gps_error(source_fit(within_list(source, read = 1)), "`y` must be a source, as made by")
  expect_gps_error(source_fit(structure(list(), class = "gps_source")), "`y` must be a source")
})

# A source of bars whose function goes wrong from a point on.
faulty <- function(wrong, n = 1100) {
  y <- bars(n)
  gps_source(n, 9, function(from, to) {
    value <- y[from:to, , drop = FALSE]
    if (to > 1024) wrong(value) else value
  })
}

test_that("what a function returns is checked for each block", {
  refuse <- function(wrong, words) {
    expect_gps_error(with_small_blocks(source_fit(faulty(wrong))), words, "data")
  }
  refuse(function(y) y[-1, ], paste("Reading data points 1025 to 1100: `read` must return a",
                                    "numeric matrix of 76 x 9, not a numeric matrix (75 x 9)."))
  refuse(function(y) t(y), "numeric matrix of 76 x 9, not a numeric matrix (9 x 76)")
  refuse(function(y) NULL, "numeric matrix of 76 x 9, not NULL")
  refuse(function(y) as.data.frame(y), "not a data frame with 76 rows and 9 columns")
  refuse(function(y) array("a", dim(y)), "not a text matrix (76 x 9)")
  holes <- faulty(function(y) replace(y, cbind(nrow(y) - 71, 3), NA))
  expect_gps_error(with_small_blocks(gps_bind(model_binary_sparse(6), holes)),
                   "but row 1029, column 3 is NA.", "data")
  refuse(function(y) replace(y, cbind(76, 9), Inf), "but row 1100, column 9 is Inf.")
  expect_gps_error(with_reader(gps_source(5, 3, function(from, to) diag(5)[from:to, 1:3]),
                               function(read) read(2, 2)), "Is a `drop = FALSE` missing?", "data")
  refuse(function(y) stop("the disk is full"), "Reading data points 1025 to 1100: the disk is full")
})

test_that("large but finite numbers whose sum is not are no holes", {
  values <- matrix(1e308, 3, 2)
  expect_identical(check_read(values, NULL, 1, 2), values)
})

test_that("integers, logicals and names are read as plain numbers", {
  y <- round(bars(60))
  integers <- structure(as.integer(y), dim = dim(y), dimnames = list(NULL, letters[1:9]))
  source <- gps_source(60, 9, function(from, to) integers[from:to, , drop = FALSE])
  expect_identical(without_data(source_fit(source)), without_data(source_fit(y)))
  expect_identical(rows_data(gps_source(3, 1, function(from, to) matrix(TRUE, to - from + 1)), 2:3),
                   matrix(1, 1, 2))
})

test_that("an error in mid-fit says where and carries the last good state", {
  y <- bars(600)
  n_calls <- 0
  source <- gps_source(600, 9, function(from, to) {
    n_calls <<- n_calls + 1
    if (n_calls == 6) stop("no connection")
    y[from:to, , drop = FALSE]
  })
  condition <- expect_gps_error(source_fit(source, n_starts = 1, max_iter = 9),
                                "of the main run: Reading data points 1 to 600: no connection",
                                "data")
  expect_named(condition$state$params, c("W", "pi", "sigma2"))
})

test_that("a file that vanishes or changes in mid-fit is noticed", {
  y <- bars(600)
  # Ranks by nothing, and spoils the file in the third iteration or after the last one.
  spoiler <- function(spoil, at) {
    n_calls <- 0
    selector_custom(function(params, y) {
      n_calls <<- n_calls + 1
      if (n_calls == at) spoil()
      y %*% params$W
    })
  }
  refuse <- function(spoil, words, at = 3) {
    path <- tempfile()
    on.exit(unlink(path))
    source <- binary_source(y, path = path)
    condition <- expect_gps_error(
      source_fit(source, selector = spoiler(function() spoil(path), at), n_starts = 1), words,
      "data"
    )
    expect_named(condition$state$params, c("W", "pi", "sigma2"))
  }
  refuse(unlink, "is not there any more")
  refuse(function(path) writeBin(0, path), "has changed since its source was made")
  refuse(function(path) Sys.setFileTime(path, "2020-01-01"), "has changed since its source")
  refuse(unlink, "The last pass: The data file", at = 4)
})

test_that("a function's random numbers do not touch those of the fit", {
  y <- bars(300)
  noisy <- gps_source(300, 9, function(from, to) {
    set.seed(from)
    y[from:to, , drop = FALSE] + 0 * rnorm(1)
  })
  for (n_starts in 1:2) {
    expect_identical(without_data(source_fit(noisy, n_starts = n_starts)),
                     without_data(source_fit(y, n_starts = n_starts)))
  }
  set.seed(5)
  gps_fit(noisy, model_binary_sparse(6), selector_random(), 3,
          control = short_control(max_iter = 1))
  after <- runif(1)
  set.seed(5)
  runif(2)
  expect_identical(after, runif(1))
})

test_that("selectors that need all data read small sources and refuse large ones", {
  read <- function(from, to) stop("must not be read")
  large <- gps_source(2^20, 64, read)
  words <- paste("needs all data at once, but a source of 1048576 x 64 numbers is read as a whole",
                 "only up to 33,554,432")
  expect_gps_error(source_fit(large, selector = selector_gp(method = "exact")),
                   paste("selector_gp() with `method` = \"exact\"", words))
  learner <- selector_custom(function(params, y, memory) y, function(params, y, e) 1)
  condition <- expect_gps_error(source_fit(large, selector = learner),
                                paste("selector_custom() with `learn`", words))
  expect_match(conditionMessage(condition), "selector_handcrafted()", fixed = TRUE)
})

test_that("fits of files predict and go on as those of matrices do", {
  y <- bars(560)
  colnames(y) <- letters[1:9]
  # All that is made of data `y` by a fit of them, in small blocks.
  look_at <- function(y, selector) {
    with_small_blocks({
      fit <- source_fit(y, selector = selector, max_iter = 2, n_starts = 1)
      types <- stats::setNames(nm = prediction_types[1:6])
      made <- list(
        fit = without_data(fit), own = lapply(types, function(type) predict(fit, type = type)),
        new = lapply(types, function(type) predict(fit, y, type)), residuals = residuals(fit),
        fitted = fitted(fit), states = posterior_states(fit, 550),
        drawn = posterior_sample(fit, 2, c(555, 3), seed = 1)
      )
    })
    set.seed(1)
    made$further <- without_data(update(fit, max_iter = 1, start = fit))
    file <- tempfile()
    on.exit(unlink(file))
    saveRDS(fit, file)
    made$loaded <- predict(readRDS(file), first_rows)
    made
  }
  first_rows <- y[1:3, ]
  selectors <- list(selector_handcrafted(), selector_gp(kernel_linear()))
  plain <- lapply(selectors, look_at, y = y)
  for (source in Filter(Negate(is.null), all_sources(y)[-1])) {
    for (k in if (inherits(source, "gps_source_binary")) 1:2 else 1) {
      made <- look_at(source, selectors[[k]])
      for (part in names(made)) expect_identical(made[[part]], plain[[k]][[part]], info = part)
    }
  }
})

test_that("a fit of a function keeps no data", {
  fit <- source_fit(function_source(bars(100)))
  expect_null(fit$y)
  words <- "the data, which this fit has not kept, as of a source by an R function: "
  expect_gps_error(fitted(fit), words)
  expect_gps_error(residuals(fit), words)
  expect_gps_error(update(fit), words)
  expect_identical(dim(predict(fit, bars(5))), c(5L, 6L))
  expect_null(source_fit(binary_source(bars(100)), keep_data = FALSE)$y)
})

test_that("new data from a source are matched by name", {
  y <- bars(300)
  colnames(y) <- letters[1:9]
  fit <- source_fit(y)
  more <- cbind(z = 1, y[, 9:1])
  expected <- predict(fit, y)
  for (source in Filter(Negate(is.null), all_sources(more))) {
    expect_identical(predict(fit, source), expected)
  }
  expect_gps_error(predict(fit, function_source(more[, -2])), "\"i\" is missing")
  unnamed <- function_source(unname(y))
  expect_identical(predict(fit, unnamed), expected)
  expect_gps_error(predict(fit, function_source(unname(more))),
                   "`newdata` must have 9 columns, not 10")
  twice <- pick_dims(pick_dims(function_source(more), 10:2, letters[1:9]), 3:2, c("c", "b"))
  expect_identical(rows_data(twice, 7:8), unname(t(y[7:8, c("c", "b")])))
})

test_that("the steps take sources", {
  y <- bars(600)
  for (source in all_sources(y, c("fun", "binary"))) with_small_blocks({
    model <- gps_bind(model_binary_sparse(6), source)
    expect_identical(model, gps_bind(model_binary_sparse(6), y))
    set.seed(1)
    params <- gps_init(model, source)
    set.seed(1)
    expect_identical(params, gps_init(model, y))
    selected <- matrix(c(1L, 3L, 6L), 600, 3, byrow = TRUE)
    for (method in c("exact", "gibbs")) {
      want <- c("stats", "latent", "response", if (method == "gibbs") "draws")
      set.seed(2)
      step <- gps_estep(model, params, source, selected, want = want, method = method)
      set.seed(2)
      expect_identical(step, gps_estep(model, params, y, selected, want = want, method = method))
    }
    state <- list(model = model, params = params, selected = selected, prob_on = step$prob_on)
    points <- c(590, 3, 3, 200)
    for (selector in list(selector_handcrafted(), selector_gp(kernel_linear()))) {
      state["memory"] <- list(NULL)
      memory <- gps_learn(selector, state, source)
      expect_identical(memory, gps_learn(selector, state, y))
      state["memory"] <- list(memory)
      expect_identical(gps_affinity(selector, state, source), gps_affinity(selector, state, y))
      expect_identical(gps_affinity(selector, state, source, points),
                       gps_affinity(selector, state, y)[points, ])
    }
    expect_gps_error(gps_estep(model, params, function_source(y[, 1:8]), selected),
                     "`y` must have 9 columns, not 8")
  })
})

test_that("rows are read in runs of neighbours, in any order", {
  y <- bars(50)
  runs <- NULL
  source <- gps_source(50, 9, function(from, to) {
    runs <<- rbind(runs, c(from, to))
    y[from:to, , drop = FALSE]
  })
  rows <- c(3, 4, 5, 9, 20, 21, 50)
  expect_identical(rows_data(source, rows), t(y[rows, ]))
  expect_identical(runs, rbind(c(3, 5), c(9, 9), c(20, 21), c(50, 50)))
  expect_identical(rows_data(source, c(7, 2, 2, 1)), t(y[c(7, 2, 2, 1), ]))
  runs <- NULL
  with_small_blocks(expect_identical(rows_data(source, 2:5), t(y[2:5, ])))
  expect_identical(runs, cbind(2:5, 2:5))
})

test_that("moments of several blocks are those of one, far from the origin too", {
  set.seed(75)
  y <- matrix(rnorm(3 * 1300, 1e6), 3)
  whole <- data_moments(y)
  parts <- with_small_blocks(data_moments(y))
  for (name in c("centre", "square", "range")) expect_near(parts[[name]], whole[[name]], 1e-9)
  expect_near(parts$variance, whole$variance, 1e-9)
  expect_near(whole$variance, mean((y - rowMeans(y))^2), 1e-12)
  expect_identical(whole$range, range(y))
  expect_identical(with_small_blocks(data_moments(matrix(0.1, 2, 2000)))$variance, 0)
})

test_that("damaged sources in fits are found", {
  fit <- source_fit(binary_source(bars(100)))
  for (change in list(list(n = 99L), list(d = 8L), list(path = 1), list(type = "char"),
                      list(offset = -1), list(endian = 1))) {
    odd <- fit
    odd$y[names(change)] <- change
    expect_gps_error(print(odd), "`y` is not the source of its data")
  }
  odd <- fit
  odd$y <- function_source(bars(100))
  expect_gps_error(print(odd), "`y` is not the source of its data")
})

test_that("a learned selection, and minibatches, never have a source as a whole", {
  y <- bars(1100)
  largest <- 0
  local_value("block_doubles", 512)
  source <- gps_source(1100, 9, function(from, to) {
    largest <<- max(largest, to - from + 1)
    y[from:to, , drop = FALSE]
  })
  for (batch_size in list(NULL, 400)) {
    fit_to <- function(data) {
      set.seed(8)
      gps_fit(data, model_binary_sparse(6), selector_gp(method = "ichol", rank = 20), 3,
              control = short_control(max_iter = 3, n_threads = 1, batch_size = batch_size))
    }
    fit <- fit_to(source)
    expect_identical(fit$gp$method, "ichol")
    expect_identical(dim(predict(fit, source)), c(1100L, 6L))
    expect_lte(largest, 512)
    # Batches of a matrix are random rows.
    if (is.null(batch_size)) expect_identical(coef(fit), coef(fit_to(y)))
  }
  pick <- resolve_engine(selector_gp(), gps_bind(model_binary_sparse(6), y[1:9, ]),
                         gps_source(2^20, 64, function(from, to) stop("not read")))
  expect_identical(pick$method, "ichol")
})
