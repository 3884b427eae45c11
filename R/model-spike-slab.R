# Model B of the paper: spike-and-slab sparse coding. The numerics are in src/model_spike_slab.c.

#' Spike-and-slab sparse coding
#'
#' Data are sums of components that are on or off and, where they are on, have an intensity of their
#' own for each data point. Model B of the paper, section 4.1.
#'
#' @section Generative model:
#' `b_h ~ Bernoulli(pi_h)` independently for h = 1..H, intensities `z ~ N(mu, Psi)` and `y ~ N(a +
#' W s, sigma2 I)` with `s = b * z` elementwise and `W` of D x H. `Psi` is diagonal, with one
#' variance `psi_h` for each latent, or full. Without an intercept `a` is 0.
#'
#' @section States:
#' All subsets of the `n_selected` selected latents with at most `max_active` on, the empty one
#' included; latents that are not selected are off. One whose column of `W` is 0 throughout is out
#' of the model and always off, see the section on mending in [gps_control()].
#'
#' @section E-step:
#' Exact on these states (equation 2 of the paper), with the intensities integrated out: for the k
#' latents S that are on, `log p(S, y) = log p(S) + log N(y; a + W_S mu_S, sigma2 I + W_S Psi_SS
#' W_S')`, computed with matrices of k x k. A diagonal `Psi` takes some k^2 operations a state,
#' since the posterior of a state follows from that of the state without its last latent; a full one
#' k^3. More than 65,536 states are sampled, see [gps_control()].
#'
#' @section M-step:
#' `W = (Y <S>' + eps W_old) (sum <s s'> + eps I)^-1` with `eps` 1e-12 of the mean diagonal, which
#' leaves components that nobody uses where they are; `sigma2` is the expected squared error per
#' cell, at least 1e-6 of the mean variance of the data and 1e-13 of their mean square; `pi` the
#' mean of `<b>`, kept in \[1e-4, 1 - 1e-4\]. An intercept is a column of `W` that is always on.
#'
#' Diagonal `Psi`: `mu_h = sum <s_h> / sum <b_h>` and `psi_h = sum <s_h^2> / sum <b_h> - mu_h^2`, at
#' least 1e-8 of the mean square of z_h by the old ones; a latent that is on for less than one data
#' point in all keeps both. Full `Psi`: mean and covariance of the expected intensities of all
#' latents, where those that are off are predicted from those that are on. Both never lower the
#' bound; the second needs more iterations. A fit from scratch holds the correlations of a full
#' `Psi` at 0, as with a diagonal one, until its components stand: until the bound is flat and
#' mending has ended, at the latest for half of `max_iter`. They are free from the beginning where a
#' `start` is given. The trace says when ("freed" among its events).
#'
#' `W_h` may be multiplied by any number by which `mu_h` is divided. [gps_mend()] settles this after
#' each M-step: the mean square of every z_h is 1 and `mu_h` is not negative.
#'
#' @section Hand-crafted affinity:
#' `log N(y; a + W_h mu_h, sigma2 I + psi_h W_h W_h')`, the likelihood of the state in which h alone
#' is on (section 4.1 of the paper), up to a constant of the data point.
#'
#' @section Differences from the paper:
#' The floors and the proximal term above; the paper has none. Its variances are one for each
#' latent, which is the default here.
#'
#' @param n_latents number of components H, a whole number of at least 1.
#' @param covariance "diagonal": one variance for each intensity; "full": a covariance matrix of all
#'   H.
#' @param shared_prob TRUE: one `pi` for all components, as in the paper; FALSE: one each.
#' @param intercept TRUE: the data have a baseline `a`, D numbers, that is there whatever is on;
#'   FALSE, as in the paper: where nothing is on they are 0. [gps_fit()] warns (class
#'   `gps_warning_baseline`) where a model without one meets data that stay away from 0.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return a `gps_model`. `coef()` of its fits is a list of `W` (D x H), `pi` (one number or H),
#'   `mu` (H), `psi` (H, or H x H, positive definite), `sigma2` and, with one, `intercept` (D).
#' @seealso [gps_fit()], [simulate_bars()], `vignette("sparse-coding")`
#' @concept sparse coding
#' @concept spike-and-slab
#' @concept dictionary learning
#' @concept independent component analysis
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(300, "spike_slab", size = 4, mu = 1, psi = 0.1)
#' fit <- gps_fit(bars$y, model_spike_slab(8), selector_handcrafted(), n_selected = 4,
#'                control = gps_control(n_starts = 3, max_iter = 40))
#' match_components(fit, bars)$similarity
#' round(predict(fit, bars$y[1:2, ], type = "latent"), 2)
#' @export
model_spike_slab <- function(n_latents, covariance = c("diagonal", "full"),
                             shared_prob = TRUE, intercept = FALSE, ...) {
  refuse_unknown(further(...), names(formals(model_spike_slab)))
  need_given()
  n_latents <- check_count(n_latents, "n_latents")
  covariance <- check_choice(covariance, "covariance", c("diagonal", "full"))
  check_flag(shared_prob, "shared_prob")
  check_flag(intercept, "intercept")
  is_full <- covariance == "full"
  new_native_model(
    "gps_spike_slab", "Spike-and-slab sparse coding", n_latents,
    params = c(list(W = c("dims", "latents"), pi = "probs", mu = "latents",
                    psi = if (is_full) c("latents", "latents") else "latents", sigma2 = "one"),
               intercept_params(intercept)),
    ranges = c(list(pi = open_range(0, 1, but = 0)), if (!is_full) list(psi = open_range(0, Inf)),
               list(sigma2 = open_range(0, Inf))),
    prepared = list(gram = c("latents", "latents"), proj = c("latents", "points"), prior = "priors",
                    y_square = "points"),
    stats = c(list(count = "one", data_square = "one", on = "latents", value = "latents",
                   value_value = c("latents", "latents"), data_value = c("dims", "latents"),
                   pull = "correlated", pull_pull = c("correlated", "correlated")),
              intercept_stats),
    events = c("sigma2_floor", "pi_clamped", "ridge", "psi_floor", "slab_kept"),
    rule = state_rule(),
    settings = list(covariance = covariance, shared_prob = shared_prob, intercept = intercept),
    symbol = "gps_model_spike_slab",
    gauge = "latents", defaults = model_defaults(screen = gps_screen(), wide = 128L)
  )
}

#' @export
gps_bind.gps_spike_slab <- function(model, y) {
  is_full <- model$settings$covariance == "full"
  bind_sparse(model, as_moments(y), c(correlated = if (is_full) model$n_latents else 0),
              list(form = as.double(is_full)))
}

# Correlations wait until the components stand: a full psi explains mixtures of causes by correlated
# values about as well as the causes themselves, and begins with components that are as good as any.
#' @export
hold_model.gps_spike_slab <- function(model, n_points) {
  if (model$settings$covariance == "full") model$options$form <- held_form
  model
}

# HELD_COVARIANCE of src/model_spike_slab.c.
held_form <- 2

# Slabs that are correlated are updated from where they are, by sums that are 0 once they are there.
#' @export
settle_stats.gps_spike_slab <- function(model, stats) {
  stats[c("pull", "pull_pull")] <- lapply(stats[c("pull", "pull_pull")], `*`, 0)
  stats
}

#' @export
rescale_stats.gps_spike_slab <- function(model, stats, rescale) {
  stats$value <- stats$value * rescale
  stats$value_value <- stats$value_value * c(outer(rescale, rescale))
  stats$data_value <- stats$data_value * rep(rescale, each = model$n_dims)
  stats
}

#' @export
gps_init.gps_spike_slab <- function(model, y, weights = NULL) {
  n_latents <- model$n_latents
  psi <- rep(1, n_latents)
  linear <- init_linear(model, y, weights)
  c(linear[c("W", "pi")],
    list(mu = rep(1, n_latents),
         psi = if (model$settings$covariance == "full") diag(psi, n_latents) else psi),
    linear[setdiff(names(linear), c("W", "pi"))])
}

# With few data points for each latent there are many local optima, and starts are cheap: below so
# many for each, and so many in all, more starts are made.
few_points <- c(latent = 10, all = 500)
many_starts <- 32L

#' @export
count_starts.gps_spike_slab <- function(model, n_points) {
  has_few <- n_points < min(few_points[["latent"]] * model$n_latents, few_points[["all"]])
  if (has_few) many_starts else NextMethod()
}

# With values all the same, what they vary by is noise, which lets components form before values
# explain all that there is.
#' @export
simple_model.gps_spike_slab <- function(model) binary_of(model)

# Values of mean 1 have this variance, half as much spread as size.
simple_variance <- 0.25

#' @export
from_simple.gps_spike_slab <- function(model, params) {
  psi <- rep(simple_variance, model$n_latents)
  if (model$settings$covariance == "full") psi <- diag(psi, model$n_latents)
  c(params, list(mu = rep(1, model$n_latents), psi = psi))
}

#' @export
check_joint.gps_spike_slab <- function(model, params, arg) {
  check_emptied(params, arg)
  if (model$settings$covariance == "full" && !is.null(params$psi) && !is_covariance(params$psi)) {
    gps_abort(sprintf("`%s$psi` must be symmetric and positive definite.", arg))
  }
}

# Variances of the slabs, whatever the form of psi.
slab_variances <- function(psi) if (is.matrix(psi)) diag(psi) else psi

#' @export
gps_draw.gps_spike_slab <- function(model, params, n) {
  n_latents <- ncol(params$W)
  latents <- draw_on(params, n)
  unit <- normal_matrix(n_latents, n)
  values <- t(params$mu + if (is.matrix(params$psi)) {
    crossprod(chol(params$psi), unit)
  } else {
    sqrt(params$psi) * unit
  })
  noise <- sqrt(params$sigma2) * normal_matrix(n, nrow(params$W))
  list(y = plus_intercept((latents * values) %*% t(params$W) + noise, params), latents = latents,
       values = values)
}

# W takes over a negative sign of a mean, too.
#' @export
gps_mend.gps_spike_slab <- function(model, params, stats, progress = NULL) {
  set_gauge(params, ifelse(params$mu < 0, -1, 1))
}

# Parameters in units in which the mean square of every intensity is 1; nothing that can be observed
# changes. `sign` may turn intensities, `rescale` are their factors.
set_gauge <- function(params, sign = 1) {
  unit <- sign * sqrt(params$mu^2 + slab_variances(params$psi))
  params$W <- params$W * rep(unit, each = nrow(params$W))
  params$mu <- params$mu / unit
  params$psi <- params$psi / if (is.matrix(params$psi)) outer(unit, unit) else unit^2
  list(params = params, relabel = NULL, rescale = 1 / unit)
}

#' @export
flip_latents.gps_spike_slab <- function(model, params, sign) set_gauge(params, sign)$params

#' @export
gps_handcrafted.gps_spike_slab <- function(model, params, y) {
  proj <- crossprod(params$W, t(less_intercept(y, params)))
  t(singleton_likelihood(params, proj, colSums(params$W^2)))
}

#' @export
block_handcrafted.gps_spike_slab <- function(model, inputs, y, block, n_threads = 1L) {
  square <- observed_squares(inputs$W, block)
  singleton_likelihood(inputs, inputs$proj, if (is.null(square)) diag(inputs$gram) else square)
}

# H x n, from W'y and the squares of W's columns. Nothing is divided by psi, which may be tiny.
singleton_likelihood <- function(params, proj, square) {
  psi <- slab_variances(params$psi)
  square <- square / params$sigma2
  pull <- proj / params$sigma2
  ratio <- 1 + psi * square
  (params$mu * (pull - 0.5 * params$mu * square) + 0.5 * psi * pull^2) / ratio - 0.5 * log(ratio)
}

# As in model A, but the split latent's values follow each point, so that all squares along the
# split's direction are explained, beyond the share of one direction of noise.
#' @export
move_gain.gps_spike_slab <- function(model, split, residual, params = NULL) {
  explained <- split$along - sum(split$size) * mean(residual^2)
  gain_of_squares(explained, residual)
}

# The slab of the split latent; that of a new one is the mean of all others.
#' @export
move_component.gps_spike_slab <- function(model, params, from, split) {
  params[c("W", "pi")] <- move_linear(params, from, split)
  others <- if (split$latent == 0) others_left(params, from) else split$latent
  if (length(others) == 0) return(params)
  params$mu[from] <- mean(params$mu[others])
  set_variances(params, from, mean(slab_variances(params$psi)[others]))
}

# In units of the sum's mean, about which a cause of few points hardly varies.
#' @export
join_components.gps_spike_slab <- function(model, params, latents, value) {
  points <- value[1, ] != 0
  mean <- rowMeans(value[, points, drop = FALSE])
  params$W[, latents[1]] <- params$W[, latents, drop = FALSE] %*% mean
  params$mu[latents[1]] <- 1
  set_variances(params, latents[1], 0.01)
}

#' @export
own_moves.gps_spike_slab <- function(model, params, value) turning_moves(params, value)
