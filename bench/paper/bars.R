# Binary sparse coding on bars (section 4.1 of the paper, model A): how often all ten bars are found
# from package defaults, by selection; for as many data seeds as asked. The table goes
# to inst/extdata/bars.csv.
# make reproduce-bars, or: Rscript bench/paper/bars.R [n_seeds] [n_starts]

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
given <- as.integer(commandArgs(TRUE))
n_seeds <- if (length(given) > 0) given[1] else 20L
n_starts <- if (length(given) > 1) given[2] else 8L

selections <- list(
  "hand-crafted" = selector_handcrafted(screen = FALSE),
  "GP linear" = selector_gp(kernel_linear(), screen = FALSE),
  "GP RBF" = selector_gp(kernel_rbf(), screen = FALSE),
  "GP composition" = selector_gp(screen = FALSE)
)

run_one <- function(seed, selector) {
  set.seed(100 + seed)
  bars <- simulate_bars(2000)
  set.seed(1000 + seed)
  control <- gps_control(n_starts = n_starts, progress = FALSE)
  seconds <- cpu_time_of(
    fit <- gps_fit(bars$y, model_binary_sparse(10), selector, n_selected = 5, control = control)
  )
  c(found = sum(match_components(fit, bars)$matched), sigma2 = coef(fit)$sigma2, pi = coef(fit)$pi,
    iterations = fit$n_iter, seconds = seconds)
}

summarise <- function(name) {
  runs <- vapply(seq_len(n_seeds), run_one, numeric(5), selector = selections[[name]])
  recovered <- runs["found", ] == 10
  middle <- function(row) stats::median(runs[row, recovered])
  data.frame(selection = name, n_starts = n_starts, all_bars = rate_text(sum(recovered), n_seeds),
             sigma2 = middle("sigma2"), pi = middle("pi"),
             iterations = stats::median(runs["iterations", ]),
             seconds = stats::median(runs["seconds", ]), slowest = max(runs["seconds", ]))
}

table <- do.call(rbind, lapply(names(selections), summarise))
store_results(table, if (n_starts == 8L) "bars" else sprintf("bars-%d-starts", n_starts),
              "inst/extdata")
