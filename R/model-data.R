# Data that a model cannot have: of some not every number can be one.

# Data D x N, a source, or with `points_in_rows` n x D, as the model can have them, or an error that
# says where they are not. Missing cells are no values.
check_values <- function(model, y, arg = "y", points_in_rows = FALSE, names = NULL) {
  rule <- data_rule(model)
  if (is.null(rule)) return(invisible(y))
  if (is_source(y)) {
    map_blocks(list(y = y, blocks = split_blocks(n_points(y), n_dims(y))), function(task, block) {
      refuse_values(model, rule, block_data(task$y, block), arg, names = names,
                    first_row = block$first_row)
    })
    return(invisible(y))
  }
  refuse_values(model, rule, y, arg, points_in_rows, names)
  invisible(y)
}

# Data D x n, or n x D, before which `first_row` points came; `names` of their columns, or NULL.
refuse_values <- function(model, rule, y, arg, points_in_rows = FALSE, names = NULL,
                          first_row = 0) {
  bad <- which(!rule$is_allowed(y))
  if (length(bad) == 0) return(invisible())
  place <- arrayInd(bad[1], dim(y))
  if (!points_in_rows) place <- rev(place)
  gps_abort(sprintf("`%s` must have %s for the model %s, but row %.0f, %s is %s.%s", arg,
                    rule$words, dQuote(model$name, FALSE), first_row + place[1],
                    column_words(place[2], names), format(y[bad[1]], digits = 6),
                    if (is.null(rule$hint)) "" else paste0(" ", rule$hint)), "data")
}
