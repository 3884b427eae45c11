# The Gaussian mixture of section 4.2 of the paper: C = 3, C' = 2, 40 iterations, one start,
# explorers to the end, refits every five iterations; and the package's defaults beside it. The
# table goes to inst/extdata/mixture.csv.
# make reproduce-mixture, or: Rscript bench/paper/mixture.R [n_seeds]

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
engine <- asNamespace("gpselect")
given <- as.integer(commandArgs(TRUE))
n_seeds <- if (length(given) > 0) given[1] else 20L
as_paper <- gps_control(max_iter = 40, tol = 0, n_starts = 1, polish = FALSE, mend = FALSE)

# Adjusted Rand indices: of the last iteration's most probable clusters, explorers and all, as in
# the paper's figure; and of the fit, whose last pass has no explorers.
run_one <- function(seed, layout, kernel, start, n_selected, control) {
  set.seed(seed)
  data <- simulate_clusters(150, layout = layout)
  optimum <- if (start == "optimum") data[c("mu", "sigma", "pi")]
  set.seed(1000 + seed)
  model <- model_gaussian_mixture(3, "spherical")
  selector <- selector_gp(kernel, refit_every = if (identical(control$n_starts, 1L)) 5 else 10,
                          screen = FALSE)
  task <- engine$new_task(t(data$y), model, selector, n_selected, NULL, control)
  state <- engine$run_em(task, engine$first_state(task, optimum))
  fitted <- suppressWarnings(engine$finish(task, state))
  index <- function(state) {
    engine$adjusted_rand(max.col(t(engine$dense_targets(state, 3))), data$cluster)
  }
  c(index(state), index(fitted))
}

# Full EM: the same starts, all clusters.
run_full <- function(seed, layout, start) {
  set.seed(seed)
  data <- simulate_clusters(150, layout = layout)
  optimum <- if (start == "optimum") data[c("mu", "sigma", "pi")]
  set.seed(1000 + seed)
  fit <- gps_fit(data$y, model_gaussian_mixture(3, "spherical"), selector_full(),
                 control = as_paper, start = optimum)
  rep(engine$adjusted_rand(max.col(expectations(fit)), data$cluster), 2)
}

kernels <- list("linear + white" = kernel_linear(), "RBF + white" = kernel_rbf(),
                composition = kernel_composition())

summarise <- function(selection, n_selected, layout, start, one) {
  found <- vapply(seq_len(n_seeds), one, numeric(2))
  data.frame(selection = selection, n_selected = n_selected, layout = layout, start = start,
             last_iteration = rate_text(sum(found[1, ] > 0.95), n_seeds),
             median_ari = stats::median(found[1, ]),
             final_pass = rate_text(sum(found[2, ] > 0.95), n_seeds))
}

rows <- list()
for (layout in c("random", "line")) {
  for (start in c("random", "optimum")) {
    for (name in names(kernels)) {
      rows <- c(rows, list(summarise(name, 2, layout, start, function(seed) {
        run_one(seed, layout, kernels[[name]], start, 2, as_paper)
      })))
    }
    rows <- c(rows, list(summarise("all clusters", 3, layout, start, function(seed) {
      run_full(seed, layout, start)
    })))
  }
  rows <- c(rows, list(
    summarise("RBF + white", 1, layout, "optimum", function(seed) {
      run_one(seed, layout, kernels[["RBF + white"]], "optimum", 1, as_paper)
    }),
    summarise("defaults (composition)", 2, layout, "8 short starts", function(seed) {
      run_one(seed, layout, kernel_composition(), "random", 2, gps_control())
    })
  ))
}
store_results(do.call(rbind, rows), "mixture", "inst/extdata")
