# Weights of a fit's data points. Those of weight 0 take no part: a fit is one of the others, and in
# the end they get the posterior that new data would get.

# What a fit works on: list(y, row_names, weights, kept, unit). `kept` are the rows that count,
# NULL: all. Weights below 1 on average are shares, not numbers of observations, of which a fit has
# limits (a cluster of less than one point, and so on): they are divided by their mean, `unit`.
count_rows <- function(data, weights) {
  counted <- list(y = data$y, row_names = data$row_names, weights = NULL, kept = NULL, unit = 1)
  if (is.null(weights)) return(counted)
  if (any(weights == 0)) {
    counted$kept <- which(weights > 0)
    counted$y <- keep_rows(data$y, counted$kept)
    counted["row_names"] <- list(data$row_names[counted$kept])
    weights <- weights[counted$kept]
  }
  counted$unit <- min(1, mean(weights))
  weights <- weights / counted$unit
  if (any(weights != 1)) counted$weights <- weights
  counted
}

# A start with the rows alone that count now: labels, or a fit of as many.
keep_start_rows <- function(start, kept, n_points) {
  if (is.null(kept)) return(start)
  if (inherits(start, "gps_partition") && !is.null(start$label)) start$label <- start$label[kept]
  is_same <- inherits(start, "gps_fit") && identical(start$n_points, n_points)
  if (is_same) keep_fit_rows(start, kept) else start
}

keep_fit_rows <- function(fit, kept) {
  fit <- unclass(check_fit(fit))
  fit[per_point] <- lapply(fit[per_point], function(x) if (!is.null(x)) x[, kept, drop = FALSE])
  fit["y"] <- list(if (is.matrix(fit$y)) fit$y[, kept, drop = FALSE])
  fit["row_names"] <- list(fit$row_names[kept])
  fit["weights"] <- list(fit$weights[kept])
  fit$n_points <- length(kept)
  structure(fit, class = "gps_fit")
}

# Bounds in the unit of the weights as they were given.
rescale_bounds <- function(x, unit) {
  bounds <- intersect(c("bound", "bound_error"), names(x))
  if (unit != 1) x[bounds] <- lapply(x[bounds], `*`, unit)
  x
}

# Slots of all rows: of those that do not count, empty ones for now.
place_slots <- function(state, kept, n_points) {
  if (is.null(kept)) return(state)
  state[per_point] <- lapply(state[per_point], function(x) {
    if (is.null(x)) return(NULL)
    whole <- matrix(x[1] * 0L, nrow(x), n_points)
    whole[, kept] <- x
    whole
  })
  state
}

# A fit whose rows of weight 0 have the posterior of new data. One that is cut short leaves their
# slots empty.
fill_uncounted <- function(fit, kept) {
  if (is.null(kept) || is.null(fit$selected)) return(fit)
  rows <- setdiff(seq_len(fit$n_points), kept)
  is_cut_short <- fit$status %in% c("interrupted", "time_limit")
  deadline <- if (is_cut_short) elapsed() + 0.5 else Inf
  filled <- until_cut(deadline, TRUE, {
    task <- new_prediction_task(fit, keep_rows(fit$y, rows), "selected")
    state <- prediction_state(fit)
    join_parts(map_blocks(task, function(task, block) {
      infer_block(task, state, block, character())
    }))
  })
  if (is_cut(filled)) return(fit)
  for (name in per_point) if (!is.null(fit[[name]])) fit[[name]][, rows] <- filled[[name]]
  fit
}
