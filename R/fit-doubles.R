# Components of a fit that are nearly the same: of columns of W, of pictures, of clusters.

duplicate_level <- 0.99
most_compared <- 2000L

# Pairs of components that are nearly the same, as rows of a matrix. Beyond most_compared components
# none are looked for, and no more pairs of covariance matrices are compared than that.
find_duplicates <- function(params, model = NULL) {
  n_components <- max(0L, ncol(params$W), ncol(params$mu), ncol(params$rate), model$n_components)
  if (n_components > most_compared) return(matrix(0L, 0, 2))
  if (!has_images(model) && is_gaussian(params)) return(find_double_clusters(params))
  overlap <- if (has_images(model)) {
    picture_overlap(params, model)
  } else if (is.matrix(params$W)) {
    abs(crossprod(unit_columns(params$W)))
  } else if (inherits(model, "gps_poisson_mixture")) {
    count_overlap(params)
  } else {
    matrix(0)
  }
  pairs_of(overlap >= duplicate_level)
}

is_gaussian <- function(params) {
  !is.matrix(params$W) && !is.null(params$mu) && !is.null(params$sigma)
}

# Rows and columns of what is TRUE above the diagonal, by columns. Few are: upper.tri() of all would
# take longer.
pairs_of <- function(is_pair) {
  pairs <- arrayInd(which(is_pair), dim(is_pair))
  pairs[pairs[, 1] < pairs[, 2], , drop = FALSE]
}

# 1 for pairs of components that repairs take for doubles, K x K.
picture_overlap <- function(params, model) {
  spectra <- lapply(seq_len(model$n_components), function(h) masked_spectrum(model, params, h))
  overlap <- diag(model$n_components)
  for (pair in utils::combn(model$n_components, min(2, model$n_components), simplify = FALSE)) {
    alike <- best_correlation(spectra[[pair[1]]], spectra[[pair[length(pair)]]])
    overlap[pair[1], pair[length(pair)]] <- alike$correlation > duplicate_correlation
  }
  overlap
}

# Pairs of Gaussian clusters whose Bhattacharyya coefficient is at least duplicate_level. What is
# cheap leaves most pairs out: none is one whose means are further apart, in units of the widest
# cluster along each column, than the level allows with these widths.
find_double_clusters <- function(params) {
  n_dims <- nrow(params$mu)
  variance <- vapply(seq_len(ncol(params$mu)), function(k) cluster_variances(params, k),
                     numeric(n_dims))
  variance <- matrix(variance, n_dims)
  has_matrices <- length(dim(params$sigma)) == 3
  x <- (params$mu - rowMeans(params$mu)) / sqrt(do.call(pmax, as.list(as.data.frame(variance))))
  half <- colSums(x^2) / 2
  far <- -4 * log(duplicate_level) * if (has_matrices) n_dims else 1
  # Half the squared distance of i and j, less that of j.
  gap <- half - crossprod(x)
  pairs <- pairs_of(gap <= rep(1.01 * far + 1e-12 * max(half) - half, each = length(half)))
  parts <- split(seq_len(nrow(pairs)), (seq_len(nrow(pairs)) - 1) %/% max(1, 1e6 %/% n_dims))
  is_double <- unlist(lapply(parts, function(part) {
    are_double(params, variance, pairs[part, , drop = FALSE], has_matrices)
  }), use.names = FALSE)
  pairs[as.logical(is_double), , drop = FALSE]
}

# Of clusters with matrices no coefficient is larger than that of any column alone, and only those
# whose columns overlap are compared as a whole; of others it is the product over the columns.
are_double <- function(params, variance, pairs, has_matrices) {
  overlap <- column_overlap(params$mu, variance, pairs)
  if (!has_matrices) return(colSums(overlap) >= log(duplicate_level))
  is_double <- apply(overlap, 2, min) >= log(duplicate_level)
  is_double[-utils::head(which(is_double), most_compared)] <- FALSE
  for (i in which(is_double)) {
    is_double[i] <- full_overlap(params, pairs[i, 1], pairs[i, 2]) >= duplicate_level
  }
  is_double
}

# Logarithms of the Bhattacharyya coefficients of pairs of clusters, of each column: D x pairs.
column_overlap <- function(mu, variance, pairs) {
  first <- variance[, pairs[, 1], drop = FALSE]
  second <- variance[, pairs[, 2], drop = FALSE]
  mean <- (first + second) / 2
  shift <- mu[, pairs[, 1], drop = FALSE] - mu[, pairs[, 2], drop = FALSE]
  -shift^2 / (8 * mean) - 0.5 * log(mean) + 0.25 * (log(first) + log(second))
}

# The coefficient of two clusters with matrices.
full_overlap <- function(params, i, j) {
  first <- cluster_covariance(params, i)
  second <- cluster_covariance(params, j)
  root <- chol((first + second) / 2)
  half_log_det <- function(x) sum(log(diag(x)))
  distance <- sum(backsolve(root, params$mu[, i] - params$mu[, j], transpose = TRUE)^2) / 8 +
    half_log_det(root) - 0.5 * (half_log_det(chol(first)) + half_log_det(chol(second)))
  exp(-distance)
}

# The same of clusters of counts, C x C.
count_overlap <- function(params) {
  exp(-0.5 * square_distances(sqrt(params$rate), colSums(params$rate), seq_len(ncol(params$rate))))
}

# "1 and 3, 2 and 4", with names where there are some, of at most so many pairs.
pair_words <- function(pairs, names = NULL, most = Inf) {
  if (is.null(names)) names <- seq_len(max(pairs))
  shown <- pairs[seq_len(min(most, nrow(pairs))), , drop = FALSE]
  words <- paste(names[shown[, 1]], "and", names[shown[, 2]], collapse = ", ")
  n_left <- nrow(pairs) - nrow(shown)
  if (n_left == 0) words else sprintf("%s, and %s more", words, plural(n_left, "pair"))
}

# A line of print() on clusters of a mixture that are double, NULL where none is.
describe_doubles <- function(fit) {
  # Beside values far from all others all clusters are the same.
  if (!is_one_hot(fit) || "far" %in% names(fit$standing$degenerate)) return(NULL)
  pairs <- find_duplicates(fit$params, fit$model)
  if (nrow(pairs) == 0) return(NULL)
  c(Double = sprintf("clusters %s, nearly the same: fewer clusters say as much",
                     pair_words(pairs, latent_labels(fit, seq_len(fit$model$n_latents)), 4)))
}
