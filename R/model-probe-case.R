# What check_gps_model() asks the functions of a model with: data points, slots and states, as the
# functions get them.

# Data of fewer points than are asked about are repeated.
own_case <- function(model, params, y) {
  y <- y[rep_len(seq_len(nrow(y)), max(5L, nrow(y))), , drop = FALSE]
  n_slots <- as.integer(min(3, model$n_latents))
  list(model = model, params = params, y = y,
       states = enumerate_states(model$rule, n_slots, as.integer(min(n_slots,
                                                                     model$rule$max_active))),
       selected = probe_slots(model, n_slots, nrow(y)))
}

# The points whose shapes are looked at: as many as no number of states is.
probe_points <- function(case) 1:5

# What the functions get of some points: as many together as the model can take.
parts_of <- function(case, points) {
  in_own_parts(case$model, t(case$y[points, , drop = FALSE]),
               case$selected[, points, drop = FALSE], case$states, identity)
}

# Values of `log_joint` on some points, part by part, whatever they are.
ask_parts <- function(case, points) {
  lapply(parts_of(case, points), function(part) ask_log_joint(case$model, case$params, part))
}

# States x points, of values that are known to be numbers.
joints_of <- function(case, parts) {
  matrix(unlist(lapply(parts, function(part) ask_log_joint(case$model, case$params, part))),
         dim(parts[[1]]$states)[2])
}

parts_of_each <- function(case, points) {
  unlist(lapply(points, function(n) parts_of(case, n)), recursive = FALSE)
}

# Some states of a part, in that order.
pick_states <- function(part, which) {
  part$states <- if (length(dim(part$states)) == 3) part$states[, which, , drop = FALSE] else
    part$states[, which, drop = FALSE]
  part
}
