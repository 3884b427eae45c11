# What becomes of missing and infinite cells by the control, and names of data points.
# @srrstats {G2.14a, G2.14b, UL2.2, UL3.2}

policy_data <- function() {
  set.seed(3)
  y <- as.matrix(faithful[1:80, ])
  dimnames(y) <- list(paste0("eruption", 1:80), colnames(y))
  y
}

fit_policy <- function(y, ..., start = rep(1:2, length.out = nrow(y)), weights = NULL,
                       labels = NULL) {
  set.seed(2)
  gps_fit(y, model_gaussian_mixture(2), selector_full(), start = start, weights = weights,
          labels = labels, control = quick_control(...))
}

test_that("rows with missing cells can be refused or left out", {
  y <- policy_data()
  y[c(3, 40), 1] <- NA
  y[40, 2] <- NaN
  rest <- y[-c(3, 40), ]
  weights <- rep(c(1, 2, 2), length.out = 80)
  start <- rep(1:2, length.out = 80)
  condition <- expect_warning(
    fit <- fit_policy(y, missing = "omit", weights = weights), class = "gps_warning_omitted",
    "2 data points of `y` with missing cells are left out: rows 3 and 40."
  )
  expect_identical(condition$rows, c(3L, 40L))
  expected <- fit_policy(rest, weights = weights[-c(3, 40)], start = start[-c(3, 40)])
  expect_identical(coef(fit), coef(expected))
  expect_identical(fit$omitted, c(3L, 40L))
  expect_identical(names(predict(fit, type = "class")), rownames(rest))
  expect_output(print(fit), "Left out +2 data points with missing cells")
  expect_null(expected$omitted)
  # What is complete, and what is allowed for, is as ever.
  expect_identical(coef(fit_policy(rest, missing = "error")), coef(fit_policy(rest)))
  expect_identical(fit_policy(y)$n_missing, 3L)
  expect_error(fit_policy(y, missing = "error"), class = "gps_error_data",
               "row 3, column 1 is NA: `missing` = \"error\" does not allow")
  # A model that does not allow for missing cells has a way now.
  own <- function(...) {
    set.seed(5)
    gps_fit(y, custom_sparse(2, vectorised = TRUE), selector_full(),
            control = gps_control(max_iter = 1, n_starts = 1, progress = FALSE, ...))
  }
  expect_error(own(), "does not allow for missing", class = "gps_error_data")
  expect_identical(suppressWarnings(own(missing = "omit"))$n_points, 78L)
})

test_that("what cannot be left out is said", {
  y <- policy_data()
  y[, 1] <- NA
  expect_error(fit_policy(y, missing = "omit"), class = "gps_error_data", "would leave none")
  y <- policy_data()
  y[seq(1, 80, by = 2), 1] <- NA
  expect_gps_error(suppressWarnings(fit_policy(y, missing = "omit")),
                   "`start`: all data points with the label 1 have cells missing")
  source <- gps_source(80, 2, function(from, to) y[from:to, , drop = FALSE])
  fit_source <- function(...) {
    gps_fit(source, model_gaussian_mixture(2), selector_full(), control = quick_control(...))
  }
  expect_gps_error(fit_source(missing = "omit"), "`missing` = \"omit\" is for data in memory")
  expect_gps_error(fit_source(infinite = "missing"),
                   "`infinite` = \"missing\" is for data in memory")
  expect_error(fit_source(missing = "error"), class = "gps_error_data",
               "row 1, column 1 is NA: `missing` = \"error\" does not allow for missing cells")
  skip_if_not_installed("Matrix")
  source <- Matrix::Matrix(y, sparse = TRUE)
  expect_gps_error(fit_source(missing = "omit"), "leave 40 rows with missing cells out")
  expect_error(fit_source(missing = "error"), class = "gps_error_data",
               "row 1, column 1 is NA: `missing` = \"error\" does not allow for missing cells")
  expect_gps_error(gps_control(missing = "omitted"),
                   "`missing` must be one of \"allow\", \"error\"")
  expect_gps_error(gps_control(infinite = "omit"), "`infinite` must be one of")
})

test_that("infinite values can be missing cells, in every form of data", {
  y <- policy_data()
  y[5, 2] <- Inf
  y[9, 1] <- -Inf
  expect_gps_error(fit_policy(y), "row 9, column 1 (\"eruptions\") is -Inf")
  blank <- y
  blank[is.infinite(blank)] <- NA
  expect_warning(fit <- fit_policy(y, infinite = "missing"), class = "gps_warning_infinite",
                 "`y` has 2 infinite values, taken as missing.")
  expect_identical(coef(fit), coef(fit_policy(blank)))
  expect_warning(expect_warning(
    omitted <- fit_policy(y, infinite = "missing", missing = "omit"), "infinite"
  ), class = "gps_warning_omitted")
  expect_identical(omitted$omitted, c(5L, 9L))
  table <- data.frame(a = c(1L, NA, 2L), b = c(Inf, 1, 2), word = "a")
  blanked <- suppressWarnings(gpselect:::blank_infinite(table, "missing"))
  expect_identical(blanked, data.frame(a = c(1L, NA, 2L), b = c(NA, 1, 2), word = "a"))
  images <- list(matrix(c(1, Inf), 1), matrix(1:2, 1))
  expect_identical(suppressWarnings(gpselect:::blank_infinite(images, "missing")),
                   list(matrix(c(1, NA), 1), matrix(1:2, 1)))
  skip_if_not_installed("Matrix")
  sparse <- Matrix::Matrix(c(0, Inf, 0, 1), 2, sparse = TRUE)
  expect_identical(suppressWarnings(gpselect:::blank_infinite(sparse, "missing"))@x, c(NA, 1))
})

test_that("a choice and a stopped run have the same ways", {
  y <- policy_data()
  y[7, 2] <- NA
  choose <- function(...) {
    suppressWarnings(gps_choose(y, model_gaussian_mixture, 1:2, selector = selector_full(),
                                warm = FALSE, control = quick_control(...)),
                     classes = "gps_warning_unfinished")
  }
  expect_error(choose(missing = "error"), "row 7, column 2", class = "gps_error_data")
  expect_warning(choice <- choose(missing = "omit"), class = "gps_warning_omitted")
  expect_identical(choice$fit$n_points, 79L)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  short <- suppressWarnings(fit_policy(y, missing = "omit", checkpoint = file))
  expect_warning(again <- gps_resume(file, y), class = "gps_warning_omitted")
  expect_identical(coef(again), coef(short))
  expect_identical(again$omitted, 7L)
})

test_that("labels name data points", {
  y <- unname(policy_data())
  labels <- paste("case", 1:80)
  fit <- fit_policy(y, labels = factor(labels))
  expect_identical(names(predict(fit, type = "class")), labels)
  expect_identical(coef(fit), coef(fit_policy(y)))
  expect_identical(rownames(as.data.frame(fit)), labels)
  expect_identical(names(predict(fit_policy(y, labels = 80:1), type = "loglik")),
                   as.character(80:1))
  file <- tempfile(fileext = ".bin")
  on.exit(unlink(file))
  source <- gps_write_binary(y, file)
  from_source <- gps_fit(source, model_gaussian_mixture(2), selector_full(), labels = labels,
                         control = quick_control())
  expect_identical(rownames(expectations(from_source)), labels)
  expect_identical(rownames(expectations(update(from_source, max_iter = 1))), labels)
  # A run that is gone on with has the labels of its beginning, also of a source.
  checkpoint <- tempfile(fileext = ".rds")
  on.exit(unlink(checkpoint), add = TRUE)
  for (data in list(y, source)) {
    gps_fit(data, model_gaussian_mixture(2), selector_full(), labels = labels,
            weights = rep(0:1, c(2, 78)),
            control = quick_control(checkpoint = checkpoint))
    again <- gps_resume(checkpoint, data)
    expect_identical(rownames(expectations(again)), labels)
  }
  for (bad in list(1:3, NA, list(1), matrix(1:80))) {
    expect_gps_error(fit_policy(y, labels = bad), "`labels` must be NULL or 80 names")
  }
})

test_that("an option tells of names that R makes up, or that are not there", {
  y <- policy_data()
  expect_silent(fit_policy(unname(y)))
  before <- options(gpselect.tell_names = TRUE)
  on.exit(options(before))
  expect_silent(fit_policy(y))
  said <- capture_messages(fit_policy(unname(y)))
  expect_match(said, "rows of `y` have no names", fixed = TRUE, all = FALSE)
  expect_match(said, "columns of `y` have no names", fixed = TRUE, all = FALSE)
  # The same data are not told of again, as in fits of several sizes.
  expect_silent(fit_policy(unname(y)))
  dimnames(y) <- list(1:80, c("X1", "X2"))
  said <- capture_messages(fit_policy(y))
  expect_identical(said, c("The rows of `y` have the names that R makes up, such as \"1\".\n",
                           "The columns of `y` have the names that R makes up, such as \"X1\".\n"))
  expect_true(gpselect:::are_default_names(c("V01", "V02")))
  expect_false(gpselect:::are_default_names(c("V01", "V03")))
  expect_false(gpselect:::are_default_names(c("a1", "a2")))
})

test_that("rows that were left out are not forgotten", {
  y <- unname(policy_data())
  y[c(3, 40), 1] <- NA
  fit <- suppressWarnings(fit_policy(y, missing = "omit"))
  again <- update(fit, max_iter = 3)
  expect_identical(again$omitted, c(3L, 40L))
  expect_identical(again$n_points, 78L)
  # As in lm(), their numbers among all rows name the others.
  kept <- as.character((1:80)[-c(3, 40)])
  expect_identical(names(predict(fit, type = "class")), kept)
  expect_identical(rownames(residuals(fit)), kept)
  expect_identical(rownames(as.data.frame(again)), kept)
  expect_null(update(fit, y = y[-c(3, 40), ])$omitted)
  expect_match(gps_report(fit)$text, "2 data points with missing cells were left out")
  expect_no_match(gps_report(fit_policy(y))$text, "left out")
  skip_if_not_installed("generics")
  expect_identical(rownames(generics::augment(fit)), as.character((1:80)[-c(3, 40)]))
  expect_identical(rownames(generics::augment(fit_policy(y))), as.character(1:80))
})

test_that("labels without a name are refused by their place", {
  labels <- c("a", NA, "b")
  expect_gps_error(check_labels(labels, 3), "that of data point 2 is NA")
  expect_gps_error(check_labels(factor(labels), 3), "that of data point 2 is NA")
})
