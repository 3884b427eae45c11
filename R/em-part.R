# A task on some of its rows: what short starts and trials of moves run on.

start_iterations <- 12L

# Of more rows than usual a start makes fewer iterations, so that it costs no more.
count_start_iterations <- function(n_rows) {
  max(4L, as.integer(start_iterations * min(1, start_rows / n_rows)))
}

sample_rows <- function(task, n_rows = count_start_rows(task$model)) {
  if (n_points(task$y) <= n_rows) return(NULL)
  with_seed(task$seed, 0, sort(sample.int(n_points(task$y), n_rows)))
}

# The same task on some rows (NULL: all) as a matrix, with the iterations of a start.
restrict_task <- function(task, rows) {
  if (is.null(rows) && is_source(task$y)) rows <- seq_len(n_points(task$y))
  if (!is.null(rows)) {
    task$is_part <- length(rows) < n_points(task$y)
    task["missing"] <- list(cut_missing(task$missing, rows))
    task$y <- rows_data(task$y, rows)
    task["weights"] <- list(task$weights[rows])
    task$blocks <- split_blocks(n_points(task$y), point_doubles(task$model, task$n_selected))
  }
  task[c("batches", "keeper")] <- list(NULL)
  task$max_iter <- count_start_iterations(n_points(task$y))
  task$control$polish <- FALSE
  task$control$mend <- FALSE
  task$control$tol <- 0
  task
}
