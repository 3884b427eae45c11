# What a fit surely needs of memory: one that cannot fit ends before it begins.

refuse_task <- function(task) {
  check_memory(sure_bytes(task), paste("A fit of", task_size(task)), paste(
    "gps_plan() says what takes it.", if (is_whole_gp(task)) {
      "selector_gp(method = \"ichol\") takes little."
    } else {
      "gps_control(batch_size = ) or a smaller `n_selected` take less."
    }
  ))
}

# Bytes beside what is there before the first iteration: slots, and the matrices of a process of all
# points while one is factorised.
sure_bytes <- function(task) {
  n <- as.double(n_points(task$y))
  copies <- if (is.null(task$batches)) kept_copies else 1
  of_slot <- 4 + 8 + (if (task$method == "gibbs") 8 else 0)
  copies * n * task$n_selected * of_slot + (if (is_whole_gp(task)) 8 * sure_matrices * n^2 else 0)
}

sure_matrices <- 2

# The states of an iteration and of the one before.
kept_copies <- 2

task_size <- function(task) {
  sprintf("%s with %s and %s", plural(n_points(task$y), "data point"),
          plural(task$model$n_latents, "latent"), plural(task$model$n_dims, "dimension"))
}
