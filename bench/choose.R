# How often gps_choose() finds the planted number, by BIC:
#   Rscript bench/choose.R clusters 20      5 clusters in 4 dimensions, N = 400, 2 to 8 tried
#   Rscript bench/choose.R bars 20          10 bars in 5 x 5 pixels, N = 1000, 8 to 12 tried
# A second number after the first: from that seed on. Stored in bench/results/choose-<what>.csv,
# beside the seeds that are there already.

library(gpselect)
source("bench/common.R")
given <- commandArgs(TRUE)
numbers <- as.integer(given[-1])
seeds <- if (length(numbers) > 1) numbers[2]:numbers[1] else seq_len(numbers[1])
planted <- c(clusters = 5, bars = 10)[[given[1]]]
control <- gps_control(n_starts = 2, progress = FALSE)

choose <- list(
  clusters = function() gps_choose(simulate_clusters(400, 5, 4)$y, model_gaussian_mixture, 2:8),
  bars = function() gps_choose(simulate_bars(1000)$y, model_binary_sparse, 8:12, control = control)
)
rows <- lapply(seeds, function(seed) {
  set.seed(seed)
  seconds <- cpu_time_of(choice <- choose[[given[1]]]())
  cat(sprintf("seed %d: %d (%.1f CPU s)\n", seed, choice$n_latents, seconds))
  data.frame(seed = seed, planted = planted, chosen = choice$n_latents, cpu_seconds = seconds)
})
table <- cbind(do.call(rbind, rows), bench_context())
name <- paste0("choose-", given[1])
path <- file.path("bench/results", paste0(name, ".csv"))
if (file.exists(path)) {
  before <- utils::read.csv(path)
  table <- rbind(before[!before$seed %in% seeds, ], table)
}
table <- table[order(table$seed), ]
print(table[c("seed", "chosen", "cpu_seconds")], row.names = FALSE)
utils::write.csv(table, path, row.names = FALSE)
cat(sprintf("%d of %d seeds have %d\n", sum(table$chosen == planted), nrow(table), planted))
