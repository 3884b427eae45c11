# The order in which gp_fit() sees points and columns where its method takes some before others: as
# pivots, blocks, a sample, those before in Vecchia's likelihood, or columns by their frequencies.
# It is one of the data's own: in which order they are given does not matter.

# list(rows, columns): the numbers of points and of columns in that order, NULL where all orders are
# the same to the engine.
own_order <- function(engine, x, targets) {
  has_rows <- takes_some_first(engine, nrow(x))
  has_columns <- engine$method == "fourier"
  columns <- if (has_rows || has_columns) own_columns(x, targets)
  list(rows = if (has_rows) own_rows(x[, columns, drop = FALSE], targets),
       columns = if (has_columns) columns)
}

# Of many points some have the scales and periods of all.
takes_some_first <- function(engine, n_points) {
  !engine$method %in% c("exact", "fourier") || n_points > min(max_scale_points, max_period_points)
}

# By the first column, of equal points by the next one, and so on.
own_rows <- function(x, targets) {
  values <- c(asplit(unname(x), 2), asplit(unname(targets), 2))
  do.call(order, c(unname(values), method = "radix"))
}

# By where the values of a column lie between its least and its largest, in any unit, and of columns
# in which they lie alike by how far the targets follow them. What rounding may change does not
# count.
own_columns <- function(x, targets) {
  if (ncol(x) == 1) return(1L)
  n <- nrow(x)
  share <- unit_shares(x) - 0.5
  follow <- crossprod(share, unit_shares(targets) - 0.5) / n
  facts <- cbind(abs(colMeans(share)), colMeans(share^2), rowSums(follow^2))
  do.call(order, asplit(unname(round(facts, 9)), 2))
}

# Values as shares of the way from the least of their column to the largest.
unit_shares <- function(x) {
  limits <- dimension_limits(t(x))
  unit <- limits[, 2] - limits[, 1]
  unit[!(unit > 0)] <- 1
  (x - rep(limits[, 1], each = nrow(x))) / rep(unit, each = nrow(x))
}

# What an engine keeps of points in an order of `rows`, by their numbers in the given one.
keep_in_order <- function(kept, rows) {
  if (is.null(rows)) return(kept)
  if (!is.null(kept$divide)) kept$divide$rows <- lapply(kept$divide$rows, function(at) rows[at])
  if (!is.null(kept$basis$pivots)) kept$basis$pivots <- rows[kept$basis$pivots]
  if (!is.null(kept$engine$index)) kept$engine$index$cell[rows] <- kept$engine$index$cell
  kept
}
