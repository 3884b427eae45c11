# @srrstats {UL3.3}

read_case <- function(name) {
  skip_if_not_installed("jsonlite")
  case <- jsonlite::fromJSON(test_path("oracle", paste0(name, ".json")))
  # Affinities that select exactly what the case selects.
  case$affinity <- matrix(0, case$N, if (is.null(case$H)) case$C else case$H)
  case$n_selected <- ncol(case$sel0)
  case$affinity[cbind(c(row(case$sel0)), c(case$sel0) + 1)] <- 1
  case
}

# Types of models without places whose results have rows; for lists and sparse matrices see
# test-fit-slots.R.
row_types <- setdiff(prediction_types, c(names(scene_predictors), "class", "uncertainty",
                                         slot_types))

test_that("model A predicts what brute force over all states gives", {
  case <- read_case("A_case2")
  params <- list(W = case$W, pi = case$pi, sigma2 = case$sigma2)
  fit <- fit_at(case$Y_rows, model_binary_sparse(4, shared_prob = FALSE), params, case$affinity,
                case$n_selected)
  for (newdata in list(NULL, case$Y_rows)) {
    expect_equal(predict(fit, newdata), case$Es, tolerance = 1e-10)
    expect_equal(predict(fit, newdata, "latent"), case$Es, tolerance = 1e-10)
    expect_equal(predict(fit, newdata, "loglik"), case$F_n, tolerance = 1e-10)
    expect_equal(predict(fit, newdata, "response"), case$Es %*% t(case$W), tolerance = 1e-10)
    expect_identical(predict(fit, newdata, "selected"), t(apply(case$sel0 + 1L, 1, sort)))
    best <- vapply(seq_len(case$N), function(n) case$K[n, which.max(case$q[n, ])], 1L)
    expected <- t(vapply(best, function(m) bitwAnd(m, 2^(0:3)) > 0, rep(NA, 4))) + 0L
    expect_identical(predict(fit, newdata, "state"), expected)
  }
  expect_equal(fit$bound, case$F, tolerance = 1e-10)
  expect_equal(c(logLik(fit)), case$F, tolerance = 1e-10)
})

test_that("model D predicts what brute force gives", {
  case <- read_case("D_case2")
  params <- list(mu = t(case$mu_rows), sigma = aperm(case$Sigma, c(2, 3, 1)), pi = case$pi)
  fit <- fit_at(case$Y_rows, model_gaussian_mixture(3), params, case$affinity, case$n_selected)
  for (newdata in list(NULL, case$Y_rows)) {
    expect_equal(predict(fit, newdata), case$r, tolerance = 1e-10)
    expect_equal(predict(fit, newdata, "loglik"), case$F_n, tolerance = 1e-10)
    expect_equal(predict(fit, newdata, "response"), case$r %*% case$mu_rows, tolerance = 1e-10)
    state <- predict(fit, newdata, "state")
    expect_identical(max.col(state), max.col(case$r))
    expect_identical(rowSums(state), rep(1, case$N))
  }
  expect_equal(fit$bound, case$F, tolerance = 1e-10)
})

test_that("a single row comes as matrix, data frame or bare vector", {
  for (name in c("handcrafted", "gp", "full", "custom", "mixture")) {
    fit <- a_fit(name)
    y <- shape_rows(t(fit$y), fit, fit$row_names)
    for (type in row_types) {
      from_matrix <- predict(fit, y[3, , drop = FALSE], type)
      expect_identical(predict(fit, as.data.frame(y[3, , drop = FALSE]), type), from_matrix)
      expect_identical(unname(predict(fit, y[3, ], type)), unname(from_matrix))
      expect_identical(NROW(from_matrix), 1L)
      whole <- predict(fit, y, type)
      third <- if (is.matrix(whole)) whole[3, , drop = FALSE] else whole[3]
      expect_equal(from_matrix, third, tolerance = 1e-10)
    }
  }
})

test_that("named columns are matched by name, whatever their order", {
  fit <- a_fit("handcrafted")
  y <- named_bars()[1:6, ]
  expected <- predict(fit, y)
  set.seed(1)
  shuffled <- y[, sample(25)]
  expect_identical(predict(fit, shuffled), expected)
  expect_identical(predict(fit, as.data.frame(shuffled)), expected)
  expect_identical(predict(fit, cbind(label = 1, shuffled)), expected)
  expect_identical(predict(fit, data.frame(kind = letters[1:6], shuffled)), expected)
  # One row goes through another routine of the BLAS, which may round differently.
  expect_near(unname(predict(fit, shuffled[2, ])), unname(expected[2, , drop = FALSE]), 1e-14)
  expect_identical(predict(fit, unname(y)), unname(expected))
  expect_error(predict(fit, y[, -3]), "\"pixel3\" is missing", class = "gps_error_argument")
  other <- y
  colnames(other)[1:5] <- letters[1:5]
  expect_error(predict(fit, other), "(5 in all) are missing", class = "gps_error_argument",
               fixed = TRUE)
  # Names that do not tell columns apart, or a fit without names: by position.
  expect_identical(dim(predict(a_fit("gp"), shuffled)), c(6L, 10L))
  twice <- named_bars()
  colnames(twice)[2] <- colnames(twice)[1]
  set.seed(1)
  same <- gps_fit(twice, model_binary_sparse(10), selector_handcrafted(), n_selected = 4,
                  control = quick_control())
  expect_identical(predict(same, twice), predict(same, unname(twice)) |> name_rows(rownames(twice)))
})

test_that("names pass through", {
  fit <- a_fit("handcrafted")
  y <- named_bars()
  rows <- rownames(y)
  for (type in c("prob", "latent", "state", "selected")) {
    expect_identical(dimnames(predict(fit, type = type)), list(rows, NULL))
    expect_identical(dimnames(predict(fit, y[5:6, ], type)), list(rows[5:6], NULL))
  }
  expect_identical(dimnames(predict(fit, y[5:6, ], "response")), list(rows[5:6], colnames(y)))
  expect_identical(dimnames(predict(fit, unname(y[5:6, ]), "response")), list(NULL, colnames(y)))
  expect_named(predict(fit, y[5:6, ], "loglik"), rows[5:6])
  expect_null(names(predict(a_fit("gp"), type = "loglik")))
  expect_null(dimnames(predict(a_fit("gp"))))
})

test_that("bad newdata and types are refused in words that help", {
  fit <- a_fit("gp")
  y <- bars_data()$y
  refused <- function(code, words) {
    expect_error(code, words, class = "gps_error_argument", fixed = TRUE)
  }
  refused(predict(fit, t(y)), "must have 25 columns, not 120")
  refused(predict(fit, t(y)), "Is it transposed?")
  refused(predict(fit, y[, -1]), "must have 25 columns, not 24")
  refused(predict(fit, 1:24), "must have 25 columns, not 24")
  refused(predict(fit, y, "respones"), "Did you mean \"response\"?")
  refused(predict(fit, y, type = NA), "must be one of")
  refused(predict(fit, y, typ = "prob", tpye = 1), "Unknown argument `tpye`")
  refused(predict(fit, replace(y, 130, -Inf)), "row 10, column 2 is -Inf")
  refused(predict(fit, replace(y, 1, Inf)), "row 1, column 1 is Inf")
  refused(predict(fit, "a"), "`newdata` must be")
  refused(predict(fit, data.frame(y[, -1], a = letters[seq_len(20)])), "must be numeric")
  refused(predict(fit, list()), "at least one data point")
  refused(predict(fit, y, n_threads = 0), "`n_threads`")
})

test_that("integers, logicals and data frames predict as doubles, and stay as they were", {
  fit <- a_fit("gp")
  y <- round(bars_data()$y[1:4, ])
  expected <- predict(fit, y)
  whole <- y
  storage.mode(whole) <- "integer"
  copy <- whole + 0L
  expect_identical(predict(fit, whole), expected)
  expect_identical(whole, copy)
  expect_identical(predict(fit, as.data.frame(whole)) |> unname(), expected)
  expect_identical(predict(fit, y > 2), predict(fit, (y > 2) + 0))
  classed <- structure(y, class = c("odd", "matrix"))
  expect_identical(predict(fit, classed), expected)
})

test_that("images come as an array, a list, one image or plain rows", {
  fit <- a_fit("images")
  images <- array(bars_data()$y, c(120, 5, 5))
  expected <- predict(fit, images[1:3, , ])
  expect_identical(predict(fit, lapply(1:3, function(n) images[n, , ])), expected)
  expect_identical(predict(fit, bars_data()$y[1:3, ]), expected)
  expect_equal(predict(fit, images[2, , ]), expected[2, , drop = FALSE], tolerance = 1e-12)
  expect_identical(dim(predict(fit, images[1:3, , ], "response")), c(3L, 5L, 5L))
  expect_identical(dim(predict(fit, images[1, , ], "response")), c(1L, 5L, 5L))
  expect_equal(predict(fit, images[1:3, , ], "response")[2, , ],
               matrix(coef(fit)$W %*% expected[2, ], 5), tolerance = 1e-12)
  expect_error(predict(fit, images[, , -1]), "images of 5 x 5, not 5 x 4",
               class = "gps_error_argument")
  expect_error(predict(fit, list(images[1, , ], images[2, , -1])), "element 2",
               class = "gps_error_argument")
  colour <- array(bars_data()$y[, 1:24], c(120, 2, 4, 3))
  set.seed(1)
  coloured <- gps_fit(colour, model_binary_sparse(3), selector_full(), control = quick_control())
  expect_identical(dim(fitted(coloured)), c(120L, 2L, 4L, 3L))
  expect_identical(dim(predict(coloured, colour[1, , , ], "response")), c(1L, 2L, 4L, 3L))
  expect_equal(predict(coloured, colour[7, , , ]), predict(coloured)[7, , drop = FALSE],
               tolerance = 1e-12)
})

test_that("the selectors rank new data as they rank the fit's", {
  y <- bars_data()$y
  # Full and hand-crafted, and one's own without memory: the same as within the fit.
  for (name in c("unscreened", "full", "custom")) {
    fit <- a_fit(name)
    expect_equal(unname(predict(fit, y)), unname(predict(fit)), tolerance = 1e-10)
    expect_equal(sum(predict(fit, y, "loglik")), fit$bound, tolerance = 1e-10)
  }
  top <- function(affinity, n) t(apply(affinity, 1, function(a) sort(order(-a)[seq_len(n)])))
  learner <- a_fit("learner")
  expect_identical(predict(learner, y, "selected"), top(y %*% learner$memory$learned, 4))
  random <- a_fit("random")
  chosen <- predict(random, y, "selected")
  expect_identical(predict(random, y, "selected"), chosen)
  expect_gt(length(unique(apply(chosen, 1, paste, collapse = " "))), 50)
  in_model <- setdiff(1:10, summary(random)$emptied)
  expect_true(all(table(factor(chosen, in_model)) > 20))
})

test_that("the learned selector ranks by the predictive mean of the Gaussian process", {
  for (name in c("gp_alone", "mixture")) {
    fit <- a_fit(name)
    set.seed(3)
    y <- t(fit$y)[1:40, ] + rnorm(40 * fit$model$n_dims, sd = 0.1)
    kernel <- kernel_with_theta(fit$selector$kernel, fit$kernel_theta, fit$model$n_dims)
    seen <- function(y) t(in_units(y, fit$gp$units))
    process <- gp_fit(seen(fit$y), expectations(fit), kernel, optimise = FALSE)
    mean <- unname(predict(process, seen(t(y)))$mean)
    expected <- t(apply(mean, 1, function(a) sort(order(-a)[seq_len(fit$n_selected)])))
    expect_identical(predict(fit, y, "selected"), expected)
  }
})

test_that("without its data a learned selector says what it needs", {
  set.seed(4)
  y <- bars_data()$y
  fit <- gps_fit(y, model_binary_sparse(10), selector_gp(kernel_linear()), n_selected = 4,
                 control = quick_control(keep_data = FALSE))
  expect_error(predict(fit, y), "learned selector needs the data", class = "gps_error_argument")
  expect_identical(dim(predict(fit)), c(120L, 10L))
  all <- gps_fit(y, model_binary_sparse(4), selector_gp(kernel_linear()), n_selected = 4,
                 control = quick_control(keep_data = FALSE))
  expect_equal(sum(predict(all, y, "loglik")), all$bound, tolerance = 1e-12)
})

test_that("screening selectors predict without random candidates", {
  set.seed(5)
  y <- bars_data()$y
  fit <- gps_fit(y, model_binary_sparse(10),
                 selector_handcrafted(screen = gps_screen(propose = 4, explore = c(5, 5))),
                 n_selected = 3, control = quick_control())
  proposed <- t(apply(gps_affinity(fit$selector, fit, y), 1, function(a) order(-a)[1:4]))
  selected <- predict(fit, y, "selected")
  is_proposed <- vapply(seq_len(120), function(n) all(selected[n, ] %in% proposed[n, ]), NA)
  expect_true(all(is_proposed))
})

test_that("prediction draws nothing from the session and does not depend on threads or blocks", {
  fit <- a_fit("gp")
  y <- bars_data()$y
  set.seed(1)
  before <- .Random.seed
  for (type in row_types) {
    expect_identical(predict(fit, y, type, n_threads = 2), predict(fit, y, type, n_threads = 1))
  }
  expect_identical(.Random.seed, before)
  expect_equal(predict(fit, y[c(9, 2), ]), predict(fit, y)[c(9, 2), ], tolerance = 1e-10)
})

test_that("many points pass in blocks with the same result", {
  set.seed(6)
  y <- matrix(rnorm(2200), 1100)
  params <- list(W = matrix(rnorm(24), 2), pi = 0.1, sigma2 = 1)
  fit <- gps_fit(y, model_binary_sparse(12), selector_handcrafted(), n_selected = 10,
                 start = params,
                 control = gps_control(max_iter = 0, progress = FALSE, n_threads = 1))
  offsets <- function(n) {
    task <- new_prediction_task(fit, matrix(0, 2, n), "state")
    vapply(task$blocks, `[[`, 1, "offset")
  }
  expect_identical(offsets(4500), c(0, 2048, 4096))
  local_value("block_doubles", 1)
  expect_identical(offsets(1100), c(0, 512, 1024))
  rows <- c(1, 512, 513, 1024, 1025, 1100)
  state <- predict(fit, y, "state")
  expect_identical(state, predict(fit, type = "state"))
  expect_identical(state[rows, ], predict(fit, y[rows, ], "state"))
  one <- posterior_sample(fit, 1, seed = 1)
  expect_identical(posterior_sample(fit, 1, points = 1:700, seed = 1), one[1:700, ])
  expect_lt(max(abs(colMeans(one - expectations(fit)))), 5 * sqrt(0.25 / 1100))
})

test_that("a learned selector's blocks shrink with the number of points it was trained on", {
  set.seed(7)
  y <- matrix(rnorm(2400), 1200)
  fit <- gps_fit(y, model_gaussian_mixture(3), selector_gp(kernel_rbf(lengthscale = 1)),
                 n_selected = 2,
                 control = gps_control(max_iter = 2, n_starts = 1, progress = FALSE))
  new <- matrix(rnorm(6000), 3000)
  expect_length(new_prediction_task(fit, t(new), "prob")$blocks, 3)
  rows <- c(1, 1024, 1025, 2048, 2049, 3000)
  expect_identical(predict(fit, new, "selected")[rows, ], predict(fit, new[rows, ], "selected"))
  expect_equal(predict(fit, new)[rows, ], predict(fit, new[rows, ]), tolerance = 1e-10)
})

test_that("a fit saved and loaded in a new process predicts, draws, prints and refits the same", {
  skip_if_not(file.exists(file.path(find.package("gpselect"), "Meta", "package.rds")))
  path <- tempfile(fileext = ".rds")
  out <- tempfile(fileext = ".rds")
  script <- tempfile(fileext = ".R")
  on.exit(unlink(c(path, out, script)))
  use <- function(fits) {
    lapply(fits, function(fit) {
      y <- t(fit$y)[1:7, , drop = FALSE]
      types <- c("prob", "latent", "state", "response", "loglik", "selected")
      set.seed(9)
      list(own = lapply(types, function(type) predict(fit, type = type)),
           new = lapply(types, function(type) predict(fit, y, type)),
           drawn = simulate(fit, 1, seed = 2), printed = capture.output(print(fit)),
           sample = posterior_sample(fit, 2, seed = 3),
           refit = coef(suppressWarnings(update(fit, max_iter = 2))))
    })
  }
  fits <- lapply(names(make_fit), a_fit)
  saveRDS(fits, path)
  dump("use", script)
  write(c(sprintf("library(gpselect, lib.loc = %s)", deparse(dirname(find.package("gpselect")))),
          sprintf("saveRDS(use(readRDS(%s)), %s)", deparse(path), deparse(out))),
        script, append = TRUE)
  status <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)),
                    stdout = FALSE, stderr = FALSE)
  expect_identical(status, 0L)
  expect_identical(readRDS(out), use(fits))
})

test_that("no new data have the results of some, without their rows", {
  without_rows <- function(x) {
    if (is.data.frame(x) || inherits(x, "Matrix")) return(x[0, ])
    if (is.list(x)) return(lapply(x, without_rows))
    if (is.null(dim(x))) return(x[0])
    do.call(`[`, c(list(x, 0), rep(list(TRUE), length(dim(x)) - 1), list(drop = FALSE)))
  }
  unnamed <- `rownames<-`(named_bars(), NULL)
  some <- list(gp = bars_data()$y, handcrafted = unnamed, random = bars_data()$y,
               custom = bars_data()$y, sampled = bars_data()$y, images = a_fit("images")$y,
               mixture = a_fit("mixture")$y, scene = scene_data()$y)
  some$images <- array(t(some$images), c(120, 5, 5))
  some$mixture <- t(some$mixture)
  skip_if_not_installed("Matrix")
  for (name in names(some)) {
    fit <- if (name == "scene") scene_fit() else a_fit(name)
    y <- some[[name]]
    y <- if (length(dim(y)) == 2) y[1:2, ] else if (length(dim(y)) == 3) y[1:2, , ] else
      y[1:2, , , ]
    types <- if (name == "scene") prediction_types else
      setdiff(prediction_types, names(scene_predictors))
    types <- setdiff(types, if (name == "mixture") c("latent_slots", "latent_sparse") else
      c("class", "uncertainty"))
    for (type in types) {
      expect_equal(predict(fit, without_rows(y), type), without_rows(predict(fit, y, type)),
                   info = paste(name, type))
    }
  }
  y <- as.data.frame(named_bars())
  expect_identical(dim(gpselect:::augment.gps_fit(a_fit("handcrafted"), newdata = y[0, ]))[1], 0L)
  expect_gps_error(predict(a_fit("gp"), matrix(0, 0, 3)), "must have 25 columns, not 3")
  expect_gps_error(gps_audit(a_fit("gp"), bars_data()$y[0, ]), "at least one row")
})

test_that("a misspelt name is not taken for one that is given", {
  expect_gps_error(predict(a_fit("gp"), tpye = "prob"), "Did you mean `type`?")
  expect_gps_error(predict(a_fit("gp"), types = "prob"), "Did you mean `type`?")
  expect_gps_error(predict(a_fit("gp"), type = "prob", types = "state"), "which is given already")
})
