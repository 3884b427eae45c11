# Rotations among more than two components. Where values have no mean, orthogonal mixtures of four
# causes may be such that no turn of a pair is of use. What tells causes from their mixtures are
# fourth moments, as in independent component analysis: the more causes in a sum, the closer it
# comes to a normal distribution.

# Most components turned together, and from how many standard errors of chance latents that are on
# together count as one group.
most_turned <- 32L
group_chance <- 3

# Sweeps over all pairs of a group, and angles tried for each pair.
turn_sweeps <- 20L
sweep_angles <- 90L

# Turns of groups: list(latents, gain, params) each, of groups that have no latent in common.
group_turns <- function(params, value) {
  groups <- linked_groups(value != 0)
  turns <- lapply(groups, function(group) turn_group(params, value, group))
  turns <- turns[!vapply(turns, is.null, NA)]
  gain <- vapply(turns, `[[`, 1, "gain")
  kept <- list()
  for (turn in turns[order(-gain)]) {
    taken <- unlist(lapply(kept, `[[`, "latents"))
    if (!any(turn$latents %in% taken)) kept <- c(kept, list(turn))
  }
  kept
}

# Sets of three latents and more that are on together more often than chance has it, by single
# linkage: as the least correlation falls, groups grow together, and each that there ever is counts.
linked_groups <- function(on) {
  least <- least_turned(ncol(on))
  often <- which(rowSums(on) >= least & rowSums(!on) >= least)
  if (length(often) < 3) return(list())
  link <- stats::cor(t(on[often, , drop = FALSE] + 0))
  tree <- stats::hclust(stats::as.dist(1 - link), "single")
  groups <- list()
  for (step in which(1 - tree$height > group_chance / sqrt(ncol(on)))) {
    parts <- lapply(tree$merge[step, ], function(part) {
      if (part < 0) -part else groups[[part]]
    })
    groups[[step]] <- unlist(parts)
  }
  size <- lengths(groups)
  lapply(groups[size > 2 & size <= most_turned], function(group) sort(often[group]))
}

# One rotation of a group, to values that are as independent as fourth moments tell, and roughly
# what the bound gains: a latent that is on costs `saving`, one that is off what it would explain.
# NULL where nothing is gained.
turn_group <- function(params, value, group) {
  n_points <- ncol(value)
  value <- value[group, , drop = FALSE]
  w <- params$W[, group]
  spread <- eigen(tcrossprod(value - rowMeans(value)) / n_points, symmetric = TRUE)
  if (min(spread$values) <= 1e-8 * max(spread$values)) return(NULL)
  whiten <- t(spread$vectors) / sqrt(spread$values)
  turn <- independent_turn(whiten %*% (value - rowMeans(value)))
  turned <- turn %*% whiten %*% value
  turned_w <- w %*% (spread$vectors * rep(sqrt(spread$values), each = length(group))) %*% t(turn)
  prob <- mean(params$pi[if (length(params$pi) > 1) group else 1])
  saving <- log1p(-prob) - log(prob) + 0.5 * log1p(mean(colSums(w^2)) / params$sigma2)
  if (saving <= 0) return(NULL)
  misfit <- turned^2 * (colSums(turned_w^2) / (2 * params$sigma2))
  before <- value^2 * (colSums(w^2) / (2 * params$sigma2))
  gain <- sum(pmin(before, saving)) - sum(pmin(misfit, saving))
  if (gain <= least_turned(n_points) * saving) return(NULL)
  slabs <- lapply(seq_along(group), function(k) slab_of(turned[k, misfit[k, ] > saving]))
  if (any(vapply(slabs, is.null, NA))) return(NULL)
  size <- vapply(slabs, `[[`, 1, "size")
  list(latents = group, gain = gain, mean = vapply(slabs, `[[`, 1, "mean"),
       share = vapply(slabs, `[[`, 1L, "n") / n_points,
       w = turned_w * rep(size, each = nrow(w)))
}

# Of values that are on: their root mean square with the sign of their mean, by which they are
# divided, the mean that they then have, and their number.
slab_of <- function(value) {
  size <- sqrt(mean(value^2))
  if (length(value) < 2 || !(size > 0)) return(NULL)
  towards <- if (sum(value) < 0) -1 else 1
  list(size = towards * size, mean = towards * mean(value) / size, n = length(value))
}

# The rotation [k x k] of rows of unit covariance at which the squared excesses of their fourth
# moments have the largest sum, pair by pair.
independent_turn <- function(x) {
  k <- nrow(x)
  turn <- diag(k)
  angle <- pi / 2 * (seq_len(sweep_angles) - 1) / sweep_angles
  angle[angle > pi / 4] <- angle[angle > pi / 4] - pi / 2
  for (sweep in seq_len(turn_sweeps)) {
    is_done <- TRUE
    for (i in seq_len(k - 1)) for (j in seq(i + 1, k)) {
      best <- angle[best_angle(x[i, ], x[j, ], angle)]
      if (best == 0) next
      is_done <- FALSE
      rotation <- rbind(c(cos(best), sin(best)), c(-sin(best), cos(best)))
      x[c(i, j), ] <- rotation %*% x[c(i, j), ]
      turn[c(i, j), ] <- rotation %*% turn[c(i, j), ]
    }
    if (is_done) break
  }
  turn
}

# Number of the angle, the first of which is 0, by which two rows are to be turned; 1 unless the
# best is better by more than rounding.
best_angle <- function(a, b, angle) {
  aa <- a^2
  ab <- a * b
  bb <- b^2
  moments <- c(mean(aa^2), 4 * mean(aa * ab), 6 * mean(ab^2), 4 * mean(ab * bb), mean(bb^2))
  excess <- function(cosine, sine) {
    drop(cbind(cosine^4, cosine^3 * sine, cosine^2 * sine^2, cosine * sine^3, sine^4) %*%
           moments) - 3
  }
  contrast <- excess(cos(angle), sin(angle))^2 + excess(-sin(angle), cos(angle))^2
  best <- which.max(contrast)
  if (contrast[best] > contrast[1] + 1e-8 * (1 + contrast[1])) best else 1L
}

# Points that a turn must be of use to, of so many. Of few data points only a few tell a mixture of
# two components from one of them: a limit that does not fall with their number would leave none to
# be tried. The bound decides.
least_turned <- function(n_points) min(8, n_points / 250)
