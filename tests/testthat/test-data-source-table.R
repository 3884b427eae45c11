# Tables as sources, binary files that are written, and rows of sources.

same_numbers <- function(source, y) expect_identical(unname(source[, ]), unname(y))

# A file of lines that goes with the test.
text_file <- function(..., frame = parent.frame()) {
  path <- file_for(frame, ".csv")
  writeLines(c(...), path)
  path
}

test_that("a table of text is read as read.csv() reads it, by name, number and in any order", {
  path <- file_for(environment(), ".csv")
  write.csv(iris, path)
  source <- gps_source_csv(path, columns = 2:5)
  expect_identical(source[, ], as.matrix(read.csv(path)[2:5]))
  expect_output(print(source), "from the table\\s.*unpacked\\s+into\\s+the\\s+temporary\\s+binary")
  expect_identical(gps_source_csv(path, c("Petal.Width", "Sepal.Length"))[7:9, ],
                   as.matrix(iris[c(4, 1)])[7:9, ])
  # The row names of write.csv() and of write.table() are no data.
  write.csv(iris[1:4], path)
  same_numbers(gps_source_csv(path), as.matrix(iris[1:4]))
  write.table(iris[1:4], path, sep = "\t")
  same_numbers(gps_source_csv(path, sep = "\t"), as.matrix(iris[1:4]))
  write.csv2(iris[1:4] / 7, path, row.names = FALSE)
  same_numbers(gps_source_csv(path, sep = ";", dec = ","), as.matrix(read.csv2(path)))
  connection <- gzfile(path, "w")
  writeLines(c("\ufeffa,b", "1,2"), connection, useBytes = TRUE)
  close(connection)
  expect_identical(gps_source_csv(path)[, ], cbind(a = 1, b = 2))
})

test_that("many blocks, quotes late in a file, empty lines and words beside give the numbers", {
  set.seed(1)
  y <- matrix(rnorm(1500), 500, dimnames = list(NULL, c("a", "b", "c")))
  path <- file_for(environment(), ".csv")
  write.csv(cbind(as.data.frame(y), word = "p, \"q\"\nr"), path, row.names = FALSE)
  expected <- as.matrix(read.csv(path)[1:3])
  with_small_blocks(expect_identical(gps_source_csv(path, 1:3)[, ], expected))
  lines <- c("a,b", sprintf("%d,%.3f", 1:400, (1:400) / 8), "", "\"401\", \"50.125\" ", "402,50.25")
  with_small_blocks(same_numbers(gps_source_csv(text_file(lines)), cbind(1:402, (1:402) / 8)))
  same_numbers(gps_source_csv(text_file("1,2", "3,4"), header = FALSE), rbind(c(1, 2), c(3, 4)))
})

test_that("what is wrong in a table of text is named with its row and column", {
  refused <- function(lines, message, class = "data", ...) {
    expect_gps_error(gps_source_csv(text_file(lines), ...), message, class)
  }
  refused(c("a,b", "1,x"), "Column 2 (\"b\") of")
  refused(c("a,b", "1,x"), "row 1 has \"x\". Leave the column out: `columns = -2`.")
  refused(c("a,b", rep("1,2", 150), "1,?"), "must be numeric, but row 151 has \"?\".")
  refused(c("a,b", rep("1,2", 150), "1,2,3"), "Row 151 of")
  refused(c("a,b", rep("1,2", 150), "1,2,3"), "has 3 columns, not 2.")
  refused("a,b", "has no rows below its header")
  refused(character(), "has no rows.")
  refused(c("a;b", "1;2"), "`sep` = \";\"?")
  refused("b\xe9b\xe9,a\n1,2", "not text in ASCII or UTF-8: convert the file")
  refused("b\xe9b\xe9\n1", "not text in ASCII or UTF-8: convert the file")
  # Words that are not in UTF-8 matter only where they are read.
  for (dec in c(".", ",")) {
    towns <- text_file("town;a", "M\xfcnchen;1", "K\xf6ln;2")
    expect_gps_error(gps_source_csv(towns, sep = ";", dec = dec), "M\\xfcnchen", "data")
    expect_identical(gps_source_csv(towns, -1, sep = ";", dec = dec)[, ], cbind(a = c(1, 2)))
  }
  expect_warning(gps_source_csv(text_file("1,2", "3,4")), "`header` = FALSE",
                 class = "gps_warning")
  path <- text_file("length,width", "1,2")
  expect_gps_error(gps_source_csv(path, "lenght"), "Did you mean \"length\"?")
  expect_gps_error(gps_source_csv(path, 3), "numbers of the 2 columns to read, or negative ones")
  expect_gps_error(gps_source_csv(path, c(1, 1)), "`columns` must be NULL, or distinct")
  expect_gps_error(gps_source_csv(path, sep = "ab"), "`sep` must be one character")
  expect_gps_error(gps_source_csv(path, dec = ","), "`sep` and `dec` must differ")
  expect_gps_error(gps_source_csv(path, na = NA), "`na` must be a character vector")
  expect_gps_error(gps_source_csv(path, binary = path), "Remove it, or give another name")
  writeBin(iconv("a,b\n1,2\n", "UTF-8", "UTF-16", toRaw = TRUE)[[1]], path)
  expect_gps_error(gps_source_csv(path), "it is UTF-16", "data")
})

test_that("rows with too many or too few cells are named, however the bytes are cut", {
  refused <- function(lines, ..., also = list()) {
    path <- text_file(lines)
    for (message in c(...)) {
      expect_gps_error(do.call(gps_source_csv, c(list(path), also)), message, "data")
    }
  }
  # Twice as many cells as columns are one row, not two.
  refused(c("a,b", "1,2", "3,4,5,6", "7,8"), "Row 2 of", "(line 3) has 4 columns, not 2.")
  refused(c("a,b", "", "1,2,3,4"), "Row 1 of", "(line 3) has 4 columns, not 2.")
  refused(c("a,b", "1,2", "3,4,", "7,8"), "has 3 columns, not 2. It ends with a separator.")
  refused(c("a,b", "1,2,", "3,4,"), "end with \",\", which its header does not")
  refused(c("a,b,", "1,2,", "3,4,"), "`columns = 1:2`")
  refused(c("a,b,c", "1,2,3", "3,4", "5", "5,6,7"), "Row 2 of", "has 2 columns, not 3.")
  refused(c("a", "1", "2,3"), "Row 2 of", "has 2 columns, not 1.")
  refused(c("a,b", "1,2", "# 3,4,5"), "Comments are not read")
  refused(c("# a table", "a,b", "1,2"), "The first line of", "is a comment")
  refused(c("a,b", "1,2", "\"3\",\"4\",5,6"), "Row 2 of", "has 4 columns, not 2.")
  refused(c("1,2,3,4", "1,2", "3,4"), "Row 2 of", also = list(header = FALSE))
  text <- "a,w,b\r\n1,\"x,\n\"\"y\",2\r\n\r\n3,,4\r\n"
  path <- file_for(environment(), ".csv")
  for (n in c(1, 2, 3, 5, 100)) {
    local_value("bytes_at_once", n)
    cat(text, file = path)
    same_numbers(gps_source_csv(path, c(1, 3)), rbind(c(1, 2), c(3, 4)))
    cat("5,z,6,7,8,9\n", file = path, append = TRUE)
    expect_gps_error(gps_source_csv(path, c(1, 3)), "has 6 columns, not 3.", "data")
  }
  writeBin(as.raw(c(97, 10, 49, 10, 50, 0, 10)), path)
  expect_gps_error(gps_source_csv(path), "has zero bytes in it", "data")
  quoted <- c("name,a,b", "5\" pipe,1,2", "6 in,3,4")
  refused(quoted, "takes in the next line", "an odd number of them being 2: one is not closed",
          also = list(columns = 2:3))
  refused(sub("5\" ", "\"5 ", quoted), "odd number of quotes", "of them being 2",
          also = list(columns = 2:3))
  # Two such quotes would make one row of two.
  torn <- c("name,a,b", "5\" pipe,1,2", "6\" in,3,4", "x,5,6")
  for (n in c(1, 2, 7, 100)) {
    local_value("bytes_at_once", n)
    refused(torn, "a quote (\") within a cell that takes in the next line", "being 2",
            also = list(columns = 2:3))
    same_numbers(gps_source_csv(text_file("name,a", "5 \"pipe\" in,1", "\"a\"\"b\nc\",2"), 2),
                 rbind(1, 2))
  }
  refused(c(quoted, "7\",8,9,10,11"), "takes in the next line", also = list(columns = 2:3))
})

test_that("a word among numbers is answered with what it may be", {
  hint <- function(cell, ..., ending) {
    lines <- c("a;b", "1;2", paste0("3;", cell))
    expect_gps_error(gps_source_csv(text_file(lines), sep = ";"), ending, "data")
  }
  hint("4,5", ending = "`dec = \",\"`")
  # A point that is not before decimals is no number, as for read.csv2().
  for (cell in c("1.5", "1.500,25")) {
    expect_gps_error(gps_source_csv(text_file("a;b", "1,5;2", paste0("3;", cell)), sep = ";",
                                    dec = ","), "between thousands: remove it", "data")
  }
  late <- text_file("a;b", rep("1,5;2", 150), "1.5;2")
  expect_gps_error(gps_source_csv(late, sep = ";", dec = ","), "row 151 has \"1.5\"", "data")
  hint("n/a", ending = "`na = c(\"\", \"NA\", \"n/a\")`")
  hint("TRUE", ending = "truth values as 0 and 1")
  hint("4 # of 5", ending = "with nothing beside")
  expect_gps_error(gps_source_csv(text_file("a b", "1 2")), "`sep` = \" \"?", "data")
  expect_gps_error(gps_source_csv(text_file("a,a,b", "1,2,3"), "a"), "columns 1 and 2")
})

test_that("what names no columns is refused", {
  path <- text_file("a,b", "1,2")
  for (columns in list(c, ~a, quote(a), expression(a), globalenv(), TRUE)) {
    expect_gps_error(gps_source_csv(path, columns = columns), "`columns` must be NULL, or distinct")
  }
  for (columns in list(c(1, NA), NA_character_)) {
    expect_gps_error(gps_source_csv(path, columns = columns), "`columns` must be NULL, or distinct")
  }
})

test_that("columns are left out by negative numbers", {
  path <- text_file("id,a,b", "x,1,2", "y,3,4")
  expect_gps_error(gps_source_csv(path), "row 1 has \"x\". Leave the column out: `columns = -1`.",
                   "data")
  same_numbers(gps_source_csv(path, -1), rbind(c(1, 2), c(3, 4)))
  expect_identical(colnames(gps_source_csv(path, -1)), c("a", "b"))
  same_numbers(gps_source_csv(path, c(-3, -1)), cbind(c(1, 3)))
  # The first column of write.csv() is out already.
  named <- tempfile()
  write.csv(data.frame(a = 1:2, b = 3:4, row.names = c("x", "y")), named)
  same_numbers(gps_source_csv(named, -3), cbind(c(1, 2)))
  for (bad in list(-4, c(-1, 2), -(1:3), 0, -1.5, -NA_real_)) {
    expect_gps_error(gps_source_csv(path, bad), "or negative ones to leave out")
  }
})

test_that("a fit whose source was temporary says what is gone, and takes it again", {
  y <- simulate_clusters(60)$y
  path <- tempfile(fileext = ".csv")
  write.csv(y, path)
  source <- gps_source_csv(path)
  expect_match(paste(printed(source), collapse = " "), "unpacked +into the +temporary +binary file")
  fit <- gps_fit(source, model_gaussian_mixture(2), control = short_control(max_iter = 2))
  before <- fitted(fit)
  unlink(source$path)
  expect_identical(dim(predict(fit, y[1:3, ])), c(3L, 2L))
  error <- expect_gps_error(fitted(fit), "it was temporary, of the session that unpacked", "data")
  for (words in c(basename(path), "gps_source_csv()", "`binary`", "`fit$y <- y`", "`newdata`")) {
    expect_match(conditionMessage(error), words, fixed = TRUE)
  }
  fit$y <- gps_source_csv(path)
  expect_identical(fitted(fit), before)
  kept <- gps_source_csv(path, binary = tempfile())
  expect_no_match(paste(printed(kept), collapse = " "), "temporary binary file")
  unlink(kept$path)
  expect_gps_error(kept[1, ], "put it back, or make a new source", "data")
})

test_that("missing cells pass through; files that are unpacked to a name stay", {
  path <- text_file("a,b", "1,NA", "?,4", ",6")
  source <- gps_source_csv(path, na = c("NA", "?"))
  values <- readBin(source$path, "double", 6)
  expect_identical(values, c(1, NA, NA, 4, NA, 6))
  binary <- file_for(environment(), ".bin")
  kept <- gps_source_csv(text_file("a,b", "1,2"), binary = binary)
  expect_identical(gps_source_binary(binary, 2)[, ], rbind(c(1, 2)))
  # Nothing is left of a table that could not be read.
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  expect_gps_error(gps_source_csv(text_file("a", rep("1", 120), "x"),
                                  binary = file.path(folder, "b")), "row 121", "data")
  expect_identical(list.files(folder), character())
})

test_that("Parquet files give the numbers of their columns, others are refused", {
  skip_if_not_installed("nanoparquet")
  path <- file_for(environment(), ".parquet")
  table <- data.frame(iris, whole = 1:150, truth = rep(c(TRUE, FALSE), 75), day = Sys.Date())
  nanoparquet::write_parquet(table, path)
  wanted <- c("truth", "Petal.Width", "whole")
  expect_identical(gps_source_parquet(path, wanted)[, ], data.matrix(table[wanted]) + 0)
  expect_gps_error(gps_source_parquet(path), "Column 5 (\"Species\")", "data")
  expect_gps_error(gps_source_parquet(path, "day"), "must be numeric or logical, not Date", "data")
  expect_gps_error(gps_source_parquet(path, "trut"), "Did you mean \"truth\"?")
  writeLines("no table", path)
  expect_gps_error(gps_source_parquet(path), "cannot be read as Parquet", "data")
})

test_that("what needs nanoparquet says so", {
  skip_if(requireNamespace("nanoparquet", quietly = TRUE))
  expect_gps_error(gps_source_parquet("any"), "gps_source_parquet() needs the package nanoparquet")
})

test_that("binary files hold what was written, of matrices, frames, sparse matrices and sources", {
  path <- file_for(environment(), ".bin")
  y <- cbind(a = c(0, 1, 127), b = c(5, 6, 100))
  for (type in names(binary_types)) {
    for (endian in c("little", "big")) {
      source <- gps_write_binary(as.data.frame(y), path, type, endian, overwrite = TRUE)
      expect_identical(source[, ], y)
    }
  }
  set.seed(2)
  y <- matrix(rnorm(3000), 1500)
  with_small_blocks(same_numbers(gps_write_binary(function_source(y), path, overwrite = TRUE), y))
  same_numbers(gps_write_binary(y, path, "float", overwrite = TRUE),
               matrix(readBin(writeBin(c(y), raw(), 4), "double", 3000, 4), 1500))
  if (requireNamespace("Matrix", quietly = TRUE)) {
    sparse <- Matrix::Matrix(diag(4), sparse = TRUE)
    same_numbers(gps_write_binary(sparse, path, overwrite = TRUE), diag(4))
  }
})

test_that("missing cells are read as NA, and written where a type can hold them", {
  y <- matrix(as.double(1:60), 20)
  y[cbind(c(1, 7), c(2, 3))] <- NA
  source <- gps_source(20, 3, function(from, to) y[from:to, , drop = FALSE])
  expect_identical(as.matrix(source), y)
  expect_identical(head(source, 2), y[1:2, ])
  expect_identical(source[7, ], y[7, , drop = FALSE])
  path <- file_for(environment(), ".bin")
  for (type in c("double", "float", "int32")) {
    for (data in list(y, source)) {
      expect_equal(gps_write_binary(data, path, type, overwrite = TRUE)[, ], y, tolerance = 0)
    }
  }
  for (type in c("int8", "uint8", "int16", "uint16")) {
    expect_gps_error(gps_write_binary(source, path, type, overwrite = TRUE),
                     "row 1, column 2 of `y` is NA")
  }
  skip_if_not_installed("Matrix")
  sparse <- Matrix::Matrix(ifelse(is.na(y) | y > 55, y, 0), sparse = TRUE)
  expect_equal(gps_write_binary(sparse, path, overwrite = TRUE)[, ],
               unname(as.matrix(sparse)), tolerance = 0)
  holed <- cbind(c(rep(NA, 40), 1:60), (1:100) / 7)
  expect_no_warning(gps_write_binary(holed, path, "float", overwrite = TRUE))
})

test_that("an empty line is a missing cell of a single column; infinite values are refused", {
  expect_identical(gps_source_csv(text_file("a", "1", "", "3"))[, ], cbind(a = c(1, NA, 3)))
  expect_identical(gps_source_csv(text_file("a", "1", "", "\"3\""), na = "?")[, ],
                   cbind(a = c(1, NA, 3)))
  long <- text_file("a", rep(c("1", ""), 300))
  with_small_blocks(same_numbers(gps_source_csv(long), cbind(rep(c(1, NA), 300))))
  expect_gps_error(gps_source_csv(text_file("a", "1", "", "x")), "row 3 has \"x\"", "data")
  expect_gps_error(gps_source_csv(text_file("a,b", "1,2", "3,-Inf"), 2),
                   "must be finite, but row 2 has -Inf", "data")
  path <- text_file("a,b", rep("1,2", 700), "3,\"Inf\"")
  with_small_blocks(expect_gps_error(gps_source_csv(path), "but row 701 has Inf", "data"))
  expect_gps_error(gps_source_csv(path), basename(path), "data")
})

test_that("a type takes its own numbers alone, and no file is overwritten unasked", {
  path <- file_for(environment(), ".bin")
  ends <- list(int8 = c(-128, 127), uint8 = c(0, 255), int16 = c(-32768, 32767),
               uint16 = c(0, 65535), int32 = c(-2147483647, 2147483647))
  for (type in names(ends)) {
    same_numbers(gps_write_binary(cbind(ends[[type]]), path, type, overwrite = TRUE),
                 cbind(ends[[type]]))
    for (off in list(c(-1, 0), c(0, 1), c(0.5, 0))) {
      expect_gps_error(gps_write_binary(cbind(ends[[type]] + off), path, type, overwrite = TRUE),
                       sprintf("`type` = \"%s\" takes whole numbers between %d and %d, but row",
                               type, ends[[type]][1], ends[[type]][2]))
    }
  }
  expect_gps_error(gps_write_binary(cbind(1e39), path, "float", overwrite = TRUE), "3.4e38 in size")
  expect_gps_error(gps_write_binary(diag(2), path), "Remove it, or give another name")
  expect_gps_error(gps_write_binary(diag(2), file.path(path, "x")), "there is no folder")
  expect_gps_error(gps_write_binary(diag(2), tempdir()), "`path` is a folder")
  expect_gps_error(gps_write_binary(letters, path, overwrite = TRUE),
                   "`y` must be a numeric matrix")
})

test_that("rows and columns of a source are those of the matrix", {
  y <- matrix(as.double(1:60), 20, dimnames = list(NULL, c("a", "b", "c")))
  for (source in list(function_source(y), binary_source(y))) {
    expect_identical(source[, ], y)
    expect_identical(source[c(5, 2, 5), c("c", "a")], y[c(5, 2, 5), c("c", "a")])
    expect_identical(source[-(1:18), -1], y[-(1:18), -1])
    expect_identical(source[y[, 1] > 17, c(TRUE, FALSE, TRUE)], y[18:20, c(1, 3)])
    expect_identical(source[3, ], y[3, , drop = FALSE])
    expect_identical(source[3, , drop = TRUE], y[3, ])
    expect_identical(source[0, ], y[0, ])
    expect_identical(source[NULL, ], y[NULL, ])
    expect_identical(source[, NULL], y[, NULL])
    expect_identical(head(source), y[1:6, ])
    expect_identical(head(source, -19), y[1, , drop = FALSE])
    expect_identical(tail(source, 2), y[19:20, ])
    expect_identical(as.matrix(source), y)
    expect_identical(dim(source), dim(y))
  }
  expect_gps_error(source[1], "A source has rows and columns")
  expect_gps_error(source[21, ], "`i` must be whole numbers up to 20, or 20 truth values, not 21")
  for (bad in list(NA, 1.5, -1:1, c(TRUE, FALSE), "a", factor(1), diag(2))) {
    expect_gps_error(source[bad, ], "`i` must be whole numbers")
  }
  expect_gps_error(source[, c("a", "d")], "`j`: the source has no column \"d\"")
  expect_gps_error(source[, NA_character_], "`j` must be whole numbers up to 3, or 3 truth values")
  expect_gps_error(head(source, 1.5), "`n` must be a whole number")
})

test_that("fits to tables have the bits of fits to their numbers", {
  y <- unname(as.matrix(iris[1:4]))
  path <- file_for(environment(), ".csv")
  write.table(y, path, sep = ",", row.names = FALSE, col.names = FALSE)
  fit_to <- function(y) {
    set.seed(3)
    gps_fit(y, model_gaussian_mixture(3), selector_full(), control = short_control(max_iter = 4))
  }
  source <- gps_source_csv(path, header = FALSE)
  expected <- without_data(fit_to(y))
  expect_identical(without_data(fit_to(source)), expected)
  expect_identical(without_data(fit_to(gps_write_binary(source, tempfile()))), expected)
})
