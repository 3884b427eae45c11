# What it costs to rank all component-place pairs for an image, by the engines of the learned
# selection: CPU microseconds an image, one thread, at the solution of a run that
# bench/paper/occlusion.R has left in build/occlusion. Prints the table.
#
#   Rscript bench/paper/occlusion-ranking.R [objects-selection-seed, shapes1-gp-1]

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
engine <- asNamespace("gpselect")

run <- c(commandArgs(TRUE), "shapes1-gp-1")[1]
fit <- readRDS(file.path("build", "occlusion", paste0(run, ".rds")))$fit
blocks <- lapply(seq(0, fit$n_points - 1, by = 100), function(offset) {
  engine$new_block(offset, as.integer(min(100, fit$n_points - offset)))
})

per_image <- function(code, runs = 5L) {
  round(1e6 * median_time(code, runs)[["cpu"]] / fit$n_points, 1)
}

# `prepare`: the inverse or the search and its weights, after each refit; `rank`: affinities of all
# pairs, or of candidates; `select`: the same, screening and selection, once annealing is over.
row <- function(method) {
  task <- engine$new_task(fit$y, fit$model, selector_gp(method = method), fit$n_selected, NULL,
                          gps_control(n_threads = 1), seed = fit$seed)
  state <- engine$resume_state(task, replace(fit, "selector", list(task$selector)))
  state$is_early <- FALSE
  targets <- engine$slot_targets(fit, fit$model, task$selector$smooth)
  prepare <- function() engine$prepare_near(task$selector, task, state$memory, targets)
  regress <- function() {
    state$memory <<- engine$regress_targets(task$selector, task, state$memory, targets)
  }
  regress()
  rank <- function() {
    regress()
    for (block in blocks) engine$block_affinity(task$selector, task, state, block, NULL)
  }
  select <- function() {
    regress()
    for (block in blocks) {
      inputs <- engine$block_inputs(task$model, state$params, task$y, block)
      engine$select_latents(task, state, block, inputs)
    }
  }
  data.frame(run = run, method = method, prepare = per_image(prepare, 1L), rank = per_image(rank),
             select = per_image(select, 3L))
}

print(do.call(rbind, lapply(c("exact", "ichol", "neighbours"), row)), row.names = FALSE)
