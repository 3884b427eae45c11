# One row a model: what the contract tests loop over.
# @srrstats {PD4.2}

# Of a model with an intercept.
row_intercept <- c(3, -2, 40, 0.5)

sparse_row <- function(name, shared, intercept = FALSE) {
  set.seed(11)
  n_latents <- 5
  list(
    name = name, n_latents = n_latents, n_dims = 4, is_one_hot = FALSE,
    most_active = n_latents, model = function() model_binary_sparse(n_latents, shared, intercept),
    params = c(list(W = matrix(rnorm(20, sd = 1.5), 4),
                  pi = if (shared) 0.3 else c(0.1, 0.3, 0.5, 0.7, 0.25), sigma2 = 0.8),
               if (intercept) list(intercept = row_intercept)),
    joint = function(...) joint_binary_sparse(...),
    stats = function(...) stats_binary_sparse(...),
    mstep = function(y, posterior) mstep_linear(y, posterior, shared, intercept),
    response = function(...) response_linear(...),
    moments = function(params) {
      prob <- rep_len(params$pi, n_latents)
      list(mean = drop(response_linear(params, t(prob))),
           covariance = params$W %*% (prob * (1 - prob) * t(params$W)) + params$sigma2 * diag(4))
    }
  )
}

spike_row <- function(covariance, shared, intercept = FALSE) {
  set.seed(13)
  n_latents <- 5
  is_full <- covariance == "full"
  prob <- if (shared) 0.3 else c(0.1, 0.3, 0.5, 0.7, 0.25)
  params <- list(W = matrix(rnorm(20, sd = 1.5), 4), pi = prob, mu = c(1, -0.5, 0, 2, 0.3),
                 psi = if (is_full) crossprod(matrix(rnorm(40, sd = 0.4), 8)) else
                   c(0.5, 1.5, 1, 0.1, 3), sigma2 = 0.8)
  if (intercept) params$intercept <- row_intercept
  list(
    name = paste0("spike_slab ", covariance, if (shared) ", shared",
                  if (intercept) ", intercept"), n_latents = n_latents,
    n_dims = 4, is_one_hot = FALSE, most_active = n_latents,
    model = function() model_spike_slab(n_latents, covariance, shared, intercept),
    params = params,
    joint = function(...) joint_spike_slab(...), slabs = function(...) slabs_spike_slab(...),
    stats = function(y, posterior, centre) stats_spike_slab(params, y, posterior, centre),
    mstep = function(y, posterior) mstep_spike_slab(y, posterior, shared, is_full, intercept),
    response = function(...) response_linear(...),
    moments = function(params) {
      prob <- rep_len(params$pi, n_latents)
      mean <- prob * params$mu
      second <- tcrossprod(prob) * (slab_covariance(params$psi) + tcrossprod(params$mu))
      diag(second) <- prob * (diag(slab_covariance(params$psi)) + params$mu^2)
      list(mean = drop(response_linear(params, t(mean))),
           covariance = params$W %*% (second - tcrossprod(mean)) %*% t(params$W) +
             params$sigma2 * diag(4))
    }
  )
}

mixture_row <- function(form) {
  set.seed(12)
  n_clusters <- 4
  n_dims <- 3
  spread <- vapply(seq_len(n_clusters), function(k) crossprod(matrix(rnorm(12), 4)), diag(3))
  sigma <- switch(form, full = spread, diagonal = apply(spread, 3, diag),
                  spherical = c(0.5, 1, 2, 0.7), tied = spread[, , 1, drop = FALSE])
  list(
    name = paste("gaussian_mixture", form), n_latents = n_clusters, n_dims = n_dims,
    is_one_hot = TRUE, model = function() model_gaussian_mixture(n_clusters, form),
    params = list(mu = matrix(rnorm(12, sd = 2), 3), sigma = sigma, pi = c(0.4, 0.3, 0.2, 0.1)),
    joint = function(...) joint_mixture(...), stats = function(...) stats_mixture(form)(...),
    mstep = function(y, posterior) mstep_mixture(y, posterior, form),
    response = function(params, mean) mean %*% t(params$mu),
    moments = function(params) {
      mean <- drop(params$mu %*% params$pi)
      covariance <- matrix(0, n_dims, n_dims)
      for (k in seq_len(n_clusters)) {
        covariance <- covariance +
          params$pi[k] * (reference_covariance(params, k) + tcrossprod(params$mu[, k] - mean))
      }
      list(mean = mean, covariance = covariance)
    }
  )
}

noisy_row <- function(shared) {
  set.seed(14)
  n_latents <- 5
  n_dims <- 6
  params <- list(W = matrix(rexp(30, 1), 6), pi = if (shared) 0.3 else c(0.1, 0.3, 0.5, 0.7, 0.25),
                 leak = c(0.05, 0.3, 0.1, 0.02, 0.2, 0.6))
  list(
    name = if (shared) "noisy_or, shared" else "noisy_or", n_latents = n_latents, n_dims = n_dims,
    is_one_hot = FALSE, most_active = n_latents, blank = function(n) matrix(0, n, n_dims),
    model = function() model_noisy_or(n_latents, shared), params = params,
    joint = function(...) joint_noisy_or(...),
    stats = function(y, posterior, centre) stats_noisy_or(params, y, posterior),
    mstep = function(y, posterior) mstep_noisy_or(params, y, posterior, shared),
    response = function(...) response_noisy_or(...),
    expected = function(params, posterior) {
      t(posterior$weight) %*% response_noisy_or(params, t(posterior$states))
    },
    moments = function(params) {
      prob <- rep_len(params$pi, n_latents)
      off <- function(weights) prod(1 - prob + prob * exp(-weights))
      single <- (1 - params$leak) * apply(params$W, 1, off)
      both <- outer(seq_len(n_dims), seq_len(n_dims), Vectorize(function(d, e) {
        prod(1 - params$leak[unique(c(d, e))]) *
          off(colSums(params$W[unique(c(d, e)), , drop = FALSE]))
      }))
      list(mean = 1 - single, covariance = both - tcrossprod(single))
    }
  )
}

poisson_row <- function() {
  set.seed(15)
  # Whole numbers near them are rates, too.
  rate <- matrix(0.6 + rexp(16, 1 / 4), 4)
  prob <- c(0.4, 0.3, 0.2, 0.1)
  list(
    name = "poisson_mixture", n_latents = 4, n_dims = 4, is_one_hot = TRUE,
    blank = function(n) matrix(1, n, 4), model = function() model_poisson_mixture(4),
    params = list(rate = rate, pi = prob), joint = function(...) joint_poisson_mixture(...),
    stats = function(y, posterior, centre) {
      list(count = nrow(y), on = colSums(posterior$mean), sum = t(y) %*% posterior$mean)
    },
    mstep = function(y, posterior) {
      list(rate = sweep(t(y) %*% posterior$mean, 2, colSums(posterior$mean), "/"),
           pi = colMeans(posterior$mean))
    },
    response = function(params, mean) mean %*% t(params$rate),
    moments = function(params) {
      mean <- drop(params$rate %*% params$pi)
      list(mean = mean, covariance = diag(mean) +
             params$rate %*% (params$pi * t(params$rate)) - tcrossprod(mean))
    }
  )
}

MODELS <- list(
  sparse_row("binary_sparse", shared = FALSE),
  sparse_row("binary_sparse, shared", shared = TRUE),
  mixture_row("full"), mixture_row("diagonal"), mixture_row("spherical"),
  spike_row("diagonal", shared = FALSE), spike_row("diagonal", shared = TRUE),
  spike_row("full", shared = FALSE),
  sparse_row("binary_sparse, intercept", shared = FALSE, intercept = TRUE),
  spike_row("diagonal", shared = TRUE, intercept = TRUE),
  noisy_row(shared = FALSE), noisy_row(shared = TRUE), poisson_row(),
  mixture_row("tied")
)

# Models whose every state has no closed form, or whose latents have places: what does not ask for
# brute force holds for them, too (theirs stands in their own files).
max_row <- function() {
  list(name = "max_spike_slab", n_latents = 5, n_dims = 4, is_one_hot = FALSE, most_active = 1,
       model = function() model_max_spike_slab(5, FALSE), params = max_problem()$params)
}

occlusive_row <- function() {
  case <- occlusive_case(7)
  list(name = "occlusive", n_latents = case$model$n_latents, n_dims = ncol(case$y),
       is_one_hot = FALSE, most_active = 2,
       model = function() model_occlusive(3, c(3, 2), c(5, 7)), params = case$params)
}

# How many latents may be on at once where `n_selected` are selected.
row_active <- function(row, n_selected) {
  min(n_selected, if (row$is_one_hot) 1 else row$most_active)
}

# A test for each model, named after it.
for_all_models <- function(description, code) {
  for_models(description, code, c(MODELS, list(max_row(), occlusive_row())))
}

for_models <- function(description, code, rows = MODELS) {
  for (row in rows) {
    test_that(paste0(row$name, ": ", description), {
      code(row)
    })
  }
}

# Data drawn by the model itself, and the model bound to them. Many tests ask for the same: the last
# of each name is kept, with R's random numbers as they are after it.
draw_case <- function(row, n, seed = 1) {
  key <- paste(row$name, n, seed)
  known <- drawn_cases[[key]]
  if (!identical(known$row, row)) {
    set.seed(seed)
    blank <- if (is.null(row$blank)) matrix(rnorm(n * row$n_dims), n) else row$blank(n)
    model <- gps_bind(row$model(), blank)
    y <- gps_draw(model, row$params, n)$y
    case <- list(y = y, model = gps_bind(row$model(), y), params = row$params)
    known <- list(row = row, case = case, random = .Random.seed)
    drawn_cases[[key]] <- known
  }
  assign(".Random.seed", known$random, envir = globalenv())
  known$case
}

drawn_cases <- new.env(parent = emptyenv())

# Random selections, n x n_selected, ascending.
draw_selected <- function(n, n_latents, n_selected) {
  drawn <- vapply(seq_len(n), function(i) sample.int(n_latents, n_selected), integer(n_selected))
  matrix(drawn[order(rep(seq_len(n), each = n_selected), drawn)], n, byrow = TRUE)
}

# A random problem of model B with all parameters, and data drawn from it.
random_problem <- function(seed, covariance, n = 30, n_dims = 4, n_latents = 4) {
  set.seed(seed)
  root <- matrix(rnorm(2 * n_latents^2, sd = 0.5), 2 * n_latents)
  psi <- if (covariance == "full") crossprod(root) else rexp(n_latents)
  params <- list(W = matrix(rnorm(n_dims * n_latents), n_dims), pi = 0.4, mu = rnorm(n_latents),
                 psi = psi, sigma2 = exp(rnorm(1, -1)))
  model <- gps_bind(model_spike_slab(n_latents, covariance), matrix(rnorm(n * n_dims), n))
  y <- gps_draw(model, params, n)$y
  list(params = params, y = y, model = gps_bind(model, y), covariance = covariance,
       all = matrix(seq_len(n_latents), n, n_latents, byrow = TRUE))
}
