# A local optimum of its own kind: two components as mixtures of two true ones. Where values are
# free, each point of either true component is explained by both, whose values then lie on a line.
# The move turns the two components onto the two lines on which most points lie.

# Directions tried, and pairs looked at for each latent.
turn_angles <- 90L
turn_pairs <- 2L

# Moves that turn pairs and groups, best first. `value` [H x N] are posterior means, 0 where off.
turning_moves <- function(params, value) {
  # Components of a single column have nowhere to turn to.
  if (nrow(params$W) == 1) return(list())
  pairs <- frequent_pairs(value != 0)
  turns <- lapply(seq_len(nrow(pairs)), function(i) turn_pair(params, value, pairs[i, ]))
  turns <- c(turns[!vapply(turns, is.null, NA)], group_turns(params, value))
  gain <- vapply(turns, `[[`, 1, "gain")
  lapply(turns[order(-gain)], function(turn) {
    list(params = turned_params(params, turn), latents = turn$latents, event = "turned")
  })
}

# Pairs that are on together more often than by chance, those most in excess first.
frequent_pairs <- function(on) {
  count <- tcrossprod(on + 0)
  excess <- count - tcrossprod(rowSums(on)) / ncol(on)
  excess[lower.tri(excess, diag = TRUE) | count < least_turned(ncol(on))] <- 0
  ranked <- utils::head(order(-excess), turn_pairs * nrow(on))
  arrayInd(ranked[excess[ranked] > 0], dim(excess))
}

# The two lines through the values of a pair, and roughly what the bound gains by them; NULL where
# none is gained. In coordinates in which the noise is round, a point within noise of a line needs
# one latent instead of two, and saves the other's prior and the volume that its value takes.
turn_pair <- function(params, value, pair) {
  root <- tryCatch(chol(crossprod(params$W[, pair])), error = function(condition) NULL)
  if (is.null(root)) return(NULL)
  x <- root %*% value[pair, colSums(value[pair, ] != 0) > 0, drop = FALSE]
  prob <- mean(params$pi[if (length(params$pi) > 1) pair else 1])
  saving <- log1p(-prob) - log(prob) + 0.5 * log1p(mean(root^2) / params$sigma2)
  angle <- pi * seq_len(turn_angles) / turn_angles
  lines <- cbind(root %*% diag(1 / sqrt(colSums(root^2))), rbind(cos(angle), sin(angle)))
  distance <- colSums(x^2) - crossprod(x, lines)^2
  gain <- pmax(saving - distance / (2 * params$sigma2), 0)
  best <- best_columns(gain)
  rise <- sum(pmax(gain[, best[1]], gain[, best[2]])) - sum(pmax(gain[, 1], gain[, 2]))
  if (rise <= least_turned(ncol(value)) * saving) return(NULL)
  nearer <- ifelse(gain[, best[1]] >= gain[, best[2]], 1, 2)
  nearer[pmax(gain[, best[1]], gain[, best[2]]) == 0] <- 0
  axes <- lapply(1:2, function(k) fit_line(x[, nearer == k, drop = FALSE]))
  if (any(vapply(axes, is.null, NA))) return(NULL)
  list(latents = pair, gain = rise, mean = vapply(axes, `[[`, 1, "mean"),
       share = vapply(axes, `[[`, 1L, "n") / ncol(value),
       w = params$W[, pair] %*% backsolve(root, vapply(axes, `[[`, numeric(2), "axis")))
}

# The two columns whose larger entries have the largest sum, the second given the first and the
# first given the second.
best_columns <- function(gain) {
  first <- which.max(colSums(gain))
  second <- which.max(colSums(pmax(gain, gain[, first])))
  c(which.max(colSums(pmax(gain, gain[, second]))), second)
}

# The axis of the columns of x [2 x n] in units of the mean square along it, and the mean in these
# units, at least 0.
fit_line <- function(x) {
  if (ncol(x) < 2) return(NULL)
  axis <- eigen(tcrossprod(x), symmetric = TRUE)$vectors[, 1]
  along <- drop(crossprod(x, axis))
  size <- sqrt(mean(along^2))
  if (!(size > 0)) return(NULL)
  towards <- if (sum(along) < 0) -1 else 1
  list(axis = towards * size * axis, mean = towards * mean(along) / size, n = ncol(x))
}

# Parameters with the latents of a turn as it has them: `w` their components, `mean` of values whose
# mean square is 1, `share` of the points that each is on for.
turned_params <- function(params, turn) {
  params$W[, turn$latents] <- turn$w
  if (length(params$pi) > 1) {
    params$pi[turn$latents] <- pmin(pmax(turn$share, 1e-4), 1 - 1e-4)
  }
  params$mu[turn$latents] <- turn$mean
  set_variances(params, turn$latents, pmax(1 - turn$mean^2, 0.01))
}
