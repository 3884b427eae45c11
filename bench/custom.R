# An EM iteration of binary sparse coding with the learned selection, in C and as vectorised R
# functions with their own M-step (tests/testthat/helper-custom.R): H' = 6 of 10, N = 2000.
# Rscript bench/custom.R: CPU seconds an iteration, three alternating runs.
library(gpselect)
source("tests/testthat/helper-custom.R")
options(gpselect.threads = 1)
set.seed(1)
y <- simulate_bars(2000, size = 5)$y
cpu_of <- function(model, n_iterations) {
  set.seed(5)
  control <- gps_control(max_iter = n_iterations, n_starts = 1, tol = 0, mend = FALSE,
                         progress = FALSE)
  sum(system.time(gps_fit(y, model, selector_gp(), n_selected = 6, control = control))[1:2])
}
for (run in 1:3) {
  for (form in c("C", "R")) {
    model <- if (form == "C") model_binary_sparse(10) else custom_sparse(10, TRUE, TRUE)
    cat(form, (cpu_of(model, 32) - cpu_of(model, 2)) / 30, "\n")
  }
}
