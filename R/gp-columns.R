# Columns of the trend of a Gaussian process, and its targets less the trend (gp-trend.R).

# What makes the columns: those of the data about their middle, in units of their spread.
new_trend <- function(kind, x) {
  unit <- apply(x, 2, stats::sd)
  list(kind = kind, centre = colMeans(x), unit = ifelse(unit > 0, unit, 1))
}

trend_columns <- function(trend, x) {
  if (trend$kind == "constant") return(matrix(1, nrow(x), 1))
  unname(cbind(1, (x - rep(trend$centre, each = nrow(x))) / rep(trend$unit, each = nrow(x))))
}

# The targets less the trend, n x H; of a fit without one the targets.
untrended <- function(fit) {
  if (is.null(fit$trend)) return(fit$targets)
  fit$targets - trend_columns(fit$trend, fit$x) %*% fit$trend$beta
}
