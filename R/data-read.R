# The door: what users call data becomes one D x n matrix of finite doubles or a source, with names
# and image size on the side.
# @srrstats {G2.8, UL1.1, UL1.2}

# list(y [D x n or a source], row_names, col_names, image_dim, pixels): from a matrix, data frame,
# array of images, list of images, sparse matrix or source. Rows of a matrix may be pictures, too,
# as extract_patches() makes them: `pixels` is their shape. Cells are missing (NA) only where
# `may_miss` says so, and there may be no points only where `allow_empty` does.
read_data <- function(y, arg = "y", may_miss = FALSE, allow_empty = FALSE) {
  size <- attr(y, "size")
  y <- plain_numbers(y)
  if (allow_empty && is_sparse_matrix(y) && nrow(y) == 0) {
    y <- matrix(0, 0, ncol(y), dimnames = dimnames(y))
  }
  if (is_stored(y)) return(read_stored(y, arg, may_miss))
  is_plain <- !is.object(y) || inherits(y, c("AsIs", "listof"))
  if (is.list(y) && is_plain && is.null(dim(y))) y <- images_to_array(y, arg)
  image_dim <- NULL
  if ((is.numeric(y) || is.logical(y)) && length(dim(y)) %in% 3:4) {
    image_dim <- dim(y)[-1]
    y <- matrix(as.double(y), dim(y)[1], prod(image_dim), dimnames = list(dimnames(y)[[1]], NULL))
  }
  y <- check_matrix(y, arg, may_miss = may_miss, allow_empty = allow_empty && NROW(y) == 0)
  refuse_large(y, arg, points_in_rows = TRUE)
  list(y = t(unname(y)), row_names = rownames(y), col_names = colnames(y), image_dim = image_dim,
       pixels = if (is.null(image_dim)) picture_dim(size, ncol(y)))
}

# Height and width, and channels where there are three, of pictures of so many numbers; NULL where
# they cannot be of this size.
picture_dim <- function(size, n_numbers) {
  is_pair <- is.numeric(size) && length(size) == 2 && is.null(dim(size)) && !anyNA(size) &&
    all(size >= 1 & size == round(size))
  if (!is_pair || !n_numbers %in% c(prod(size), 3 * prod(size))) return(NULL)
  as.integer(c(size, if (n_numbers > prod(size)) 3))
}

# Values up to this have squares that can be added, multiplied by those of a few other numbers and
# divided by small variances: far beyond, a fit would come to its end or not by chance.
largest_value <- 1e140

# D x n data, or points in rows, whose squares would overflow. `first_row` points came before.
refuse_large <- function(y, arg = "y", first_row = 0, points_in_rows = FALSE,
                         range = value_range(y)) {
  if (is.null(range) || max(abs(range)) <= largest_value) return(invisible(y))
  place <- arrayInd(which(abs(y) > largest_value)[1], dim(y))
  value <- y[place]
  if (!points_in_rows) place <- rev(place)
  gps_abort(sprintf(
    "`%s` is too large to square: rescale it. Row %.0f, column %d is %s; at most %s is possible.",
    arg, first_row + place[1], place[2], plain_number(value, 3), plain_number(largest_value)
  ))
}

# The range of the values that are there; NULL of none.
value_range <- function(y) {
  if (length(y) == 0) return(NULL)
  if (!anyNA(y)) return(base::range(y))
  if (!all(is.na(y))) base::range(y, na.rm = TRUE)
}

# A list of equal images -> array n x height x width (x channels).
images_to_array <- function(images, arg) {
  if (length(images) == 0) {
    gps_abort(sprintf("`%s` is an empty list: give at least one data point.", arg))
  }
  dims <- lapply(images, dim)
  is_odd <- !vapply(images, function(image) {
    (is.numeric(image) || is.logical(image)) && length(dim(image)) %in% 2:3
  }, NA)
  if (!any(is_odd)) is_odd <- !vapply(dims, identical, NA, dims[[1]])
  if (any(is_odd)) {
    odd <- which(is_odd)[1]
    gps_abort(sprintf("`%s` is a list, which must hold numeric images of one size, but %s.%s", arg,
                      sprintf("element %d is %s", odd, describe_value(images[[odd]])),
                      advise_list(images, arg)))
  }
  stacked <- vapply(images, function(image) as.double(image), numeric(prod(dims[[1]])))
  array(t(matrix(stacked, prod(dims[[1]]))), c(length(images), dims[[1]]))
}

# What `y` may be instead of what it is read as, images or a table. Whether something was told.
tell_reading <- function(y) {
  !is_source(y) && (tell_counts(y) || tell_images_last(y) || tell_table_wide(y))
}

# Counts of combinations of factors are no images, though an array as these.
tell_counts <- function(y) {
  dim <- dim(y)
  if (!inherits(y, "table") || !length(dim) %in% 3:4) return(invisible(FALSE))
  gps_warn(sprintf(paste(
    "`y` is a table of counts by %d factors, and is read as %d images of %s. Combinations of",
    "factors as data points, as often as they occur: d <- as.data.frame(y), and",
    "model.matrix(~ . - Freq, d) with `weights` = d$Freq."
  ), length(dim), dim[1], shown_dim(dim[-1])), class = "reading")
  invisible(TRUE)
}

# A table of few rows that are far longer than they are many has data points in its columns, more
# often than not. Of one row other things are said, and so are of rows that are pictures.
most_wide_rows <- 20
wide_times <- 10

tell_table_wide <- function(y) {
  size <- dim(y)
  if (length(size) != 2 || !is.null(attr(y, "size"))) return(invisible(FALSE))
  is_wide <- size[1] > 1 && size[1] <= most_wide_rows && size[2] > wide_times * size[1]
  if (!is_wide) return(invisible(FALSE))
  gps_warn(sprintf(paste("`y` is read as %d data points of %d columns. If data points are your",
                         "columns, give t(y)."), size[1], size[2]), class = "reading")
  invisible(TRUE)
}

# What to do about too few data points, where their number may be due to how they were given.
advise_few <- function(n_points, n_dims, image_dim) {
  if (n_points > 1) return(advise_wide(n_points, n_dims, image_dim))
  " There is nothing to learn from a single data point: give more. predict() takes one."
}

# Other programs have the images along the last dimension: read as ours they would be few and far
# from square, which they are not. A picture in colour would be narrow images of its rows. Whether
# something was told.
tell_images_last <- function(y) {
  dim <- dim(y)
  if (!length(dim) %in% 3:4 || any(dim == 0)) return(invisible(FALSE))
  if (length(dim) == 3 && dim[3] %in% 3:4 && min(dim[1:2]) >= 8 * dim[3]) {
    gps_warn(sprintf(paste(
      "`y` is read as %d images of %s. If it is one picture in colour, its patches are the data",
      "points: extract_patches(y%s, 8). gps_denoise() takes noise out of a picture."
    ), dim[1], shown_dim(dim[-1]), if (dim[3] == 4) "[, , 1:3]" else ""),
    class = "reading")
    return(invisible(TRUE))
  }
  n <- dim[length(dim)]
  sides <- dim[1:2]
  # Squares as ours would not be squares.
  are_squares <- length(dim) == 3 && sides[1] == sides[2] && n != sides[2] && n > 1
  are_many <- n > 3 * max(sides) && max(sides) <= 3 * min(sides)
  if (!are_squares && !are_many) return(invisible(FALSE))
  order <- c(length(dim), seq_len(length(dim) - 1))
  gps_warn(sprintf(paste("`y` is read as %d images of %s. If it is %d images of %s, give",
                         "aperm(y, c(%s)): images come first."), dim[1], shown_dim(dim[-1]), n,
                   shown_dim(dim[-length(dim)]), paste(order, collapse = ", ")),
           class = "reading")
  invisible(TRUE)
}

# A fourth channel of pictures mostly says how opaque their pixels are.
tell_opacity <- function(y) {
  is_many <- is.list(y) && !is.object(y) && is.null(dim(y)) && length(y) > 0
  image <- if (is_many) y[[1]] else y
  if (!is.numeric(image) || length(image) == 0) return(invisible())
  size <- if (is_many) dim(image) else dim(image)[-1]
  if (length(size) != 3 || size[3] != 4) return(invisible())
  channel <- if (is_many) image[, , 4] else image[, , , 4]
  if (anyNA(channel) || min(channel) < 0 || max(channel) > 1) return(invisible())
  gps_warn(sprintf(paste("If the fourth channel of the pictures says how opaque they are, it is",
                         "fitted as data here: %s leaves it out."), if (is_many) {
                           "lapply(y, function(image) image[, , 1:3])"
                         } else {
                           "y[, , , 1:3]"
                         }), class = "reading")
}

# Data that are not a matrix of doubles in memory.
is_stored <- function(y) is_source(y) || is_sparse_matrix(y)

read_stored <- function(y, arg, may_miss = FALSE) {
  source <- if (is_source(y)) check_source(y, arg) else sparse_source(y, arg, may_miss)
  if (!may_miss) {
    refuse_cells(source, stored_missing(source), "this function", arg)
    source["may_miss"] <- list(NULL)
  }
  if (is_sparse_matrix(y)) check_names(rownames(y), "row", arg)
  check_names(source$names, "column", arg)
  list(y = source, row_names = if (is_sparse_matrix(y)) rownames(y), col_names = source$names,
       image_dim = NULL)
}

# ---- names ----

# What data points and columns are called: by labels and by an option.

# Names of n data points as a user gives them, or NULL.
check_labels <- function(labels, n) {
  if (is.null(labels)) return(NULL)
  if (is.factor(labels)) labels <- as.character(labels)
  wanted <- sprintf("NULL or %.0f names, one for each data point", n)
  if (!is.atomic(labels) || !is.null(dim(labels)) || length(labels) != n) {
    abort_value(labels, "labels", wanted)
  }
  if (anyNA(labels)) {
    gps_abort(sprintf("`labels` must be %s: that of data point %d is NA.", wanted,
                      which(is.na(labels))[1]))
  }
  check_names(as.character(labels), "row", "labels")
}

# Tells, where the option gpselect.tell_names asks for it, that results will have no names, or such
# as R makes up. Many fits of the same data, as of gps_choose(), are told of once.
tell_names <- function(data) {
  if (!isTRUE(getOption("gpselect.tell_names"))) {
    told_names$last <- NULL
    return(invisible())
  }
  n <- c(row = n_points(data$y), column = n_dims(data$y))
  names <- list(row = data$row_names, column = data$col_names)
  said <- unlist(lapply(names(n), function(what) {
    if (is.null(names[[what]])) {
      sprintf("The %ss of `y` have no names: results number them.", what)
    } else if (are_default_names(names[[what]])) {
      sprintf("The %ss of `y` have the names that R makes up, such as %s.", what,
              quoted(names[[what]][1]))
    }
  }))
  if (identical(said, told_names$last)) return(invisible())
  told_names$last <- said
  for (line in said) message(line)
}

# What was told last.
told_names <- new.env(parent = emptyenv())

# 1, 2, 3, or V1, V2 and X1, X2, also with zeros, X01, X02: those of as.data.frame(), read.table()
# and data.frame().
are_default_names <- function(names) {
  number <- as.character(seq_along(names))
  isTRUE(all(names == number)) || isTRUE(all(sub("^[VX]0*", "", names) == number))
}
