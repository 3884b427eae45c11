# How often gps_choose() finds the planted number, by BIC:
#   Rscript bench/choose.R clusters 20      5 clusters in 4 dimensions, N = 400, 2 to 8 tried
#   Rscript bench/choose.R bars 20          10 bars in 5 x 5 pixels, N = 1000, 8 to 12 tried
# A second number after the first: from that seed on.

library(gpselect)
given <- commandArgs(TRUE)
numbers <- as.integer(given[-1])
seeds <- if (length(numbers) > 1) numbers[2]:numbers[1] else seq_len(numbers[1])
planted <- c(clusters = 5, bars = 10)[[given[1]]]
control <- gps_control(n_starts = 2, progress = FALSE)

choose <- list(
  clusters = function() gps_choose(simulate_clusters(400, 5, 4)$y, model_gaussian_mixture, 2:8),
  bars = function() gps_choose(simulate_bars(1000)$y, model_binary_sparse, 8:12, control = control)
)
found <- vapply(seeds, function(seed) {
  set.seed(seed)
  seconds <- system.time(choice <- choose[[given[1]]]())[[1]]
  cat(sprintf("seed %d: %d (%.1f CPU s)\n", seed, choice$n_latents, seconds))
  choice$n_latents
}, 1L)
cat(sprintf("%d of %d seeds have %d\n", sum(found == planted), length(seeds), planted))
