# Occluding objects: section 4.3 of the paper, scenes of 30 x 30 pixels in which each of 16 objects
# is present with probability 0.2, at random places and in random depth order; H = 20 components,
# H' = 5, N = 2000. A run is one fit in a process of its own; each is a file in build/occlusion/, so
# that the script goes on where it was stopped (delete the folder to begin anew). Stores
# inst/extdata/occlusion*.csv and occlusion-components.rds, which the vignette prints.
#
#   make reproduce-occlusion, or: Rscript bench/paper/occlusion.R [option=value ...]
#
#   objects=shapes1,shapes2,coil,coloured
#                                  some of the sets of objects: two procedural ones in colour, 16 of
#                                  COIL-20 in grey (found in ../shared/data/coil20), these on black;
#                                  and those of shapes1 on a coloured background
#   selection=gp,gp5,scan,...      some of the selections below
#   seeds=1:5                      some of the seeds: seed r fits from set.seed(r)
#   part=1/2                       every second run, for two processes at once, each with one thread
#   threads=2                      threads of each run
#   runs=no, runs=only             only the tables of what there is; only the runs
#   run=objects,selection,seed     (internal) one run, in this process

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
engine <- asNamespace("gpselect")
options(width = 200)
folder <- file.path("build", "occlusion")
dir.create(folder, showWarnings = FALSE, recursive = TRUE)

n_points <- 2000
n_new <- 500
n_components <- 20
n_selected <- 5
window <- c(14, 14)

selections <- list(
  gp = list(label = "GP", make = function() selector_gp()),
  gp5 = list(label = "GP every 5", make = function() selector_gp(refit_every = 5)),
  ichol = list(label = "GP, incomplete Cholesky of rank 200",
               make = function() selector_gp(method = "ichol", rank = 200)),
  near = list(label = "GP, 20 nearest neighbours",
              make = function() selector_gp(method = "neighbours")),
  fixed = list(label = "GP, kernel as it begins",
               make = function() selector_gp(refit_every = 1e6)),
  scan = list(label = "hand-crafted, greedy", make = function() {
    selector_handcrafted(gps_screen(propose = 2 * n_components, explore = c(0, 0), moves = 0,
                                    random_slot = FALSE))
  }),
  scan_single = list(label = "hand-crafted",
                     make = function() selector_handcrafted(screen = FALSE)),
  literal = list(label = "GP, no screening (the paper's algorithm)",
                 make = function() selector_gp(screen = FALSE, smooth = 0)),
  one = list(label = "screened explorers and one place by the GP",
             make = function() selector_gp(screen = gps_screen(propose = 1)))
)

get_objects <- function(set) {
  if (set == "coil") return(read_objects("../shared/data/coil20", pattern = "obj([1-9]|1[0-6])__"))
  set.seed(c(shapes1 = 1, shapes2 = 2, shapes3 = 3, coloured = 1)[[set]])
  scene_objects()
}

get_scenes <- function(set, n = n_points, seed = 10) {
  objects <- get_objects(set)
  set.seed(seed)
  simulate_scenes(objects, n, background = if (set == "coloured") c(0.3, 0.6, 0.4) else 0)
}

recall_of <- function(fit, latents, truth) {
  c(selection_recall(fit, latents, within = 1, truth = truth))
}

# The fit as if its data were others, for the recall of its selection of these.
with_selection <- function(fit, selected) {
  place <- selected[, , 2] + fit$model$grid[1] * (selected[, , 3] - 1)
  latent <- ifelse(selected[, , 1] > 0, place + prod(fit$model$grid) * (selected[, , 1] - 1), 0)
  fit$selected <- t(matrix(as.integer(latent), nrow(latent)))
  fit$prob_on <- array(0, dim(fit$selected))
  fit$n_points <- nrow(latent)
  fit["y"] <- list(NULL)
  fit["row_names"] <- list(NULL)
  fit
}

# Gains that the selection of new images computes, an image.
new_evaluations <- function(fit, y) {
  task <- engine$new_prediction_task(fit, t(matrix(y, dim(y)[1])), "selected")
  state <- engine$prediction_state(fit)
  counts <- lapply(task$blocks, function(block) {
    inputs <- engine$block_inputs(task$model, state$params, task$y, block)
    attr(engine$select_new(task, state, block, inputs), "n_gains")
  })
  sum(0, unlist(counts)) / ncol(task$y)
}

run_one <- function(set, selection, seed, n_threads) {
  scenes <- get_scenes(set)
  new <- get_scenes(set, n_new, seed = 11)
  set.seed(seed)
  time <- system.time(fit <- gps_fit(
    scenes$y, model_occlusive(n_components, window), selections[[selection]]$make(),
    n_selected = n_selected, control = gps_control(n_threads = n_threads, progress = FALSE)
  ))
  peak <- peak_memory()
  match <- match_components(fit, scenes)
  again <- system.time(selected <- predict(fit, new$y, type = "selected"))
  main <- fit$trace[fit$trace$start == 0, ]
  row <- data.frame(
    objects = set, selection = selection, seed = seed, recovered = sum(match$similarity > 0.9),
    worst = min(match$similarity), iou = mean(match$iou), iou_worst = min(match$iou),
    recall = recall_of(fit, scenes$latents, scenes),
    bound = fit$bound / fit$n_points, sd = sqrt(fit$params$sigma2),
    clutter = fit$params$clutter, iterations = fit$n_iter,
    seconds = time[["elapsed"]], cpu = time[["user.self"]] + time[["sys.self"]], peak_mb = peak,
    evaluated = mean(main$evaluations) / fit$model$n_latents,
    new_recall = recall_of(with_selection(fit, selected), new$latents, scenes),
    new_evaluations = new_evaluations(fit, new$y), new_seconds = again[["elapsed"]],
    status = fit$status, threads = n_threads
  )
  path <- file.path(folder, paste(set, selection, seed, sep = "-"))
  saveRDS(list(fit = fit, match = match), paste0(path, ".rds"), compress = FALSE)
  utils::write.csv(cbind(row, bench_context()[c("date", "commit", "processor")]),
                   paste0(path, ".csv"), row.names = FALSE)
  print(row)
}

options_given <- strsplit(grep("=", commandArgs(TRUE), value = TRUE), "=", fixed = TRUE)
given <- stats::setNames(lapply(options_given, `[`, 2), vapply(options_given, `[`, "", 1))
or <- function(x, default) if (is.null(x)) default else x
n_threads <- as.integer(or(given[["threads"]], if (is.null(given[["part"]])) 2 else 1))

if (!is.null(given[["run"]])) {
  wanted <- strsplit(given[["run"]], ",")[[1]]
  run_one(wanted[1], wanted[2], as.integer(wanted[3]), n_threads)
  quit(save = "no")
}

# The plan: five seeds of the learned selection on black, fewer of the hand-crafted one and on a
# coloured background, one of the rest.
plan <- function() {
  cells <- expand.grid(objects = c("shapes1", "coil", "shapes2", "coloured"), seed = 1:5,
                       selection = names(selections), stringsAsFactors = FALSE)
  is_gp <- cells$selection == "gp" & (cells$objects != "coloured" | cells$seed <= 2)
  is_scan <- cells$selection == "scan" & cells$seed == 1
  is_first <- cells$objects == "shapes1" & cells$seed == 1
  cells <- cells[is_gp | is_scan | is_first, ]
  cells[order(cells$seed), ]
}

keep_cells <- function(cells) {
  if (!is.null(given[["objects"]])) {
    cells <- cells[cells$objects %in% strsplit(given[["objects"]], ",")[[1]], ]
  }
  if (!is.null(given[["selection"]])) {
    cells <- cells[cells$selection %in% strsplit(given[["selection"]], ",")[[1]], ]
  }
  if (!is.null(given[["seeds"]])) cells <- cells[cells$seed %in% eval(str2lang(given[["seeds"]])), ]
  if (!is.null(given[["part"]])) {
    part <- as.integer(strsplit(given[["part"]], "/")[[1]])
    cells <- cells[seq_len(nrow(cells)) %% part[2] == part[1] %% part[2], ]
  }
  cells
}

run_cells <- function(cells) {
  for (i in seq_len(nrow(cells))) {
    name <- paste(cells$objects[i], cells$selection[i], cells$seed[i], sep = "-")
    if (file.exists(file.path(folder, paste0(name, ".csv")))) next
    cat(name, "\n")
    system2(file.path(R.home("bin"), "Rscript"),
            c("bench/paper/occlusion.R", sprintf("threads=%d", n_threads),
              sprintf("run=%s", gsub("-", ",", name))))
  }
}

if (!identical(given[["runs"]], "no")) run_cells(keep_cells(plan()))
if (identical(given[["runs"]], "only")) quit(save = "no")

# ---- Tables ------------------------------------------------------------------------------------

read_runs <- function() {
  files <- list.files(folder, pattern = "[.]csv$", full.names = TRUE)
  runs <- do.call(rbind, lapply(files, utils::read.csv))
  label <- vapply(selections, `[[`, "", "label")
  runs$label <- label[runs$selection]
  runs[order(match(runs$objects, c("shapes1", "shapes2", "coil", "coloured")),
             match(runs$selection, names(selections)), runs$seed), ]
}

read_run <- function(set, selection, seed = 1) {
  path <- file.path(folder, sprintf("%s-%s-%d.rds", set, selection, seed))
  if (file.exists(path)) readRDS(path)$fit
}

# Bound of a point over the iterations, where it is not that of another temperature.
trace_table <- function(set) {
  parts <- lapply(names(selections), function(selection) {
    fit <- read_run(set, selection)
    if (is.null(fit)) return(NULL)
    trace <- fit$trace[fit$trace$start == 0 & fit$trace$temperature == 1, ]
    data.frame(objects = set, selection = selection, label = selections[[selection]]$label,
               iteration = trace$iteration, bound = trace$bound / fit$n_points)
  })
  do.call(rbind, parts)
}

bins <- c(0, 0.5, 1.5, 3, 6, Inf)

# Shares of the true instances by the distance of the nearest candidate of the right component.
error_row <- function(fit, scenes, selected, what) {
  error <- engine$location_errors(selected, fit$params, scenes$latents, scenes, fit$model$grid)
  error <- error[!is.na(error)]
  share <- table(cut(error, bins, right = FALSE)) / length(error)
  data.frame(what = what, d0 = share[[1]], d1 = share[[2]], d2 = share[[3]], d4 = share[[4]],
             far = share[[5]] + mean(is.infinite(error)))
}

# The best place of each component, and of these the n_selected best, by affinities n x H.
best_places <- function(affinity, model) {
  n_pixels <- prod(model$grid)
  apply(affinity, 1, function(a) {
    by_component <- matrix(a, n_pixels)
    place <- max.col(t(by_component), "first")
    top <- by_component[cbind(place, seq_along(place))]
    best <- order(-top)[seq_len(n_selected)]
    sort(place[best] + n_pixels * (best - 1))
  })
}

# The kernel of a fit's selection at its last parameters, planned on all images or on some.
plan_of <- function(fit, images = seq_len(fit$n_points), n_threads = 1L) {
  y <- engine$in_units(fit$y[, images, drop = FALSE], fit$gp$units)
  engine$engine_plan(engine$new_engine("exact"), fit$selector$kernel, fit$kernel_theta, y,
                     n_threads, dense = TRUE)
}

# The final functions of a fit applied again to all images: the Gaussian process leaving each image
# out, as the algorithm does, and with it, in chunks of images.
one_shot_rows <- function(fit, scenes, label) {
  targets <- engine$slot_targets(fit, fit$model)
  prepared <- engine$engine_prepare(plan_of(fit, n_threads = 2L), fit$kernel_theta, many = TRUE)
  trained <- engine$engine_train(prepared, targets)
  chunks <- split(seq_len(fit$n_points), ceiling(seq_len(fit$n_points) / 100))
  places <- function(predict_chunk) {
    do.call(cbind, lapply(chunks, function(points) {
      best_places(t(predict_chunk(points)$mean), fit$model)
    }))
  }
  loo <- places(function(points) engine$engine_loo(prepared, targets, points))
  inside <- places(function(points) {
    engine$engine_predict(trained, prepared$y[, points, drop = FALSE])
  })
  rbind(error_row(fit, scenes, loo, paste0(label, ", leave-one-out, unscreened")),
        error_row(fit, scenes, inside, paste0(label, ", image itself included, unscreened")))
}

error_table <- function(set) {
  scenes <- get_scenes(set)
  parts <- lapply(names(selections), function(selection) {
    fit <- read_run(set, selection)
    if (is.null(fit)) return(NULL)
    rows <- error_row(fit, scenes, fit$selected, selections[[selection]]$label)
    if (selection == "gp") rows <- rbind(rows, one_shot_rows(fit, scenes, "GP"))
    cbind(objects = set, selection = selection, rows)
  })
  do.call(rbind, parts)
}

# CPU seconds on one core, all images, at the solution of the GP's fit.
time_table <- function(set) {
  fit <- read_run(set, "gp")
  if (is.null(fit)) return(NULL)
  task_of <- function(selector) {
    task <- engine$new_task(fit$y, fit$model, selector, n_selected, NULL,
                            gps_control(n_threads = 1), seed = fit$seed)
    task$n_threads <- 1L
    task
  }
  task <- task_of(fit$selector)
  state <- engine$resume_state(task, fit)
  state$explore <- 0.1
  early <- late <- raw <- state
  early$is_early <- TRUE
  raw$memory$targets$layout$smooth <- 0
  over_blocks <- function(task, f) {
    for (offset in seq(0, fit$n_points - 1, by = 100)) f(engine$new_block(offset, 100L))
  }
  inputs <- function(task, block) engine$block_inputs(task$model, state$params, task$y, block)
  affinity <- function(state) {
    over_blocks(task, function(block) {
      engine$block_affinity(task$selector, task, state, block, inputs(task, block))
    })
  }
  select <- function(task, state) {
    over_blocks(task, function(block) {
      engine$select_latents(task, state, block, inputs(task, block))
    })
  }
  literal <- task_of(selector_gp(screen = FALSE, smooth = 0))
  scan <- task_of(selections$scan$make())
  single <- task_of(selector_handcrafted(screen = FALSE))
  targets <- engine$slot_targets(fit, fit$model, 1)
  refit_rows <- seq(1, fit$n_points, length.out = 500)
  steps <- list(
    "GP: affinities of all places, from sparse targets" = function() affinity(raw),
    "the same, smoothed over 1 pixel" = function() affinity(state),
    "GP: selection without screening" = function() select(literal, raw),
    "GP: selection with screening, early (400 explorers)" = function() select(task, early),
    "GP: selection with screening, late (90 explorers)" = function() select(task, late),
    "hand-crafted: scan and selection" = function() select(single, state),
    "hand-crafted: scan and greedy screening" = function() select(scan, late),
    "GP: inverse of the kernel matrix, N = 2000" = function() {
      engine$engine_prepare(plan_of(fit), fit$kernel_theta, many = TRUE)
    },
    "GP: ten evaluations of the evidence, 500 images" = function() {
      some <- engine$used_targets(engine$cut_targets(targets, refit_rows))
      engine$climb_engine(plan_of(fit, refit_rows), fit$kernel_theta, some, 10,
                          n_targets = fit$model$n_latents)
    },
    "E-step, 32 states" = function() {
      for (block in task$blocks) {
        engine$run_estep(task$model, inputs(task, block), task$y, block,
                         engine$block_slots(fit$selected, block), task$states, 1L, "stats")
      }
    }
  )
  times <- t(vapply(steps, function(step) median_time(step, runs = 5L), c(cpu = 0, wall = 0)))
  data.frame(objects = set, step = names(steps), times, row.names = NULL)
}

# Learned masks and features in steps of 1 / 255, the raw bytes of a picture.
store_components <- function(set) {
  fit <- read_run(set, "gp")
  bytes <- function(x) {
    array(as.raw(round(255 * pmin(pmax(x, 0), 1))), dim(x))
  }
  saveRDS(list(objects = set, alpha = bytes(fit$params$alpha), w = bytes(fit$params$w),
               pi = round(fit$params$pi, 4)),
          "inst/extdata/occlusion-components.rds", compress = "xz")
}

runs <- read_runs()
store_results(runs[setdiff(names(runs), c("date", "commit", "processor"))], "occlusion",
              "inst/extdata")
store_results(do.call(rbind, lapply(c("shapes1", "coil"), trace_table)), "occlusion-trace",
              "inst/extdata", compress = TRUE)
store_results(do.call(rbind, lapply(c("shapes1", "coil"), error_table)), "occlusion-errors",
              "inst/extdata")
store_results(time_table("shapes1"), "occlusion-times", "inst/extdata")
store_components("shapes1")
