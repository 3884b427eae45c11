# The chains of an E-step that samples states: how many sweeps, and what they begin with.

# Sweeps that a data point may ask for.
most_sweeps <- 1e6

# Burn-in sweeps and draws of a Gibbs sampler.
check_sweeps <- function(sweeps) {
  sweeps <- plain_numbers(sweeps)
  if (is.null(sweeps)) return(c(2L, 4L))
  if (!is.numeric(sweeps) || length(sweeps) != 2) {
    abort_value(sweeps, "sweeps", "two whole numbers, of burn-in sweeps and of draws")
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
