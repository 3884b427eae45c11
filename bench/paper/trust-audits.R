# What gps_audit() says of the experiments of the paper: small versions, fitted by defaults, by the
# paper's own algorithm (one start, no moves of components, no screening), and selections that are
# known to fail; then the experiments at full size by defaults. The table goes
# to inst/extdata/trust-audits.csv.
#
#   make reproduce-trust-audits, or: Rscript bench/paper/trust-audits.R [only=PATTERN] [size=full]
#
#   size=small,full  one of the sizes alone; the rows of the other are kept as they are stored
#   only=PATTERN     cases whose experiment and way match, printed and not stored

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
options(width = 200)
given <- function(name) {
  sub("^[a-z]+=", "", grep(paste0("^", name, "="), commandArgs(TRUE), value = TRUE))
}
only <- given("only")
sizes <- strsplit(c(given("size"), "small,full")[1], ",")[[1]]
stopifnot(sizes %in% c("small", "full"))

defaults <- gps_control(progress = FALSE, n_threads = 1)
as_paper <- gps_control(max_iter = 40, tol = 0, n_starts = 1, polish = FALSE, mend = FALSE,
                        progress = FALSE, n_threads = 1)
short <- gps_control(max_iter = 12, progress = FALSE, n_threads = 1)

line <- function() simulate_clusters(150, layout = "line")$y
plane <- function() simulate_clusters(150)$y
mixture <- function(n) model_gaussian_mixture(n, "spherical")
bars <- function(...) function() simulate_bars(500, ...)$y
scenes <- function() {
  simulate_scenes(scene_objects(4, size = c(7, 7)), 200, size = c(12, 12),
                  prob = 0.25)$y
}
clusters <- function(n, n_clusters, n_dims = 16) {
  function() {
    centre <- matrix(stats::rnorm(n_clusters * n_dims, sd = 3), n_clusters)
    centre[sample(n_clusters, n, TRUE), ] + matrix(stats::rnorm(n * n_dims), n)
  }
}
many <- clusters(4000, 200)
random_points <- function(n_clusters) {
  function(y) list(mu = t(y[sample(nrow(y), n_clusters), ]))
}
# A random dictionary of which four elements are on as a rule, and data points of it.
random_dictionary <- function(n_latents, n_dims) {
  set.seed(9)
  list(W = matrix(stats::rnorm(n_dims * n_latents), n_dims), pi = 4 / n_latents, sigma2 = 0.25)
}
causes_of <- function(dictionary, n = 1000) {
  function() {
    n_dims <- nrow(dictionary$W)
    on <- matrix(stats::runif(n * ncol(dictionary$W)) < dictionary$pi, n)
    tcrossprod(on * 1, dictionary$W) + matrix(stats::rnorm(n * n_dims, sd = 0.5), n)
  }
}
dictionary <- random_dictionary(128, 64)
causes <- causes_of(dictionary)
dictionary512 <- random_dictionary(512, 144)
patches <- function() {
  set.seed(101)
  found <- extract_patches(ascent + stats::rnorm(length(ascent), sd = 25), c(8, 8), n = 4000)
  found - rowMeans(found)
}
full_scenes <- function(background = 0) {
  function() {
    set.seed(1)
    objects <- scene_objects()
    set.seed(10)
    simulate_scenes(objects, 2000, background = background)$y
  }
}
near <- function(...) selector_gp(kernel_rbf(), method = "neighbours", rank = 20, ...)
plain <- function(kernel) selector_gp(kernel, refit_every = 5, screen = FALSE)

# experiment, how it is fitted, data, model, selector, n_selected, control, start.
one <- function(experiment, way, data, model, selector = selector_gp(), n_selected = NULL,
                control = defaults, start = NULL, size = "small") {
  list(size = size, experiment = experiment, way = way, data = data, model = model,
       selector = selector,
       n_selected = n_selected, control = control, start = start)
}
cases <- list(
  one("bars, model A", "defaults", bars(), model_binary_sparse(10)),
  one("bars, model A", "the paper's", bars(), model_binary_sparse(10),
      plain(kernel_composition()), 5, as_paper),
  one("bars, model B", "defaults", bars(model = "spike_slab"), model_spike_slab(10)),
  one("bars, model C", "defaults", bars(model = "max_spike_slab"), model_max_spike_slab(10)),
  one("three clusters in the plane", "defaults", plane, mixture(3)),
  one("three clusters in the plane", "the paper's, linear", plane, mixture(3),
      plain(kernel_linear()), 2, as_paper),
  one("three clusters on a line", "defaults", line, mixture(3)),
  one("three clusters on a line", "the paper's, RBF", line, mixture(3), plain(kernel_rbf()), 2,
      as_paper),
  one("three clusters on a line", "the paper's, linear", line, mixture(3),
      plain(kernel_linear()), 2, as_paper),
  one("three clusters on a line", "linear, screened", line, mixture(3),
      selector_gp(kernel_linear()), 2),
  one("objects that hide each other", "defaults", scenes, model_occlusive(4, c(7, 7)),
      n_selected = 3),
  one("200 clusters", "defaults", many, mixture(200)),
  one("200 clusters", "low rank from random points", many, mixture(200),
      selector_gp(method = "ichol", rank = 40, screen = FALSE), 5, short, random_points(200)),
  one("200 clusters", "the same, screened", many, mixture(200),
      selector_gp(method = "ichol", rank = 40), 5, short, random_points(200)),
  one("200 clusters", "neighbours", many, mixture(200), near()),
  one("dictionary of 128, known", "20 neighbours", causes, model_binary_sparse(128),
      near(screen = FALSE), 8, gps_control(max_iter = 1, progress = FALSE), dictionary),
  one("dictionary of 128, known", "20 neighbours, screened", causes, model_binary_sparse(128),
      near(), 8, gps_control(max_iter = 1, progress = FALSE), dictionary),
  one("dictionary of 128, known", "defaults", causes, model_binary_sparse(128), selector_gp(), 8,
      gps_control(max_iter = 1, progress = FALSE), dictionary)
)
full <- function(experiment, data, model, way = "defaults", ...) {
  one(experiment, way, data, model, ..., size = "full")
}
full_bars <- function(...) function() simulate_bars(2000, ...)$y
# Iterations enough for the ranking to be what is learned, not what the start has selected.
learned <- gps_control(max_iter = 5, progress = FALSE)
full_cases <- list(
  full("bars, model A", full_bars(), model_binary_sparse(10)),
  full("bars, model B, mu = 0", full_bars(model = "spike_slab", mu = 0, psi = 1),
       model_spike_slab(10)),
  full("bars, model B, mu = 1", full_bars(model = "spike_slab", mu = 1, psi = 1),
       model_spike_slab(10)),
  full("bars, model C, psi = 0.1", full_bars(model = "max_spike_slab", mu = 1, psi = 0.1),
       model_max_spike_slab(10)),
  full("bars, model C, psi = 1", full_bars(model = "max_spike_slab", mu = 1, psi = 1),
       model_max_spike_slab(10)),
  full("nine clusters in the plane", function() simulate_clusters(900, 9)$y, mixture(9)),
  full("objects that hide each other", full_scenes(), model_occlusive(20, c(14, 14)),
       n_selected = 5),
  full("patches of a photograph", patches, model_spike_slab(128),
       control = gps_control(max_iter = 20, n_starts = 1, mend = FALSE, progress = FALSE)),
  full("800 clusters", clusters(20000, 800), mixture(800)),
  full("1000 clusters, full covariances", clusters(50000, 1000, 20), model_gaussian_mixture(1000)),
  full("800 clusters", clusters(20000, 800), mixture(800), "low rank from random points",
       selector_gp(method = "ichol", rank = 40, screen = FALSE), 5, short, random_points(800)),
  full("800 clusters", clusters(20000, 800), mixture(800), "neighbours", near()),
  full("dictionary of 512, known", causes_of(dictionary512), model_binary_sparse(512),
       "20 neighbours", near(screen = FALSE), 10, learned, dictionary512),
  full("dictionary of 512, known", causes_of(dictionary512), model_binary_sparse(512),
       "20 neighbours, screened", near(), 10, learned, dictionary512),
  full("dictionary of 512, known", causes_of(dictionary512), model_binary_sparse(512), "defaults",
       selector_gp(), 10, learned, dictionary512)
)
cases <- Filter(function(case) case$size %in% sizes, c(cases, full_cases))

judge <- function(case) {
  set.seed(1)
  y <- case$data()
  start <- if (is.function(case$start)) case$start(y) else case$start
  set.seed(2)
  seconds <- cpu_time_of(fit <- suppressWarnings(
    gps_fit(y, case$model, case$selector, case$n_selected, control = case$control, start = start),
    classes = "gps_warning"
  ))
  audit <- gps_audit(fit)
  alone <- audit$ranking
  known <- function(x) if (is.null(x)) NA else x
  data.frame(size = case$size, experiment = case$experiment, way = case$way,
             n_latents = fit$model$n_latents,
             n_selected = fit$n_selected, verdict = audit$verdict, mass = audit$mass,
             recall = audit$recall, gap = audit$gap, ranking = known(alone$verdict),
             ranking_mass = known(alone$mass), ranking_recall = known(alone$recall),
             loo_r2 = audit$loo_r2, reference = audit$reference, seconds = seconds)
}

if (length(only) > 0) {
  cases <- Filter(function(case) grepl(only, paste(case$experiment, case$way)), cases)
}
rows <- lapply(cases, function(case) {
  row <- judge(case)
  print(row[c("experiment", "way", "verdict", "mass", "ranking", "ranking_mass", "loo_r2",
              "seconds")], digits = 3, row.names = FALSE)
  row
})
table <- do.call(rbind, rows)
print(table, digits = 3, row.names = FALSE)
if (length(only) == 0) {
  file <- file.path("inst", "extdata", "trust-audits.csv")
  stored <- utils::read.csv(file)
  rows <- rbind(stored, cbind(table, bench_context()))
  rows <- rows[c(which(!stored$size %in% sizes), nrow(stored) + seq_len(nrow(table))), ]
  utils::write.csv(rows[order(rows$size != "small"), ], file, row.names = FALSE)
}
