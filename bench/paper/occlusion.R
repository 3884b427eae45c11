# Occluding objects: section 4.3 of the paper, scenes of 30 x 30 pixels in which each of 16 objects
# is present with probability 0.2, at random places and in random depth order; H = 20 components,
# H' = 5, N = 2000. A run is one fit in a process of its own; each is a file in build/occlusion/, so
# that the script goes on where it was stopped (delete the folder to begin anew). Stores
# inst/extdata/occlusion*.csv and occlusion-components.rds, which the vignette prints.
#
#   make reproduce-occlusion, or: Rscript bench/paper/occlusion.R [option=value ...]
#
#   objects=shapes1,shapes2,coil   some of the sets of objects: two procedural ones in colour, and
#                                  16 of COIL-20 in grey (found in ../shared/data/coil20)
#   selection=gp,gp5,gp1,fixed,scan,scan_single,literal,no_gp   some of the selections
#   seeds=1:5                      some of the seeds: seed r fits from set.seed(r)
#   part=1/2                       every second run, for two processes at once, each with one thread
#   threads=2                      threads of each run
#   runs=no                        only the tables of what there is
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
  gp1 = list(label = "GP every iteration", make = function() selector_gp(refit_every = 1)),
  fixed = list(label = "GP, kernel as it begins",
               make = function() selector_gp(refit_every = 1e6)),
  scan = list(label = "hand-crafted, greedy", make = function() {
    selector_handcrafted(gps_screen(explore = c(0, 0), moves = 0, random_slot = FALSE))
  }),
  scan_single = list(label = "hand-crafted",
                     make = function() selector_handcrafted(screen = FALSE)),
  literal = list(label = "GP, no screening (the paper's algorithm)",
                 make = function() selector_gp(screen = FALSE, smooth = 0)),
  no_gp = list(label = "screened explorers, no GP", make = function() {
    selector <- selector_random()
    selector$screen <- gps_screen()
    selector
  })
)

get_objects <- function(set) {
  if (set == "coil") return(read_objects("../shared/data/coil20", pattern = "obj([1-9]|1[0-6])__"))
  set.seed(c(shapes1 = 1, shapes2 = 2, shapes3 = 3)[[set]])
  scene_objects()
}

get_scenes <- function(set, n = n_points, seed = 10) {
  objects <- get_objects(set)
  set.seed(seed)
  simulate_scenes(objects, n)
}

# Peak memory of this process in MB.
peak_memory <- function() {
  lines <- tryCatch(readLines("/proc/self/status"), error = function(condition) "VmHWM: NA kB")
  as.numeric(sub("^VmHWM:[^0-9]*([0-9]+) kB", "\\1", grep("^VmHWM", lines, value = TRUE))) / 1024
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
    worst = min(match$similarity), recall = recall_of(fit, scenes$latents, scenes),
    bound = fit$bound / fit$n_points, sd = sqrt(fit$params$sigma2), iterations = fit$n_iter,
    seconds = time[["elapsed"]], cpu = time[["user.self"]] + time[["sys.self"]], peak_mb = peak,
    evaluated = mean(main$evaluations) / fit$model$n_latents,
    new_recall = recall_of(with_selection(fit, selected), new$latents, scenes),
    new_seconds = again[["elapsed"]], status = fit$status, threads = n_threads
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
n_threads <- as.integer(or(given$threads, if (is.null(given$part)) 2 else 1))

if (!is.null(given$run)) {
  wanted <- strsplit(given$run, ",")[[1]]
  run_one(wanted[1], wanted[2], as.integer(wanted[3]), n_threads)
  quit(save = "no")
}

# The plan: five seeds of what the paper compares, fewer of the rest.
plan <- function() {
  cells <- expand.grid(seed = 1:5, selection = names(selections),
                       objects = c("shapes1", "shapes2", "coil"), stringsAsFactors = FALSE)
  few <- !cells$selection %in% c("gp", "scan")
  cells[!few | cells$objects == "shapes1" & cells$seed <= 2, ]
}

keep_cells <- function(cells) {
  if (!is.null(given$objects)) {
    cells <- cells[cells$objects %in% strsplit(given$objects, ",")[[1]], ]
  }
  if (!is.null(given$selection)) {
    cells <- cells[cells$selection %in% strsplit(given$selection, ",")[[1]], ]
  }
  if (!is.null(given$seeds)) cells <- cells[cells$seed %in% eval(str2lang(given$seeds)), ]
  if (!is.null(given$part)) {
    part <- as.integer(strsplit(given$part, "/")[[1]])
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

if (!identical(given$runs, "no")) run_cells(keep_cells(plan()))
