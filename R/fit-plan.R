# What a fit is planned to be: the task of what was given, and a pilot where the number of selected
# latents is to be chosen.

# list(given, chosen): what gps_fit() was given, with a number in place of `n_selected` = "auto" and
# the seed that this took; and how the number was found, NULL if nothing was to be chosen. Time that
# it takes is the fit's. `first_state` begins a fit of a task.
plan_fit <- function(given, start, first_state) {
  if (!identical(given$n_selected, "auto")) return(list(given = given))
  refuse_cells(given$y, find_missing(given$y), "`n_selected` = \"auto\"")
  given$deadline <- elapsed() + given$control$time_limit
  given$seed <- stream_seed()
  if (inherits(start, "gps_fit")) start <- plus_no_intercept(given$model, start$params)
  begin <- function(task, rows) {
    first_state(task, keep_start_rows(start, rows, n_points(given$y)))
  }
  chosen <- with_memory(say_pilot(choose_size(given, begin)),
                        "A pilot fit for `n_selected` = \"auto\"")
  given$n_selected <- chosen$n_selected
  if (!is.null(given$max_active)) given$max_active <- min(chosen$max_active, chosen$n_selected)
  list(given = given, chosen = chosen)
}

# Evaluates `code`; an error in mid-fit says that it is the pilot's.
say_pilot <- function(code) {
  tryCatch(code, gps_error = function(condition) {
    if (!is.null(condition$state)) {
      condition$message <- paste("The pilot for `n_selected` = \"auto\":", condition$message)
    }
    stop(condition)
  })
}

task_of <- function(given) {
  seed <- if (is.null(given$seed)) stream_seed() else given$seed
  task <- new_task(given$y, given$model, given$selector, given$n_selected, given$max_active,
                   given$control, seed, given$image_dim, given$weights, given$unit)
  if (!is.null(given$deadline)) task$deadline <- given$deadline
  task
}
