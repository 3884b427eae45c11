# Numbers that are stored in another way than they are shown.
# @srrstats {G2.4, G2.6, G2.11}

# 64-bit integers as package bit64 stores them, made without it.
wide <- function(x) {
  halves <- rbind(x %% 2^32, floor(x / 2^32))
  halves <- ifelse(halves >= 2^31, halves - 2^32, halves)
  bits <- readBin(writeBin(as.integer(halves), raw(), endian = "little"), "double", length(x),
                  endian = "little")
  structure(bits, class = "integer64")
}

test_that("64-bit integers are read by value", {
  values <- c(0, 1, -1, 2^31 - 1, 2^31 + 1, -2^31 + 1, -2^32, 2^32 + 5, 2^40, -2^40 - 7, 2^53)
  expect_identical(plain_numbers(wide(values)), values)
  lowest <- readBin(as.raw(c(rep(0, 7), 128)), "double", endian = "little")
  expect_identical(plain_numbers(structure(lowest, class = "integer64")), NA_real_)
  skip_if_not_installed("bit64")
  wanted <- bit64::as.integer64(c(values[values < 2^53], NA))
  expect_identical(plain_numbers(wanted), as.double(wanted))
})

test_that("every door reads them, in vectors, tables and images", {
  set.seed(63)
  y <- matrix(round(rnorm(60, 1e10, 1e9)), 20, dimnames = list(NULL, c("a", "b", "c")))
  as_wide <- function(x) structure(wide(as.vector(x)), dim = dim(x), dimnames = dimnames(x))
  frame <- as.data.frame(y)
  frame[] <- lapply(frame, wide)
  fit <- function(y, ...) {
    set.seed(1)
    gps_fit(y, model_gaussian_mixture(2, "diagonal"), selector_full(), control = quick_control(),
            ...)
  }
  wanted <- fit(y)
  for (given in list(as_wide(y), frame)) {
    expect_identical(fit(given)$params, wanted$params)
    expect_identical(predict(wanted, given), predict(wanted, y))
    expect_identical(gp_fit(given, 1:20, kernel_white(), optimise = FALSE)$x, y)
    expect_identical(gps_handcrafted(wanted$model, coef(wanted), as.matrix(as_wide(y))),
                     gps_handcrafted(wanted$model, coef(wanted), y))
  }
  # `[` of such a matrix needs package bit64 to keep the class.
  expect_identical(predict(wanted, wide(y[1, ])), predict(wanted, unname(y[1, ])))
  expect_identical(fit(y, start = list(mu = as_wide(round(coef(wanted)$mu))))$params,
                   fit(y, start = list(mu = round(coef(wanted)$mu)))$params)
  expect_identical(gp_fit(wide(1:20), wide(20:1), kernel_white(), optimise = FALSE)$targets,
                   matrix(as.double(20:1)))
  images <- array(y, c(20, 3, 1))
  expect_identical(read_data(as_wide(images))$y, read_data(images)$y)
  expect_identical(read_data(list(as_wide(y), as_wide(y)))$y, read_data(list(y, y))$y)
  source <- gps_source(wide(20), wide(3), function(from, to) as_wide(y[from:to, , drop = FALSE]))
  expect_identical(fit(source)$params, fit(gps_source(20, 3, function(from, to) {
    y[from:to, , drop = FALSE]
  }))$params)
  expect_identical(gps_control(max_iter = wide(7), tol = wide(1))[c("max_iter", "tol")],
                   list(max_iter = 7L, tol = 1))
  expect_identical(gps_control(sweeps = wide(3:4))$sweeps, 3:4)
  expect_identical(gps_screen(explore = wide(3:4))$explore, 3:4)
  expect_identical(model_occlusive(2, wide(5:6)), model_occlusive(2, 5:6))
  expect_identical(check_point_numbers(wide(3:4), 5), 3:4)
  expect_identical(kernel_rbf(wide(2), wide(3:4), ard = TRUE), kernel_rbf(2, 3:4, ard = TRUE))
  expect_identical(check_objects(list(image = as_wide(array(1, c(1, 2, 2, 1))),
                                      mask = array(1, c(1, 2, 2))), "x")$image,
                   array(1, c(1, 2, 2, 1)))
  expect_identical(extract_patches(as_wide(y), 2), extract_patches(unname(y), 2))
  patches <- extract_patches(y, 2)
  wide_patches <- as_wide(patches)
  attributes(wide_patches)[c("size", "positions")] <- attributes(patches)[c("size", "positions")]
  expect_identical(assemble_patches(wide_patches, dim(y)), unname(y))
  positions <- as_wide(attr(patches, "positions"))
  expect_identical(assemble_patches(patches, dim(y), positions = positions), unname(y))
  expect_identical(check_limits(structure(wide(2), names = "log_len"), "lower"), c(log_len = 2))
  expect_identical(check_step(wide(1)), 1)
  expect_identical(check_background(wide(0:2)), c(0, 1, 2))
  expect_gps_error(kernel_matern(wide(2)), "`nu` must be 0.5, 1.5 or 2.5, not 2.")
})

test_that("columns and weights with a class of their own are taken by their numbers", {
  # As package units makes them.
  with_unit <- function(x) structure(x, units = "m", class = "units")
  set.seed(64)
  y <- data.frame(a = rnorm(30), b = rnorm(30))
  fit <- function(y, weights = NULL) {
    set.seed(1)
    gps_fit(y, model_gaussian_mixture(2, "diagonal"), selector_full(), control = quick_control(),
            weights = weights)
  }
  expect_identical(coef(fit(transform(y, a = with_unit(a)))), coef(fit(y)))
  weights <- rep(c(1, 2, 3), 10)
  expect_identical(coef(fit(y, with_unit(weights))), coef(fit(y, weights)))
})

test_that("dense matrices of package Matrix are taken as R's own", {
  skip_if_not_installed("Matrix")
  y <- matrix(rnorm(30), 10, dimnames = list(NULL, letters[1:3]))
  for (dense in list(Matrix::Matrix(y, sparse = FALSE), Matrix::Matrix(y > 0, sparse = FALSE))) {
    expect_identical(read_data(dense), read_data(as.matrix(dense)))
  }
  square <- Matrix::Matrix(crossprod(y), sparse = FALSE)
  expect_identical(read_data(square)$y, unname(crossprod(y)))
})

test_that("truth values in data frames are told once, at the door of a fit", {
  frame <- data.frame(a = rnorm(20), on = rep(c(TRUE, FALSE), 10))
  fit <- function(y) {
    gps_fit(y, model_gaussian_mixture(1, "diagonal"), selector_full(), control = quick_control())
  }
  expect_warning(found <- fit(frame), "read as 1 and 0 in column \"on\" of `y`",
                 class = "gps_warning")
  expect_silent(predict(found, frame))
  expect_silent(fit(as.matrix(frame)))
  expect_warning(gp_fit(frame, 1:20, kernel_linear() + kernel_white()),
                 "in column \"on\" of `x`", class = "gps_warning")
})
