# Mixture of Poisson distributions, for counts. The numerics are in src/model_poisson_mixture.c.

#' Poisson mixture
#'
#' One of C clusters makes each data point of D counts, with a rate for each dimension.
#'
#' @section Generative model:
#' `p(y) = sum_c pi_c prod_d Poisson(y_d; rate_dc)`. Given the cluster the dimensions are
#' independent, and their variances are their means.
#'
#' @section Data:
#' Whole numbers of at least 0, or NA ([missing_cells]); FALSE and TRUE count as 0 and 1. Anything
#' else is an error of class `gps_error_data` that says where it stands, with the column's name, in
#' [gps_fit()] and wherever else data enter. A column of zeros is no obstacle. Of sparse matrices
#' only the entries are gone through; sources are read once more for the check.
#'
#' @section States:
#' Exactly one of the `n_selected` selected clusters is on; `max_active` is 1.
#'
#' @section E-step:
#' Responsibilities of the selected clusters, the others have none (equation 2 of the paper).
#'
#' @section M-step:
#' `pi_c` and `rate_dc` are the weighted proportions and mean counts (McLachlan and Peel 2000,
#' section 5.6). `pi_c` is at least 1e-4 / C, `rate_dc` at least 1e-6 of the mean of column d, and
#' 1e-6 where that is 0. The events `pi_floor`, `rate_floor` and `empty_cluster` (one that nobody is
#' in, which keeps its rates) of the trace count these, and print() of a fit says so.
#'
#' @section Hand-crafted affinity:
#' `log pi_c + sum_d log Poisson(y_d; rate_dc)`, the exact ranking.
#'
#' @section First values:
#' Seeds are data points far apart by greedy k-means++ (Arthur and Vassilvitskii 2007, k-means++:
#' the advantages of careful seeding, *SODA*) on `2 sqrt(y + 3/8)`, which has about the same
#' variance, 1, whatever the rate (Anscombe 1948, The transformation of Poisson, binomial and
#' negative-binomial data, *Biometrika* 35); every other time with random weights of the columns,
#' of at most 40 clusters. Rates begin at the means of the data points with the same nearest seed,
#' and of one more point that is the mean of all. Rows are sampled as in
#' [model_gaussian_mixture()]; of more than 40 clusters a learned selection begins with these in the
#' cluster of the nearest seed.
#'
#' @param n_components number of clusters C, a whole number of at least 1.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return a `gps_model`. `coef()` of its fits is a list of `rate` (D x C, counts above 0) and `pi`
#'   (C).
#' @seealso [gps_fit()], [gps_choose()], [icl()]
#' @references McLachlan and Peel (2000) *Finite Mixture Models*. Wiley.
#' @concept clustering
#' @concept count data
#' @concept Poisson mixture
#' @examples
#' # Three kinds of days, by how often five things happen.
#' set.seed(1)
#' rates <- cbind(c(1, 1, 9, 4, 0), c(8, 1, 1, 4, 0), c(3, 6, 3, 1, 5))
#' day <- rep(1:3, 40)
#' y <- matrix(rpois(600, rates[, day]), ncol = 5, byrow = TRUE)
#' fit <- gps_fit(y, model_poisson_mixture(3), selector_full(),
#'                control = gps_control(n_starts = 2))
#' round(coef(fit)$rate, 1)
#' table(predict(fit, type = "class"), day)
#' @export
model_poisson_mixture <- function(n_components, ...) {
  refuse_unknown(further(...), names(formals(model_poisson_mixture)))
  need_given()
  n_components <- check_count(n_components, "n_components")
  new_native_model(
    "gps_poisson_mixture", "Poisson mixture", n_components,
    params = list(rate = c("dims", "latents"), pi = "latents"),
    ranges = list(rate = open_range(0, Inf), pi = c(0, 1)),
    prepared = list(log_ratio = c("dims", "latents"), base = "latents"),
    stats = list(count = "one", on = "latents", sum = c("dims", "latents")),
    events = c("rate_floor", "pi_floor", "empty_cluster"),
    rule = state_rule(min_active = 1L, max_active = 1),
    settings = list(),
    symbol = "gps_model_poisson_mixture",
    defaults = model_defaults(screen = gps_screen(),
                              n_starts = if (n_components > many_clusters) 1 else 8)
  )
}

# Rates of a column are at least this share of its mean.
least_rate <- 1e-6

#' @export
gps_bind.gps_poisson_mixture <- function(model, y) {
  moments <- as_moments(y)
  refuse_few_points(model, moments$n_points, moments$n_dims)
  centre <- ifelse(moments$centre > 0, moments$centre, 1)
  bind_native(model, moments$n_dims,
              options = list(centre = centre, floor_rate = least_rate * centre,
                             floor_pi = 1e-4 / model$n_latents))
}

#' @export
data_rule.gps_poisson_mixture <- function(model) {
  list(words = "whole numbers of at least 0", is_allowed = function(y) y >= 0 & y == round(y),
       hint = "It is for counts; model_gaussian_mixture() takes any numbers.")
}

#' @export
gps_init.gps_poisson_mixture <- function(model, y, weights = NULL) {
  n_clusters <- model$n_latents
  refuse_short_start(n_clusters, nrow(y))
  rows <- seq_len(nrow(y))
  n_rows <- count_seed_rows(n_clusters)
  if (nrow(y) > n_rows) {
    rows <- sort(sample.int(nrow(y), n_rows))
    y <- y[rows, , drop = FALSE]
    weights <- weights[rows]
  }
  even <- 2 * sqrt(t(y) + 3 / 8)
  space <- seed_space(even - row_means(even, weights), FALSE, n_clusters)
  drawn <- draw_seeds(space, n_clusters, weights)
  size <- if (is.null(weights)) tabulate(drawn$label, n_clusters) else
    rowsum(weights, drawn$label)[, 1]
  means <- label_means(t(y), drawn$label, n_clusters, weights)
  rate <- (means * rep(size, each = ncol(y)) + column_means(y, weights)) /
    rep(size + 1, each = ncol(y))
  params <- list(rate = pmax(rate, model$options$floor_rate), pi = rep(1 / n_clusters, n_clusters))
  if (n_clusters <= many_clusters) return(params)
  structure(params, labels = data.frame(point = rows, latent = drawn$label))
}

#' @export
check_joint.gps_poisson_mixture <- function(model, params, arg) check_shares(params, arg)

#' @export
count_start_rows.gps_poisson_mixture <- function(model) {
  max(start_rows, cluster_rows * model$n_latents)
}

#' @export
gps_draw.gps_poisson_mixture <- function(model, params, n) {
  cluster <- sample.int(model$n_latents, n, replace = TRUE, prob = params$pi)
  latents <- matrix(0, n, model$n_latents)
  latents[cbind(seq_len(n), cluster)] <- 1
  rate <- params$rate[, cluster]
  list(y = matrix(as.double(stats::rpois(length(rate), rate)), n, byrow = TRUE), latents = latents)
}

#' @export
gps_handcrafted.gps_poisson_mixture <- function(model, params, y) {
  y %*% log(params$rate) + rep(log(params$pi) - colSums(params$rate), each = nrow(y)) -
    rowSums(lfactorial(y))
}

#' @export
ranks_by_joint.gps_poisson_mixture <- function(model) TRUE

#' @export
block_handcrafted.gps_poisson_mixture <- function(model, inputs, y, block, n_threads = 1L) {
  .Call(C_rank_alone, model$native, native_problem(model, inputs), y, block, n_threads)
}

# Measured at 2, 10, 40 and 160 dimensions: 22, 19, 22 and 64 ns, where a diagonal Gaussian took 27,
# 19, 20 and 53. Both are one pass over the dimensions, and have one rule.
#' @export
gain_cost.gps_poisson_mixture <- function(model) 25 + 0.3 * model$n_dims

# Residuals of Poisson counts are about as wide as the root of their mean.
#' @export
residual_unit.gps_poisson_mixture <- function(model) sqrt(model$options$centre)

# Of residuals about 1 wide a split explains half of the squares between its halves, beyond the
# share 2 / pi of one direction's squares that the halves of mere noise explain, for the entropy of
# which half a point is in.
#' @export
move_gain.gps_poisson_mixture <- function(model, split, residual, params = NULL) {
  n_points <- sum(split$size)
  share <- split$size / n_points
  (split$between - 2 / pi * n_points) / 2 + n_points * sum(share * log(share))
}

#' @export
move_component.gps_poisson_mixture <- function(model, params, from, split) {
  both <- c(split$latent, from)
  rate <- params$rate[, split$latent]
  params$rate[, both] <- pmax(rate + split$centres, 0.1 * rate)
  params$pi[both] <- params$pi[split$latent] * split$size / sum(split$size)
  params$pi <- params$pi / sum(params$pi)
  params
}
