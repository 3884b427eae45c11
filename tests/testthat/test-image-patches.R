# Patches by their definition: one after the other.
cut_patches <- function(image, size, corners) {
  t(apply(corners, 1, function(corner) {
    as.vector(image[corner[1] + seq_len(size[1]) - 1, corner[2] + seq_len(size[2]) - 1])
  }))
}

test_that("counts of pixels in messages are whole", {
  patches <- matrix(0, 4, 16)
  expect_gps_error(assemble_patches(patches, c(9, 9, 3)), "of 16 numbers are not in colour")
  expect_gps_error(assemble_patches(patches[, 1:15], c(9, 9)), "of 15 pixels are not square")
})

test_that("patches are cut where they say, pixels ordered as in as.vector()", {
  image <- matrix(stats::runif(11 * 7), 11)
  for (size in list(c(3L, 3L), c(4L, 2L), c(1L, 7L), c(11L, 1L))) {
    patches <- extract_patches(image, size)
    positions <- attr(patches, "positions")
    expect_identical(attr(patches, "size"), size)
    expect_identical(dim(positions), c(as.integer((12 - size[1]) * (8 - size[2])), 2L))
    expect_identical(matrix(patches, nrow(patches)),
                     matrix(cut_patches(image, size, positions), nrow(positions)))
  }
  expect_identical(attr(extract_patches(image, 3), "positions")[c(1, 2, 9, 10), ],
                   cbind(row = c(1L, 2L, 9L, 1L), column = c(1L, 1L, 1L, 2L)))
})

test_that("one patch as large as the image is the image", {
  image <- matrix(1:6, 2)
  patch <- extract_patches(image, c(2, 3))
  expect_identical(dim(patch), c(1L, 6L))
  expect_identical(as.vector(patch), as.double(1:6))
  expect_identical(assemble_patches(patch, c(2, 3)), image + 0)
})

test_that("with a step the patches still reach all edges", {
  patches <- extract_patches(matrix(0, 10, 9), 4, step = c(3, 4))
  positions <- attr(patches, "positions")
  expect_identical(unique(positions[, "row"]), c(1L, 4L, 7L))
  expect_identical(unique(positions[, "column"]), c(1L, 5L, 6L))
  expect_identical(nrow(patches), 9L)
})

test_that("the image comes back to the last bit", {
  image <- matrix(stats::rnorm(13 * 10) * 10^stats::runif(130, -3, 3), 13)
  for (size in list(1, 4, c(5, 3), c(13, 10))) {
    for (step in seq_len(min(size))) {
      expect_identical(assemble_patches(extract_patches(image, size, step), dim(image)), image)
      expect_identical(assemble_patches(extract_patches(image, size, step, as = "array"),
                                        dim(image)), image)
    }
  }
})

test_that("overlaps are averaged", {
  patches <- extract_patches(matrix(0, 6, 5), c(3, 2), step = 2)
  patches[] <- stats::rnorm(length(patches))
  positions <- attr(patches, "positions")
  total <- count <- matrix(0, 6, 5)
  for (k in seq_len(nrow(patches))) {
    rows <- positions[k, 1] + 0:2
    columns <- positions[k, 2] + 0:1
    total[rows, columns] <- total[rows, columns] + patches[k, ]
    count[rows, columns] <- count[rows, columns] + 1
  }
  expect_equal(assemble_patches(patches, c(6, 5)), total / count, tolerance = 1e-14)
})

test_that("patches without attributes are all overlapping ones, or have their places given", {
  image <- matrix(stats::rnorm(56), 8)
  plain <- function(x) matrix(x, nrow(x))
  expect_identical(assemble_patches(plain(extract_patches(image, 3)), dim(image)), image)
  some <- extract_patches(image, c(2, 3), step = 2)
  expect_identical(
    assemble_patches(plain(some), dim(image), c(2, 3), attr(some, "positions")), image
  )
  square <- extract_patches(matrix(1:16, 4), 2)
  expect_identical(assemble_patches(square, 4), matrix(1:16, 4) + 0)
})

test_that("a sample is drawn by R's generator, keeps its places and leaves gaps", {
  image <- matrix(stats::rnorm(20 * 15), 20)
  set.seed(4)
  some <- extract_patches(image, 4, n = 7)
  set.seed(4)
  expect_identical(extract_patches(image, 4, n = 7), some)
  positions <- attr(some, "positions")
  expect_identical(matrix(some, 7), cut_patches(image, c(4, 4), positions))
  expect_identical(anyDuplicated(positions), 0L)
  back <- assemble_patches(some, dim(image))
  covered <- !is.na(back)
  expect_identical(back[covered], image[covered])
  expect_gt(sum(covered), 16)
  expect_lte(sum(covered), 7 * 16)
  set.seed(1)
  expect_identical(extract_patches(image, 4, n = 17 * 12), extract_patches(image, 4))
})

test_that("what was computed from patches is put together where these were cut", {
  image <- matrix(stats::rnorm(20 * 15), 20)
  for (as in c("matrix", "array")) {
    patches <- extract_patches(image, c(4, 3), step = 3, as = as)
    plain <- array(as.double(patches), dim(patches))
    expect_gps_error(assemble_patches(plain, dim(image), c(4, 3)), "`like` = those from")
    expect_identical(assemble_patches(plain, dim(image), like = patches), image)
    expect_identical(assemble_patches(plain, dim(image), like = patches - 1), image)
    expect_gps_error(assemble_patches(plain, dim(image), like = plain), "Operators keep it")
    fewer <- if (as == "matrix") plain[-1, ] else plain[-1, , ]
    expect_gps_error(assemble_patches(fewer, dim(image), like = patches),
                     sprintf("`like` has %d rows and `patches` have %d", nrow(plain),
                             nrow(plain) - 1L))
  }
  # As a fit returns them, of its own patches and of others.
  patches <- extract_patches(image, 4, step = 2)
  fit <- gps_fit(patches, model_binary_sparse(3), selector_handcrafted(), n_selected = 2,
                 control = short_control(max_iter = 2))
  back <- assemble_patches(fitted(fit), dim(image), like = patches)
  expect_identical(back, assemble_patches(fitted(fit), dim(image), 4, attr(patches, "positions")))
  other <- extract_patches(image, 4, step = 4)
  expect_false(anyNA(assemble_patches(predict(fit, other, "response"), dim(image), like = other)))
})

test_that("patches as an array are images to gps_fit()", {
  image <- matrix(stats::rnorm(300), 20)
  patches <- extract_patches(image, c(3, 2), as = "array")
  expect_identical(dim(patches), c(18L * 14L, 3L, 2L))
  expect_identical(patches[5, , ], image[5:7, 1:2])
  fit <- gps_fit(patches, model_binary_sparse(3), selector_handcrafted(), n_selected = 2,
                 control = short_control(max_iter = 2))
  expect_identical(fit$image_dim, c(3L, 2L))
  back <- assemble_patches(fitted(fit), dim(image))
  expect_identical(dim(back), dim(image))
  expect_false(anyNA(back))
})

test_that("the image is left alone, whatever its class", {
  image <- matrix(1:12, 3, dimnames = list(letters[1:3], NULL))
  copy <- image
  expect_identical(assemble_patches(extract_patches(image, 2), c(3, 4)), matrix(1:12, 3) + 0)
  expect_identical(image, copy)
  logical <- matrix(c(TRUE, FALSE), 4, 4)
  expect_identical(as.vector(extract_patches(logical, 4)), rep(c(1, 0), 8))
})

test_that("bad images are refused", {
  for (bad in list(NULL, 1:4, "a", array(0, c(2, 2, 2)), matrix(0, 0, 3), matrix("a", 2, 2),
                   matrix(1i, 2, 2))) {
    expect_gps_error(extract_patches(bad, 1), "`image` must be a numeric matrix, height x width")
  }
  holed <- matrix(c(1, NA, 3, 4), 2)
  expect_gps_error(extract_patches(holed, 1),
                   "`image` must have finite values, but row 2, column 1 is NA")
  expect_gps_error(extract_patches(matrix(c(0, Inf), 1), 1), "row 1, column 2 is Inf")
})

test_that("bad sizes, steps and numbers are refused", {
  image <- matrix(0, 6, 4)
  expect_gps_error(extract_patches(image, 5),
                   "`size` must be a whole number between 1 and 4, not 5")
  expect_gps_error(extract_patches(image, c(7, 1)), "between 1 and 6, not 7")
  expect_gps_error(extract_patches(image, 0), "`size` must be a whole number between 1 and 6")
  expect_gps_error(extract_patches(image, 2.5), "not 2.5")
  expect_gps_error(extract_patches(image, NA_real_), "not NA")
  for (bad in list("3", 1:3, numeric(), NULL)) {
    expect_gps_error(extract_patches(image, bad), "`size` must be one or two whole numbers")
  }
  expect_gps_error(extract_patches(image, 2, step = 0),
                   "`step` must be a whole number of at least 1")
  expect_gps_error(extract_patches(image, 2, n = 16),
                   "`n` must be a whole number between 1 and 15")
  expect_gps_error(extract_patches(image, 2, as = "list"), "`as` must be one of")
})

test_that("patches that do not fit the image are refused", {
  patches <- matrix(0, 15, 4)
  expect_gps_error(assemble_patches("a", 4), "`patches` must be a numeric matrix n x pixels")
  expect_gps_error(assemble_patches(1:4, 4), "`patches` must be a numeric matrix n x pixels")
  expect_gps_error(assemble_patches(patches, "a"), "`dim` must be one or two whole numbers")
  expect_gps_error(assemble_patches(patches, function(x) stop("no")), "`dim` must be one or two")
  expect_gps_error(assemble_patches(patches, c(6, 5)),
                   "6 x 5 has 20 overlapping patches of 2 x 2, and `patches` are 15")
  expect_gps_error(assemble_patches(matrix(0, 2, 6), c(6, 4)),
                   "`size` must be given: patches of 6 pixels are not square")
  expect_gps_error(assemble_patches(patches, c(6, 4), size = 3),
                   "`size` = 3 x 3 does not fit patches of 4 pixels")
  expect_gps_error(assemble_patches(patches, c(1, 4)), "must be 1, not 2")
  holed <- replace(patches, 20, NA)
  expect_gps_error(assemble_patches(holed, c(6, 4)),
                   "`patches` must have finite values, but row 5, column 2 is NA")
})

test_that("an image that could not be held is refused", {
  expect_gps_error(assemble_patches(matrix(0, 2, 4), 1e5, size = 2, positions = cbind(1:2, 1)),
                   "`dim` ask for 100000 x 100000 values; at most 2147483647")
})

test_that("means of the largest numbers do not overflow", {
  two <- rbind(c(1e308, 1e308), c(-1e308, -1e308))
  expect_identical(assemble_patches(two, c(1, 3), size = c(1, 2))[1, ], c(1, 0, -1) * 1e308)
})

test_that("places that do not fit are refused", {
  two <- matrix(0, 2, 4)
  at <- function(positions) assemble_patches(two, c(6, 4), positions = positions)
  expect_gps_error(at(1:4), "`positions` must be a numeric matrix of 2 x 2")
  expect_gps_error(at(matrix("a", 2, 2)), "`positions` must be a numeric matrix of 2 x 2")
  words <- "rows up to 5 and columns up to 3, but row 2 is not"
  for (bad in list(c(6, 1), c(1, 4), c(0, 1), c(1.5, 1), c(NA, 1))) {
    expect_gps_error(at(rbind(c(1, 1), bad)), words)
  }
  expect_gps_error(at(rbind(c(3, 2), c(3, 2))), "distinct, but row 2 repeats another")
})

test_that("patches in colour have all channels of their pixels, and give the image back", {
  image <- array(stats::rnorm(9 * 7 * 3), c(9, 7, 3))
  for (size in list(1, c(4, 2), c(9, 7))) {
    flat <- extract_patches(image, size)
    cube <- extract_patches(image, size, as = "array")
    expect_identical(as.vector(flat), as.vector(cube))
    expect_identical(assemble_patches(flat, c(9, 7, 3)), image)
    expect_identical(assemble_patches(cube, c(9, 7)), image)
  }
  some <- extract_patches(image, c(4, 2), as = "array")
  at <- attr(some, "positions")[11, ]
  expect_identical(some[11, , , ], image[at[1] + 0:3, at[2] + 0:1, ])
  expect_gps_error(assemble_patches(matrix(some, nrow(some)), c(9, 7), size = c(4, 2)),
                   "does not fit patches of 24 pixels. In colour: `dim` = c(height, width, 3).")
  expect_gps_error(assemble_patches(some, c(9, 7, 2)), "`dim` must be one or two whole numbers")
  expect_gps_error(assemble_patches(some[, , , 1:2], c(9, 7)), "or n x height x width x 3")
  image[3, 4, 2] <- NA
  expect_gps_error(extract_patches(image, 2),
                   "`image[, , 2]` must have finite values, but row 3, column 4 is NA")
})

test_that("ascent is the photograph, upright", {
  expect_identical(dim(ascent), c(256L, 256L))
  expect_type(ascent, "integer")
  expect_identical(range(ascent), c(2L, 248L))
  # White facade at the top left, the man's black rucksack at the right.
  expect_gt(mean(ascent[40:80, 5:35]), 140)
  expect_lt(mean(ascent[135:155, 228:250]), 60)
})
