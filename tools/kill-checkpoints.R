# Kills fits while they write checkpoints, and asks each time whether the last one that was complete
# can be read, and whether those that go on end as if nothing had happened:
# Rscript tools/kill-checkpoints.R [kills, 200]

library(gpselect)
n_kills <- as.integer(c(commandArgs(TRUE), 200)[1])
set.seed(1)
y <- simulate_bars(20000, value = 5)$y[, 1:16]
file <- file.path(tempdir(), "run.rds")
control <- gps_control(max_iter = 12, n_starts = 1, mend = FALSE, n_threads = 1, progress = FALSE,
                       checkpoint = file, checkpoint_every = 0)
run <- function() {
  set.seed(2)
  gps_fit(y, model_binary_sparse(8), selector_handcrafted(), n_selected = 4, control = control)
}
whole <- run()
unlink(file)
compared <- c("params", "selected", "prob_on", "bound", "n_iter", "status")

counts <- c(kills = 0, read = 0, while_writing = 0, ended = 0, same_bits = 0)
for (kill in seq_len(n_kills)) {
  job <- parallel::mcparallel({
    if (file.exists(file)) gps_resume(file, y) else run()
    TRUE
  }, silent = TRUE)
  while (!file.exists(file)) Sys.sleep(0.01)
  Sys.sleep(stats::runif(1, 0, 0.8))
  # Two of three in a writing.
  if (kill %% 3 > 0) {
    last <- Sys.time() + 2
    while (!file.exists(paste0(file, ".new")) && Sys.time() < last) Sys.sleep(5e-4)
    Sys.sleep(stats::runif(1, 0, 0.004))
  }
  tools::pskill(job$pid, tools::SIGKILL)
  suppressWarnings(parallel::mccollect(job))
  is_torn <- file.exists(paste0(file, ".new"))
  saved <- tryCatch(gpselect:::read_checkpoint(file, gpselect:::checkpoint_form()),
                    error = function(condition) NULL)
  counts <- counts + c(1, !is.null(saved), is_torn, 0, 0)
  if (kill %% 20 > 0) next
  fit <- gps_resume(file, y)
  counts <- counts + c(0, 0, 0, 1, identical(unclass(fit)[compared], unclass(whole)[compared]))
  unlink(file)
}
cat(sprintf("%s %d", names(counts), as.integer(counts)), sep = "\n")
if (counts[["read"]] < counts[["kills"]] || counts[["same_bits"]] < counts[["ended"]]) {
  quit(status = 1)
}
