# Binary and HDF5 files as sources.

values <- function(n = 7, d = 3) matrix(as.double(seq_len(n * d)) - 4, n, d)

all_rows <- function(source) t(rows_data(source, seq_len(n_points(source))))

test_that("all types of binary numbers are read as they were written", {
  y <- values()
  for (endian in c("little", "big")) {
    for (type in c("double", "float", "int8", "int16", "int32")) {
      path <- tempfile()
      written <- if (type %in% c("double", "float")) c(t(y)) else as.integer(t(y))
      writeBin(written, path, size = binary_types[[type]]$size, endian = endian)
      source <- gps_source_binary(path, 3, type, endian)
      expect_identical(all_rows(source), y)
      expect_identical(rows_data(source, c(6, 2)), t(y)[, c(6, 2)])
      unlink(path)
    }
  }
  path <- tempfile()
  on.exit(unlink(path))
  writeBin(as.raw(c(255, 1, 0, 2)), path)
  expect_identical(all_rows(gps_source_binary(path, 2, "uint8")), rbind(c(255, 1), c(0, 2)))
  expect_identical(all_rows(gps_source_binary(path, 1, "uint16")), cbind(c(511, 512)))
  expect_identical(all_rows(gps_source_binary(path, 1, "int8")), cbind(c(-1, 1, 0, 2)))
})

test_that("a header is skipped", {
  path <- tempfile()
  on.exit(unlink(path))
  connection <- file(path, "wb")
  writeBin(as.raw(1:5), connection)
  writeBin(c(t(values())), connection, endian = "little")
  close(connection)
  source <- gps_source_binary(path, 3, offset = 5)
  expect_identical(all_rows(source), values())
  expect_printed(source, "(double, little-endian, from byte 6)", fixed = TRUE)
})

test_that("binary files are refused that cannot be", {
  path <- tempfile()
  on.exit(unlink(path))
  writeBin(c(t(values())), path)
  expect_gps_error(gps_source_binary(path, 4),
                   "168 bytes, of which 0 are skipped by `offset`: the rest are not whole data")
  expect_gps_error(gps_source_binary(path, 3, "float", offset = 1), "3 floats, 12 bytes each.")
  expect_gps_error(gps_source_binary(path, 3, offset = 168), "are not whole data points")
  expect_gps_error(gps_source_binary(path, 3, offset = 0.5), "of which 0.5 are skipped")
  expect_gps_error(gps_source_binary(path, 3, offset = 1e300), "of which 1e+300 are skipped")
  expect_gps_error(gps_source_binary(path, 3, offset = -8), "`offset` must be")
  expect_gps_error(gps_source_binary(path, 2147483647), "17179869176 bytes each")
  expect_gps_error(gps_source_binary(path, 0), "`d` must be a whole number of at least 1")
  expect_gps_error(gps_source_binary(path, 3, "single"), "`type` must be one of \"double\"")
  expect_gps_error(gps_source_binary(path, 3, endian = "middle"), "`endian` must be one of")
  expect_gps_error(gps_source_binary(path, 3, names = "a"), "`names` must be NULL or 3 names")
  expect_gps_error(gps_source_binary(path, 3, names = function(x) stop("no")),
                   "`names` must be NULL or 3 names")
  expect_gps_error(gps_source_binary(7, 3), "`path` must be the name of a file, not 7")
  expect_gps_error(gps_source_binary(tempdir(), 3), "there is no file")
  expect_gps_error(gps_source_binary(file.path(tempdir(), "none"), 3), "there is no file")
  writeBin(raw(), path)
  expect_gps_error(gps_source_binary(path, 3), "has 0 bytes")
})

test_that("numbers in a file that are not finite are named", {
  y <- values(600)
  y[550, 2] <- -Inf
  expect_gps_error(
    with_small_blocks(gps_fit(binary_source(y), model_binary_sparse(2), selector_full())),
    "Reading data points 513 to 600: `y` must have finite values, but row 550, column 2 is -Inf.",
    "data"
  )
})

test_that("a file that ends too early is noticed even where its size says nothing", {
  source <- binary_source(values())
  source$n <- 8L
  expect_gps_error(rows_data(source, 6:8), "Reading data points 6 to 8: the file ends before",
                   "data")
})

test_that("an HDF5 dataset is read by rows or columns", {
  skip_if_not_installed("hdf5r")
  path <- tempfile(fileext = ".h5")
  on.exit(unlink(path))
  y <- values()
  whole <- structure(as.integer(y), dim = dim(y))
  write_hdf5(path, rows = y, columns = t(y), whole = whole)
  expect_identical(all_rows(gps_source_hdf5(path, "rows")), y)
  expect_identical(all_rows(gps_source_hdf5(path, "columns", "columns")), y)
  expect_identical(all_rows(gps_source_hdf5(path, "whole")), y)
  source <- gps_source_hdf5(path, "columns", "columns", names = c("a", "b", "c"))
  expect_identical(rows_data(source, c(5, 1)), t(y)[, c(5, 1)])
  expect_printed(source, "7 data points of 3 dimensions, from the dataset columns of the")
  expect_printed(source, "(points in columns)", fixed = TRUE)
})

test_that("groups have datasets, and one point is one point", {
  skip_if_not_installed("hdf5r")
  path <- tempfile(fileext = ".h5")
  on.exit(unlink(path))
  file <- hdf5r::H5File$new(path, "w")
  group <- file$create_group("part")
  group[["y"]] <- values(1)
  group[["x"]] <- values(4, 1)
  file$close_all()
  expect_identical(all_rows(gps_source_hdf5(path, "part/y")), values(1))
  expect_identical(all_rows(gps_source_hdf5(path, "part/x")), values(4, 1))
  expect_gps_error(gps_source_hdf5(path, "part"), "has no dataset \"part\"")
})

test_that("HDF5 files are refused that cannot be", {
  skip_if_not_installed("hdf5r")
  path <- tempfile(fileext = ".h5")
  on.exit(unlink(path))
  y <- values()
  write_hdf5(path, y = y, line = 1:4, cube = array(0, c(2, 3, 4)), words = matrix(letters[1:4], 2))
  expect_gps_error(gps_source_hdf5(path, "z"), "has no dataset \"z\". There are \"cube\",")
  expect_gps_error(gps_source_hdf5(path), "There are \"cube\", \"line\", \"words\", \"y\".")
  expect_gps_error(gps_source_hdf5(path, "line"),
                   "`dataset` must have two dimensions, but \"line\" has one, of length 4")
  expect_gps_error(gps_source_hdf5(path, "cube"), "but \"cube\" has 2 x 3 x 4")
  expect_gps_error(gps_source_hdf5(path, "words"), "`dataset` must be numeric, but \"words\" is of")
  expect_gps_error(gps_source_hdf5(path, 1), "`dataset` must be the name of a dataset, not 1")
  expect_gps_error(gps_source_hdf5(path, ""), "`dataset` must be the name of a dataset")
  expect_gps_error(gps_source_hdf5(path, "y", "third"), "`points` must be one of")
  expect_gps_error(gps_source_hdf5(path, "y", names = "a"), "`names` must be NULL or 3 names")
  expect_gps_error(gps_source_hdf5(paste0(path, "x"), "y"), "there is no file")
  source <- gps_source_hdf5(path, "y")
  writeLines("no HDF5", path)
  expect_gps_error(gps_source_hdf5(path, "y"), "cannot be opened as an HDF5 file")
  expect_gps_error(rows_data(source, 1), "has changed since its source was made", "data")
  unlink(path)
  expect_gps_error(rows_data(source, 1), "is not there any more", "data")
})

test_that("holes in an HDF5 file are named", {
  skip_if_not_installed("hdf5r")
  y <- values()
  y[5, 3] <- Inf
  expect_gps_error(rows_data(hdf5_source(y), 4:6), "but row 5, column 3 is Inf", "data")
})

test_that("what needs hdf5r says so", {
  skip_if(requireNamespace("hdf5r", quietly = TRUE))
  expect_gps_error(gps_source_hdf5("any", "y"), "gps_source_hdf5() needs the package hdf5r")
})

test_that("doubles that are read as floats are pointed out, floats are not", {
  path <- tempfile()
  on.exit(unlink(path))
  set.seed(65)
  for (values in list(rnorm(300), round(rnorm(300, 5, 10)), 1e6 * runif(300))) {
    for (endian in c("little", "big")) {
      writeBin(values, path, endian = endian)
      expect_warning(gps_source_binary(path, 3, "float", endian), "`type` = \"double\"?",
                     class = "gps_warning", fixed = TRUE)
      expect_silent(gps_source_binary(path, 3, "double", endian))
      writeBin(values, path, size = 4, endian = endian)
      expect_silent(gps_source_binary(path, 3, "float", endian))
    }
  }
})

test_that("doubles that are mostly 0 are told from floats, zeros only are not", {
  path <- tempfile()
  on.exit(unlink(path))
  set.seed(67)
  for (endian in c("little", "big")) {
    read <- function(values, size) {
      writeBin(as.double(values), path, size, endian)
      gps_source_binary(path, 4, "float", endian)
    }
    for (values in list(rpois(400, 0.05), rbinom(400, 1, 0.03), rbinom(400, 1, 0.1) / 2)) {
      expect_warning(read(values, 8), "`type` = \"double\"?", class = "gps_warning", fixed = TRUE)
      expect_silent(read(values, 4))
    }
    expect_silent(read(numeric(400), 8))
  }
})

test_that("truth values and 64-bit integers in HDF5 files are numbers, other categories are not", {
  skip_if_not_installed("hdf5r")
  path <- tempfile(fileext = ".h5")
  on.exit(unlink(path))
  set.seed(66)
  flags <- matrix(runif(60) < 0.4, 20)
  file <- hdf5r::H5File$new(path, "w")
  file[["flags"]] <- flags
  add <- function(name, labels) {
    type <- hdf5r::H5T_ENUM$new(labels = labels, values = 0:1)
    coded <- hdf5r::factor_ext(as.integer(flags), values = 0:1, levels = labels)
    dim(coded) <- c(20, 3)
    file$create_dataset(name, robj = coded, dtype = type, dims = c(20, 3))
  }
  add("lower", c("false", "true"))
  add("letters", c("a", "b"))
  holes <- flags
  holes[3, 2] <- NA
  file[["holes"]] <- holes
  file$close_all()
  for (name in c("flags", "lower")) {
    expect_identical(rows_data(gps_source_hdf5(path, name), 1:20), t(flags) + 0)
    expect_identical(rows_data(gps_source_hdf5(path, name, "columns"), 1:3), flags + 0)
  }
  expect_gps_error(rows_data(gps_source_hdf5(path, "holes"), 1:5), "row 3, column 2 is NA", "data")
  expect_gps_error(gps_source_hdf5(path, "letters"), "has categories (\"a\", \"b\")")
})
