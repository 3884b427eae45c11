# Removing noise from the photograph `ascent` (grey levels 0 to 255) with 8 x 8 patches and
# spike-and-slab sparse coding: peak signal-to-noise ratio and seconds, for as many draws of the
# noise as asked. Stores inst/extdata/denoise.csv, noise of sd 25 by selection, and
# denoise-levels.csv, weaker and stronger noise.
# make reproduce-denoise, or: Rscript bench/paper/denoise.R [n_seeds]

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
given <- as.integer(commandArgs(TRUE))
n_seeds <- if (length(given) > 0) given[1] else 3L

control <- gps_control(max_iter = 20, n_starts = 1, mend = FALSE, progress = FALSE)
greedy <- gps_screen(propose = 64)
# The exact Gaussian process learns from fewer patches.
small <- function(selection, selector) {
  new_case(selection, model = model_spike_slab(128), n_train = 4000, selector = selector)
}
new_case <- function(selection, sd = 25, ...) {
  list(selection = selection, sd = sd, arguments = list(...))
}
selections <- list(
  new_case("hand-crafted (defaults)"),
  new_case("hand-crafted, all patches", n_train = 62001),
  new_case("hand-crafted, greedy", selector = selector_handcrafted(greedy)),
  small("hand-crafted", selector_handcrafted()),
  small("hand-crafted, greedy", selector_handcrafted(greedy)),
  small("GP composition, greedy", selector_gp(screen = greedy)),
  small("GP composition", selector_gp()),
  small("GP linear", selector_gp(kernel_linear())),
  small("random", selector_random())
)
levels <- list(new_case("hand-crafted (defaults)", 10), new_case("hand-crafted (defaults)", 50))

ratio <- function(image) 10 * log10(255^2 / mean((image - ascent)^2))

# What the components alone explain, without the remainder.
from_components <- function(denoised) {
  patches <- extract_patches(denoised$noisy, denoised$size, as = "array")
  centre <- rowMeans(patches)
  signal <- predict(denoised$fit, patches - centre, "response")
  assemble_patches(signal + centre, dim(denoised$noisy))
}

run_one <- function(seed, case) {
  set.seed(100 + seed)
  noisy <- ascent + stats::rnorm(length(ascent), sd = case$sd)
  set.seed(1000 + seed)
  arguments <- c(list(noisy, case$sd, control = control), case$arguments)
  time <- system.time(denoised <- do.call(gps_denoise, arguments))
  c(noisy = ratio(noisy), denoised = ratio(denoised$image),
    components = ratio(from_components(denoised)), wall = time[["elapsed"]],
    cpu = time[["user.self"]] + time[["sys.self"]], n_train = denoised$fit$n_points,
    n_latents = ncol(coef(denoised$fit)$W))
}

summarise <- function(case) {
  runs <- vapply(seq_len(n_seeds), run_one, numeric(7), case = case)
  gains <- runs["denoised", ] - runs["noisy", ]
  row <- data.frame(
    selection = case$selection, sd = case$sd, n_latents = runs["n_latents", 1],
    n_train = runs["n_train", 1], n_seeds = n_seeds, noisy_db = mean(runs["noisy", ]),
    components_db = mean(runs["components", ]), denoised_db = mean(runs["denoised", ]),
    gain_db = mean(gains), lowest_gain_db = min(gains),
    seconds = stats::median(runs["wall", ]), cpu_seconds = stats::median(runs["cpu", ])
  )
  print(row, row.names = FALSE)
  row
}

store_results(do.call(rbind, lapply(selections, summarise)), "denoise", "inst/extdata")
store_results(do.call(rbind, lapply(levels, summarise)), "denoise-levels", "inst/extdata")
