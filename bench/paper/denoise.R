# Removing noise of sd 25 from the photograph `ascent` (grey levels 0 to 255) with 8 x 8 patches and
# spike-and-slab sparse coding: peak signal-to-noise ratio and seconds, by selection; for as many
# draws of the noise as asked. Stores inst/extdata/denoise.csv.
# make reproduce-denoise, or: Rscript bench/paper/denoise.R [n_seeds]

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
given <- as.integer(commandArgs(TRUE))
n_seeds <- if (length(given) > 0) given[1] else 3L
noise_sd <- 25

control <- gps_control(max_iter = 20, n_starts = 1, mend = FALSE, progress = FALSE)
greedy <- gps_screen(propose = 32)
small <- function(selector) {
  list(model = model_spike_slab(128), n_train = 4000, selector = selector)
}
cases <- list(
  "hand-crafted, greedy (defaults)" = list(),
  "hand-crafted" = list(selector = selector_handcrafted()),
  "hand-crafted, greedy" = small(selector_handcrafted(greedy)),
  "hand-crafted" = small(selector_handcrafted()),
  "GP composition, greedy" = small(selector_gp(screen = greedy)),
  "GP composition" = small(selector_gp()),
  "GP linear" = small(selector_gp(kernel_linear())),
  "random" = small(selector_random())
)

ratio <- function(image) 10 * log10(255^2 / mean((image - ascent)^2))

run_one <- function(seed, arguments) {
  set.seed(100 + seed)
  noisy <- ascent + stats::rnorm(length(ascent), sd = noise_sd)
  set.seed(1000 + seed)
  arguments <- c(list(noisy, noise_sd, control = control), arguments)
  time <- system.time(denoised <- do.call(gps_denoise, arguments))
  c(noisy = ratio(noisy), denoised = ratio(denoised$image), wall = time[["elapsed"]],
    cpu = time[["user.self"]] + time[["sys.self"]], n_train = denoised$fit$n_points,
    n_latents = ncol(coef(denoised$fit)$W))
}

summarise <- function(name, arguments) {
  runs <- vapply(seq_len(n_seeds), run_one, numeric(6), arguments = arguments)
  gains <- runs["denoised", ] - runs["noisy", ]
  data.frame(
    selection = name, n_latents = runs["n_latents", 1], n_train = runs["n_train", 1],
    n_seeds = n_seeds, noisy_db = mean(runs["noisy", ]), denoised_db = mean(runs["denoised", ]),
    gain_db = mean(gains), lowest_gain_db = min(gains), seconds = stats::median(runs["wall", ]),
    cpu_seconds = stats::median(runs["cpu", ])
  )
}

store_results(do.call(rbind, Map(summarise, names(cases), cases)), "denoise", "inst/extdata")
