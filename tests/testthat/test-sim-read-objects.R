# A new folder with pictures by name: matrices or arrays, or text for files that are none.
picture_folder <- function(...) {
  skip_if_not_installed("png")
  dir <- tempfile("pictures")
  dir.create(dir)
  files <- list(...)
  for (name in names(files)) {
    path <- file.path(dir, name)
    if (is.character(files[[name]])) writeLines(files[[name]], path) else
      png::writePNG(files[[name]], path)
  }
  dir
}

# A picture of zeros with some rows and columns at a value.
block_picture <- function(rows, columns, value = 0.8, size = c(20, 30)) {
  picture <- matrix(0, size[1], size[2])
  picture[rows, columns] <- value
  picture
}

test_that("objects are cut out, scaled with their aspect ratio and centred", {
  dir <- picture_folder("wide.png" = block_picture(5:8, 3:18), "small.png" = block_picture(7, 7:8),
                        "tall.png" = block_picture(1:20, 9:13))
  objects <- read_objects(dir, size = c(8, 8))
  expect_s3_class(objects, "gps_objects")
  expect_identical(objects$names, c("small", "tall", "wide"))
  expect_identical(dim(objects$image), c(3L, 8L, 8L, 1L))
  # 1 x 2, 20 x 5 and 4 x 16 pixels become 4 x 8, 8 x 2 and 2 x 8.
  expected <- array(0L, c(3, 8, 8))
  expected[1, 3:6, ] <- 1L
  expected[2, , 4:5] <- 1L
  expected[3, 4:5, ] <- 1L
  expect_identical(objects$mask, expected)
  expect_equal(objects$image[, , , 1], 0.8 * expected, tolerance = 1 / 255)
})

test_that("new pixels are means over areas of the object alone", {
  # Eighths that 8 bits hold nearly; the background must not darken the edge.
  picture <- block_picture(1:6, 1:9, 0.4)
  picture[1:6, 4:6] <- 0.8
  picture[6, 1] <- 0
  objects <- read_objects(picture_folder("a.png" = picture), size = c(4, 6))
  # By brute force: each old pixel is split into 2 x 2 parts, a new one is 3 x 3 of these.
  fine <- picture[rep(1:6, each = 2), rep(1:9, each = 2)]
  expected <- matrix(0, 4, 6)
  for (i in 1:4) for (j in 1:6) {
    part <- fine[3 * i - 2:0, 3 * j - 2:0]
    expected[i, j] <- mean(part[part > 0])
  }
  expect_equal(objects$image[1, , , 1], expected, tolerance = 1 / 255)
  expect_true(all(objects$mask == 1))
})

test_that("the largest region counts, with its holes", {
  picture <- block_picture(2:11, 2:11)
  picture[4:6, 5:7] <- 0
  picture[15:17, 20:28] <- 1
  # Connected by a corner.
  picture[12, 12] <- 0.8
  objects <- read_objects(picture_folder("a.png" = picture), size = 11)
  expected <- matrix(0L, 11, 11)
  expected[1:10, 1:10] <- 1L
  expected[11, 11] <- 1L
  expect_identical(objects$mask[1, , ], expected)
  expect_equal(objects$image[1, 3:5, 4:6, 1], matrix(0, 3, 3))
  # A hole that opens at the edge of the picture is none.
  picture <- block_picture(1:5, 1:5, size = c(5, 5))
  picture[3:5, 3] <- 0
  objects <- read_objects(picture_folder("a.png" = picture), size = 5)
  expect_identical(objects$mask[1, , ], (picture > 0) + 0L)
})

test_that("colours, grey and transparency are read as they are", {
  grey <- block_picture(1:4, 1:4, 0.6, c(4, 4))
  colour <- array(0, c(4, 4, 3))
  # Blue alone is bright enough.
  colour[, , 3] <- 0.9
  clear <- array(0.2, c(4, 4, 4))
  clear[, , 4] <- 1
  clear[2:3, 2:3, 4] <- 0
  clear[1, 1, 4] <- 0.2
  opaque <- array(c(grey, grey^0), c(4, 4, 2))
  dir <- picture_folder("a.png" = grey, "b.png" = colour, "c.png" = clear, "d.png" = opaque)
  objects <- read_objects(dir, size = 4, threshold = 0.3)
  expect_identical(dim(objects$image), c(4L, 4L, 4L, 3L))
  expect_equal(objects$image[1, 2, 2, ], rep(0.6, 3), tolerance = 1 / 255)
  expect_equal(objects$image[2, 2, 2, ], c(0, 0, 0.9), tolerance = 1 / 255)
  expect_identical(objects$mask[3, , ], (clear[, , 4] > 0.5) + 0L)
  expect_equal(objects$image[3, , 4, 1], rep(0.2, 4), tolerance = 1 / 255)
  expect_identical(objects$image[4, , , 1], objects$image[1, , , 1])
  grey_only <- read_objects(dir, size = 4, pattern = "[ad][.]png", threshold = 0.3)
  expect_identical(dim(grey_only$image), c(2L, 4L, 4L, 1L))
})

test_that("thin objects keep their thickest pixels", {
  picture <- diag(0.9, 40)
  objects <- read_objects(picture_folder("a.png" = picture), size = 8)
  expect_identical(objects$mask[1, , ], diag(1L, 8))
  objects <- read_objects(picture_folder("a.png" = block_picture(3, 1:30)), size = c(5, 6))
  expect_identical(which(objects$mask[1, , ] == 1, arr.ind = TRUE)[, "row"], rep(3L, 6))
})

test_that("names are in the order of their numbers", {
  names <- c("obj10__0", "obj2__10", "obj2__9", "obj002__1", "a", "obj1")
  expect_identical(names[natural_order(names)],
                   c("a", "obj1", "obj002__1", "obj2__9", "obj2__10", "obj10__0"))
  picture <- block_picture(1:2, 1:2)
  dir <- picture_folder("x10.png" = picture, "x9.png" = picture, "y1.png" = picture)
  dir.create(file.path(dir, "x1.png"))
  expect_identical(read_objects(dir, pattern = "^x")$names, c("x9", "x10"))
})

test_that("read objects make scenes, and pictures", {
  dir <- picture_folder("a.png" = block_picture(1:4, 1:4), "b.png" = block_picture(1:4, 1:2, 0.5))
  objects <- read_objects(dir, size = 4)
  set.seed(1)
  scenes <- simulate_scenes(objects, 5, c(9, 8), prob = 0.5)
  expect_identical(dim(scenes$y), c(5L, 9L, 8L))
  expect_printed(objects, "2 objects of 4 x 4 pixels in 1 channel, 8 to 16", fixed = TRUE)
})

test_that("what cannot be read is named", {
  dir <- picture_folder("a.png" = block_picture(1:2, 1:2, 0.3), "b.png" = "no picture",
                        "c.png" = array(c(rep(1, 4), rep(0, 4)), c(2, 2, 2)))
  refused <- function(words, ...) expect_gps_error(read_objects(...), words)
  refused("`dir` must be a folder that exists, not \"/no/such\"", "/no/such")
  refused("`dir` must be a folder that exists, not 1", 1)
  refused("`dir` must be a folder that exists, not a character vector of length 2", c(dir, dir))
  refused("has no file that matches `pattern`, \"jpg$\"", dir, pattern = "jpg$")
  refused("`pattern` must be a regular expression, not NA", dir, pattern = NA_character_)
  refused("`pattern` must be a valid regular expression, not \"[\"", dir, pattern = "[")
  refused("b.png\" cannot be read as a PNG picture", dir)
  refused("\"a.png\" shows no object: no pixel is brighter than `threshold`, 0.5", dir,
          pattern = "a", threshold = 0.5)
  refused("\"c.png\" shows no object: all of it is transparent", dir, pattern = "c[.]")
  refused("`threshold` must be a number between 0 and 1, not 2", dir, threshold = 2)
  refused("`size` must be a whole number of at least 1, not 0", dir, size = 0)
  refused("`size` must be one or two whole numbers", dir, size = 1:3)
})
