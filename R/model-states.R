# The state space K_n of a data point, as a template in slots: which slots are on in each state.
# Built once a fit and shared by all data points (equation 2 of the paper).

# What a model says of its states.
#' @rdname new_gps_model
#' @export
state_rule <- function(min_active = 0, max_active = Inf) {
  min_active <- check_count(min_active, "min_active", 0, 1)
  if (!identical(max_active, Inf)) max_active <- check_count(max_active, "max_active")
  if (min_active == 1 && max_active != 1) {
    gps_abort("`min_active` = 1 needs `max_active` = 1: exactly one latent is on.")
  }
  list(min_active = as.integer(min_active), max_active = as.double(max_active))
}

# Whether chains can go through a model's states: one by one on and off, by its table in C.
can_sample <- function(model) {
  model$rule$min_active == 0 && !inherits(model, "gps_custom_model")
}

# States with min_active .. max_active of n_slots slots on.
count_states <- function(rule, n_slots, max_active) {
  sum(choose(n_slots, rule$min_active:max_active))
}

# More states than this are sampled, not summed over: the template alone would take 64 MB.
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
  states <- new_states(n_slots, max_active, on, all_subsets)
  states$parent <- find_parents(states$active, states$n_active)
  states
}

# `on` is a list of the slots that are on in each state.
new_states <- function(n_slots, max_active, on, all_subsets = FALSE) {
  n_active <- lengths(on)
  active <- matrix(0L, max_active, length(on))
  active[cbind(sequence(n_active), rep(seq_along(on), n_active))] <- as.integer(unlist(on))
  structure(
    list(n_slots = as.integer(n_slots), max_active = as.integer(max_active), n_states = length(on),
         n_active = n_active, active = active, parent = integer(length(on)),
         all_subsets = all_subsets),
    class = "gps_states"
  )
}

# Which slots are on in each state: n_slots x n_states of 0 and 1.
slots_on <- function(states) {
  on <- matrix(0L, states$n_slots, states$n_states)
  on[cbind(states$active[states$active > 0], col(states$active)[states$active > 0])] <- 1L
  on
}

# A template of any states, slots x states of 0 and 1.
template_of <- function(on) {
  slots <- lapply(seq_len(ncol(on)), function(state) which(on[, state] > 0))
  new_states(nrow(on), max(lengths(slots), 1L), slots)
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

# Keys as text hold any number of slots.
find_parents <- function(active, n_active) {
  key <- function(active) do.call(paste, lapply(seq_len(nrow(active)), function(i) active[i, ]))
  above <- active
  above[cbind(n_active, seq_along(n_active))] <- 0L
  parent <- match(key(above), key(active), nomatch = 0L)
  parent[n_active == 0] <- 0L
  parent
}

# "exact" sums over all states, "gibbs" samples them. "auto" sums where the model's log joint is
# known for all states and there are not too many, and samples otherwise.
resolve_method <- function(method, model, n_selected, max_active) {
  has_sums <- max_active <= model$exact_active
  can_sample <- can_sample(model)
  is_large <- count_states(model$rule, n_selected, max_active) > state_limit
  if (method == "gibbs" && !can_sample) {
    gps_abort(sprintf("`method` = \"gibbs\" is not for this model, %s: use \"exact\".",
                      if (model$rule$min_active == 1) "in which exactly one latent is on" else
                        "whose log joint is an R function"))
  }
  needs_sampling <- method == "auto" && can_sample && (is_large || !has_sums)
  if (method == "gibbs" || needs_sampling) return("gibbs")
  if (!has_sums) {
    gps_abort(sprintf(paste("`method` = \"exact\" needs `max_active` of at most %d for this model,",
                            "not %d: use \"gibbs\"."), as.integer(model$exact_active), max_active))
  }
  if (is_large) abort_states(model$rule, n_selected, max_active, can_sample)
  "exact"
}

abort_states <- function(rule, n_selected, max_active, can_sample) {
  gps_abort(sprintf(
    paste0("`n_selected` = %d with `max_active` = %d gives %s states for each data point, ",
           "more than %s. The largest `n_selected` that fits is %d with all of them allowed on, ",
           "%d with `max_active` = 2.%s"),
    n_selected, max_active, format_number(count_states(rule, n_selected, max_active)),
    format_number(state_limit), largest_n_selected(rule, Inf), largest_n_selected(rule, 2),
    if (can_sample) " `method` = \"gibbs\" has no such limit." else ""
  ))
}

# The template of a fit; without states where they are sampled.
build_states <- function(model, n_selected, max_active, method) {
  if (method == "exact") return(enumerate_states(model$rule, n_selected, max_active))
  new_states(n_selected, max_active, list())
}

# ---- chains ----

# The chains of an E-step that samples states: how many sweeps, and what they begin with.

# Sweeps that a data point may ask for.
most_sweeps <- 1e6

# Burn-in sweeps and draws of a Gibbs sampler.
check_sweeps <- function(sweeps) {
  sweeps <- plain_numbers(sweeps)
  if (is.null(sweeps)) return(c(2L, 4L))
  if (!is.numeric(sweeps) || length(sweeps) != 2) {
    abort_value(sweeps, "sweeps", "two whole numbers, of burn-in sweeps and of draws",
                if (is_count(sweeps)) sprintf("With %1$s draws: sweeps = c(2, %1$s).",
                                              plain_number(sweeps)))
  }
  c(check_count(sweeps[1], "sweeps[1]", 0, most_sweeps),
    check_count(sweeps[2], "sweeps[2]", 1, most_sweeps))
}

# Chains of a block for the E-step. Without values they are new: all is off, and hot sweeps come
# first. Each is compared with other new ones; where chains go on each in turn.
new_chain <- function(sweeps, seed, start, value, selected, is_last = TRUE) {
  is_new <- is.null(value)
  list(sweeps = sweeps, seed = seed, start = start, n_hot = if (is_new) hot_sweeps else 0L,
       n_new = hot_sweeps, period = if (is_last) 1L else compare_every,
       value = if (is_new) array(0, dim(selected)) else value)
}

# Iterations from one comparison of a chain with new ones to the next, before the last: so these
# cost less than the chains themselves.
compare_every <- 32L

# Fewer leave many chains in poor states where the posterior is sharp.
hot_sweeps <- 20L

check_max_active <- function(max_active, model, n_selected) {
  cap <- min(n_selected, model$rule$max_active)
  if (is.null(max_active)) return(as.integer(cap))
  if (model$rule$max_active == 1 && is_count(plain_numbers(max_active), 2)) {
    gps_abort(sprintf("`max_active` must be 1, not %s: exactly one cluster is on.",
                      plain_number(plain_numbers(max_active))))
  }
  max_active <- plain_numbers(max_active)
  if (is_count(max_active, n_selected + 1)) {
    gps_abort(sprintf(paste("`max_active` must be a whole number between 1 and %d, not %s: no more",
                            "than `n_selected` can be on."), as.integer(n_selected),
                      plain_number(max_active)))
  }
  as.integer(min(check_count(max_active, "max_active", 1, n_selected), cap))
}
