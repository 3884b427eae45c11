# What an iteration works on: the task, which stays as it is, and the state, which goes from
# iteration to iteration.

# A state before its first iteration. `start` numbers the random streams: 0 is the main run.
# `is_early`: explorers are many, and annealing, if there is any, is not over.
new_state <- function(params, start, explore, memory = NULL, is_early = explore > 0) {
  list(params = params, start = start, iteration = 0L, explore = explore, beta = 1, memory = memory,
       selected = NULL, prob_on = NULL, value = NULL, bound = -Inf, bound_error = 0,
       bounds = numeric(), is_polishing = FALSE, is_early = is_early, noise_floor = 0,
       trace = list())
}
