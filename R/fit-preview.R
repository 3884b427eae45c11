# gps_plan(): what a fit will take, before it is begun.

#' What a fit will take
#'
#' Takes what [gps_fit()] takes, and says before anything is fitted how many states a data point
#' has, how much memory the fit needs and about how long it takes. It runs a few iterations on
#' samples of up to 10,000 data points (2000 with a learned selection) for some seconds, and extends
#' what they took to all of them.
#'
#' Memory is that of the whole process at the peak. Its parts are what the session holds already
#' (`session`), the fit's copy of the data (`data`), what is kept of each data point between
#' iterations (`points`), the work of a block of data points (`block`) and for the exact Gaussian
#' process its matrices of data points x data points (`kernel`). The last three are measured on
#' samples, garbage that R has not yet collected included, and a fifth is added to be safe. Where
#' the system says how much memory is free (of the machine, of control groups, of `ulimit -v`), and
#' that is less, `print()` says so, and there is a warning of class `gps_warning_memory`.
#' [gps_fit()] and [gps_resume()] themselves refuse a fit, by an error of class `gps_error_memory`
#' whose fields `needed` and `free` are numbers of bytes, where slots and matrices of the exact
#' Gaussian process alone are more than what is free: that is surely too much.
#' `options(gpselect.check_memory = FALSE)` turns this off.
#'
#' Time is that of the short starts, and of all iterations up to `max_iter`. A fit that converges
#' earlier is faster: `seconds_per_iteration` tells by how much. It is that of a run that has
#' settled, in two of three iterations of which points keep their slots. Trials of mending, which
#' come when the bound is flat, are counted once. On ten problems (`bench/plan.R`) memory at the
#' peak was never above what was planned, which was 1.01 to 1.33 times as much. On a machine that
#' was busy with other work the planned time was 0.7 to 1.4 times what it took.
#' @param y,model,selector,n_selected,max_active,control,start,weights,... as in [gps_fit()]. For
#'   `n_selected = "auto"` the pilot fit is made that finds it.
#' @return a list of class `gps_plan` with `n_points`, `n_dims`, `n_latents`, `n_selected`,
#'   `max_active`, `n_states` (of a data point), `method` ("exact" or "gibbs"), `memory` (bytes by
#'   part, named), `bytes` (their sum), `free` (bytes that the system has free, `session` included;
#'   NA where it does not say), `seconds` (of `starts`, `iterations` and `mending`, named),
#'   `seconds_per_iteration`, `max_iter` and `samples`, a data frame of what was measured.
#' @seealso [gps_fit()]
#' @concept memory
#' @concept running time
#' @examples
#' y <- simulate_bars(500, value = 5)$y
#' plan <- gps_plan(y, model_binary_sparse(10), n_selected = 5)
#' plan
#' plan$seconds
#' @export
gps_plan <- function(y, model, selector = selector_gp(), n_selected = NULL, max_active = NULL,
                     control = gps_control(), start = NULL, weights = NULL, ...) {
  if (!missing(y) && inherits(y, "formula")) weights <- beside_formula(weights, "weights")
  y <- data_of_call(y, model, selector, further(...))
  if (is_number(y)) {
    gps_abort(sprintf(paste(
      "`y` must be data, or a source of them, not the number %s: a plan is measured on samples.",
      "Numbers that are made do: gps_source(%s, d, function(from, to) matrix(rnorm((to - from +",
      "1) * d), ncol = d)), where d is the number of columns."
    ), plain_number(y), plain_number(y)))
  }
  before <- process_bytes()
  began <- elapsed()
  keep_stream({
    made <- prepare_fit(y, model, selector, n_selected, max_active, control, start, weights)
    reading <- elapsed() - began
    samples <- measure_task(made$task)
  })
  # What sampling has fetched from the system, libraries among it, is there for the fit.
  session <- max(before, process_bytes() - data_bytes(made$task$y))
  plan <- new_plan(made$task, samples, session, reading, is.null(made$point$start))
  if (isTRUE(plan$bytes > plan$free)) {
    gps_warn(sprintf("The fit needs about %s of memory, and %s are free.", say_bytes(plan$bytes),
                     say_bytes(plan$free)), class = "memory")
  }
  plan
}

new_plan <- function(task, samples, session, reading, has_starts) {
  memory <- c(session = session, data = data_bytes(task$y), plan_memory(task, samples))
  structure(list(
    n_points = n_points(task$y), n_dims = n_dims(task$y), n_latents = task$model$n_latents,
    n_selected = task$n_selected, max_active = task$max_active,
    n_states = count_states(task$model$rule, task$n_selected, task$max_active),
    method = task$method, memory = memory, bytes = sum(memory), free = free_bytes() + session,
    seconds = c(reading = reading, plan_seconds(task, samples, has_starts)),
    seconds_per_iteration = iteration_seconds(task, samples, n_points(task$y), "settled"),
    max_iter = task$control$max_iter, samples = samples
  ), class = "gps_plan")
}

# Doubles of the fit's own copy.
data_bytes <- function(y) if (is_source(y)) 0 else 8 * length(y)

# Matrices of points x points that stand at once while one is factorised.
whole_matrices <- 3.5

# A fifth more than what was measured: R collects garbage later where there is more of all.
memory_margin <- 1.2

# R collects no garbage at all before 64 MB are in use; and what a fit uses for the first time.
least_heap <- 76 * 2^20

# A sample that used so much has seen garbage fill all the room that R leaves it before it collects
# any. What is kept of more points comes in the place of garbage, of which R lets lie about half as
# much then.
filled_heap <- 48 * 2^20

plan_memory <- function(task, samples) {
  n <- samples$n
  last <- length(n)
  all <- n_points(task$y)
  squares <- if (is_whole_gp(task)) 8 * whole_matrices * n^2 else 0 * n
  kept <- samples$kept - squares / whole_matrices
  points <- kept_copies * extend_line(n, pmax(kept, 0), all)
  work <- pmax(samples$peak - kept_copies * pmax(kept, 0) - squares, 0)
  block <- extend_line(n, work, max(n[last], min(all, block_points(task))))
  # Most of it is garbage of several iterations, which is collected before there is more.
  if (all > n[last]) block <- (block + 2 * work[last]) / 3
  if (samples$peak[last] > filled_heap) {
    block <- block - min(points - kept_copies * max(kept[last], 0), work[last] / 2)
  }
  # A little more than was seen, as nothing else leaves room where these are nearly all there is.
  kernel <- if (is_whole_gp(task)) 8 * 1.06 * whole_matrices * as.double(all)^2 else 0
  parts <- memory_margin * c(points = points, block = block, kernel = kernel)
  parts["block"] <- max(parts[["block"]], least_heap - sum(parts[-2]) - data_bytes(task$y))
  parts
}

block_points <- function(task) {
  if (!is.null(task$batches)) return(max(lengths(task$batches)))
  max(vapply(task$blocks, `[[`, 1, "n_points"))
}

# Seconds of an iteration of so many points; of a pass in batches.
iteration_seconds <- function(task, samples, at, what = "seconds") {
  last <- nrow(samples)
  seconds <- samples[[what]]
  if (!is.null(task$batches) && at == n_points(task$y)) {
    size <- max(lengths(task$batches))
    return(length(task$batches) * iteration_seconds(task, samples, size, "seconds"))
  }
  if (at <= samples$n[last]) return(between_samples(samples$n, seconds, at))
  # Of each point all others.
  if (is_whole_gp(task)) return(seconds[last] * max(1, at / samples$n[last])^2)
  # Small samples tell a slope badly, and what does not grow would count for each point: halfway.
  per_point <- seconds[last] * max(1, at / samples$n[last])
  (extend_line(samples$n, seconds, at) + per_point) / 2
}

between_samples <- function(n, values, at) {
  if (length(n) == 1) values else stats::approx(n, values, at, rule = 2)$y
}

# What the end of a fit takes, in iterations: the last pass, and what the fit stands on.
last_passes <- 3

plan_seconds <- function(task, samples, has_starts) {
  all <- n_points(task$y)
  last <- nrow(samples)
  n_rows <- min(all, count_start_rows(task$model))
  n_starts <- if (has_starts && task$control$n_starts > 1) task$control$n_starts else 0
  n_begun_on <- if (n_starts > 0) n_rows else all
  begin <- between_samples(samples$n, samples$begin, n_begun_on) *
    max(1, n_begun_on / samples$n[last])
  of_start <- count_start_iterations(n_rows) * iteration_seconds(task, samples, n_rows)
  n_refits <- if (is.null(task$selector$refit_every)) 0 else
    task$control$max_iter / task$selector$refit_every
  per_iteration <- iteration_seconds(task, samples, all, "settled")
  trial <- iteration_seconds(task, samples, min(all, count_trial_rows(task$model)))
  # Bounds are hardly flat before.
  share <- min(1, task$control$max_iter / 50)
  mends <- task$control$mend && is.null(task$batches)
  # A learned kernel is begun with once.
  n_begun <- if (inherits(task$selector, "gps_selector_gp")) 1 else max(1, n_starts)
  c(starts = n_begun * begin + n_starts * of_start,
    iterations = (task$control$max_iter + last_passes) * per_iteration +
      n_refits * samples$refit[last],
    mending = if (mends) share * trial_iterations * ((1 + trial_moves) * trial + per_iteration) else
      0)
}

#' @export
print.gps_plan <- function(x, ...) {
  refuse_shown(further(...))
  need_made(is_plan(x), "x", "gps_plan()")
  parts <- x$memory[x$memory >= 2^20]
  is_short <- isTRUE(x$bytes > x$free)
  total <- sum(x$seconds)
  used <- x$seconds[x$seconds > 0]
  lines <- c(
    Data = sprintf("%s of %s", plural(x$n_points, "point"), plural(x$n_dims, "dimension")),
    Selected = sprintf("%d of %s, at most %d on", x$n_selected, format_number(x$n_latents),
                       x$max_active),
    States = sprintf("%s a point%s", format_number(x$n_states),
                     if (x$method == "gibbs") ", which are sampled" else ""),
    Memory = sprintf("%s at most: %s", say_bytes(x$bytes),
                     paste(names(parts), vapply(parts, say_bytes, ""), collapse = ", ")),
    if (is_short) c(" " = sprintf("MORE than the %s that are free", say_bytes(x$free))),
    Time = sprintf("about %s if all %d iterations are needed: %s", say_seconds(total), x$max_iter,
                   paste(names(used), vapply(used, say_seconds, ""), collapse = ", ")),
    " " = sprintf("%s an iteration", say_seconds(x$seconds_per_iteration))
  )
  cat("Plan of a fit\n", format_lines(lines), sep = "")
  invisible(x)
}

is_plan <- function(x) {
  is.list(x) && is.double(x$memory) && is.double(x$seconds) && !is.null(names(x$memory)) &&
    !is.null(names(x$seconds)) && is_number(x$bytes) && is_count(x$n_points) &&
    is_number(x$n_states) && is_count(x$max_iter, 0) && is_number(x$seconds_per_iteration)
}

say_seconds <- function(seconds) {
  if (seconds < 1) return(sprintf("%s ms", plain_number(1000 * seconds, 2)))
  if (seconds < 120) return(sprintf("%s s", plain_number(seconds, 2)))
  if (seconds < 7200) return(sprintf("%s min", plain_number(seconds / 60, 2)))
  sprintf("%s h", plain_number(seconds / 3600, 2))
}
