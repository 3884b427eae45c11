# Random Fourier features: the part of the engine interface that is particular to this basis.

# A fixed stream of its own: a basis does not depend on the session's random numbers.
fourier_seed <- c(20061107L, 65537L)

# `rank` cosines and sines, shared among the stationary terms; each of these has its own
# frequencies, from its spectral density at lengthscale 1: normal for an RBF, for a Matern of
# smoothness nu Student's t of 2 nu degrees of freedom. Columns get theirs in the order `columns`.
# Angles are measured from the middle of the data.
new_fourier <- function(kernel, y, rank, columns = NULL) {
  check_fourier(kernel, rank)
  freedom <- spectral_freedom(kernel)
  count <- rank %/% 2L
  share <- count %/% length(freedom) + (seq_along(freedom) <= count %% length(freedom))
  frequencies <- Map(function(freedom, count, number) {
    with_seed(fourier_seed, number, draw_frequencies(freedom, nrow(y), count))
  }, freedom, share, seq_along(freedom), USE.NAMES = FALSE)
  if (!is.null(columns)) {
    frequencies <- lapply(frequencies, function(drawn) drawn[order(columns), , drop = FALSE])
  }
  structure(list(frequencies = frequencies, centre = middle_point(y), extra = 0),
            class = c("gps_basis_fourier", "gps_basis"))
}

# A mean further than this from the median, in medians of the distances from it, is drawn by few
# points far out: a code among the data, such as 1e30.
far_mean <- 1e3

# The mean of each column, or the median where points far out draw the mean away from all others:
# from there these would have angles of few digits, or one and the same.
middle_point <- function(y) {
  mean <- rowMeans(y)
  median <- apply(some_points(y, max_scale_points), 1, stats::median)
  is_near <- abs(mean - median) <= far_mean * column_scales(y)
  ifelse(is_near, mean, median)
}

#' @export
engine_basis.gps_engine_fourier <- function(engine, kernel, theta, y, tol, n_threads = 1L) {
  new_fourier(kernel, y, engine$rank, engine$columns)
}

# Degrees of freedom of the spectral densities, one for each term that has one.
spectral_freedom <- function(kernel) {
  unlist(lapply(term_types(kernel), function(type) kernel_types[[type]]$freedom))
}

# Terms that have no features of this kind: why not.
featureless <- c(
  rq = "the spectral density of kernel_rq() changes with `alpha`",
  periodic = "the spectrum of kernel_periodic() is one of lines that move with the period",
  product = "the spectral density of a product is not known"
)

# Whether a kernel has features of this kind, and the rank enough of them.
check_fourier <- function(kernel, rank) {
  odd <- intersect(term_types(kernel), names(featureless))
  if (length(odd) > 0) {
    gps_abort(sprintf(paste(
      "Fourier features need frequencies that stay while parameters are learned: %s. What works:",
      "\"ichol\", \"inducing\", \"divide\" or \"exact\"."
    ), featureless[[odd[1]]]))
  }
  n_stationary <- length(spectral_freedom(kernel))
  if (n_stationary == 0) {
    gps_abort(paste(
      "Fourier features stand for stationary terms (RBF, Matern), and this kernel has none:",
      "\"exact\" already takes time that is linear in the number of points there, and \"ichol\"",
      "does."
    ))
  }
  check_even(rank)
  if (rank %/% 2L >= n_stationary) return(invisible(rank))
  gps_abort(sprintf(
    "`rank` must be at least %d, a cosine and a sine for each stationary term, not %d.",
    2L * n_stationary, rank
  ))
}

check_even <- function(rank) {
  if (rank %% 2L == 0) return(invisible(rank))
  gps_abort(sprintf("`rank` must be even, as many cosines as sines, not %d.", rank))
}

draw_frequencies <- function(freedom, n_dims, count) {
  standard <- matrix(stats::rnorm(n_dims * count), n_dims)
  if (freedom == Inf) return(standard)
  standard / rep(sqrt(stats::rchisq(count, freedom) / freedom), each = n_dims)
}

#' @export
basis_features.gps_basis_fourier <- function(basis, kernel, theta, y, n_threads = 1L) {
  features <- .Call(C_gp_fourier_features, gp_kernel_code(kernel), theta, basis, y, n_threads)
  list(features = features, scale = NULL, residual = numeric(ncol(y)))
}

#' @export
basis_evaluate.gps_basis_fourier <- function(basis, engine, theta, goal) {
  .Call(C_gp_fourier_evaluate, engine$code, theta, basis, engine$y, goal, engine$n_threads)
}

# ---- what the engine refuses and says ----

#' @export
engine_check_size.gps_engine_fourier <- function(engine, kernel, n_dims, n_points,
                                                 n_targets = NULL) {
  check_fourier(kernel, engine$rank)
}

#' @export
engine_words.gps_engine_fourier <- function(engine) {
  paste0(rank_words(engine), "random Fourier features")
}

#' @export
engine_story.gps_engine_fourier <- function(engine, fit, number) {
  n_each <- sum(vapply(fit$basis$frequencies, ncol, 0L))
  list(what = sprintf("%d cosines and sines", 2L * n_each), of = " (of the approximation)")
}
