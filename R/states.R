# The state space K_n of a data point, as a template in slots: which slots are on in each state.
# Built once a fit and shared by all data points (equation 2 of the paper).

# What a model says of its states. `min_active` is 0, or 1 for models in which exactly one latent is
# on.
state_rule <- function(min_active = 0L, max_active = Inf) {
  list(min_active = as.integer(min_active), max_active = max_active)
}

# States with min_active .. max_active of n_slots slots on.
count_states <- function(rule, n_slots, max_active) {
  sum(choose(n_slots, rule$min_active:max_active))
}

# More states than this are not summed over: the template alone would take 64 MB.
state_limit <- 2^16

# The largest number of slots whose states stay within the limit, all combinations allowed.
largest_n_selected <- function(rule, max_active) {
  n_slots <- 1
  while (count_states(rule, n_slots + 1, min(max_active, n_slots + 1)) <= state_limit) {
    n_slots <- n_slots + 1
  }
  n_slots
}

# The template: n_active [n_states], active [max_active x n_states] slot numbers (0 = none), parent
# [n_states] the state without its last slot (0 = not in the template). Parents stand before their
# children.
enumerate_states <- function(rule, n_slots, max_active) {
  all_subsets <- rule$min_active == 0 && max_active == n_slots
  on <- if (all_subsets) {
    subsets_by_number(n_slots)
  } else {
    subsets_by_size(rule$min_active, n_slots, max_active)
  }
  n_active <- vapply(on, length, 1L)
  active <- matrix(0L, max_active, length(on))
  active[cbind(sequence(n_active), rep(seq_along(on), n_active))] <- as.integer(unlist(on))
  structure(
    list(n_slots = as.integer(n_slots), max_active = as.integer(max_active), n_states = length(on),
         n_active = n_active, active = active, parent = find_parents(on),
         all_subsets = all_subsets),
    class = "gps_states"
  )
}

# State m + 1 has slot i on where bit i - 1 of m is set: the order that subset recursions in C rely
# on.
subsets_by_number <- function(n_slots) {
  lapply(seq_len(2^n_slots) - 1L, function(m) which(bitwAnd(m, 2L^(seq_len(n_slots) - 1L)) > 0))
}

subsets_by_size <- function(min_active, n_slots, max_active) {
  unlist(lapply(min_active:max_active,
                function(size) utils::combn(n_slots, size, simplify = FALSE)),
         recursive = FALSE)
}

find_parents <- function(on) {
  key <- vapply(on, paste, "", collapse = " ")
  parent_key <- vapply(on, function(slots) paste(slots[-length(slots)], collapse = " "), "")
  parent <- match(parent_key, key, nomatch = 0L)
  parent[lengths(on) == 0] <- 0L
  parent
}

# Whole numbers up to 1e15 with all their digits.
format_number <- function(n) {
  is_large <- n >= 1e15
  format(n, big.mark = ",", scientific = is_large, digits = if (is_large) 3 else 15)
}

# The template for a fit, or a classed error that says how many states there would be and what fits.
build_states <- function(model, n_selected, max_active) {
  n_states <- count_states(model$rule, n_selected, max_active)
  if (n_states > state_limit) {
    gps_abort(sprintf(
      paste("`n_selected` = %d with `max_active` = %d gives %s states for each data point,",
            "more than %s. The largest `n_selected` that fits is %d with all of them allowed on,",
            "%d with `max_active` = 2."),
      n_selected, max_active, format_number(n_states), format_number(state_limit),
      largest_n_selected(model$rule, Inf), largest_n_selected(model$rule, 2)
    ))
  }
  enumerate_states(model$rule, n_selected, max_active)
}
