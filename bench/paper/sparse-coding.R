# Sparse coding on bars: models A, B and C of section 4.1 of the paper with hand-crafted, learned
# and full selection, from package defaults. A run is one fit; each is a row in a file of
# build/sparse-coding/, so that the script goes on where it was stopped (delete the folder to begin
# anew). Stores the table in inst/extdata/sparse-coding.csv.gz, and all runs in
# bench/results/sparse-coding-runs.csv, with their commits.
#
#   make reproduce-sparse-coding, or: Rscript bench/paper/sparse-coding.R [option=value ...]
#
#   data=A,B0,B1,C01,C1   some of the data sets (B0: model B with mu = 0; C01: C with psi = 0.1)
#   selection=hand,linear,rbf,composition,full,reference,...   some of the selections; those with
#                         _screened choose among the seven best ranked by the model's log joint,
#                         those with _truth start at the truth
#   seeds=1:10            some of the data seeds; seed r draws data from set.seed(100 + r) and fits
#                         from set.seed(1000 + r)
#   part=1/2              every second run, for two processes at once, each with one thread; their
#                         CPU seconds are a little more than those of a machine at rest
#   timing=3              first seeds of every cell once more, alone, for the seconds only
#   runs=no               only the table of what there is

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
engine <- asNamespace("gpselect")
options(width = 200)
n_points <- 2000
folder <- file.path("build", "sparse-coding")

datasets <- list(
  A = list(model = "binary_sparse"),
  B0 = list(model = "spike_slab", mu = 0, psi = 1),
  B1 = list(model = "spike_slab", mu = 1, psi = 1),
  C01 = list(model = "max_spike_slab", mu = 1, psi = 0.1),
  C1 = list(model = "max_spike_slab", mu = 1, psi = 1)
)

# Three kinds of references start at the truth. One ranks what is truly on first, in any order: what
# is left of a bias in its parameters is that of the truncation. One ranks bright bars before faint
# ones, so that the truncation costs least. The others rank as the fits do: what their parameters
# have beyond that is the ranking's, not that of a local optimum.
selections <- list(
  hand = list(label = "hand-crafted", make = function(bars) selector_handcrafted(FALSE)),
  linear = list(label = "GP linear", make = function(bars) {
    selector_gp(kernel_linear(), screen = FALSE)
  }),
  rbf = list(label = "GP RBF", make = function(bars) selector_gp(kernel_rbf(), screen = FALSE)),
  composition = list(label = "GP composition", make = function(bars) selector_gp(screen = FALSE)),
  hand_screened = list(label = "hand-crafted, screened", make = function(bars) {
    selector_handcrafted(screen = gps_screen(propose = 7))
  }),
  rbf_screened = list(label = "GP RBF, screened", make = function(bars) {
    selector_gp(kernel_rbf(), screen = gps_screen(propose = 7))
  }),
  full = list(label = "all latents", make = function(bars) selector_full()),
  reference = list(label = "truth first, from the truth", make = function(bars) {
    selector_custom(function(params, y) bars$latents)
  }),
  strongest = list(label = "truth first, brightest first, from the truth", make = function(bars) {
    strength <- if (is.null(bars$values)) 1 else abs(bars$values)
    selector_custom(function(params, y) bars$latents * strength)
  })
)
ranked <- c("hand", "linear", "rbf", "composition")
selections[paste0(ranked, "_truth")] <- lapply(selections[ranked], function(selection) {
  list(label = paste0(selection$label, ", from the truth"), make = selection$make)
})
from_truth <- c("reference", "strongest", paste0(ranked, "_truth"))

# What the paper says of each cell; it has no numbers but for B.
claims <- function(data, selection) {
  as_designed <- "as often as hand-crafted"
  if (selection %in% from_truth || endsWith(selection, "_screened")) return("")
  if (selection == "full") return("no more robust than selection")
  if (substr(data, 1, 1) == "B") {
    return(switch(selection, hand = "8 of 10", linear = "not recovered", rbf = "7 of 10",
                  composition = "subsumes the others"))
  }
  switch(selection, hand = "recovered", linear = paste0(as_designed, ", in fewer iterations"),
         as_designed)
}

# 20 seeds where a rate near one, or of none, is to be told from others, else 10 as in the paper.
planned_seeds <- function(data, selection) {
  if (endsWith(selection, "_truth")) return(1:5)
  few <- data == "A" || selection %in% c("full", "strongest") ||
    endsWith(selection, "_screened") || (data == "B1" && selection == "linear")
  seq_len(if (few) 10 else 20)
}

read_options <- function(given) {
  options <- list(data = names(datasets), selection = names(selections), seeds = 1:20,
                  part = c(1, 1), timing = 0, runs = "yes")
  for (argument in strsplit(given, "=", fixed = TRUE)) {
    stopifnot(length(argument) == 2, argument[1] %in% names(options))
    split <- strsplit(argument[2], if (argument[1] == "part") "/" else ",", fixed = TRUE)[[1]]
    options[[argument[1]]] <- switch(argument[1], data = , selection = , runs = split,
                                     seeds = eval(str2lang(argument[2])), as.numeric(split))
  }
  stopifnot(options$data %in% names(datasets), options$selection %in% names(selections))
  options
}

# All runs in the order in which they are made: seeds outermost, so that what is there when the
# script is stopped is a table with fewer seeds.
plan_runs <- function(options) {
  cells <- expand.grid(selection = options$selection, data = options$data,
                       stringsAsFactors = FALSE)
  runs <- do.call(rbind, lapply(options$seeds, function(seed) {
    is_planned <- mapply(function(data, selection) seed %in% planned_seeds(data, selection),
                         cells$data, cells$selection)
    if (any(is_planned)) cbind(cells[is_planned, c("data", "selection")], seed = seed)
  }))
  runs[seq_len(nrow(runs)) %% options$part[2] == options$part[1] %% options$part[2], ]
}

# How many bars the parameters of every EM iteration have found: the tracer sees each state that the
# fit goes on from, in starts and main run.
watch_bars <- function(bars, code) {
  seen <- list()
  watch <- function(state) {
    found <- sum(match_components(state$params, bars)$matched)
    seen[[length(seen) + 1]] <<- c(start = state$start, iteration = state$iteration, found = found)
  }
  suppressMessages(trace("show_progress", bquote((.(watch))(state)), where = engine, print = FALSE))
  on.exit(suppressMessages(untrace("show_progress", where = engine)))
  fit <- force(code)
  list(fit = fit, seen = as.data.frame(do.call(rbind, seen)))
}

# EM iterations until all bars are there for the first time: those of the chosen short start, then
# those of the main run; NA: never.
first_recovery <- function(fit, seen, n_bars) {
  chosen <- fit$starts$start[fit$starts$chosen]
  line <- rbind(seen[seen$start %in% chosen, ], seen[seen$start == 0, ])
  offset <- if (length(chosen) == 1) max(0, seen$iteration[seen$start == chosen]) else 0
  iteration <- line$iteration + ifelse(line$start == 0, offset, 0)
  c(iteration[line$found == n_bars], NA)[1]
}

draw_bars <- function(data, seed) {
  set.seed(100 + seed)
  do.call(simulate_bars, c(list(n_points), datasets[[data]]))
}

run_one <- function(data, selection, seed, n_threads) {
  bars <- draw_bars(data, seed)
  n_bars <- ncol(bars$W)
  model <- get(paste0("model_", datasets[[data]]$model), engine)(n_bars)
  selector <- selections[[selection]]$make(bars)
  is_reference <- selection %in% from_truth
  control <- gps_control(progress = FALSE, n_threads = n_threads, mend = !is_reference)
  start <- if (is_reference) bars[names(model$params)]
  n_selected <- if (selection != "full") 5
  set.seed(1000 + seed)
  seconds <- cpu_time_of(
    watched <- watch_bars(bars, gps_fit(bars$y, model, selector, n_selected = n_selected,
                                        control = control, start = start))
  )
  fit <- watched$fit
  number <- function(x) if (is.null(x)) NA else x
  data.frame(data = data, selection = selection, seed = seed,
             found = sum(match_components(fit, bars)$matched),
             recovered_at = first_recovery(fit, watched$seen, n_bars), iterations = fit$n_iter,
             sigma2 = fit$params$sigma2, pi = fit$params$pi, seconds = seconds,
             bound = fit$bound / n_points, bound_error = number(fit$bound_error) / n_points,
             status = fit$status)
}

# Makes the runs that are not there yet, each one stored at once.
make_runs <- function(plan, file, n_processes, n_threads) {
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  about <- data.frame(processes = n_processes, commit = bench_context()$commit,
                      date = format(Sys.Date()))
  for (i in seq_len(nrow(plan))) {
    run <- plan[i, ]
    if (nrow(merge(read_runs(is_timing = basename(file) == "timing.csv"), run)) > 0) next
    row <- tryCatch(cbind(run_one(run$data, run$selection, run$seed, n_threads), about),
                    gps_error = function(condition) {
                      message(run$data, " ", run$selection, " ", run$seed, ": ",
                              conditionMessage(condition))
                    })
    if (is.null(row)) next
    cat(sprintf("%-4s %-12s seed %2d: %2d bars, %5.1f s\n", run$data, run$selection, run$seed,
                row$found, row$seconds))
    utils::write.table(row, file, sep = ",", append = file.exists(file), row.names = FALSE,
                       col.names = !file.exists(file))
  }
}

# Stored runs in the order of the table: those of the recovery rates, or those made for their
# seconds.
read_runs <- function(is_timing) {
  files <- list.files(folder, "csv$", full.names = TRUE)
  files <- files[(basename(files) == "timing.csv") == is_timing]
  none <- data.frame(data = character(), selection = character(), seed = integer())
  runs <- do.call(rbind, c(list(none)[length(files) == 0], lapply(files, utils::read.csv)))
  # Two processes that meet make the same run twice.
  runs <- runs[!duplicated(runs[c("data", "selection", "seed")]), ]
  runs[order(match(runs$data, names(datasets)), match(runs$selection, names(selections)),
             runs$seed), ]
}

# One row of the table from the runs of a cell, all runs of its data set, and the runs that were
# made once more for their seconds, if any were.
summarise <- function(runs, others, timing) {
  data <- runs$data[1]
  timed <- if (nrow(timing) > 0) timing else runs
  is_full <- runs$found == 10
  middle <- function(x) if (any(is_full)) stats::median(x[is_full]) else NA
  # Seed by seed: what the data make of the parameters is the same on both sides.
  ratio <- function(name, selection) {
    reference <- others[others$selection == selection, ]
    value <- runs[[name]] / reference[[name]][match(runs$seed, reference$seed)]
    if (any(is_full & !is.na(value))) stats::median(value[is_full], na.rm = TRUE) else NA
  }
  own <- paste0(runs$selection[1], "_truth")
  data.frame(
    model = substr(data, 1, 1), mu = c(datasets[[data]]$mu, NA)[1],
    psi = c(datasets[[data]]$psi, NA)[1], selection = selections[[runs$selection[1]]]$label,
    all_bars = rate_text(sum(is_full), nrow(runs)), paper = claims(data, runs$selection[1]),
    median_bars = stats::median(runs$found), recovered_at = middle(runs$recovered_at),
    sigma2 = middle(runs$sigma2), pi = middle(runs$pi),
    sigma2_by_reference = ratio("sigma2", "reference"),
    pi_by_reference = ratio("pi", "reference"), sigma2_by_own = ratio("sigma2", own),
    pi_by_own = ratio("pi", own), seconds = stats::median(timed$seconds),
    slowest = max(timed$seconds), processes = max(timed$processes),
    iterations = stats::median(runs$iterations),
    bound = stats::median(runs$bound), bound_error = stats::median(runs$bound_error)
  )
}

summarise_all <- function(runs, timing) {
  cell_of <- function(runs) paste(runs$data, runs$selection)
  cells <- split(runs, factor(cell_of(runs), unique(cell_of(runs))))
  do.call(rbind, unname(lapply(cells, function(cell) {
    summarise(cell, runs[runs$data == cell$data[1], ],
              timing[cell_of(timing) == cell_of(cell)[1], ])
  })))
}

options <- read_options(commandArgs(TRUE))
if (options$runs == "yes" && options$timing == 0) {
  name <- sprintf("part-%d-of-%d.csv", options$part[1], options$part[2])
  make_runs(plan_runs(options), file.path(folder, name), options$part[2],
            if (options$part[2] > 1) 1L)
}
if (options$timing > 0) {
  options$seeds <- seq_len(options$timing)
  make_runs(plan_runs(options), file.path(folder, "timing.csv"), 1, NULL)
}
if (options$part[2] == 1) {
  runs <- read_runs(is_timing = FALSE)
  context <- bench_context()
  context$commit <- paste(unique(runs$commit), collapse = " ")
  context$date <- max(runs$date)
  utils::write.csv(runs, "bench/results/sparse-coding-runs.csv", row.names = FALSE)
  store_results(summarise_all(runs, read_runs(is_timing = TRUE)), "sparse-coding", "inst/extdata",
                context, compress = TRUE)
}
