# What print() and summary() say of the starts of a fit.

# Fits of versions before 0.4.0 do not say how they began.
describe_starts <- function(fit) {
  starts <- fit$starts
  if (is.null(starts)) {
    if (!is_line(fit$begun)) return("one, or as given")
    return(if (fit$begun == "one") "one, from random first values" else fit$begun)
  }
  bounds <- trimws(plain_number(sort(starts$bound_per_point, decreasing = TRUE), 4))
  shown <- paste(c(utils::head(bounds, 4), if (length(bounds) > 4) "..."), collapse = ", ")
  sprintf("best of %d; bounds a point %s%s%s", nrow(starts), shown,
          describe_start_rows(starts, count_counted(fit)),
          describe_reached(starts, fit$model$n_dims))
}

# Starts whose bound is that of the best one, to within so many nats a number of the data: fewer
# than the gain that moves a component, more than what is left to gain after a short start.
equal_starts <- 1e-3

reach_best <- function(starts, n_dims) {
  starts$bound_per_point >= max(starts$bound_per_point) - equal_starts * n_dims
}

describe_reached <- function(starts, n_dims) {
  if (nrow(starts) == 1) return("")
  n <- sum(reach_best(starts, n_dims)) - 1
  if (n == 0) return("; no other ends near the best")
  sprintf("; %s near the best", if (n == 1) "1 other ends" else sprintf("%d others end", n))
}

# Starts that ended in an error: how many, and what the first one said.
describe_failures <- function(fit) {
  failed <- fit$failed_starts
  if (is.null(failed)) return(NULL)
  said <- strsplit(failed$message[1], "\n")[[1]][1]
  c(Failed = sprintf("%s of %d: %s", plural(nrow(failed), "start"),
                     nrow(failed) + nrow(fit$starts), said))
}

# Which rows the bounds of the starts are of, where not of all. Fits of 0.1.0 do not say it.
describe_start_rows <- function(starts, n_points) {
  if (is.null(starts$rows)) return(if (n_points > start_rows) " on a sample of the rows" else "")
  if (starts$unseen[1] > 0) {
    return(sprintf(" on %d other rows, unlike the bound above", starts$unseen[1]))
  }
  if (starts$rows[1] < n_points) sprintf(" on a sample of %d rows", starts$rows[1]) else ""
}
