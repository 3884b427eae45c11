# What is meant by a value of another kind, where data are wanted: the way to give it.

# Calls that read a file by its ending, where %s is its quoted name.
file_readers <- c(
  csv = "read.csv(%1$s), or gps_source_csv(%1$s) if it is too large for memory",
  tsv = paste("read.delim(%1$s), or gps_source_csv(%1$s, sep = \"\\t\") if it is too large for",
              "memory"),
  txt = "read.table(%s)", tab = "read.table(%s)", rds = "readRDS(%s)",
  rda = "load(%s), which makes the objects that were saved",
  h5 = "gps_source_hdf5(%s, dataset = \"name\")",
  parquet = "gps_source_parquet(%s)",
  bin = "gps_source_binary(%s, d), where d is the number of columns",
  feather = "arrow::read_feather(%s)", xlsx = "readxl::read_excel(%s)", mtx = "Matrix::readMM(%s)",
  mat = "R.matlab::readMat(%s)", npy = "RcppCNPy::npyLoad(%s)"
)

# The same where the numbers must be in memory, of kinds that a source reads else.
memory_readers <- c(
  csv = "read.csv(%s)", tsv = "read.delim(%s)", parquet = "nanoparquet::read_parquet(%s)",
  h5 = "hdf5r::H5File$new(%s)[[\"name\"]][, ]",
  bin = "matrix(readBin(%s, \"double\", 1e9), ncol = d, byrow = TRUE)"
)

picture_readers <- c(png = "png::readPNG(%s)", jpg = "jpeg::readJPEG(%s)",
                     tif = "tiff::readTIFF(%s)")

# Kinds of pictures that are made such ones first.
other_pictures <- c("bmp", "gif", "webp", "heic", "heif", "svg")

# Other endings of the same files.
same_endings <- c(jpeg = "jpg", tiff = "tif", rdata = "rda", hdf5 = "h5", hdf = "h5", raw = "bin",
                  f64 = "bin", f32 = "bin", double = "bin", arrow = "feather", xls = "xlsx",
                  pq = "parquet")

file_ending <- function(path) {
  ending <- lower_case(sub("^.*[.]", "", sub("[.]gz$", "", printable(path), ignore.case = TRUE)))
  if (ending %in% names(same_endings)) same_endings[[ending]] else ending
}

# The call that reads a picture.
picture_reader <- function(path) {
  ending <- file_ending(path)
  if (ending == "csv") return(sprintf("as.matrix(read.csv(%s, header = FALSE))", quoted(path)))
  if (ending == "rds") return(sprintf(file_readers[["rds"]], quoted(path)))
  if (ending %in% other_pictures) path <- as_png(path)
  if (!ending %in% names(picture_readers)) ending <- "png"
  sprintf(picture_readers[[ending]], quoted(path))
}

as_png <- function(path) sub("[.][^.]*$", ".png", path)

# The names of files in the place of a picture.
advise_picture <- function(paths) {
  if (file_ending(paths[1]) %in% other_pictures) {
    return(sprintf(" Convert it to PNG, and read that: %s.", picture_reader(paths[1])))
  }
  sprintf(" A file is read first: %s%s.", picture_reader(paths[1]),
          if (length(paths) > 1) ", one picture at a time" else "")
}

# The names of files, or of an object, in the place of a table; `in_memory` where that cannot be a
# source. `listed` is the code of the names.
advise_file <- function(paths, in_memory = FALSE, listed = "files") {
  path <- paths[1]
  ending <- file_ending(path)
  if (ending %in% c(names(picture_readers), other_pictures)) {
    return(advise_pictures(paths, ending, listed))
  }
  readers <- file_readers
  if (in_memory) readers[names(memory_readers)] <- memory_readers
  if (ending %in% names(readers)) {
    return(sprintf(" A file is read first: %s.", sprintf(readers[[ending]], quoted(path))))
  }
  sprintf(paste(" A file is read first: read.csv() for a table of text, %s for raw",
                "numbers; the name of an object stands without quotes."),
          if (in_memory) "readBin()" else "gps_source_binary()")
}

# The names of pictures in the place of a table.
advise_pictures <- function(paths, ending, listed) {
  convert <- if (ending %in% other_pictures) {
    sprintf(" Pictures of kind %s are converted to PNG first.", upper_case(ending))
  }
  reader <- picture_reader(paths[1])
  paste0(convert, if (length(paths) > 1) {
    sprintf(" Pictures of one size are read into a list: lapply(%s, %s).", listed,
            sub("[(].*$", "", reader))
  } else {
    sprintf(paste(" One picture is many data points, its patches: extract_patches(%s, 8).",
                  "gps_denoise() takes noise out of a picture."), reader)
  })
}

# Whether texts are names of files.
are_paths <- function(x) {
  known <- c(names(file_readers), names(picture_readers), other_pictures, names(same_endings))
  is.character(x) && all(is_text(x)) && all(grepl("[.]", x)) &&
    all(vapply(x, file_ending, "") %in% known)
}

# Whether all texts that are there are numbers.
are_numbers <- function(x) {
  x <- as.character(x[!is.na(x)])
  if (length(x) == 0 || !all(is_text(x))) return(FALSE)
  !anyNA(suppressWarnings(as.double(x)))
}

# What is no table of numbers: the way to make one of it, or NULL. `in_memory` says that a source
# is none.
advise_table <- function(x, arg, in_memory = FALSE) {
  unread <- advise_unread(x)
  if (!is.null(unread)) return(unread)
  if (is.null(x)) return(" NULL is what $ gives of a column or element that is not there.")
  if (inherits(x, "formula")) {
    return(" Give the columns themselves: data[c(\"a\", \"b\")], or model.matrix() for terms.")
  }
  if (is.function(x)) return(" It is the name of a function: is the object called otherwise?")
  if (inherits(x, c("Date", "POSIXt", "difftime"))) {
    return(" Times: as.numeric() gives their number of days or seconds.")
  }
  if (is.character(x) || is.factor(x)) return(advise_text(x, in_memory))
  if (is.list(x) && !is.object(x) && length(x) > 0) return(advise_list(x, arg))
  if (inherits(x, "Matrix")) {
    return(sprintf(" as.matrix(%s) makes a plain matrix of one of package Matrix.", arg))
  }
  if (inherits(x, "sparseVector")) {
    return(sprintf(" as.numeric(%s) makes a plain vector of a sparse one.", arg))
  }
  if (inherits(x, "dist")) {
    return(sprintf(" Give the data points themselves: %s = d, not dist(d).", arg))
  }
  if (is.numeric(x) && length(dim(x)) < 2) {
    paste(" One data point is a row, x[1, , drop = FALSE] or rbind(x);",
          "points of one dimension are a column, cbind(x).")
  }
}

# What is read first, as a whole: a source, and a connection, which R stores as a number.
advise_unread <- function(x) {
  if (inherits(x, "gps_source")) return(" as.matrix(source) reads it.")
  if (inherits(x, "connection")) return(" A connection is read first: read.csv(con).")
}

advise_text <- function(x, in_memory = FALSE) {
  if (is_quoted_formula(x)) {
    return(sprintf(" A formula has no quotes: %s, with `data`, a data frame.", printable(x)))
  }
  if (is.character(x) && length(x) > 0 && is.null(dim(x)) && (length(x) == 1 || are_paths(x))) {
    return(advise_file(x, in_memory))
  }
  if (is.character(x) && are_numbers(x)) {
    return(paste(" Numbers that are stored as text become numbers by",
                 if (is.null(dim(x))) "as.numeric()." else "storage.mode(x) <- \"double\"."))
  }
  if (length(dim(x)) == 2) {
    return(paste(" as.matrix() makes text of all columns where one is text or a factor: leave that",
                 "one out before."))
  }
  " Categories: model.matrix(~ 0 + f) makes a column of 0 and 1 of each."
}

# Text in the place of a formula, beside `data`.
refuse_text <- function(y) {
  gps_abort(sprintf("`y` is text, and `data` belongs to a formula.%s", advise_text(y)))
}

# A path can have a ~, too: it begins by ~/, or it ends as files do and has no space beside the ~.
is_quoted_formula <- function(x) {
  if (!is.character(x) || length(x) != 1 || !all(is_text(x))) return(FALSE)
  is_path <- grepl("^~[/\\\\]", x) || are_paths(x) && !grepl("~ | ~", x)
  grepl("~", x, fixed = TRUE) && !is_path
}

# The name of a data frame, or of its file, where the data frame itself is wanted.
advise_frame <- function(data) {
  unread <- advise_unread(data)
  if (!is.null(unread)) return(unread)
  if (!is.character(data) || length(data) != 1 || !all(is_text(data))) return(" as.data.frame()?")
  if (are_paths(data)) return(advise_file(data, in_memory = TRUE))
  sprintf(" The name of an object stands without quotes: data = %s.", printable(data))
}

# A list that holds no images: the way to make a table of it, or "".
advise_list <- function(x, arg) {
  are_lines <- all(vapply(x, function(part) is.character(part) && length(part) == 1, NA))
  if (are_lines && are_paths(unlist(x))) return(advise_file(unlist(x), listed = arg))
  is_table <- vapply(x[intersect(c("y", "x"), names(x))], function(part) length(dim(part)) > 1, NA)
  if (any(is_table)) return(sprintf(" Its data are %s$%s.", arg, names(is_table)[is_table][1]))
  is_vector <- vapply(x, function(part) is.atomic(part) && is.null(dim(part)), NA)
  if (!all(is_vector)) return("")
  n <- unique(lengths(x))
  if (length(n) > 1) {
    return(sprintf(" Its vectors have %d to %d values: a table needs vectors of one length.",
                   min(n), max(n)))
  }
  sprintf(" If its vectors are columns: as.data.frame(%s); if they are data points: %s.", arg,
          sprintf("do.call(rbind, %s)", arg))
}

# What is no count: what the argument of this name is for, or NULL.
advise_count <- function(x, arg) {
  if (arg == "n_threads") return(" NULL leaves the number to the session.")
  if (arg %in% c("max_iter", "max_evals")) {
    if (identical(x, Inf)) return(" 1e9 is as good as no limit.")
    if (is.list(x)) return(" do.call(gps_control, list) takes settings from a list.")
  }
  if (!arg %in% c("n_components", "n_latents")) return(NULL)
  if (length(dim(x)) == 2) return(" gps_fit(y, model) takes the data.")
  if (is.numeric(x) && length(x) > 1) " gps_choose(y, model, numbers) compares several."
}

# What is no number: what else the argument of this name can be, or NULL.
advise_number <- function(arg) {
  if (arg == "sd") " Left out, the noise is estimated from the picture."
}

# Where only a matrix is taken.
advise_matrix <- function(x) {
  if (is.data.frame(x)) return(" as.matrix() makes one of it.")
  if (is.list(x) && !is.object(x)) return(advise_list(x, "y"))
  advise_table(x, "y")
}

# Labels of data points in the place of components.
advise_labels <- function(x) {
  if (!is.atomic(x) || length(x) < 2 || !is.null(dim(x))) return(NULL)
  "Labels of data points are compared by table(predict(fit, type = \"class\"), labels)."
}

# A list that holds the table that is wanted, and no images.
advise_listed <- function(x, n_cols, arg) {
  is_one <- is.list(x) && !is.object(x) && length(x) == 1 && length(dim(x[[1]])) == 2
  if (!is_one || ncol(x[[1]]) != n_cols) return(NULL)
  sprintf(" A list holds images: give its table itself, %s[[1]].", arg)
}

# The name of a column, or a table of one, in the place of its numbers.
advise_vector <- function(x, arg) {
  if (is_line(x)) {
    return(sprintf("Names of columns are not looked up: give the numbers, %s = data$%s.", arg,
                   printable(x)))
  }
  if (is.data.frame(x) && ncol(x) == 1) {
    return(sprintf("Its column is a vector: %s = data$%s.", arg, printable(names(x))))
  }
}

# A fit in a file, where a checkpoint is wanted; the file is read only where it was refused.
advise_saved <- function(path) {
  saved <- tryCatch(suppressWarnings(readRDS(path)), error = function(condition) NULL)
  if (!inherits(saved, "gps_fit")) return("")
  sprintf(" It is a fit that was saved: fit <- readRDS(%s), and update(fit, start = fit) goes on.",
          quoted(path))
}

# A matrix that has as many rows as it should have columns.
advise_transposed <- function(dim, n_cols) {
  if (dim[1] == n_cols) " Is it transposed? Data points are rows." else ""
}

# A table that is wider than long may have its data points in columns.
advise_wide <- function(n_points, n_dims, image_dim) {
  if (n_points >= n_dims || !is.null(image_dim)) return("")
  " Rows are data points: if yours are the columns, give t(y)."
}

# How a column of another type can be given; `rest` is what is left without it.
column_hint <- function(column, name, rest = NULL) {
  if (make.names(name) != name) name <- "f"
  left_out <- paste0(" Leave it out", if (!is.null(rest)) paste(":", rest))
  if (is.factor(column) && are_numbers(levels(column))) {
    return(paste(" Its levels are numbers: as.numeric(as.character()) gives them, as.numeric()",
                 "alone their numbers."))
  }
  # Columns of 0 and 1 are for few values; many are mostly names of the data points.
  if ((is.factor(column) || is.character(column) && !are_numbers(column)) &&
        length(unique(column)) > 20) {
    return(paste0(left_out, ". If it names the data points, make it their row names, or `labels` ",
                  "of gps_fit()."))
  }
  if (is.factor(column)) {
    return(sprintf(paste0("%s; or give a column of 0 and 1 for each level: ",
                          "model.matrix(~ 0 + %s, data)."), left_out, name))
  }
  if (is.character(column)) {
    if (are_numbers(column)) return(" Numbers that are stored as text become such by as.numeric().")
    return(paste0(left_out, "; or give a column of 0 and 1 for each value that it has."))
  }
  if (inherits(column, c("Date", "POSIXt", "difftime"))) {
    return(paste0(left_out, "; or give its number of days or seconds: as.numeric()."))
  }
  if (length(dim(column)) == 2) return(" A matrix in a column: give its columns with cbind().")
  if (is.list(column)) return(" Give one number a cell: unlist(), or cbind() of its parts.")
  paste0(left_out, ".")
}
