# A trend of the targets beside the Gaussian process: a level, or a level and slopes, found by
# generalised least squares, with what is not known of it in all variances (universal kriging).
#
# With H [n x p] the columns of the trend and K the kernel matrix of the data, noise included,
#   B = M^-1 H'K^-1 T,  M = H'K^-1 H,
# and at a new point with the columns h and the kernel's values k
#   mean = h'B + k'K^-1 (T - H B),  variance = that of the process + u'M^-1 u,  u = h - H'K^-1 k
# (Rasmussen and Williams 2006, section 2.7, for a flat prior). K^-1 times a column is asked of an
# engine by leave-one-out, which is t_n - [K^-1 t]_n / [K^-1]_nn.

trend_forms <- c("none", "constant", "linear")

# Methods with one covariance matrix of all points.
trend_methods <- c("exact", "ichol", "fourier")

# Rounds of parameters given the trend and trend given the parameters; each raises the likelihood.
trend_rounds <- 20L

# The trend in the units of the inputs: p x H, the level where all inputs are 0, and slopes.
trend_coefficients <- function(trend, x, targets) {
  beta <- trend$beta
  names <- "level"
  if (trend$kind == "linear") {
    slopes <- beta[-1, , drop = FALSE] / trend$unit
    beta <- rbind(beta[1, ] - drop(trend$centre %*% slopes), slopes)
    columns <- if (is.null(colnames(x))) paste0("x", seq_len(ncol(x))) else colnames(x)
    names <- c(names, columns)
  }
  dimnames(beta) <- list(names, colnames(targets))
  beta
}

refuse_trend <- function(trend, plan, x) {
  if (trend == "none") return(invisible())
  method <- plan$engine$method
  if (!method %in% trend_methods) {
    gps_abort(sprintf(paste(
      "`trend` needs one covariance of all points: method %s. With others kernel_bias() and",
      "kernel_linear() are a trend."
    ), list_words(quoted(trend_methods))))
  }
  columns <- trend_columns(new_trend(trend, x), x)
  # More rows than columns come first: the scale of a single row is NA.
  if (nrow(x) > ncol(columns) && qr(columns)$rank == ncol(columns)) return(invisible())
  gps_abort(sprintf(paste(
    "`trend` = \"%s\" needs more data points than its %s, and columns of `x` of which none is",
    "constant or follows from others."
  ), trend, plural(ncol(columns), "coefficient")))
}

list_words <- function(words) {
  paste(paste(utils::head(words, -1), collapse = ", "), "or", utils::tail(words, 1))
}

# A fit with a trend; of rounds, which are alike, the last one's warnings are said. The search and
# least squares take turns until the trend stays: what a step of the trend adds to the log
# likelihood is half its square in units of its covariance.
fit_trend <- function(x, targets, kernel, plan, search, kind) {
  trend <- new_trend(kind, x)
  columns <- trend_columns(trend, x)
  trend$beta <- qr.coef(qr(columns), targets)
  for (round in seq_len(trend_rounds)) {
    rest <- beside_trend(targets, columns, trend$beta)
    heard <- hear_warnings(new_gp_fit(x, rest, kernel, plan, search))
    fit <- heard$value
    trace <- if (round == 1) fit$trace else join_traces(trace, fit$trace)
    step <- trend_step(fit, columns, targets, search$n_threads)
    is_exact <- all(rest == 0)
    if (is_exact) break
    change <- step$beta - trend$beta
    trend$beta <- step$beta
    if (sum(change * (step$precision %*% change)) / 2 <= 1e-9 * (1 + abs(fit$lml))) break
    # It goes on from where it is.
    kernel <- fit$kernel
    search$n_starts <- 1L
  }
  say_warnings(heard$warned)
  search$optimise <- FALSE
  rest <- beside_trend(targets, columns, trend$beta)
  last <- hear_warnings(new_gp_fit(x, rest, fit$kernel, plan, search))$value
  if (is_exact) {
    gps_warn(paste("The targets follow the trend exactly: a process has nothing to learn beside",
                   "it, and likelihood and variances are those at the limits of the search. lm()",
                   "has the same line."))
  }
  kept <- c("converged", "fixed", "limits")
  last[kept] <- fit[kept]
  last$trace <- trace
  last$targets <- targets
  trend$spread <- solve(step$precision)
  trend$coefficients <- trend_coefficients(trend, x, targets)
  last$trend <- trend
  last
}

# The targets less the trend, 0 where no more than rounding is left: of that a process would learn
# variances near 0, at which nothing can be solved.
beside_trend <- function(targets, columns, beta) {
  rest <- targets - columns %*% beta
  is_rounding <- apply(abs(rest), 2, max) <= 2^-46 * apply(abs(targets), 2, max)
  rest[, is_rounding] <- 0
  rest
}

join_traces <- function(before, after) {
  after$evaluation <- after$evaluation + max(before$evaluation)
  after$start <- after$start + max(before$start)
  rbind(before, after)
}

# list(beta [p x H], precision [p x p]) at the parameters of a fit.
trend_step <- function(fit, columns, targets, n_threads) {
  loo <- loo_of(prepared_engine(fit, n_threads), t(columns))
  weights <- (columns - t(loo$mean)) / loo$variance
  precision <- crossprod(columns, weights)
  precision <- (precision + t(precision)) / 2
  list(beta = solve(precision, crossprod(weights, targets)), precision = precision)
}

# Leave-one-out of other targets than the fit's.
loo_of <- function(prepared, targets) engine_loo(engine_train(prepared, targets), targets)

# list(mean [H x m], variance) at new points, of the function, with those of the targets less the
# trend that were `found` by an engine.
add_trend <- function(found, fit, engine, newdata) {
  found$mean <- found$mean + t(trend_columns(fit$trend, newdata) %*% fit$trend$beta)
  unknown <- trend_unknown(fit, engine, newdata)
  found$variance <- found$variance + rowSums((unknown %*% fit$trend$spread) * unknown)
  found
}

# How far a step of each coefficient moves the mean at new points, m x p.
trend_unknown <- function(fit, prepared, newdata) {
  columns <- trend_columns(fit$trend, fit$x)
  smooth <- engine_predict(engine_train(prepared, t(columns)), t(newdata), moments = TRUE)$mean
  trend_columns(fit$trend, newdata) - t(smooth)
}

# Leave-one-out with the trend found without the point: with Q = K^-1 - K^-1 H M^-1 H'K^-1 it is
# t_n - [Q t]_n / Q_nn and 1 / Q_nn.
trend_loo <- function(fit, n_threads) {
  columns <- trend_columns(fit$trend, fit$x)
  rest <- untrended(fit)
  both <- cbind(rest, columns)
  loo <- loo_of(prepared_engine(fit, n_threads), t(both))
  weights <- (both - t(loo$mean)) / loo$variance
  of_trend <- weights[, ncol(rest) + seq_len(ncol(columns)), drop = FALSE]
  own <- 1 / loo$variance - rowSums((of_trend %*% fit$trend$spread) * of_trend)
  list(mean = t(fit$targets - weights[, seq_len(ncol(rest)), drop = FALSE] / own),
       variance = 1 / own)
}

is_trend_sound <- function(fit) {
  trend <- fit$trend
  if (is.null(trend)) return(TRUE)
  if (!is.list(trend) || !is_one_of(trend$kind, trend_forms[-1])) return(FALSE)
  n <- if (trend$kind == "constant") 1L else ncol(fit$x) + 1L
  is_finite_matrix(trend$beta, n, ncol(fit$targets)) && is_finite_matrix(trend$spread, n, n) &&
    is.double(trend$centre) && length(trend$centre) == ncol(fit$x) && is.double(trend$unit) &&
    length(trend$unit) == ncol(fit$x) && all(is.finite(c(trend$centre, trend$unit)))
}
