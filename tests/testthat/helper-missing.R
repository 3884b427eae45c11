# Models whose data points lack cells, by their definitions: given a state, data and values of the
# latents are normal together, and the cells that are there are conditioned on.

# Dimensions are independent given a state: list(prior, mean, log_density(y)) of a model of ones or
# of counts, NULL of others.
counts_of_state <- function(params, state) {
  if (!is.null(params$leak)) {
    prob <- rep_len(params$pi, length(state))
    mean <- drop(response_noisy_or(params, t(state)))
    return(list(prior = sum(ifelse(state == 1, log(prob), log(1 - prob))), mean = mean,
                log_density = function(y) ifelse(y == 1, log(mean), log1p(-mean))))
  }
  if (is.null(params$rate)) return(NULL)
  k <- which(state == 1)
  list(prior = log(params$pi[k]), mean = params$rate[, k],
       log_density = function(y) dpois(y, params$rate[, k], log = TRUE))
}

# list(prior, mean, covariance) of c(y, z) given a state, and the log probability of the state; z
# only in model B.
joint_of_state <- function(params, state) {
  counts <- counts_of_state(params, state)
  if (!is.null(counts)) return(counts)
  if (!is.null(params[["sigma"]])) {
    k <- which(state == 1)
    return(list(prior = log(params$pi[k]), mean = params$mu[, k],
                covariance = reference_covariance(params, k)))
  }
  prob <- rep_len(params$pi, length(state))
  prior <- sum(ifelse(state == 1, log(prob), log(1 - prob)))
  noise <- params$sigma2 * diag(nrow(params$W))
  if (is.null(params$mu)) {
    return(list(prior = prior, mean = drop(response_linear(params, t(state))), covariance = noise))
  }
  psi <- slab_covariance(params$psi)
  loads <- rbind(params$W %*% diag(state, length(state)), diag(length(state)))
  covariance <- loads %*% psi %*% t(loads)
  dims <- seq_len(nrow(params$W))
  covariance[dims, dims] <- covariance[dims, dims] + noise
  list(prior = prior, covariance = covariance,
       mean = c(drop(response_linear(params, t(state * params$mu))), params$mu))
}

# list(log_density, mean, covariance) of all of v after the entries of `given` that are not NA.
condition_normal <- function(joint, given) {
  if (!is.null(joint$log_density)) {
    return(list(log_density = sum(joint$log_density(given), na.rm = TRUE),
                mean = ifelse(is.na(given), joint$mean, given), is_missing = is.na(given),
                signal = joint$mean))
  }
  is_known <- c(!is.na(given), rep(FALSE, length(joint$mean) - length(given)))
  mean <- joint$mean
  mean[is_known] <- given[!is.na(given)]
  covariance <- joint$covariance
  if (!any(is_known)) return(list(log_density = 0, mean = mean, covariance = covariance))
  if (!anyNA(given) && all(is_known)) {
    covariance[] <- 0
    return(list(log_density = log_normal(mean, joint$mean, joint$covariance), mean = mean,
                covariance = covariance))
  }
  known <- covariance[is_known, is_known, drop = FALSE]
  cross <- covariance[!is_known, is_known, drop = FALSE]
  step <- mean[is_known] - joint$mean[is_known]
  mean[!is_known] <- mean[!is_known] + drop(cross %*% solve(known, step))
  covariance[] <- 0
  covariance[!is_known, !is_known] <- joint$covariance[!is_known, !is_known] -
    cross %*% solve(known, t(cross))
  list(log_density = log_normal(mean[is_known], joint$mean[is_known], known), mean = mean,
       covariance = covariance)
}

# What one point and state, with probability q, add to the statistics of the model.
state_stats <- function(params, state, given, centre, q) {
  if (!is.null(params$rate)) {
    return(list(count = q, on = q * state, sum = q * outer(given$mean, state)))
  }
  if (!is.null(params$leak)) {
    # A cell of 1 was turned on by those that fired; in a missing one each fires by itself.
    fire <- (1 - exp(-params$W)) * rep(state, each = nrow(params$W))
    share <- ifelse(given$is_missing, 1, given$mean / given$signal)
    return(list(count = q, on = q * state, fired = q * fire * share,
                leaked = q * params$leak * share))
  }
  n_dims <- if (is.null(params[["sigma"]])) nrow(params$W) else nrow(params$mu)
  dims <- seq_len(n_dims)
  y <- given$mean[dims]
  spread <- given$covariance[dims, dims, drop = FALSE]
  origin <- if (length(centre) == 0) numeric(n_dims) else centre
  second <- tcrossprod(y - origin) + spread
  if (!is.null(params[["sigma"]])) {
    moment <- switch(length(dim(params[["sigma"]])) + 1, sum(diag(second)), NULL, diag(second),
                     second)
    return(list(count = q, on = q * state, first = q * outer(y - origin, state),
                second = q * if (identical(dim(params$sigma)[3], 1L)) moment else
                  outer(moment, state)))
  }
  common <- list(count = q, data_square = q * sum(diag(second)),
                 data_sum = if (length(centre) > 0) q * (y - centre) else numeric())
  if (is.null(params$mu)) {
    return(c(common, list(on = q * state, on_on = q * tcrossprod(state),
                          data_on = q * outer(y, state))))
  }
  z <- given$mean[-dims]
  slab <- given$covariance[-dims, -dims, drop = FALSE]
  with_data <- outer(y, z) + given$covariance[dims, -dims, drop = FALSE]
  stats <- c(common, list(on = q * state, value = q * state * z,
                          value_value = q * tcrossprod(state) * (tcrossprod(z) + slab),
                          data_value = q * with_data * rep(state, each = n_dims),
                          pull = numeric(), pull_pull = numeric()))
  if (!is.matrix(params$psi)) return(stats)
  inverse <- solve(params$psi)
  stats$pull <- q * drop(inverse %*% (z - params$mu))
  stats$pull_pull <- q * inverse %*% (tcrossprod(z - params$mu) + slab - params$psi) %*% inverse
  stats
}

# list(log_evidence, mean [n x H], value [n x H], imputed [n x D], stats) over all states of the
# selected latents.
brute_missing <- function(row, params, y, selected, max_active, centre) {
  states <- all_states(row)
  dims <- seq_len(ncol(y))
  result <- list(log_evidence = numeric(nrow(y)), mean = matrix(0, nrow(y), row$n_latents),
                 value = matrix(0, nrow(y), row$n_latents), imputed = 0 * y, stats = NULL)
  result$imputed[] <- 0
  for (n in seq_len(nrow(y))) {
    is_off <- setdiff(seq_len(row$n_latents), selected[n, ])
    kept <- states[, colSums(states[is_off, , drop = FALSE]) == 0 & colSums(states) <= max_active,
                   drop = FALSE]
    joints <- apply(kept, 2, function(state) joint_of_state(params, state), simplify = FALSE)
    given <- lapply(joints, condition_normal, y[n, ])
    joint <- vapply(seq_along(given), function(m) joints[[m]]$prior + given[[m]]$log_density, 1)
    weight <- exp(joint - max(joint))
    q <- weight / sum(weight)
    result$log_evidence[n] <- max(joint) + log(sum(weight))
    for (m in seq_along(q)) {
      state <- kept[, m]
      z <- if (length(given[[m]]$mean) > ncol(y)) given[[m]]$mean[-dims] else 1
      result$mean[n, ] <- result$mean[n, ] + q[m] * state
      result$value[n, ] <- result$value[n, ] + q[m] * state * z
      result$imputed[n, ] <- result$imputed[n, ] + q[m] * given[[m]]$mean[dims]
      part <- state_stats(params, state, given[[m]], centre, q[m])
      result$stats <- if (is.null(result$stats)) part else
        Map(`+`, result$stats, part[names(result$stats)])
    }
  }
  result
}

# Of all points: the gains of each of `others` beside `given`, and the log joints of `given` alone
# and with each of the others.
ask_missing <- function(case, open, inputs, given, others) {
  n <- nrow(case$y)
  problem <- native_problem(case$model, inputs)
  ask <- function(latents) matrix(as.integer(latents), length(latents), n)
  gain <- .Call(C_probe_gains, case$model$native, problem, open$task$y, open$block, ask(given),
                ask(others), new_states(2L, 1L, list()), 0L)$gain
  joint <- vapply(c(list(given), lapply(others, function(h) c(given, h))), function(latents) {
    states <- template_of(matrix(1L, length(latents), 1))
    .Call(C_probe_states, case$model$native, problem, case$model$stats_dims, open$task$y,
          open$block, ask(latents), states, 0)$log_joint[1, ]
  }, numeric(n))
  list(gain = gain, joint = t(joint))
}

# The case of a model with a share of its cells missing, one point complete and one with nothing.
missing_case <- function(row, n = 12, share = 0.3) {
  case <- draw_case(row, n)
  set.seed(5)
  whole <- case$y
  case$y[runif(length(case$y)) < share] <- NA
  case$y[1, ] <- if (is.null(row$blank)) seq_len(ncol(case$y)) else whole[1, ]
  case$y[2, ] <- NA
  case$model <- gps_bind(case$model, ifelse(is.na(case$y), 0, case$y))
  case
}
