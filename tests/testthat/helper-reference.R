# The models by their definitions, slow and obvious. States are 0/1 columns over all H latents. Data
# are a point, or points x D: a number for each.
# @srrstats {G5.4a, PD4.1}

log_normal <- function(y, mean, covariance) {
  deviation <- as_columns(y) - mean
  -0.5 * (nrow(deviation) * log(2 * pi) + as.numeric(determinant(covariance)$modulus) +
            colSums(deviation * solve(covariance, deviation)))
}

# D x points.
as_columns <- function(y) if (is.matrix(y)) t(y) else matrix(y)

# The mean of models A and B from the means of their latents, n x H.
response_linear <- function(params, mean) {
  response <- mean %*% t(params$W)
  if (is.null(params$intercept)) response else sweep(response, 2, params$intercept, "+")
}

# log p(s, y) of model A.
joint_binary_sparse <- function(params, y, state) {
  prob <- rep_len(params$pi, length(state))
  y <- as_columns(y)
  mean <- drop(response_linear(params, t(state)))
  sum(ifelse(state == 1, log(prob), log(1 - prob))) +
    colSums(dnorm(y, mean, sqrt(params$sigma2), log = TRUE))
}

# Covariance of the slabs of model B, whatever the form of psi.
slab_covariance <- function(psi) if (is.matrix(psi)) psi else diag(psi, length(psi))

# log p(b, y) of model B through the D x D covariance of the data given the state.
joint_spike_slab <- function(params, y, state) {
  prob <- rep_len(params$pi, length(state))
  w <- params$W %*% diag(state, length(state))
  covariance <- params$sigma2 * diag(nrow(w)) + w %*% slab_covariance(params$psi) %*% t(w)
  sum(ifelse(state == 1, log(prob), log(1 - prob))) +
    log_normal(y, drop(response_linear(params, t(state * params$mu))), covariance)
}

# Means, H x points, and covariance of all z of model B, on or off, given a state and the data.
slabs_spike_slab <- function(params, y, state) {
  w <- params$W %*% diag(state, length(state))
  psi <- slab_covariance(params$psi)
  regression <- psi %*% t(w) %*%
    solve(params$sigma2 * diag(nrow(w)) + w %*% psi %*% t(w))
  mean <- drop(response_linear(params, t(state * params$mu)))
  list(mean = params$mu + regression %*% (as_columns(y) - mean),
       covariance = psi - regression %*% w %*% psi)
}

# Covariance of cluster k, whatever the form of sigma.
reference_covariance <- function(params, k) {
  n_dims <- nrow(params$mu)
  sigma <- params$sigma
  if (is.null(dim(sigma))) return(diag(sigma[k], n_dims))
  if (length(dim(sigma)) == 2) return(diag(sigma[, k], n_dims))
  matrix(sigma[, , min(k, dim(sigma)[3])], n_dims)
}

# log p(c, y) of model D; exactly one cluster is on.
joint_mixture <- function(params, y, state) {
  k <- which(state == 1)
  log(params$pi[k]) + log_normal(y, params$mu[, k], reference_covariance(params, k))
}

# Probability of a one in each dimension, n x D, given states, n x H of 0 and 1: none of the causes
# that are on has fired with the product of exp(-W).
response_noisy_or <- function(params, states) {
  1 - rep(1 - params$leak, each = nrow(states)) * exp(-states %*% t(params$W))
}

# log p(s, y) of the noisy-OR.
joint_noisy_or <- function(params, y, state) {
  prob <- rep_len(params$pi, length(state))
  response <- drop(response_noisy_or(params, t(state)))
  sum(log(ifelse(state == 1, prob, 1 - prob))) +
    colSums(log(ifelse(as_columns(y) == 1, response, 1 - response)))
}

# log p(c, y) of the Poisson mixture; exactly one cluster is on.
joint_poisson_mixture <- function(params, y, state) {
  k <- which(state == 1)
  log(params$pi[k]) + colSums(dpois(as_columns(y), params$rate[, k], log = TRUE))
}

# All states of the model, H x n_states.
all_states <- function(row) {
  n_latents <- row$n_latents
  if (row$is_one_hot) return(diag(n_latents))
  t(as.matrix(expand.grid(rep(list(0:1), n_latents))))
}

# What brute force asks of a problem whatever is selected: `joints`, states x n, and, of a model
# that has them, `slabs`, for each point list(mean [H x states], second [H^2 x states]), the first
# and second moments of the values in each state. The last problem's are kept: a test asks for many
# selections.
whole_problem <- local({
  last <- list()
  function(row, params, y) {
    key <- list(row$name, row$n_latents, row$joint, row$slabs, params, y)
    if (identical(last$key, key)) return(last)
    states <- all_states(row)
    of_all <- function(f) lapply(seq_len(ncol(states)), function(m) f(params, y, states[, m]))
    joints <- do.call(rbind, of_all(row$joint))
    slabs <- if (!is.null(row$slabs)) join_slabs(of_all(row$slabs), nrow(y))
    last <<- list(key = key, joints = joints, slabs = slabs)
    last
  }
})

join_slabs <- function(slabs, n_points) {
  lapply(seq_len(n_points), function(n) {
    mean <- vapply(slabs, function(of_state) of_state$mean[, n], slabs[[1]]$mean[, 1])
    covariance <- vapply(slabs, function(of_state) c(of_state$covariance), numeric(nrow(mean)^2))
    pairs <- rep(seq_len(nrow(mean)), nrow(mean))
    list(mean = mean, second = mean[pairs, ] * mean[sort(pairs), ] + covariance)
  })
}

# Truncated posterior of all points: list(log_evidence, mean [n x H], second [H x H x n]) of the
# binary latents; the same of the latents times their values as value, value_second, and of the
# values themselves, on or off, as slab, slab_second; and weight [states x n], the probabilities of
# all `states`. A state is allowed if it is zero outside the selection and has at most max_active
# on.
brute_force <- function(row, params, y, selected, max_active = row$n_latents, beta = 1) {
  states <- all_states(row)
  n_latents <- row$n_latents
  first <- matrix(0, nrow(y), n_latents)
  second <- array(0, c(n_latents, n_latents, nrow(y)))
  result <- list(log_evidence = numeric(nrow(y)), mean = first, second = second, value = first,
                 value_second = second, slab = first, slab_second = second, states = states,
                 weight = matrix(0, ncol(states), nrow(y)))
  whole <- whole_problem(row, params, y)
  is_few <- colSums(states) <= max_active
  # The latents of a pair, in the order in which matrices store pairs.
  one <- rep(seq_len(n_latents), n_latents)
  other <- rep(seq_len(n_latents), each = n_latents)
  for (n in seq_len(nrow(y))) {
    is_off <- setdiff(seq_len(n_latents), selected[n, ])
    allowed <- which(colSums(states[is_off, , drop = FALSE]) == 0 & is_few)
    kept <- states[, allowed, drop = FALSE]
    joint <- beta * whole$joints[allowed, n]
    top <- max(joint)
    weight <- exp(joint - top)
    q <- weight / sum(weight)
    result$log_evidence[n] <- top + log(sum(weight))
    result$weight[allowed, n] <- q
    result$mean[n, ] <- kept %*% q
    result$second[, , n] <- kept %*% (q * t(kept))
    if (is.null(whole$slabs)) next
    mean <- whole$slabs[[n]]$mean[, allowed, drop = FALSE]
    moment <- whole$slabs[[n]]$second[, allowed, drop = FALSE]
    result$value[n, ] <- (kept * mean) %*% q
    result$value_second[, , n] <- (kept[one, , drop = FALSE] * kept[other, , drop = FALSE] *
                                     moment) %*% q
    result$slab[n, ] <- mean %*% q
    result$slab_second[, , n] <- moment %*% q
  }
  if (is.null(whole$slabs)) {
    # A latent without a value is its own.
    result[c("value", "slab")] <- list(result$mean)
    result[c("value_second", "slab_second")] <- list(result$second)
  }
  result
}

# What models A and B keep of the data alone: squares about a centre, and distances from it, which
# only models with an intercept have.
square_about <- function(y, centre) {
  if (length(centre) == 0) sum(y^2) else sum(sweep(y, 2, centre)^2)
}

sum_about <- function(y, centre) {
  if (length(centre) == 0) numeric() else colSums(sweep(y, 2, centre))
}

# Sufficient statistics of model A from a posterior.
stats_binary_sparse <- function(y, posterior, centre) {
  list(count = nrow(y), data_square = square_about(y, centre), on = colSums(posterior$mean),
       on_on = rowSums(posterior$second, dims = 2), data_on = t(y) %*% posterior$mean,
       data_sum = sum_about(y, centre))
}

# Sufficient statistics of model B. What z differ from their prior by, in units of Psi, is only kept
# where slabs are correlated.
stats_spike_slab <- function(params, y, posterior, centre) {
  stats <- list(count = nrow(y), data_square = square_about(y, centre),
                on = colSums(posterior$mean),
                value = colSums(posterior$value),
                value_value = rowSums(posterior$value_second, dims = 2),
                data_value = t(y) %*% posterior$value, pull = numeric(), pull_pull = numeric(),
                data_sum = sum_about(y, centre))
  if (!is.matrix(params$psi)) return(stats)
  total <- colSums(posterior$slab)
  about_mean <- rowSums(posterior$slab_second, dims = 2) - total %o% params$mu -
    params$mu %o% total + nrow(y) * params$mu %o% params$mu
  inverse <- solve(params$psi)
  stats$pull <- drop(inverse %*% (total - nrow(y) * params$mu))
  stats$pull_pull <- inverse %*% (about_mean - nrow(y) * params$psi) %*% inverse
  stats
}

# Statistics of model D about a centre: second moments D x D x C, D x C, C, or D x D x 1 of all.
stats_mixture <- function(form) {
  function(y, posterior, centre) {
    x <- sweep(y, 2, centre)
    weight <- posterior$mean
    moment <- function(k) t(x) %*% (weight[, k] * x)
    full <- array(vapply(seq_len(ncol(weight)), moment, diag(ncol(y))),
                  c(ncol(y), ncol(y), ncol(weight)))
    second <- switch(form, full = full, diagonal = t(x^2) %*% weight,
                     spherical = colSums(weight * rowSums(x^2)),
                     tied = array(rowSums(full, dims = 2), c(dim(full)[1:2], 1)))
    list(count = nrow(y), on = colSums(weight), first = t(x) %*% weight, second = second)
  }
}

# Statistics of the noisy-OR at parameters: how often each cause was on and fired, and the leak.
stats_noisy_or <- function(params, y, posterior) {
  stats <- list(count = nrow(y), on = colSums(posterior$mean), fired = 0 * params$W,
                leaked = 0 * params$leak)
  fire <- 1 - exp(-params$W)
  response <- response_noisy_or(params, t(posterior$states))
  for (n in seq_len(nrow(y))) {
    for (m in which(posterior$weight[, n] > 0)) {
      share <- posterior$weight[m, n] * y[n, ] / response[m, ]
      stats$leaked <- stats$leaked + share * params$leak
      stats$fired <- stats$fired + share * fire * rep(posterior$states[, m], each = ncol(y))
    }
  }
  stats
}

# The statistics of a model as the references have them: both triangles, no padding.
plain_stats <- function(row, stats) {
  for (name in intersect(names(stats), c("on_on", "value_value", "pull_pull"))) {
    upper <- stats[[name]] * upper.tri(stats[[name]], diag = TRUE)
    stats[[name]] <- upper + t(upper) - diag(diag(upper), nrow(upper))
  }
  if (length(dim(stats$second)) == 3) {
    stats$second <- stats$second[seq_len(dim(stats$second)[2]), , , drop = FALSE]
  }
  stats
}

# M-steps from the posterior alone, without floors. An intercept is a latent that is always on.
mstep_linear <- function(y, posterior, shared, intercept = FALSE) {
  first <- cbind(posterior$value, if (intercept) 1)
  second <- lapply(seq_len(nrow(y)), function(n) {
    if (!intercept) return(posterior$value_second[, , n])
    rbind(cbind(posterior$value_second[, , n], posterior$value[n, ]), first[n, ])
  })
  w <- t(solve(Reduce(`+`, second), t(first) %*% y))
  expected_square <- sum(vapply(seq_len(nrow(y)), function(n) {
    sum(y[n, ]^2) - 2 * sum(y[n, ] * (w %*% first[n, ])) + sum(diag(t(w) %*% w %*% second[[n]]))
  }, 1))
  latents <- seq_len(ncol(posterior$value))
  c(list(W = w[, latents], pi = if (shared) mean(posterior$mean) else colMeans(posterior$mean),
         sigma2 = expected_square / length(y)),
    if (intercept) list(intercept = w[, max(latents) + 1]))
}

mstep_spike_slab <- function(y, posterior, shared, is_full, intercept = FALSE) {
  result <- mstep_linear(y, posterior, shared, intercept)
  if (is_full) {
    result$mu <- colMeans(posterior$slab)
    result$psi <- rowMeans(posterior$slab_second, dims = 2) - tcrossprod(result$mu)
  } else {
    result$mu <- colSums(posterior$value) / colSums(posterior$mean)
    square <- diag(rowSums(posterior$value_second, dims = 2))
    result$psi <- square / colSums(posterior$mean) - result$mu^2
  }
  result
}

mstep_noisy_or <- function(params, y, posterior, shared) {
  stats <- stats_noisy_or(params, y, posterior)
  list(W = -log(1 - sweep(stats$fired, 2, stats$on, "/")),
       pi = if (shared) mean(posterior$mean) else colMeans(posterior$mean),
       leak = stats$leaked / nrow(y))
}

mstep_mixture <- function(y, posterior, form) {
  weight <- posterior$mean
  total <- colSums(weight)
  mu <- sweep(t(y) %*% weight, 2, total, "/")
  covariance <- function(k) {
    x <- sweep(y, 2, mu[, k])
    t(x) %*% (weight[, k] * x) / total[k]
  }
  clusters <- seq_len(ncol(weight))
  sigma <- switch(
    form,
    full = array(vapply(clusters, covariance, diag(ncol(y))), c(ncol(y), ncol(y), ncol(weight))),
    diagonal = matrix(vapply(clusters, function(k) diag(covariance(k)), numeric(ncol(y))), ncol(y)),
    spherical = vapply(clusters, function(k) mean(diag(covariance(k))), 1),
    tied = {
      pooled <- Reduce(`+`, lapply(clusters, function(k) total[k] * covariance(k))) / sum(total)
      array(pooled, c(dim(pooled), 1))
    }
  )
  list(mu = mu, sigma = sigma, pi = total / nrow(y))
}

# Greedy and singleton screening of one point among candidates: the selected latents, ascending.
# Equal gains do not occur in the tests. A state grows by the latent that gains most as long as one
# does; each of its latents is taken back on trial, and the state grown again without it; what slots
# are left go to the latents of the best other states that were looked at. `joints` are those of all
# states of the point.
screen_reference <- function(row, joints, candidates, n_selected, is_greedy, n_sweeps = 2) {
  joint_of <- function(latents) {
    joints[if (row$is_one_hot) latents else 1 + sum(2^(latents - 1))]
  }
  single <- best <- rep(-Inf, row$n_latents)
  single[candidates] <- best[candidates] <- vapply(candidates, joint_of, 1)
  if (row$is_one_hot || !is_greedy) n_sweeps <- -1
  note <- function(latents, joint) best[latents] <<- pmax(best[latents], joint)
  grow <- function(on, without = integer()) {
    while (length(on) < n_selected) {
      open <- setdiff(candidates, c(on, without))
      joint <- vapply(open, function(latent) joint_of(c(on, latent)), 1)
      note(open, joint)
      if (length(open) == 0 || max(joint) <= joint_of(on)) break
      on <- c(on, open[which.max(joint)])
    }
    on
  }
  on <- if (n_sweeps < 0) integer() else grow(integer())
  for (sweep in seq_len(max(0, n_sweeps))) {
    has_changed <- FALSE
    for (latent in on) {
      rest <- on
      rest[match(latent, rest)] <- rest[length(rest)]
      rest <- rest[-length(rest)]
      open <- setdiff(candidates, rest)
      note(open, vapply(open, function(other) joint_of(c(rest, other)), 1))
      trial <- grow(rest, latent)
      if (joint_of(trial) > joint_of(on)) {
        on <- trial
        has_changed <- TRUE
      } else {
        note(trial, joint_of(trial))
      }
    }
    if (!has_changed) break
  }
  left <- setdiff(candidates, on)
  n_left <- min(length(left), n_selected - length(on))
  sort(c(on, left[order(-signif(best[left], 12), -single[left])][seq_len(n_left)]))
}

# Log evidence, means in the slots of `selected` and zero elsewhere: n x H from n x slots.
spread_slots <- function(value, selected, n_latents) {
  dense <- matrix(0, nrow(value), n_latents)
  for (n in seq_len(nrow(value))) {
    held <- selected[n, ] > 0
    dense[n, selected[n, held]] <- value[n, held]
  }
  dense
}

# A template ordered by size, also where all subsets are allowed.
size_ordered <- function(rule, n_slots, max_active) {
  on <- subsets_by_size(rule$min_active, n_slots, max_active)
  active <- matrix(0L, max_active, length(on))
  for (m in seq_along(on)) active[seq_along(on[[m]]), m] <- as.integer(on[[m]])
  structure(list(n_slots = as.integer(n_slots), max_active = as.integer(max_active),
                 n_states = length(on), n_active = lengths(on), active = active,
                 parent = find_parents(active, lengths(on)), all_subsets = FALSE),
            class = "gps_states")
}

# States as bit masks over all latents -> log joints of the oracle in the template's order.
template_masks <- function(states, selected) {
  vapply(seq_len(states$n_states), function(m) {
    slots <- states$active[seq_len(states$n_active[m]), m]
    sum(2^(selected[slots] - 1))
  }, 1)
}
