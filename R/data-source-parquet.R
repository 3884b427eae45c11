# Tables in Parquet files, unpacked like those of text.

#' @rdname gps_source_csv
#' @examplesIf requireNamespace("nanoparquet", quietly = TRUE)
#' path <- tempfile(fileext = ".parquet")
#' nanoparquet::write_parquet(iris, path)
#' gps_source_parquet(path, columns = c("Petal.Length", "Petal.Width"))
#' @export
gps_source_parquet <- function(path, columns = NULL, binary = NULL, ...) {
  refuse_unknown(further(...), names(formals(gps_source_parquet)))
  need_given()
  require_package("nanoparquet", "gps_source_parquet()")
  state <- file_state(path)
  schema <- parquet_columns(state$path)
  picked <- table_columns(columns, schema$name)
  is_odd <- !schema$type[picked] %in% c("DOUBLE", "FLOAT", "INT32", "INT64", "BOOLEAN")
  if (any(is_odd)) abort_column(schema, picked[is_odd][1], schema$type[picked[is_odd][1]])
  n <- ask_parquet(state$path, nanoparquet::read_parquet_info)$num_rows
  if (n < 1) gps_abort(sprintf("The file %s has no rows.", quoted(path)), "data")
  unpack_table(state$path, binary, schema$name[picked], picked, function(emit) {
    read_stripes(state$path, schema, picked, n, emit)
  })
}

# What nanoparquet says of a file, with its errors in our class.
ask_parquet <- function(path, ask, ...) {
  tryCatch(ask(path, ...), error = function(condition) {
    if (is_time_limit(condition)) stop(condition)
    # What the reader says counts of a file of its kind, without the place in its own code.
    kind <- advise_kind(path, "gps_source_parquet()")
    if (kind == "") kind <- " It does not begin as one."
    said <- if (grepl("begins as one", kind)) {
      paste0(": ", sub("([.]| @ .*)$", "", conditionMessage(condition)[1]))
    }
    gps_abort(sprintf("The file %s cannot be read as Parquet%s.%s", quoted(path),
                      paste(said, collapse = ""), kind), "data", parent = condition)
  })
}

# Name and type of each column; a nested one is one row, that of its top.
parquet_columns <- function(path) {
  schema <- as.data.frame(ask_parquet(path, nanoparquet::read_parquet_schema))
  kept <- integer()
  at <- 2
  while (at <= nrow(schema)) {
    kept <- c(kept, at)
    # Children follow their parent.
    open <- schema$num_children[at]
    open <- if (is.na(open)) 0 else open
    while (open > 0) {
      at <- at + 1
      more <- schema$num_children[at]
      open <- open - 1 + if (is.na(more)) 0 else more
    }
    at <- at + 1
  }
  type <- schema$type[kept]
  is_deep <- !is.na(schema$num_children[kept]) | schema$repetition_type[kept] %in% "REPEATED"
  type[is_deep] <- "nested"
  data.frame(name = schema$name[kept], type = type)
}

abort_column <- function(schema, k, what) {
  gps_abort(sprintf(paste("Column %d (%s) of the Parquet file must be numeric or logical, not %s.",
                          "Leave it out: `columns = -%d`."), k, quoted(schema$name[k]), what, k),
            "data")
}

# Runs of rows that fit into memory, of which each column is read as a whole.
read_stripes <- function(path, schema, picked, n, emit) {
  longest <- max(1, most_whole %/% length(picked))
  for (first in seq(1, n, by = longest)) {
    rows <- first:min(n, first + longest - 1)
    stripe <- matrix(0, length(picked), length(rows))
    for (k in seq_along(picked)) {
      column <- plain_numbers(ask_parquet(path, nanoparquet::read_parquet,
                                          col_select = schema$name[picked[k]])[[1]])
      # Dates and times are stored as numbers.
      if (is.object(column) || !(is.numeric(column) || is.logical(column))) {
        abort_column(schema, picked[k], class(column)[1])
      }
      stripe[k, ] <- as.double(column[rows])
    }
    emit(stripe)
  }
}
