# What the approximations of the Gaussian process cost beside the exact one, and the learned
# selection beside the rest of an EM iteration, with ratios side by side in the same run.
# OPENBLAS_NUM_THREADS=1 Rscript bench/scaling.R
# On a machine whose processor OpenBLAS takes for an old one, put OPENBLAS_CORETYPE (SkylakeX, Zen,
# ...) in front.

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
engine <- asNamespace("gpselect")
options(matprod = "blas")
rank <- 100L

# ---- One step of the likelihood's search and leave-one-out: bars, N 2000, D 25, H 10

bars_regression <- function() {
  set.seed(1)
  bars <- simulate_bars(2000)
  y <- t(bars$y)
  targets <- t(pmin(pmax(bars$latents + 0.1 * matrix(stats::rnorm(2e4), 2000), 0), 1))
  kernel <- kernel_composition()
  rows <- seq(1, 2000, by = 4)
  start <- engine$gp_theta(kernel, y)
  some <- plan_exact(kernel, start, y[, rows])
  theta <- engine$climb_engine(some, start, targets[, rows])$theta
  list(y = y, targets = targets, kernel = kernel, theta = theta, goal = engine$new_goal(targets))
}

plan_exact <- function(kernel, theta, y) {
  engine$engine_plan(engine$new_engine("exact"), kernel, theta, y)
}

# Value and gradient, the inverse, and the predictions that a selection ranks by.
exact_step <- function(data) {
  plan <- plan_exact(data$kernel, data$theta, data$y)
  engine$engine_evaluate(plan, data$theta, engine$new_goal(data$targets))
  engine$engine_loo(engine$engine_prepare(plan, data$theta, many = TRUE), data$targets)$mean
}

# The same from basis functions that are there.
basis_step <- function(data, plan) {
  engine$engine_evaluate(plan, data$theta, data$goal)
  view <- engine$engine_view(plan, data$y)
  sums <- engine$engine_sums(plan, view, data$targets)
  prepared <- engine$engine_prepare(plan, data$theta, sums = sums)
  engine$view_means(prepared, sums$cross, view, data$targets)
}

time_steps <- function() {
  data <- bars_regression()
  choose <- function(method, objective = "vfe") {
    engine$engine_plan(engine$new_engine(method, rank, objective), data$kernel, data$theta, data$y,
                       tol = 1e-3)
  }
  exact <- median_time(function() exact_step(data), runs = 11L)
  setups <- list(ichol = choose("ichol"), VFE = choose("inducing"),
                 FITC = choose("inducing", "fitc"), Fourier = choose("fourier"))
  steps <- t(vapply(setups, function(plan) {
    median_time(function() basis_step(data, plan), runs = 11L, times = 20L)
  }, c(0, 0)))
  pivots <- median_time(function() choose("ichol"), times = 10L)
  jobs <- c("exact, all rows", sprintf("%s, rank %d", names(setups), rank),
            sprintf("choice of %d pivots, once a refit", rank))
  times <- rbind(exact, steps, pivots)
  data.frame(setup = "value, gradient and leave-one-out: N 2000, D 25, H 10", stage = jobs,
             times, ratio = times[1, "cpu"] / times[, "cpu"], row.names = NULL)
}

# ---- An EM iteration of model A: N 20000, D 256, H 100, H' 8

# A fit in the middle of its work.
start_work <- function(y, selector) {
  control <- gps_control(n_starts = 1, n_threads = 1)
  task <- engine$new_task(t(y), model_binary_sparse(100), selector, 8, NULL, control)
  state <- engine$em_step(task, engine$begin_state(task, 1))
  list(task = task, state = engine$em_step(task, state))
}

# Stages of one iteration over all blocks. `keep`: whether the features of all points stay in memory
# between iterations.
learned_stages <- function(work, keep) {
  task <- work$task
  state <- work$state
  if (!keep) state$memory["kept"] <- list(NULL)
  blocks <- lapply(task$blocks, function(block) {
    inputs <- engine$block_inputs(task$model, state$params, task$y, block)
    state$view <- engine$block_view(task, state$memory, block)
    selected <- engine$select_latents(task, state, block, inputs)
    attr(selected, "n_gains") <- NULL
    list(block = block, inputs = inputs, state = state, selected = selected,
         result = c(list(selected = selected), run_estep(task, block, inputs, selected)))
  })
  over <- function(use) function() for (part in blocks) use(part)
  whole <- engine$pass(task, state)
  list(
    "selection: features" = over(function(part) {
      engine$block_view(task, state$memory, part$block)
    }),
    "selection: affinities and the best" = over(function(part) {
      engine$select_latents(task, part$state, part$block, part$inputs)
    }),
    "selection: sums" = over(function(part) {
      engine$block_sums(task, part$state, part$result)
    }),
    "rest: prepare" = over(function(part) {
      engine$block_inputs(task$model, state$params, task$y, part$block)
    }),
    "rest: E-step" = over(function(part) run_estep(task, part$block, part$inputs, part$selected)),
    "rest: M-step" = function() gps_mstep(task$model, state$params, whole$stats)
  )
}

run_estep <- function(task, block, inputs, selected) {
  engine$run_estep(task$model, inputs, task$y, block, selected, task$states, 1L, "stats")
}

# What comes once in ten iterations: hyper-parameters on 500 points, pivots, and a pass for sums.
refit_stages <- function(work) {
  task <- work$task
  state <- work$state
  targets <- engine$slot_targets(state, task$model)
  list(
    "once in 10: hyper-parameters" = function() {
      engine$refit_memory(task$selector, task, state$memory, targets, state)
    },
    "once in 10: pivots" = function() engine$choose_basis(task, state$memory),
    "once in 10: sums" = function() engine$survey(task, state$memory, targets)
  )
}

time_table <- function(setup, stages, runs = 7L) {
  times <- t(vapply(stages, median_time, c(0, 0), runs = runs, times = 4L))
  data.frame(setup = setup, stage = names(stages), times, ratio = NA, row.names = NULL)
}

# With the screening that is the default of approximations, and with the ranking alone.
time_iteration <- function() {
  set.seed(1)
  y <- simulate_sparse(20000, 256, 100)
  hand <- start_work(y, selector_handcrafted())
  setup <- "A: N 20000, D 256, H 100, H' 8"
  rbind(
    time_learned(y, selector_gp(method = "ichol", rank = rank, screen = FALSE),
                 sprintf("%s, ichol %d, no screening", setup, rank)),
    time_learned(y, selector_gp(method = "ichol", rank = rank),
                 sprintf("%s, ichol %d, screened", setup, rank)),
    time_table(paste0(setup, ", hand-crafted"), list(
      "whole iteration" = function() engine$em_step(hand$task, hand$state)
    ))
  )
}

time_learned <- function(y, selector, label) {
  work <- start_work(y, selector)
  forgetful <- work$state
  forgetful$memory["kept"] <- list(NULL)
  kept <- time_table(paste0(label, ", features kept"), learned_stages(work, TRUE))
  made <- time_table(paste0(label, ", features made"), learned_stages(work, FALSE))
  refit <- time_table(label, refit_stages(work), 3L)
  whole <- time_table(label, list(
    "whole iteration, features kept" = function() engine$em_step(work$task, work$state),
    "whole iteration, features made" = function() engine$em_step(work$task, forgetful)
  ))
  rbind(kept, made, refit, whole, shares(kept, refit), shares(made, refit))
}

# Selection over the rest, without and with a tenth of a refit.
shares <- function(stages, refit) {
  is_selection <- startsWith(stages$stage, "selection")
  sums <- function(rows) colSums(rows[c("cpu", "wall")])
  rest <- sums(stages[!is_selection, ])
  selection <- sums(stages[is_selection, ])
  times <- rbind(selection, selection + sums(refit) / 10, rest)
  data.frame(setup = stages$setup[1],
             stage = c("selection", "selection with a tenth of a refit", "rest"), times,
             ratio = times[, "cpu"] / rest[["cpu"]], row.names = NULL)
}

# Beside one dgemm: how many points pass a second, the inverse of what bench/stages.R shows.
set.seed(1)
square <- matrix(stats::rnorm(4e6), 2000)
dgemm <- median_time(function() square %*% square)
table <- rbind(data.frame(setup = "dgemm 2000", stage = "product", t(dgemm), ratio = NA),
               time_steps(), time_iteration())
n_points <- ifelse(startsWith(table$setup, "A:"), 20000, 2000)
table$points_per_second <- n_points / table$cpu
table$per_dgemm <- table$cpu / dgemm[["cpu"]]
store_results(table, "scaling")
