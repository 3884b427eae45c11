# The strongest rival of a learned selection: each data point keeps a set of states of its own,
# which evolve (Guiraud, Drefs and Luecke 2018, Evolutionary expectation maximization, GECCO; Drefs,
# Guiraud and Luecke 2022, Evolutionary variational optimization of generative models, JMLR 23).
#
#   source(system.file("examples", "selectors", "evolutionary.R", package = "gpselect"))
#   fit_evolutionary(y, start = list(W = W, pi = 0.2, sigma2 = 1), n_iter = 50)
#
# It is no selector, since it selects states, not latents, and so has an EM of its own, here of
# model_binary_sparse(): y = W s + noise, P(s_h = 1) = pi. In an E-step the best states of a point
# are parents, drawn in proportion to their fitness, the log joint; each pair is crossed at one
# place, and each child has one bit flipped, an active one as often as an inactive one. Of parents
# and children the best are kept, so that the bound never falls. What counts as its cost are the log
# joints that it asks for: those of all kept states at new parameters, and of all children.

# Log joint of states [states x H] of the points `of`, without what all states of a point share.
evolved_joint <- function(params, cross, states, of) {
  picture <- tcrossprod(states, params$W)
  rowSums(states * cross[of, , drop = FALSE]) / params$sigma2 -
    rowSums(picture^2) / (2 * params$sigma2) +
    rowSums(states) * log(params$pi / (1 - params$pi))
}

# Children of `parents` states of each point [(points x kept) x H], two of each pair.
make_children <- function(states, joint, n_points, n_kept, n_parents) {
  value <- matrix(joint, n_kept)
  # Fitness is positive, and parents are drawn without replacement: the largest of log fitness plus
  # Gumbel noise.
  fitness <- log(sweep(value, 2, apply(value, 2, min)) + 1e-6 + 0.01 * diff(range(value)))
  drawn <- apply(fitness - log(-log(stats::runif(length(fitness)))), 2, order, decreasing = TRUE)
  parents <- drawn[seq_len(n_parents), , drop = FALSE]
  pairs <- utils::combn(n_parents, 2)
  first <- c(parents[c(pairs[1, ], pairs[2, ]), ]) + rep((seq_len(n_points) - 1) * n_kept,
                                                         each = 2 * ncol(pairs))
  second <- c(parents[c(pairs[2, ], pairs[1, ]), ]) + rep((seq_len(n_points) - 1) * n_kept,
                                                          each = 2 * ncol(pairs))
  n_latents <- ncol(states)
  cut <- sample.int(n_latents, length(first), replace = TRUE)
  is_first <- outer(cut, seq_len(n_latents), `>=`)
  flip_one(states[first, , drop = FALSE] * is_first + states[second, , drop = FALSE] * !is_first)
}

# One bit of each state flipped: one that is on in half of the cases, where there is one.
flip_one <- function(states) {
  n_on <- rowSums(states)
  from_on <- stats::runif(nrow(states)) < 0.5 & n_on > 0 | n_on == ncol(states)
  score <- matrix(stats::runif(length(states)), nrow(states))
  score[(states > 0) != from_on] <- -1
  at <- cbind(seq_len(nrow(states)), max.col(score, ties.method = "first"))
  states[at] <- 1 - states[at]
  states
}

# The best `n_kept` distinct states of each point, of those it has and its children.
keep_fittest <- function(old, new, n_points, n_kept, code) {
  of <- c(rep(seq_len(n_points), each = n_kept),
          rep(seq_len(n_points), each = nrow(new$states) / n_points))
  joint <- c(old$joint, new$joint)
  states <- rbind(old$states, new$states)
  # A state is told by its number in a random code; of two alike the first, an old one, stays.
  joint[duplicated(cbind(of, drop(states %*% code)))] <- -Inf
  order <- order(of, -joint)
  place <- sequence(rle(of[order])$lengths)
  kept <- order[place <= n_kept]
  list(states = states[kept, , drop = FALSE], joint = joint[kept])
}

random_states <- function(n_points, n_kept, n_latents, prob, code) {
  n <- n_points * n_kept
  states <- matrix(as.double(stats::runif(n * n_latents) < prob), n)
  of <- rep(seq_len(n_points), each = n_kept)
  for (round in 1:200) {
    again <- which(duplicated(cbind(of, drop(states %*% code))))
    if (length(again) == 0) break
    states[again, ] <- flip_one(states[again, , drop = FALSE])
  }
  states
}

# list(params, curve, states, joint): the curve has the bound a data point and the log joints a data
# point that were asked for up to there, after each E-step. It ends where the bound has risen by
# less than `tol` in ten iterations. With `learn = FALSE` the parameters stay as they are.
fit_evolutionary <- function(y, start, n_iter = 100, n_kept = 20, n_parents = 5,
                             n_generations = 1, tol = 1e-3, learn = TRUE) {
  y <- as.matrix(y)
  n <- nrow(y)
  params <- start
  n_latents <- ncol(params$W)
  stopifnot(n_kept <= 2^n_latents, n_parents <= n_kept)
  code <- stats::runif(n_latents)
  of <- rep(seq_len(n), each = n_kept)
  kept <- list(states = random_states(n, n_kept, n_latents, params$pi, code))
  n_asked <- n_kept + n_generations * n_parents * (n_parents - 1)
  curve <- NULL
  for (iteration in seq_len(n_iter)) {
    kept <- evolve(y, params, kept$states, n_kept, n_parents, n_generations, code)
    joint <- matrix(kept$joint, n_kept)
    most <- apply(joint, 2, max)
    weight <- exp(joint - rep(most, each = n_kept))
    total <- colSums(weight)
    shared <- -rowSums(y^2) / (2 * params$sigma2) -
      ncol(y) / 2 * log(2 * pi * params$sigma2) + n_latents * log(1 - params$pi)
    curve <- rbind(curve, data.frame(iteration = iteration, evaluations = iteration * n_asked,
                                     bound = mean(most + log(total) + shared)))
    if (learn) params <- evolved_mstep(y, kept$states, c(weight / rep(total, each = n_kept)), of)
    if (iteration > 10 && diff(curve$bound[iteration - c(10, 0)]) < tol) break
  }
  list(params = params, curve = curve, states = kept$states, joint = kept$joint)
}

# An E-step: the generations of all points.
evolve <- function(y, params, states, n_kept, n_parents, n_generations, code) {
  n <- nrow(y)
  cross <- y %*% params$W
  kept <- list(states = states,
               joint = evolved_joint(params, cross, states, rep(seq_len(n), each = n_kept)))
  of_child <- rep(seq_len(n), each = n_parents * (n_parents - 1))
  for (generation in seq_len(n_generations)) {
    children <- list(states = make_children(kept$states, kept$joint, n, n_kept, n_parents))
    children$joint <- evolved_joint(params, cross, children$states, of_child)
    kept <- keep_fittest(kept, children, n, n_kept, code)
  }
  kept
}

# The M-step of model_binary_sparse() from weighted states.
evolved_mstep <- function(y, states, weight, of) {
  on <- rowsum(states * weight, of)
  second <- crossprod(states * sqrt(weight))
  ridge <- 1e-12 * mean(diag(second))
  W <- t(solve(second + diag(ridge, ncol(states)), crossprod(on, y)))
  residual <- sum(y^2) - 2 * sum(W * crossprod(y, on)) + sum(crossprod(W) * second)
  list(W = W, pi = min(max(mean(on), 1e-6), 1 - 1e-6),
       sigma2 = max(residual / length(y), 1e-8))
}
