test_that("square images are guessed", {
  expect_identical(guess_image_dim(64), c(8L, 8L))
  expect_identical(guess_image_dim(1), c(1L, 1L))
  expect_null(guess_image_dim(63))
  expect_identical(guess_image_dim(4L), c(2L, 2L))
})

# Inks are reached up to the rounding of the ramp's colour space.
expect_ink <- function(colours, inks) {
  expect_lte(max(abs(grDevices::col2rgb(colours) - grDevices::col2rgb(inks))), 1)
}

test_that("zero is white and opposite values are equally far from it", {
  expect_ink(image_colours(cbind(c(0, 1, 2)))[c(1, 3), ], c("#FFFFFF", "#111418"))
  signed <- image_colours(cbind(c(0, 2, -2), c(0, 1, 0)))
  expect_ink(signed[, 1], c("#FFFFFF", "#7A0A22", "#0B3C78"))
  expect_ink(signed[, 2], c("#FFFFFF", "#DD6B52", "#FFFFFF"))
  expect_ink(image_colours(cbind(1), c(-4, 1)), image_colours(cbind(c(1, -4)))[1])
  expect_ink(image_colours(cbind(c(0, 4)), col = c("red", "blue")), c("red", "blue"))
  expect_ink(image_colours(cbind(c(0, 4)), col = "red"), c("white", "red"))
  expect_ink(unique(as.vector(image_colours(matrix(0, 4, 2)))), "#FFFFFF")
  expect_identical(image_colours(cbind(c(NA, 1)))[1], NA_character_)
})

test_that("the grid fills the room and stays inside", {
  cases <- expand.grid(n = c(1, 2, 7, 10, 100), shape = 1:3, title = c(0, 0.2, 5))
  for (case in seq_len(nrow(cases))) {
    n <- cases$n[case]
    room <- list(c(6, 2), c(2, 6), c(4, 4))[[cases$shape[case]]]
    grid <- arrange_images(n, 3, 5, room, cases$title[case])
    expect_gte(grid$n_rows * grid$n_columns, n)
    expect_lt(grid$n_rows * grid$n_columns - n, grid$n_columns)
    expect_gt(grid$scale, 0)
    right <- grid$left + (grid$n_columns - 1) * grid$step[1] + 5 * grid$scale
    bottom <- grid$top - (grid$n_rows - 1) * grid$step[2] - 3 * grid$scale
    expect_gte(grid$left, -1e-9)
    expect_lte(right, room[1] + 1e-9)
    expect_gte(bottom, -1e-9)
    expect_lte(grid$top + grid$title_height, room[2] + 1e-9)
  }
  expect_identical(arrange_images(10, 5, 5, c(5, 2), 0)$n_columns, 5L)
  asked <- arrange_images(10, 5, 5, c(5, 2), 0, 3)
  expect_identical(asked[c("n_rows", "n_columns")], list(n_rows = 4, n_columns = 3))
})

# Levels of red of a bitmap file with a palette: height x width, first row at the top.
read_bitmap <- function(path) {
  bytes <- readBin(path, "raw", file.size(path))
  number <- function(at, size) {
    readBin(bytes[at + seq_len(size)], "integer", size = size, endian = "little")
  }
  width <- number(18, 4)
  height <- number(22, 4)
  stopifnot(number(28, 2) == 8, width %% 4 == 0, height > 0)
  red <- as.integer(bytes[54 + 4 * (0:255) + 3])
  index <- as.integer(bytes[number(10, 4) + seq_len(width * height)])
  t(matrix(red[index + 1], width))[height:1, ]
}

# Row and column of the dark pixels of a drawing.
find_ink <- function(width, height, ...) {
  path <- tempfile(fileext = ".bmp")
  on.exit(unlink(path))
  grDevices::bmp(path, width, height, type = "cairo")
  image_grid(...)
  grDevices::dev.off()
  which(read_bitmap(path) < 64, arr.ind = TRUE)
}

test_that("images stand upright on the page, first row and first image at the top left", {
  skip_if_not(capabilities("cairo"))
  # Left image: top right pixel on; right image: bottom left pixel on.
  dark <- find_ink(200, 100, list(rbind(c(0, 1), c(0, 0)), rbind(c(0, 0), c(1, 0))))
  left <- dark[dark[, 2] <= 100, ]
  right <- dark[dark[, 2] > 100, ]
  expect_gt(nrow(left), 1000)
  expect_equal(nrow(left), nrow(right), tolerance = 0.05)
  expect_lt(max(left[, 1]), min(right[, 1]))
  expect_gt(min(left[, 2]), 40)
  expect_lt(max(right[, 2]), 160)
  # One above the other, the second on; the first one takes the rows down to 93.
  lower <- find_ink(100, 200, list(matrix(0, 2, 2), matrix(1, 2, 2)))
  expect_gt(nrow(lower), 4000)
  expect_gt(min(lower[, 1]), 93)
})

test_that("drawing leaves the device's settings alone and takes all shapes", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  graphics::par(mar = c(1, 2, 3, 4))
  expect_silent(image_grid(t(digits8$x[1:10, ]), titles = 0:9, main = "Digits"))
  expect_identical(graphics::par("mar"), c(1, 2, 3, 4))
  expect_silent(image_grid(1:6, 2, 3))
  expect_silent(image_grid(matrix(-1, 4, 3), n_columns = 1))
  expect_error(image_grid(1:6), "not square", class = "gps_error_argument")
  expect_error(image_grid(1:6, 2, 4), "6 pixels cannot be 2 x 4", class = "gps_error_argument")
})
