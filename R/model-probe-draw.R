# Does what a model draws come from its log joint? Two means that are 0 where it does: the
# derivative of the log joint by a parameter, and a latent less its posterior probability.

# Draws of the first look, and of the second where the first finds something.
score_draws <- c(300L, 1200L)

# Standard errors from which on a mean is not 0.
score_limit <- 5

# `joint_of(drawn)` makes a function of parameters that gives log p(s, y) of each draw,
# `is_valid(params)` says whether they are the model's. Findings say about which parameter the two
# disagree.
probe_draws <- function(report, model, params, joint_of, is_valid) {
  drawn <- gps_draw(model, params, score_draws[1])
  if (!check_drawn(report, model, drawn, score_draws[1])) return(FALSE)
  directions <- score_directions(params, is_valid)
  joint <- joint_of(drawn)
  if (any(joint(params) == -Inf)) {
    return(report_draw(report, "It draws what `log_joint` says is impossible, -Inf."))
  }
  look <- function(drawn, joint, directions) {
    c(vapply(directions, function(d) score_of(joint, d$step), 1),
      latent_scores(model, params, drawn))
  }
  z <- look(drawn, joint, directions)
  is_odd <- abs(z) > score_limit
  if (!any(is_odd)) return(TRUE)
  is_way <- seq_along(z) <= length(directions)
  more <- gps_draw(model, params, score_draws[2])
  again <- replace(numeric(length(z)), is_odd | !is_way,
                   look(more, joint_of(more), directions[is_odd[is_way]]))
  odd <- which(is_odd & abs(again) > score_limit & sign(again) == sign(z))
  if (length(odd) == 0) return(TRUE)
  worst <- odd[which.max(abs(again[odd]))]
  about <- c(vapply(directions, `[[`, "", "name"), sprintf("latent %d", seq_len(model$n_latents)))
  report_draw(report, sprintf(
    "It disagrees with `log_joint` about %s: a mean that must be 0 is %s standard errors from it.",
    paste(unique(sprintf("`%s`", about[odd])), collapse = ", "), plain_number(again[worst], 4)
  ))
}

report_draw <- function(report, what) {
  add_finding(report, "draw", "draw", what, paste(
    "Hold `draw` against `log_joint`: spread or variance, what is on with which probability, and",
    "whether `log_joint` has all terms that depend on a parameter, also what normalises it."
  ))
  FALSE
}

# Shapes of what a model of R functions draws are its author's.
check_drawn <- function(report, model, drawn, n) {
  if (!is.matrix(drawn$latents)) return(TRUE)
  wanted <- list(y = c(n, model$n_dims), latents = c(n, model$n_latents))
  for (name in names(wanted)) {
    if (identical(dim(drawn[[name]]), as.integer(wanted[[name]]))) next
    report_draw(report, sprintf("`%s` is not %s.", name, paste(wanted[[name]], collapse = " x ")))
    return(FALSE)
  }
  if (all(drawn$latents %in% 0:1)) return(TRUE)
  report_draw(report, "`latents` are not all 0 or 1.")
}

# Ways in which parameters may change: all of one, a random way, and a few single numbers.
score_directions <- function(params, is_valid) {
  ways <- list()
  for (name in names(params)) {
    theta <- params[[name]]
    signs <- sample(c(-1, 1), length(theta), replace = TRUE)
    single <- if (length(theta) > 1) lapply(sample.int(length(theta), 2), function(i) {
      replace(numeric(length(theta)), i, 1)
    })
    # A single number has one way.
    others <- if (length(theta) > 1) c(list(signs), single)
    for (way in c(list(rep(1, length(theta))), others)) {
      step <- allowed_step(theta, way)
      both <- lapply(c(-1, 1), function(side) {
        changed <- params
        changed[[name]][] <- theta + side * step
        changed
      })
      if (any(step != 0) && all(vapply(both, is_valid, NA))) {
        ways <- c(ways, list(list(name = name, step = both)))
      }
    }
  }
  ways
}

# A small change along `way` that keeps what the parameter visibly has: a matrix that is symmetric,
# numbers that sum to 1 as a whole, in columns or in rows.
allowed_step <- function(theta, way) {
  size <- if (is.null(dim(theta))) length(theta) else dim(theta)
  step <- 1e-4 * own_size(theta) * array(way, size)
  is_one <- function(x) length(x) > 0 && all(abs(x - 1) < 1e-8)
  is_share <- all(theta >= 0) && length(theta) > 1
  if (is_share && is_one(sum(theta))) return(step - mean(step))
  if (length(dim(theta)) != 2) return(symmetric_step(theta, step))
  if (is_share && is_one(colSums(theta))) return(sweep(step, 2, colMeans(step)))
  if (is_share && is_one(rowSums(theta))) return(step - rowMeans(step))
  symmetric_step(theta, step)
}

# What a change of a parameter is small beside. Variances and rates may be of very different sizes,
# and the log joint bends by each in units of its own; a covariance is of the size of its two
# standard deviations.
own_size <- function(theta) {
  if (is_symmetric(theta)) {
    layers <- array(theta, c(dim(theta), 1)[1:3])
    spread <- sqrt(apply(layers, 3, diag))
    if (isTRUE(all(spread > 0))) {
      return(array(apply(spread, 2, function(s) outer(s, s)), dim(theta)))
    }
  }
  if (all(theta > 0)) return(theta)
  if (any(theta != 0)) mean(abs(theta)) else 1e-6
}

# Whether it is a symmetric matrix, or an array of layers that are.
is_symmetric <- function(theta) {
  size <- dim(theta)
  length(size) %in% 2:3 && size[1] == size[2] && size[1] > 1 &&
    isTRUE(all.equal(theta, aperm(theta, turned_layers(theta))))
}

turned_layers <- function(theta) c(2, 1, 3)[seq_along(dim(theta))]

symmetric_step <- function(theta, step) {
  if (is_symmetric(theta)) (step + aperm(step, turned_layers(theta))) / 2 else step
}

# The mean derivative in standard errors; 0 where it is within rounding.
score_of <- function(joint, both) {
  low <- joint(both[[1]])
  high <- joint(both[[2]])
  if (any(!is.finite(low) | !is.finite(high))) return(0)
  rounding <- 1e-11 * max(1, abs(low))
  standard_mean(high - low, rounding)
}

standard_mean <- function(x, rounding) {
  error <- max(stats::sd(x) / sqrt(length(x)), rounding)
  mean(x) / error
}

# Each latent less its posterior probability, where all states can be summed over.
latent_scores <- function(model, params, drawn) {
  n_latents <- model$n_latents
  most <- min(n_latents, model$rule$max_active)
  is_small <- n_latents <= 8 && most <= model$exact_active && is.matrix(drawn$latents)
  if (!is_small) return(numeric(n_latents))
  y <- t(drawn$y)
  states <- enumerate_states(model$rule, n_latents, as.integer(most))
  selected <- matrix(seq_len(n_latents), n_latents, ncol(y))
  block <- new_block(0, ncol(y))
  step <- run_estep(model, block_inputs(model, params, y, block), y, block, selected, states, 1L,
                    character())
  difference <- t(drawn$latents) - step$prob_on
  apply(difference, 1, standard_mean, rounding = 1e-9)
}

# log p(s, y) of each draw by E-steps with one state, for draws with as many latents on together;
# -Inf where one of them is impossible.
joint_by_states <- function(model) {
  function(drawn) {
    groups <- groups_of_draws(model, drawn)
    function(params) {
      value <- numeric(nrow(drawn$y))
      for (group in groups) value[group$rows] <- group_joints(model, params, group)
      value
    }
  }
}

# What the E-steps get: draws with as many latents on.
groups_of_draws <- function(model, drawn) {
  # Functions of users are never asked for one state alone.
  n_copies <- if (inherits(model, "gps_custom_model")) 2L else 1L
  lists <- active_latents(model, drawn)
  n_on <- lengths(lists)
  lapply(unique(n_on), function(count) {
    rows <- which(n_on == count)
    list(rows = rows, y = t(drawn$y[rows, , drop = FALSE]), block = new_block(0, length(rows)),
         selected = if (count == 0) matrix(1L, 1, length(rows)) else
           matrix(unlist(lists[rows]), count),
         states = template_of(matrix(as.integer(count > 0), max(count, 1), n_copies)))
  })
}

group_joints <- function(model, params, group) {
  inputs <- block_inputs(model, params, group$y, group$block)
  tryCatch(
    run_estep(model, inputs, group$y, group$block, group$selected, group$states, 1L,
              character())$log_evidence - log(group$states$n_states),
    gps_error_numeric = function(condition) -Inf
  )
}

# The latents that are on in each draw, ascending.
active_latents <- function(model, drawn) {
  on <- drawn$latents
  if (is.matrix(on)) {
    at <- which(t(on) > 0, arr.ind = TRUE)
    on <- list(point = at[, 2], number = at[, 1])
  } else {
    on$number <- latent_at(model, on)
  }
  sorted <- order(on$number)
  unname(split(as.integer(on$number[sorted]),
               factor(on$point[sorted], levels = seq_len(nrow(drawn$y)))))
}
