# What a fit will take, from a few iterations on some of its data points.

# Data points of the first sample and of the last one, and about how many seconds all may take.
# Where nothing is learned to rank, an iteration takes little, and few points would tell of its
# overhead alone.
first_sample <- 64
most_sample <- c(learned = 2000, other = 10000)
measure_seconds <- 4
measured_iterations <- 5L

# Seconds that the clock tells apart, and how long it must run for 5 % of them to be one step.
clock_step <- 1e-3
least_measured <- 20 * clock_step

# A data frame of samples of growing size: n, seconds of an iteration, of one where the run has
# settled, of what comes before the first one (`begin`) and of a refit of the kernel, bytes at the
# peak and of what is kept. The first sample says how large others may be: small ones mislead.
measure_task <- function(task) {
  # Each cluster of a mixture begins at a data point of its own, also where a batch has fewer.
  least <- if (task$model$rule$min_active == 1) 2 * task$model$n_latents else 1
  all <- n_points(task$y)
  if (!is.null(task$batches)) all <- min(max(lengths(task$batches), least), all)
  n <- min(max(first_sample, least), all)
  most <- min(max(n, most_sample[[if (learns_ranking(task)) "learned" else "other"]]), all)
  first <- measure_sample(task, n)
  if (n == most) return(first)
  last <- n * measure_seconds / (1.5 * measured_iterations * first$seconds)
  most <- min(most, max(n + 1, floor(last)))
  rbind(first, if (most > 2 * n) measure_sample(task, most %/% 2), measure_sample(task, most))
}

measure_sample <- function(task, n) {
  short <- restrict_task(task, sampled_rows(task, n, -4))
  short$max_iter <- measured_iterations
  short$control$progress <- FALSE
  before <- bytes_used(reset = TRUE)
  began <- elapsed()
  state <- begin_state(short, 1L)
  began_in <- elapsed() - began
  state <- run_em(lean_task(short), state)
  peak <- bytes_used(peak = TRUE)
  seconds <- vapply(state$trace, `[[`, 1, "seconds")
  is_refit <- vapply(state$trace, `[[`, NA, "refit")
  is_usual <- !is_refit & seq_along(seconds) > 1
  usual <- if (any(is_usual)) mean(seconds[is_usual]) else min(seconds)
  lean <- lean_task(short)
  # So few points that the clock hardly tells.
  if (sum(seconds[is_usual]) < least_measured) usual <- step_seconds(lean, state, FALSE)
  settled <- settled_seconds(lean, state, usual)
  state[c("params", "trace")] <- list(NULL)
  data.frame(n = n, seconds = usual, settled = settled,
             begin = began_in + max(0, seconds[1] - usual),
             refit = if (any(is_refit)) max(0, max(seconds[is_refit]) - usual) else 0,
             peak = peak - before, kept = bytes_kept(state))
}

# Seconds of a usual iteration of a long run: in two of three, points that have their slots are not
# asked for others.
settled_seconds <- function(task, state, usual) {
  (usual + 2 * min(usual, step_seconds(task, state, TRUE))) / 3
}

# Seconds of the next iteration, which is repeated until the clock tells them well.
step_seconds <- function(task, state, may_rest) {
  state$may_rest <- may_rest
  began <- elapsed()
  n <- 0
  while (n == 0 || elapsed() - began < least_measured) {
    step_in_parts(task, state)
    n <- n + 1
  }
  (elapsed() - began) / n
}

# Of a state what grows with the data points, each vector once.
bytes_kept <- function(state) {
  vectors <- pack_shared(state)$vectors
  sum(vapply(vectors, function(x) as.double(utils::object.size(x)), 1))
}

# A line through the last two sizes, at another one: nothing gets less by more points.
extend_line <- function(n, values, at) {
  last <- length(n)
  if (last == 1) return(values * max(1, at / n))
  slope <- max(0, (values[last] - values[last - 1]) / (n[last] - n[last - 1]))
  max(values[last], values[last] + slope * (at - n[last]))
}
