# Model A of the paper: binary sparse coding. The numerics are in src/model_binary_sparse.c.

#' Binary sparse coding
#'
#' Data are sums of components that are on or off. Model A of the paper, section 4.1.
#'
#' @section Generative model:
#' `s_h ~ Bernoulli(pi_h)` independently for h = 1..H, and `y ~ N(b + W s, sigma2 I)` with `W` of D
#' x H. Without an intercept `b` is 0.
#'
#' @section States:
#' All subsets of the `n_selected` selected latents with at most `max_active` on, the empty one
#' included; latents that are not selected are off. One whose column of `W` is 0 throughout is out
#' of the model and always off, see the section on mending in [gps_control()].
#'
#' @section E-step:
#' Exact on these states (equation 2 of the paper): `log p(s, y)` of a state follows from its
#' subset's by one addition, so a data point costs a few operations a state. More than 65,536 states
#' are sampled, see [gps_control()].
#'
#' @section M-step:
#' `W = (Y <S>' + eps W_old) (sum <s s'> + eps I)^-1` with `eps` 1e-12 of the mean diagonal, which
#' leaves components that nobody uses where they are; `sigma2` is the expected squared error per
#' cell, at least 1e-6 of the mean variance of the data and 1e-13 of their mean square; `pi` the
#' mean of `<s>`, kept in \[1e-4, 1 - 1e-4\]. An intercept is a column of `W` that is always on.
#'
#' With an intercept, `s_h -> 1 - s_h`, `W_h -> -W_h`, `b -> b + W_h` and `pi_h -> 1 - pi_h` change
#' nothing that can be observed. [gps_mend()] settles this after each M-step: no latent is on in
#' more than half of the data points. In minibatches and with `monotone` in [gps_control()] it does
#' not.
#'
#' @section Hand-crafted affinity:
#' The cosine `W_h' (y - b) / |W_h|` (section 4.1 of the paper).
#'
#' @section Differences from the paper:
#' The floors and the proximal term above; the paper has none.
#'
#' @param n_latents number of components H, a whole number of at least 1.
#' @param shared_prob TRUE: one `pi` for all components, as in the paper; FALSE: one each.
#' @param intercept TRUE: the data have a baseline `b`, D numbers, that is there whatever is on;
#'   FALSE, as in the paper: where nothing is on they are 0. [gps_fit()] warns (class
#'   `gps_warning_baseline`) where a model without one meets data that stay away from 0.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return a `gps_model`. `coef()` of its fits is a list of `W` (D x H), `pi` (one number or H),
#'   `sigma2` and, with one, `intercept` (D).
#' @seealso [gps_fit()], [simulate_bars()], `vignette("sparse-coding")`
#' @concept sparse coding
#' @concept binary factor analysis
#' @concept dictionary learning
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(200, size = 4, value = 5)
#' fit <- gps_fit(bars$y, model_binary_sparse(8), selector_handcrafted(), n_selected = 4,
#'                control = gps_control(n_starts = 2))
#' coef(fit)$sigma2
#' match_components(fit, bars)$similarity
#' @export
model_binary_sparse <- function(n_latents, shared_prob = TRUE, intercept = FALSE, ...) {
  refuse_unknown(further(...), names(formals(model_binary_sparse)))
  need_given()
  n_latents <- check_count(n_latents, "n_latents")
  check_flag(shared_prob, "shared_prob")
  check_flag(intercept, "intercept")
  new_native_model(
    "gps_binary_sparse", "Binary sparse coding", n_latents,
    params = c(list(W = c("dims", "latents"), pi = "probs", sigma2 = "one"),
               intercept_params(intercept)),
    ranges = list(pi = open_range(0, 1, but = 0), sigma2 = open_range(0, Inf)),
    prepared = list(gram = c("latents", "latents"), proj = c("latents", "points"), prior = "priors",
                    y_square = "points"),
    stats = c(list(count = "one", data_square = "one", on = "latents",
                   on_on = c("latents", "latents"), data_on = c("dims", "latents")),
              intercept_stats),
    events = c("sigma2_floor", "pi_clamped", "ridge"),
    rule = state_rule(),
    settings = list(shared_prob = shared_prob, intercept = intercept),
    symbol = "gps_model_binary_sparse",
    defaults = model_defaults(screen = gps_screen(), wide = 128L)
  )
}

# Binary sparse coding with as many latents as a model, and its settings as far as it has them.
binary_of <- function(model) {
  common <- intersect(names(model$settings), names(formals(model_binary_sparse)))
  do.call(model_binary_sparse, c(list(model$n_latents), model$settings[common]))
}

#' @export
gps_bind.gps_binary_sparse <- function(model, y) bind_sparse(model, as_moments(y))

# A sparse coding model bound to data of these moments, with `sizes` and `options` of its own beside
# those that all have.
bind_sparse <- function(model, moments, sizes = NULL, options = NULL) {
  shared <- model$settings$shared_prob
  bind_native(model, moments$n_dims,
              sizes = c(probs = if (shared) 1 else model$n_latents, priors = model$n_latents + 1,
                        sizes, intercept_sizes(model, moments$n_dims)),
              options = c(list(shared_prob = as.double(shared),
                               floor_sigma2 = lowest_sigma2(moments, model)),
                          options, intercept_options(model, moments)))
}

#' @export
check_joint.gps_binary_sparse <- function(model, params, arg) check_emptied(params, arg)

#' @export
gps_init.gps_binary_sparse <- function(model, y, weights = NULL) init_linear(model, y, weights)

# W near the mean of the data above their intercept, and all their variance as noise.
init_linear <- function(model, y, weights = NULL) {
  means <- column_means(y, weights)
  centred <- y - rep(means, each = nrow(y))
  squares <- column_means(centred^2, weights)
  deviation <- mean(sqrt(squares))
  n_latents <- model$n_latents
  prob <- min(0.5, 1 / n_latents)
  intercept <- first_intercept(model, y, weights)
  above <- means - if (is.null(intercept)) 0 else intercept
  c(list(W = above + deviation / 4 * normal_matrix(ncol(y), n_latents),
         pi = rep(prob, model$sizes[["probs"]]),
         sigma2 = max(if (is.null(weights)) mean(centred^2) else mean(squares),
                      model$options$floor_sigma2)),
    if (!is.null(intercept)) list(intercept = intercept))
}

#' @export
gps_draw.gps_binary_sparse <- function(model, params, n) {
  latents <- draw_on(params, n)
  noise <- sqrt(params$sigma2) * normal_matrix(n, nrow(params$W))
  list(y = plus_intercept(latents %*% t(params$W) + noise, params), latents = latents)
}

# Which latents are on, n x H of 0 and 1.
draw_on <- function(params, n) {
  n_latents <- ncol(params$W)
  prob <- params$pi * is_in_model(params)
  t((uniform_matrix(n_latents, n) < prob) + 0)
}

#' @export
gps_handcrafted.gps_binary_sparse <- function(model, params, y) {
  less_intercept(y, params) %*% sweep(params$W, 2, column_norms(params$W), "/")
}

# A zero column has norm 1 here: its cosine is then 0.
column_norms <- function(w) {
  norms <- sqrt(colSums(w^2))
  norms[norms == 0] <- 1
  norms
}

#' @export
block_handcrafted.gps_binary_sparse <- function(model, inputs, y, block, n_threads = 1L) {
  inputs$proj / observed_norms(inputs$W, block)
}

# Lengths of W's columns over the cells that each point of a block has, H x n; H where it has all.
observed_norms <- function(w, block) {
  square <- observed_squares(w, block)
  if (is.null(square)) return(column_norms(w))
  ifelse(square > 0, sqrt(square), 1)
}

# Their squares, NULL where the points have all cells.
observed_squares <- function(w, block) {
  cells <- cut_missing(block$missing, block$y_offset + seq_len(block$n_points))
  if (is.null(cells)) return(NULL)
  observed <- matrix(1, nrow(w), block$n_points)
  observed[missing_places(cells, nrow(w))] <- 0
  crossprod(w^2, observed)
}

#' @export
move_gain.gps_binary_sparse <- function(model, split, residual, params = NULL) {
  noise <- 2 / pi * sum(split$size) * mean(residual^2)
  gain_of_squares(split$between - noise, residual)
}

# The residual's squares fall from S to S - b, so that the bound rises by
# (cells / 2) log(S / (S - b)).
gain_of_squares <- function(explained, residual) {
  squares <- sum(residual^2)
  explained <- min(explained, (1 - 1e-6) * squares)
  if (explained <= 0) return(0)
  length(residual) / 2 * log(squares / (squares - explained))
}

#' @export
move_component.gps_binary_sparse <- function(model, params, from, split) {
  params[c("W", "pi")] <- move_linear(params, from, split)
  params
}

#' @export
join_components.gps_binary_sparse <- function(model, params, latents, value) {
  params$W[, latents[1]] <- rowSums(params$W[, latents, drop = FALSE])
  params
}

# list(W, pi) after a move. Latent 0: what the rarer half of all points has beyond the others
# becomes a component of its own.
move_linear <- function(params, from, split) {
  into <- split$latent
  share <- split$size / sum(split$size)
  w <- params$W
  prob <- params$pi
  if (into == 0) {
    rare <- which.min(split$size)
    w[, from] <- split$centres[, rare] - split$centres[, 3 - rare]
    moved <- share[rare]
  } else {
    w[, c(into, from)] <- w[, into] + split$centres
    moved <- if (length(prob) > 1) prob[into] * share
  }
  if (length(prob) > 1) prob[c(if (into > 0) into, from)] <- pmin(pmax(moved, 1e-4), 1 - 1e-4)
  list(W = w, pi = prob)
}

# ---- which way round latents stand ----

# Which way round binary latents with an intercept stand: s -> 1 - s, W -> -W, b -> b + W and pi ->
# 1 - pi leave model A what it is. Only of latents that are rarely on can points do without those
# that are not selected, so that each is turned to be off in at least half of the points. For
# latents of one shared pi that raises the bound besides, where some are turned and others not.

# What gps_mend() returns: the parameters, and as `flip` the latents that were turned. Not where the
# bound must not fall, as it may where the states are truncated, nor in batches, which keep slots of
# their own.
#' @export
gps_mend.gps_binary_sparse <- function(model, params, stats, progress = NULL) {
  mended <- list(params = params, relabel = NULL)
  if (is.null(params$intercept) || isTRUE(progress$is_monotone) || isTRUE(progress$is_batch)) {
    return(mended)
  }
  usage <- stats$on / stats$count
  flip <- which(usage > 0.5 * (1 + 1e-9) & is_in_model(params))
  if (length(flip) == 0) return(mended)
  list(params = flip_params(params, usage, flip), relabel = NULL, flip = flip,
       events = c(turned_round = length(flip)))
}

# `usage` is the share of points in which each latent is on.
flip_params <- function(params, usage, flip) {
  params$intercept <- params$intercept + rowSums(params$W[, flip, drop = FALSE])
  params$W[, flip] <- -params$W[, flip]
  if (length(params$pi) > 1) {
    params$pi[flip] <- 1 - params$pi[flip]
  } else {
    usage[flip] <- 1 - usage[flip]
    params$pi <- max(1e-4, mean(usage[is_in_model(params)]))
  }
  params
}
