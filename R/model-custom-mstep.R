# M-steps of models of R functions: the user's own, or the expected log joint maximised by optim().

#' @rdname model_custom
#' @export
posterior_mean <- function(posterior) {
  need_given()
  check_class(posterior, "posterior", "gps_posterior", "what `mstep` gets")
  mean <- matrix(0, posterior$n_latents, ncol(posterior$prob))
  prob_on <- posterior$on %*% posterior$prob
  held <- posterior$selected > 0
  mean[cbind(posterior$selected[held], col(posterior$selected)[held])] <- prob_on[held]
  mean
}

#' @rdname model_custom
#' @export
posterior_second <- function(posterior) {
  need_given()
  check_class(posterior, "posterior", "gps_posterior", "what `mstep` gets")
  n_latents <- posterior$n_latents
  pairs <- which(upper.tri(diag(nrow(posterior$on)), diag = TRUE), arr.ind = TRUE)
  both <- (posterior$on[pairs[, 1], , drop = FALSE] * posterior$on[pairs[, 2], , drop = FALSE]) %*%
    weigh_columns(posterior$prob, posterior$weights)
  one <- posterior$selected[pairs[, 1], , drop = FALSE]
  other <- posterior$selected[pairs[, 2], , drop = FALSE]
  held <- one > 0 & other > 0
  upper <- matrix(0, n_latents, n_latents)
  if (any(held)) {
    total <- rowsum(both[held], one[held] + n_latents * (other[held] - 1), reorder = FALSE)
    upper[as.integer(rownames(total))] <- total
  }
  upper + t(upper) - diag(diag(upper), n_latents)
}

#' @rdname model_custom
#' @export
posterior_weights <- function(posterior) {
  need_given()
  check_class(posterior, "posterior", "gps_posterior", "what `mstep` gets")
  posterior$prob
}

#' @export
print.gps_posterior <- function(x, ...) {
  refuse_shown(further(...))
  say(sprintf("Posterior of %s over %s", plural(ncol(x$prob), "data point"),
              plural(nrow(x$prob), "state")))
  invisible(x)
}

# The posterior of all data points from those of blocks of them.
#' @export
join_stats.gps_posterior <- function(first, parts) {
  joined <- parts[[1]]
  if (length(parts) == 1) return(joined)
  for (name in c("y", "selected", "prob")) {
    joined[[name]] <- do.call(cbind, lapply(parts, `[[`, name))
  }
  joined$weights <- unlist(lapply(parts, `[[`, "weights"))
  joined
}

#' @export
gps_mstep.gps_custom_model <- function(model, params, stats) {
  check_class(stats, "stats", "gps_posterior", "statistics from gps_estep() with this model")
  if (is.null(model$functions$mstep)) {
    return(list(params = maximise_expected(model, params, stats), events = c(bounded = 0L)))
  }
  new <- read_own_params(call_mstep(model, params, stats), "mstep")
  unknown <- setdiff(names(new), names(params))
  if (length(unknown) > 0) {
    gps_abort(sprintf("`mstep` must return parameters of the model, which has no %s.",
                      quoted(unknown[1])), "model")
  }
  params[names(new)] <- new
  fit_own_params(model, params, "mstep")
  bounded <- bound_own_params(model, params)
  list(params = bounded$params, events = c(bounded = as.integer(bounded$n_moved)))
}

# What `mstep` returns. Of points with weights it has to know them.
call_mstep <- function(model, params, posterior) {
  if (!knows_weights(model$functions$mstep)) {
    refuse_weights(model, posterior$weights)
    return(call_own(model, "mstep", params, posterior$y, posterior))
  }
  weights <- posterior$weights
  if (is.null(weights)) weights <- rep(1, ncol(posterior$y))
  call_own(model, "mstep", params, posterior$y, posterior, weights = weights)
}

knows_weights <- function(mstep) "weights" %in% names(formals(mstep))


# Weights that a model of R functions could not use.
refuse_weights <- function(model, weights) {
  mstep <- if (inherits(model, "gps_custom_model")) model$functions$mstep
  if (is.null(weights) || is.null(mstep) || knows_weights(mstep)) return(invisible())
  gps_abort(sprintf(paste(
    "`weights` need an `mstep` of the model %s that knows them: give it an argument `weights`,",
    "mstep(params, y, posterior, weights), or leave `mstep` out."
  ), quoted(model$name)))
}

# Iterations of optim() in one M-step: EM goes on anyway.
optim_iterations <- 20L

# Parameters that raise the expected log joint, those that limits hold fixed left out.
maximise_expected <- function(model, params, posterior) {
  limits <- lapply(c("lower", "upper"), function(side) {
    unlist(Map(function(name, value) limit_of(model, side, name, value), names(params), params))
  })
  old <- unlist(params, use.names = FALSE)
  free <- limits[[1]] < limits[[2]]
  if (!any(free)) return(params)
  with_free <- function(theta) shape_numbers(replace(old, free, theta), params)
  loss <- function(theta) {
    value <- -expected_log_joint(model, with_free(theta), posterior)
    if (is.finite(value)) value else no_loss
  }
  gradient <- if (!is.null(model$functions$gradient)) function(theta) {
    -unlist(own_gradient(model, with_free(theta), posterior), use.names = FALSE)[free]
  }
  found <- stats::optim(
    old[free], loss, gradient, method = "L-BFGS-B", lower = limits[[1]][free],
    upper = limits[[2]][free],
    control = list(maxit = optim_iterations, ndeps = rep(1e-5, sum(free)),
                   parscale = step_scales(old[free], array_sizes(params)[free],
                                          if (is.null(gradient)) loss))
  )
  if (!all(is.finite(found$par)) || found$value > loss(old[free])) return(params)
  with_free(found$par)
}

# Of each parameter the root mean square of the array that it is of, 1 where that is 0.
array_sizes <- function(params) {
  size <- vapply(params, function(x) sqrt(mean(x^2)), 0, USE.NAMES = FALSE)
  rep(ifelse(size > 0, size, 1), lengths(params))
}

# Units in which parameters are sought: steps over which the loss bends by as much for each, so that
# one that begins near 0 moves as others do. Within a factor of 1000 of the parameter and of the
# `size` of its array, which alone says it where limits or rounding hide how the loss bends, or
# where that would cost more than the search: `loss` is NULL where there is a gradient.
step_scales <- function(theta, size, loss = NULL) {
  size <- pmax(abs(theta), size)
  if (is.null(loss)) return(size)
  least <- loss(theta)
  bend <- vapply(seq_along(theta), function(i) {
    step <- replace(numeric(length(theta)), i, curvature_step * size[i])
    (loss(theta + step) + loss(theta - step) - 2 * least) / curvature_step^2
  }, 0)
  is_seen <- bend > 1e-8 * abs(least) & bend < no_loss
  scale <- size
  scale[is_seen] <- size[is_seen] / sqrt(bend[is_seen])
  pmin(pmax(scale, size / 1e3), size * 1e3)
}

curvature_step <- 1e-2

# Numbers one after the other, shaped like the parameters.
shape_numbers <- function(numbers, params) {
  end <- cumsum(lengths(params))
  for (i in seq_along(params)) {
    params[[i]][] <- numbers[seq_len(length(params[[i]])) + end[i] - length(params[[i]])]
  }
  params
}

# In place of what is not finite, which optim() refuses.
no_loss <- 1e200

expected_log_joint <- function(model, params, posterior) {
  value <- own_log_joints(model, params, posterior$y, posterior$selected, posterior$states, 0)
  prob <- weigh_columns(posterior$prob, posterior$weights)
  is_used <- prob > 0
  sum(prob[is_used] * value[is_used])
}
