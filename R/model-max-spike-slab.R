# Model C of the paper: max spike-and-slab sparse coding. The numerics are in
# src/model_max_spike_slab.c and src/max_conditional.c.

#' Max spike-and-slab sparse coding
#'
#' Components do not add up: in each dimension the largest of those that are on is what one sees, as
#' in images where objects occlude each other and in the log spectra of sound sources. Model C of
#' the paper, section 4.1.
#'
#' @section Generative model:
#' `b_h ~ Bernoulli(pi_h)` and intensities `z_h ~ N(mu_h, psi_h)` independently for h = 1..H, and
#' `y_d ~ N(a_d + m_d, sigma2)` independently for d = 1..D, with `m_d = max(0, max_h b_h z_h W_dh)`
#' and `W` of D x H; without an intercept `a` is 0. The 0 in the maximum is there whatever is on: in
#' the paper it stands there wherever a latent is off. What data have below the intercept is noise
#' to this model, so without one they should not be centred: [gps_fit()] warns (class
#' `gps_warning_negative`) where columns, or all values of about one size, lie below zero more often
#' or further than any noise does, or where the means of all columns are zero.
#'
#' @section States:
#' All subsets of the `n_selected` selected latents with at most `max_active` on, the empty one
#' included, with all values of their intensities; latents that are not selected are off. One
#' whose column of `W` is 0 throughout is out of the model and always off, see the section on
#' mending in [gps_control()].
#'
#' @section E-step:
#' Gibbs sampling within these states: each (b_h, z_h) is drawn from its exact conditional. Let r_d
#' be the largest that the others reach in dimension d, at least 0. Latent h takes d over at
#' `z_h = r_d / W_dh`; between these D points the log density is quadratic in z_h, so that the
#' integral over z_h, by which b_h is drawn, is a sum of masses under normal densities, and z_h
#' given b_h is from truncated normals. `prob_on` is the mean of `p(b_h = 1 | all others)` over the
#' draws. With `max_active = 1` all of this has a closed form, and nothing is sampled.
#'
#' @section M-step:
#' In each dimension the latent that is the largest has the credit, `A_dh = 1`, judged by the `W` of
#' the E-step (the first of several that are equal; none where all are below 0). `W_dh = (sum (y_d -
#' a_d) <A_dh z_h> + q_h W_old) / (sum <A_dh z_h^2> + q_h)`, at least 2e-5 of the standard deviation
#' of the data, with `q_h = mu_h^2 + psi_h`, the weight of one more data point: it holds weights
#' that are hardly ever credited, and then with small z. With an intercept `a_d` is the mean of
#' `y_d - sum_h W_dh <A_dh z_h>`, solved for together with the weights. `sigma2` is the expected
#' squared error per cell, at least as in [model_binary_sparse()]; `pi` the mean of `prob_on`, kept
#' in \[1e-4, 1 - 1e-4\]; `mu_h = sum <b_h z_h> / sum <b_h>` and
#' `psi_h = sum <b_h z_h^2> / sum <b_h> - mu_h^2`, at least 1e-8 of the mean square of z_h; a latent
#' that is on for less than one data point in all keeps both. Credits change with `W`, so that this
#' need not raise the bound in every iteration; it rests where the derivative of the expected log
#' joint is zero.
#'
#' `W_h` may be multiplied by any positive number by which `mu_h` is divided. [gps_mend()] settles
#' this after each M-step: the mean square of every z_h is 1.
#'
#' @section Hand-crafted affinity:
#' The cosine `W_h' (y - a) / |W_h|` (section 4.1 of the paper).
#'
#' @section Differences from the paper:
#' The paper does not say how `W` is updated, nor how (b_h, z_h) are sampled. Weights are positive
#' here, and the floors are this package's. Greedy screening (see [gps_screen()]) judges a latent
#' beside others at their most probable intensities.
#'
#' @param n_latents number of components H, a whole number of at least 1.
#' @param shared_prob TRUE: one `pi` for all components, as in the paper; FALSE: one each.
#' @param intercept TRUE: the data have a baseline `a`, D numbers, that is there whatever is on;
#'   FALSE, as in the paper: where nothing is on they are 0. [gps_fit()] warns (class
#'   `gps_warning_baseline`) where a model without one meets data that stay away from 0.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return a `gps_model`. `coef()` of its fits is a list of `W` (D x H), `pi` (one number or H),
#'   `mu` and `psi` (H each), `sigma2` and, with one, `intercept` (D).
#' @seealso [gps_fit()], [simulate_bars()], `vignette("sparse-coding")`
#' @concept sparse coding
#' @concept nonlinear superposition
#' @concept maximal causes
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(120, "max_spike_slab", size = 3, mu = 1, psi = 0.1)
#' fit <- gps_fit(bars$y, model_max_spike_slab(6), selector_handcrafted(), n_selected = 3,
#'                control = gps_control(n_starts = 2, max_iter = 20))
#' match_components(fit, bars)$similarity
#' c(bound = fit$bound, error = fit$bound_error)
#' @export
model_max_spike_slab <- function(n_latents, shared_prob = TRUE, intercept = FALSE, ...) {
  refuse_unknown(further(...), names(formals(model_max_spike_slab)))
  need_given()
  n_latents <- check_count(n_latents, "n_latents")
  check_flag(shared_prob, "shared_prob")
  check_flag(intercept, "intercept")
  new_native_model(
    "gps_max_spike_slab", "Max spike-and-slab sparse coding", n_latents,
    params = c(list(W = c("dims", "latents"), pi = "probs", mu = "latents", psi = "latents",
                    sigma2 = "one"), intercept_params(intercept)),
    ranges = list(pi = open_range(0, 1, but = 0), psi = open_range(0, Inf),
                  sigma2 = open_range(0, Inf)),
    prepared = list(prior = "priors", log_norm = "latents", y_square = "points",
                    deviation = c("intercepts", "points")),
    stats = c(list(count = "one", data_square = "one", on = "latents", on_drawn = "latents",
                   value = "latents", value_square = "latents", won_data = c("dims", "latents"),
                   won_square = c("dims", "latents")),
              intercept_stats, list(won_value = c("intercepts", "latents"))),
    events = c("sigma2_floor", "pi_clamped", "psi_floor", "slab_kept", "w_floor"),
    rule = state_rule(),
    settings = list(shared_prob = shared_prob, intercept = intercept),
    symbol = "gps_model_max_spike_slab",
    exact_active = 1,
    gauge = "latents", defaults = model_defaults(screen = gps_screen(), wide = 24L)
  )
}

# Weights stay above this share of the data's standard deviation, and below it nothing is seen.
lowest_weight <- 2e-5

# Pseudo-observations of the old W.
old_weight_count <- 1

#' @export
gps_bind.gps_max_spike_slab <- function(model, y) {
  moments <- as_moments(y)
  bind_sparse(model, moments,
              options = list(floor_W = lowest_weight * sqrt(variance_scale(moments)),
                             pseudo_count = old_weight_count))
}

#' @export
check_joint.gps_max_spike_slab <- function(model, params, arg) check_emptied(params, arg)

# As for binary sparse coding, with positive weights.
#' @export
gps_init.gps_max_spike_slab <- function(model, y, weights = NULL) {
  linear <- init_linear(model, y, weights)
  unit <- rep(1, model$n_latents)
  c(list(W = pmax(abs(linear$W), model$options$floor_W), pi = linear$pi, mu = unit, psi = unit),
    linear[setdiff(names(linear), c("W", "pi"))])
}

# Where few components are on in the same dimension their maximum is their sum.
#' @export
simple_model.gps_max_spike_slab <- function(model) binary_of(model)

#' @export
from_simple.gps_max_spike_slab <- function(model, params) {
  unit <- rep(1, model$n_latents)
  params$W <- pmax(params$W, model$options$floor_W)
  c(params, list(mu = unit, psi = simple_variance * unit))
}

#' @export
gps_mend.gps_max_spike_slab <- function(model, params, stats, progress = NULL) set_gauge(params)

#' @export
rescale_stats.gps_max_spike_slab <- function(model, stats, rescale) {
  of_pixels <- rep(rescale, each = model$n_dims)
  stats$value <- stats$value * rescale
  stats$value_square <- stats$value_square * rescale^2
  stats$won_data <- stats$won_data * of_pixels
  stats$won_square <- stats$won_square * of_pixels^2
  if (has_intercept(model)) stats$won_value <- stats$won_value * of_pixels
  stats
}

#' @export
gps_draw.gps_max_spike_slab <- function(model, params, n) {
  n_latents <- ncol(params$W)
  latents <- draw_on(params, n)
  values <- t(params$mu + sqrt(params$psi) * normal_matrix(n_latents, n))
  mean <- max_superposition(latents * values, params$W)
  noise <- stats::rnorm(length(mean), sd = sqrt(params$sigma2))
  list(y = plus_intercept(mean + noise, params), latents = latents, values = values)
}

#' @export
gps_handcrafted.gps_max_spike_slab <- function(model, params, y) {
  gps_handcrafted.gps_binary_sparse(model, params, y)
}

#' @export
block_handcrafted.gps_max_spike_slab <- function(model, inputs, y, block, n_threads = 1L) {
  missing <- cut_missing(block$missing, block$y_offset + seq_len(block$n_points))
  if (is.null(missing)) {
    proj <- project_block(inputs$W, y, block)
    if (has_intercept(model)) proj <- proj - drop(crossprod(inputs$W, inputs$intercept))
  } else {
    y <- block_data(y, block)
    if (has_intercept(model)) y <- y - c(inputs$intercept)
    y[missing_places(missing, nrow(y))] <- 0
    proj <- crossprod(inputs$W, y)
  }
  proj / observed_norms(inputs$W, block)
}

# What a component that is on explains is a part of the residual here, too.
#' @export
move_gain.gps_max_spike_slab <- function(model, split, residual, params = NULL) {
  move_gain.gps_binary_sparse(model, split, residual, params)
}

# As for binary sparse coding, with positive weights. The moved component has the slab of the one
# that is split, or what is typical of all.
#' @export
move_component.gps_max_spike_slab <- function(model, params, from, split) {
  into <- split$latent
  params[c("W", "pi")] <- move_linear(params, from, split)
  moved <- c(from, if (into > 0) into)
  params$W[, moved] <- pmax(params$W[, moved], model$options$floor_W)
  others <- if (into > 0) into else others_left(params, from)
  if (length(others) == 0) return(params)
  params$mu[from] <- stats::median(params$mu[others])
  params$psi[from] <- stats::median(params$psi[others])
  params
}

# What a column has below zero is noise, whatever is on: given its size, a value is below zero with
# a probability of at most one half, independently of all others. So sums of signs, of values and of
# signed squares are not far below zero, of no column and not of all cells together, and of no size
# are many more values below zero than above; and no column's mean is zero to the last digit.
#' @export
doubt_data.gps_max_spike_slab <- function(model, task) {
  if (has_intercept(model)) return(NULL)
  facts <- sign_facts(task)
  sums <- facts$sums
  if (all(facts$lowest >= 0)) return(NULL)
  has_values <- sums[, "cells"] > 0
  if (all(abs(sums[has_values, "value"]) <= 1e-9 * sums[has_values, "size"])) {
    warn_negative("the mean of every column is 0, as if the data had been centred")
    return(FALSE)
  }
  low <- which(is_negative(sums, n_tests = nrow(sums)))
  is_low <- length(low) > 0 || is_negative(t(colSums(sums)), 1) || is_lopsided(facts$sizes)
  if (!is_low) return(facts)
  where <- if (length(low) > 0) column_words(low, task$columns, c("has", "have")) else
    "the data have"
  cells <- if (length(low) > 0) sums[low, , drop = FALSE] else sums
  warn_negative(sprintf("%s %.0f %% of %s values below 0, too many or too low for noise", where,
                        100 * sum(cells[, "below"]) / sum(cells[, "cells"]),
                        if (length(low) == 1) "its" else "their"))
  FALSE
}

# Once the noise is known: no value is far below zero for it, and no column's mean square below zero
# is more than twice what half a column of noise has (with room for chance and for a fit that takes
# noise for signal).
#' @export
doubt_fit.gps_max_spike_slab <- function(model, params, facts) {
  if (!is.list(facts)) return(invisible())
  noise <- sqrt(params$sigma2) / facts$scale
  most <- 2 * noise^2 * (1 + 5 / sqrt(facts$n_points))
  low <- which(facts$lowest < -8 * noise | facts$sums[, "below_square"] / facts$n_points > most)
  if (length(low) == 0) return(invisible())
  warn_negative(sprintf("%s values as low as %s, %s standard deviations of the noise below it",
                        column_words(low, facts$columns, c("has", "have")),
                        plain_number(min(facts$lowest[low]) * facts$scale, 3),
                        plain_number(-min(facts$lowest[low]) / noise, 2)))
}

# list(sums [D x 9], sizes [2 x 16], lowest [D], n_points, scale, columns): what columns have on
# either side of zero, in units of `scale`, and their names.
sign_facts <- function(task) {
  scale <- sqrt(variance_scale(task$moments))
  parts <- map_blocks(task, function(task, block) {
    y <- block_data(task$y, block) / scale
    # Zeros are of no sign.
    missing <- cut_missing(block$missing, block$y_offset + seq_len(block$n_points))
    if (!is.null(missing)) y[missing_places(missing, nrow(y))] <- 0
    list(sums = sign_sums(y), sizes = size_counts(y), lowest = lowest_of_rows(y))
  })
  list(sums = Reduce(`+`, lapply(parts, `[[`, "sums")),
       sizes = Reduce(`+`, lapply(parts, `[[`, "sizes")),
       lowest = do.call(pmin, lapply(parts, `[[`, "lowest")), n_points = n_points(task$y),
       scale = scale, columns = task$columns)
}

lowest_of_rows <- function(y) {
  y[cbind(seq_len(nrow(y)), max.col(-y, ties.method = "first"))]
}

sign_sums <- function(y) {
  size <- abs(y)
  square <- y^2
  cbind(below = rowSums(y < 0), cells = rowSums(y != 0), sign = rowSums(sign(y)),
        value = rowSums(y), size = rowSums(size), signed_square = rowSums(y * size),
        square = rowSums(square), fourth = rowSums(square^2),
        below_square = rowSums(square * (y < 0)))
}

# How many values of about one size lie below zero, and above it: sizes in steps of a quarter, all
# from the last step on in one.
size_counts <- function(y) {
  step <- pmin(ceiling(4 * abs(y)), 16)
  rbind(below = tabulate(step[y < 0], 16), above = tabulate(step[y > 0], 16))
}

# Whether of the values of one size, where at least a fiftieth of all are below zero, twice as many
# are below as above, and more than chance has it. Data that lie below zero where nothing is on are
# so however large their other values, and so are logarithms of small numbers.
is_lopsided <- function(sizes) {
  n <- colSums(sizes)
  excess <- sizes["below", ] - sizes["above", ]
  any(excess > -stats::qnorm(1e-4 / length(n)) * sqrt(n) & excess > n / 3 &
        sizes["below", ] > 0.02 * sum(n))
}

# Whether sums of signs, values or signed squares lie below zero by more than chance has it in
# `n_tests` columns, and by more than a fifth of what they could.
is_negative <- function(sums, n_tests) {
  limit <- stats::qnorm(1e-4 / n_tests)
  is_low <- function(sum, deviation, most) {
    sum < limit * sqrt(deviation) & sum < -0.2 * most
  }
  is_low(sums[, "sign"], sums[, "cells"], sums[, "cells"]) |
    is_low(sums[, "value"], sums[, "square"], sums[, "size"]) |
    is_low(sums[, "signed_square"], sums[, "fourth"], sums[, "square"])
}

warn_negative <- function(what) {
  gps_warn(sprintf(paste(
    "model_max_spike_slab() takes all that `y` has below 0 for noise, but %s: do not centre the",
    "data, and move them so that 0 is what they are where nothing is on: log(1 + x) is not",
    "negative where log(x) is, or subtract the least value; or use",
    "model_max_spike_slab(..., intercept = TRUE), or model_spike_slab()."
  ), what), class = "negative")
}

# n x D: the largest strength[n, h] W[d, h] over h, at least zero.
max_superposition <- function(strength, components) {
  mean <- matrix(0, nrow(strength), nrow(components))
  for (h in seq_len(ncol(components))) {
    mean <- pmax(mean, tcrossprod(strength[, h], components[, h]))
  }
  mean
}
