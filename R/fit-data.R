# The data that a fit keeps, and results shaped like them.

# The stored data, D x n or a source, or an error that says why there are none.
need_data <- function(fit, what) {
  if (is.null(fit$y)) {
    gps_abort(paste(what, "needs the data, which this fit has not kept:",
                    "refit with gps_control(keep_data = TRUE)."))
  }
  is_sound <- if (is_source(fit$y)) {
    is_source_whole(fit$y)
  } else {
    !anyNA(fit$y) || identical(sum(is.na(fit$y)), fit$n_missing)
  }
  need_fit(is_sound, "`y` is not its data")
  fit$y
}

# The same, always D x n.
need_matrix <- function(fit, what) whole_data(need_data(fit, what), what)

# A matrix n x D as the data were given: with names, or as an array of images.
shape_rows <- function(x, fit, row_names) {
  if (!is.null(fit$image_dim)) {
    names <- if (!is.null(row_names)) c(list(row_names), vector("list", length(fit$image_dim)))
    return(array(x, c(nrow(x), fit$image_dim), dimnames = names))
  }
  if (!is.null(row_names) || !is.null(fit$col_names)) dimnames(x) <- list(row_names, fit$col_names)
  x
}

# The arguments of update(), with the data that the fit has kept and what belongs to them.
with_own_data <- function(arguments, fit, changed) {
  y <- need_data(fit, "update() without `y`")
  arguments$y <- if (is_source(y)) y else shape_rows(t(y), fit, fit$row_names)
  if (is_source(y) && !"labels" %in% changed) arguments$labels <- fit$row_names
  if (!is.null(fit$pixels)) attr(arguments$y, "size") <- fit$pixels[1:2]
  if (!"weights" %in% changed) arguments["weights"] <- list(fit$weights)
  arguments
}
