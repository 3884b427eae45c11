# Checks of arguments and the conditions they raise.
# @srrstats {G2.2, G2.3a, G2.4a}

test_that("errors and warnings have the package's classes and carry what they are given", {
  condition <- tryCatch(gps_abort("no", "numeric", row = 3), error = identity)
  expect_identical(class(condition), c("gps_error_numeric", "gps_error", "error", "condition"))
  expect_identical(condition$row, 3)
  expect_null(conditionCall(condition))
  warning <- tryCatch(gps_warn("hm", row = 4), warning = identity)
  expect_s3_class(warning, "gps_warning")
  expect_identical(warning$row, 4)
})

test_that("whole numbers are taken from any numeric type and returned as integers", {
  for (good in list(3, 3L, 3.0)) expect_identical(check_count(good, "n"), 3L)
  expect_identical(check_count(0, "n", lower = 0), 0L)
  expect_identical(check_count(.Machine$integer.max, "n"), .Machine$integer.max)
  bad <- list(2.5, NA, NaN, Inf, "3", TRUE, NULL, c(1, 2), matrix(3), list(3), factor(3), 1i,
              .Machine$integer.max + 1, as.Date(3, origin = "1970-01-01"))
  for (value in bad) expect_gps_error(check_count(value, "n"), "`n` must be a whole number")
  expect_gps_error(check_count(8, "n", 1, 7), "between 1 and 7, not 8")
})

test_that("numbers have closed or open ends", {
  expect_identical(check_number(2L, "x"), 2)
  expect_identical(check_number(0, "x", 0), 0)
  expect_gps_error(check_number(0, "x", 0, open = TRUE),
                   "`x` must be a finite number above 0, not 0")
  expect_gps_error(check_number(2, "x", 0, 1), "`x` must be a number between 0 and 1, not 2")
  for (bad in list(Inf, -Inf, NaN, NA, "1", TRUE, NULL, 1:2)) {
    expect_gps_error(check_number(bad, "x"), "`x` must be a finite number")
  }
})

test_that("choices default to the first and suggest the nearest", {
  choices <- c("exact", "ichol", "inducing")
  expect_identical(check_choice(choices, "method", choices), "exact")
  expect_identical(check_choice("ichol", "method", choices), "ichol")
  expect_gps_error(check_choice("exakt", "method", choices), "Did you mean \"exact\"?")
  expect_gps_error(check_choice("EXACT", "method", choices), "Did you mean \"exact\"?")
  for (bad in list(NA, NULL, 1, c("exact", "ichol"), NA_character_, character())) {
    expect_gps_error(check_choice(bad, "method", choices), "`method` must be one of \"exact\"")
  }
  expect_null(nearest_name("completely different", choices))
  expect_null(nearest_name("a", character()))
})

test_that("values are described shortly, in any locale and with any options", {
  old <- options(OutDec = ",", digits = 3, scipen = 10)
  on.exit(options(old))
  described <- list(
    "NULL" = NULL, "NA" = NA, "2.5" = 2.5, "\"a\"" = "a", "TRUE" = TRUE, "a function" = sum,
    "a data frame with 2 rows and 1 column" = data.frame(a = 1:2),
    "a numeric matrix (2 x 3)" = matrix(0, 2, 3), "a list of length 2" = list(1, 2),
    "an integer vector of length 3" = 1:3
  )
  for (words in names(described)) expect_identical(describe_value(described[[words]]), words)
  expect_gps_error(check_count(2.5, "n"), "not 2.5.")
})

test_that("a number that is refused does not look like one that is allowed", {
  given <- c("0.333333" = 1 / 3, "28.999999999999996" = 100 * 0.29, "100000.4" = 100000.4,
             "2147483648.5" = 2^31 + 0.5, "1.000000000001" = 1 + 1e-12, "3e-300" = 3e-300)
  for (words in names(given)) expect_identical(describe_value(given[[words]]), words)
  expect_gps_error(gps_control(n_starts = 100 * 0.29), "not 28.999999999999996.")
  expect_gps_error(gps_control(target_mass = 1 + 1e-12), "not 1.000000000001.")
  y <- matrix(rep(c(0, 1), 10), 10)
  expect_gps_error(gps_fit(y, model_binary_sparse(2), start = list(pi = 1 + 1e-13)),
                   "but has 1.0000000000001.")
  y[3, 2] <- 1 + 1e-12
  for (model in list(model_noisy_or(2), model_poisson_mixture(2))) {
    expect_gps_error(gps_fit(y, model), "row 3, column 2 is 1.000000000001.", "data")
  }
  expect_gps_error(gps_write_binary(y, tempfile(), "int32"), "column 2 of `y` is 1.000000000001.")
})

test_that("matrices name the column count they want and guess at a transposed one", {
  expect_gps_error(check_matrix(matrix(0, 3, 2), "newdata", n_cols = 3), "Is it transposed?")
  expect_gps_error(check_matrix(matrix(0, 4, 2), "newdata", n_cols = 3),
                   "`newdata` must have 3 columns, not 2.")
  expect_identical(check_matrix(matrix(0, 0, 3), "x", allow_empty = TRUE), matrix(0, 0, 3))
  frame <- data.frame(a = 1:2, b = c(TRUE, FALSE), row.names = c("x", "y"))
  expect_identical(check_matrix(frame, "x"),
                   matrix(c(1, 2, 1, 0), 2, dimnames = list(c("x", "y"), c("a", "b"))))
})

test_that("suggested packages are asked for by name", {
  expect_gps_error(require_package("no.such.package", "This"),
                   "This needs the package no.such.package: install.packages(\"no.such.package\")")
  expect_true(require_package("stats", "This"))
})

test_that("numbers in messages have a point and all their digits, whatever the options", {
  old <- options(OutDec = ",", digits = 3)
  on.exit(options(old))
  y <- cbind(a = c(1, 2), b = c(2, 3.141593))
  expect_gps_error(gps_fit(y, model_poisson_mixture(1)), "is 3.14159", class = "data")
  expect_gps_error(gps_fit(y, model_gaussian_mixture(1), weights = c(1, -0.12345)), "is -0.12345")
  expect_gps_error(gps_control(tol = -1.23456), "not -1.23456")
})

test_that("a number that is refused is named in a locale with decimal commas, too", {
  old <- Sys.getlocale("LC_NUMERIC")
  on.exit(suppressWarnings(Sys.setlocale("LC_NUMERIC", old)))
  names <- c("de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "German_Germany.utf8")
  set <- vapply(names, function(name) suppressWarnings(Sys.setlocale("LC_NUMERIC", name)), "")
  skip_if_not(any(nzchar(set)) && sprintf("%.1f", 1.5) == "1,5", "no locale has decimal commas")
  expect_gps_error(gps_control(tol = -1.23456), "not -1.23456")
  expect_gps_error(check_count(2.5, "n"), "not 2.5.")
})
