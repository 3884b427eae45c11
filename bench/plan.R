# How true the plans of gps_plan() are: memory at the peak and seconds of ten fits, each in a
# process of its own, beside what was planned. All iterations are used up, so that their number is
# known: OPENBLAS_NUM_THREADS=1 Rscript bench/plan.R [numbers of problems]

jobs <- list(
  bars_exact = quote({
    y <- simulate_bars(1500, value = 5)$y
    list(y, model_binary_sparse(10), n_selected = 5)
  }),
  bars_many = quote({
    y <- simulate_bars(100000, value = 5)$y
    list(y, model_binary_sparse(10), selector_handcrafted(), n_selected = 5)
  }),
  bars_basis = quote({
    y <- simulate_bars(20000, value = 5)$y
    list(y, model_binary_sparse(10), n_selected = 5)
  }),
  bars_gibbs = quote({
    y <- simulate_bars(2000, value = 5)$y
    list(y, model_binary_sparse(10), selector_handcrafted(), n_selected = 6, method = "gibbs")
  }),
  spike_slab = quote({
    y <- simulate_bars(8000, "spike_slab")$y
    list(y, model_spike_slab(10), selector_handcrafted(), n_selected = 5)
  }),
  max_spike_slab = quote({
    y <- simulate_bars(2000, "max_spike_slab", psi = 0.1)$y
    list(y, model_max_spike_slab(10), selector_handcrafted(), n_selected = 4, max_active = 2)
  }),
  mixture = quote({
    y <- simulate_clusters(30000, 8, 10)$y
    list(y, model_gaussian_mixture(8), selector_full())
  }),
  mixture_many = quote({
    y <- matrix(rnorm(20000 * 8), 20000) + 8 * matrix(rnorm(60 * 8), 60)[rep_len(1:60, 20000), ]
    list(y, model_gaussian_mixture(60), method_gp = "neighbours")
  }),
  occlusive = quote({
    y <- simulate_scenes(scene_objects(3, 6), 200, size = c(11, 13), prob = 0.4)$y
    list(y, model_occlusive(3, c(8, 8)), selector_handcrafted())
  }),
  batches = quote({
    y <- simulate_bars(50000, value = 5)$y
    list(y, model_binary_sparse(10), selector_handcrafted(), n_selected = 5, batch_size = 2000)
  })
)

peak_bytes <- function() {
  line <- grep("^VmHWM", readLines("/proc/self/status"), value = TRUE)
  1024 * as.double(gsub("[^0-9]", "", line))
}

# In a process that has done nothing else: the plan, or the fit.
run_job <- function(name, what) {
  library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
  set.seed(1)
  parts <- eval(jobs[[name]])
  own <- intersect(names(parts), c("method", "batch_size"))
  control <- do.call(gps_control, c(list(max_iter = 25, tol = 0, progress = FALSE, n_threads = 1),
                                    parts[own]))
  if (!is.null(parts$method_gp)) parts$selector <- selector_gp(method = parts$method_gp)
  parts[c(own, "method_gp")] <- NULL
  if (what == "plan") {
    plan <- suppressWarnings(do.call(gps_plan, c(parts, list(control = control)), quote = TRUE))
    return(c(plan$bytes, sum(plan$seconds)))
  }
  seconds <- system.time(
    suppressWarnings(do.call(gps_fit, c(parts, list(control = control)), quote = TRUE))
  )[["elapsed"]]
  c(peak_bytes(), seconds)
}

arguments <- commandArgs(TRUE)
if (length(arguments) == 2 && arguments[2] %in% c("plan", "fit")) {
  cat("\nRESULT", run_job(arguments[1], arguments[2]), "\n")
  quit()
}
script <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
numbers <- if (length(arguments) > 0) as.integer(arguments) else seq_along(jobs)
ask <- function(name, what) {
  said <- system2(file.path(R.home("bin"), "Rscript"), c("--no-init-file", script, name, what),
                  stdout = TRUE, stderr = FALSE)
  as.double(strsplit(sub("^RESULT ", "", grep("^RESULT", said, value = TRUE)), " ")[[1]])
}
rows <- lapply(names(jobs)[numbers], function(name) {
  plan <- ask(name, "plan")
  fit <- ask(name, "fit")
  row <- data.frame(job = name, mb_planned = plan[1] / 2^20, mb_peak = fit[1] / 2^20,
                    memory_ratio = plan[1] / fit[1], s_planned = plan[2], s_taken = fit[2],
                    time_ratio = plan[2] / fit[2])
  row[-1] <- signif(row[-1], 3)
  print(row, row.names = FALSE)
  row
})
result <- do.call(rbind, rows)
print(result, row.names = FALSE)
if (length(numbers) == length(jobs)) {
  utils::write.csv(result, "bench/results/plan.csv", row.names = FALSE)
}
