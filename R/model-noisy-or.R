# Noisy-OR of binary causes. The numerics are in src/model_noisy_or.c.

#' Noisy-OR of binary causes
#'
#' Binary data whose ones have causes: each latent that is on turns on each dimension with a
#' probability of its own, whatever the others do. The model of diseases and findings of QMR-DT
#' (Shwe and others 1991), learned from data as by Singliar and Hauskrecht (2006).
#'
#' @section Generative model:
#' `s_h ~ Bernoulli(pi_h)` independently for h = 1..H, and given `s` the D dimensions are
#' independent: `P(y_d = 0 | s) = (1 - leak_d) prod_h (1 - p_dh)^s_h`, else 1. The parameter `W` has
#' the weights `W_dh = -log(1 - p_dh)`, which add up, so that `P(y_d = 0 | s) = (1 - leak_d) exp(-(W
#' s)_d)`; `p = 1 - exp(-W)` are the probabilities. `leak_d` is the probability of a one without any
#' cause.
#'
#' @section Data:
#' Zeros and ones, or FALSE and TRUE, or NA ([missing_cells]). Anything else is an error of class
#' `gps_error_data` that says where it stands, with the column's name, in [gps_fit()] and wherever
#' else data enter. Sparse matrices and sources are read as by the other models, the latter once
#' more for this check.
#'
#' @section States:
#' All subsets of the `n_selected` selected latents with at most `max_active` on, the empty one
#' included; latents that are not selected are off.
#'
#' @section E-step:
#' Exact on these states (equation 2 of the paper). Dimensions that are 0 add a number for each
#' latent that is on; those that are 1 are gone through state by state, so that a data point costs
#' about (states) x (latents on) x (its ones). More than 65,536 states are sampled, see
#' [gps_control()].
#'
#' @section M-step:
#' By the causes that have fired (an EM step within the states, as in Heckerman and Breese 1996): a
#' cause that is on fires in dimension d with probability `p_dh`, the leak with `leak_d`, and `y_d`
#' is 1 where at least one has. Given a state with `r_d(s) = P(y_d = 1 | s)` cause h has fired where
#' `y_d` is 1 with probability `p_dh / r_d(s)`, the leak with `leak_d / r_d(s)`. New values are the
#' shares of chances that were taken: `p_dh = sum_n <s_h y_d p_dh / r_d(s)> / sum_n <s_h>`, `leak_d
#' = mean_n <y_d leak_d / r_d(s)>`, and `pi` is the mean of `<s>`. The expected log joint of states
#' and data never falls by such a step. `p` and `leak` are kept in \[1e-6, 1 - 1e-6\], `pi` in
#' \[1e-4, 1 - 1e-4\]; the events `prob_floor` and `pi_clamped` of the trace count how many stand at
#' a limit, and print() of a fit says so. That many `p` do is natural where causes are sparse. A
#' cause that is on nowhere keeps its weights.
#'
#' @section Hand-crafted affinity:
#' What the log joint of the empty state gains where this latent alone is on: `logit(pi_h) - sum_d
#' (1 - y_d) W_dh + sum_d y_d log((leak_d + (1 - leak_d) p_dh) / leak_d)`. Dimensions that the
#' latent does not turn on do not count, whatever turns these on.
#'
#' @section First values:
#' `leak` is half of the mean of each column, `p` that mean times a random number between 0.5 and
#' 1.5 for each latent and column, kept in \[0.01, 0.99\]; `pi` is 1 / H, 1/2 at most.
#'
#' @section Local maxima:
#' There are many. The default is eight short starts, with moves of components after them, see the
#' section on mending in [gps_control()]: of 10 bars in 300 images a single start found 8.5 on
#' average without moves, and 10 with them (8 data sets).
#'
#' @param n_latents number of causes H, a whole number of at least 1.
#' @param shared_prob TRUE: one `pi` for all causes; FALSE: one each.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return a `gps_model`. `coef()` of its fits is a list of `W` (D x H, at least 0), `pi` (one
#'   number or H) and `leak` (D, between 0 and 1); [plot.gps_fit()] shows `p`.
#' @seealso [gps_fit()], `vignette("own-model")`
#' @references Heckerman and Breese (1996) Causal independence for probability assessment and
#'   inference using Bayesian networks. *IEEE Transactions on Systems, Man, and Cybernetics A* 26.
#'
#'   Shwe and others (1991) Probabilistic diagnosis using a reformulation of the INTERNIST-1/QMR
#'   knowledge base. *Methods of Information in Medicine* 30.
#'
#'   Singliar and Hauskrecht (2006) Noisy-OR component analysis and its application to link
#'   analysis. *Journal of Machine Learning Research* 7.
#' @concept noisy-OR
#' @concept Boolean factor analysis
#' @concept binary data
#' @examples
#' # Bars that are on or off, each pixel of which is seen with probability 0.9.
#' set.seed(1)
#' bars <- simulate_bars(200, size = 3, sigma2 = 1e-9)
#' y <- (bars$y > 5) * rbinom(length(bars$y), 1, 0.9)
#' fit <- gps_fit(y, model_noisy_or(6), selector_handcrafted(), n_selected = 4,
#'                control = gps_control(max_iter = 30, n_starts = 2))
#' round(1 - exp(-coef(fit)$W), 1)
#' @export
model_noisy_or <- function(n_latents, shared_prob = TRUE, ...) {
  refuse_unknown(further(...), names(formals(model_noisy_or)))
  need_given()
  n_latents <- check_count(n_latents, "n_latents")
  check_flag(shared_prob, "shared_prob")
  new_native_model(
    "gps_noisy_or", "Noisy-OR", n_latents,
    params = list(W = c("dims", "latents"), pi = "probs", leak = "dims"),
    ranges = list(W = c(0, Inf), pi = open_range(0, 1), leak = c(1e-12, 1 - 1e-12)),
    prepared = list(fire = c("dims", "latents"), own = c("latents", "points"),
                    alone = c("latents", "points"), empty = "points"),
    stats = list(count = "one", on = "latents", fired = c("dims", "latents"), leaked = "dims"),
    events = c("prob_floor", "pi_clamped"),
    rule = state_rule(),
    settings = list(shared_prob = shared_prob),
    symbol = "gps_model_noisy_or",
    defaults = model_defaults(screen = gps_screen())
  )
}

# Least probability that a cause fires, and that it does not.
least_fire <- 1e-6

#' @export
gps_bind.gps_noisy_or <- function(model, y) {
  shared <- model$settings$shared_prob
  bind_native(model, as_moments(y)$n_dims, sizes = c(probs = if (shared) 1 else model$n_latents),
              options = list(shared_prob = as.double(shared), floor_prob = least_fire))
}

#' @export
data_rule.gps_noisy_or <- function(model) {
  list(words = "zeros and ones", is_allowed = function(y) y == 0 | y == 1,
       hint = "Cut numbers at a level, (y > level) + 0, or take model_gaussian_mixture().")
}

# Equal causes would stay equal: each weight begins at its own multiple of what explains the ones.
#' @export
gps_init.gps_noisy_or <- function(model, y, weights = NULL) {
  n_latents <- model$n_latents
  share <- pmin(pmax(column_means(y, weights), least_fire), 1 - least_fire)
  fire <- share * (0.5 + t(uniform_matrix(n_latents, ncol(y))))
  list(W = -log1p(-pmin(pmax(fire, 0.01), 0.99)),
       pi = rep(min(0.5, 1 / n_latents), model$sizes[["probs"]]),
       leak = pmax(share / 2, least_fire))
}

#' @export
gps_draw.gps_noisy_or <- function(model, params, n) {
  n_latents <- model$n_latents
  latents <- t((uniform_matrix(n_latents, n) < params$pi) + 0)
  off <- exp(-latents %*% t(params$W)) * rep(1 - params$leak, each = n)
  list(y = (uniform_matrix(n, model$n_dims) >= off) + 0, latents = latents)
}

#' @export
gps_handcrafted.gps_noisy_or <- function(model, params, y) {
  alone <- log1p(-expm1(-params$W) * (1 - params$leak) / params$leak)
  prior <- stats::qlogis(rep_len(params$pi, model$n_latents))
  y %*% (params$W + alone) + rep(prior - colSums(params$W), each = nrow(y))
}

#' @export
block_handcrafted.gps_noisy_or <- function(model, inputs, y, block, n_threads = 1L) inputs$alone

# Figures show probabilities: of weights, one near its limit would outshine all others.
#' @export
component_values.gps_noisy_or <- function(model, params) 1 - exp(-params$W)

#' @export
component_unit.gps_noisy_or <- function(model) "probabilities of a one"

# Half of the squares that a split explains, in units of the residuals' variance, beyond the share
# 2 / pi of one direction's squares that the halves of mere noise explain.
#' @export
move_gain.gps_noisy_or <- function(model, split, residual, params = NULL) {
  variance <- mean(residual^2)
  if (variance == 0) return(0)
  max(0, split$between / variance - 2 / pi * sum(split$size)) / 2
}

# A component that comes anew fires where the rarer half of all points has more ones than the other.
# It begins off the ends, from which it could not move.
#' @export
move_component.gps_noisy_or <- function(model, params, from, split) {
  into <- split$latent
  share <- split$size / sum(split$size)
  if (into == 0) {
    rare <- which.min(split$size)
    changed <- from
    fire <- split$centres[, rare] - split$centres[, 3 - rare]
    prob <- share[rare]
  } else {
    changed <- c(into, from)
    fire <- 1 - exp(-params$W[, into]) + split$centres
    prob <- params$pi[if (length(params$pi) > 1) into else 1] * share
  }
  params$W[, changed] <- -log1p(-pmin(pmax(fire, 0.01), 0.99))
  if (length(params$pi) > 1) params$pi[changed] <- pmin(pmax(prob, 1e-4), 1 - 1e-4)
  params
}
