# What all benches share: where they run, how they measure, what they store.

# CPU seconds, of all threads, that evaluating `code` takes.
cpu_time_of <- function(code) {
  time <- system.time(code)
  time[["user.self"]] + time[["sys.self"]]
}

# Median CPU seconds (all threads) and wall seconds over `runs`, each of `times` evaluations.
median_time <- function(code, runs = 7L, times = 1L) {
  measured <- vapply(seq_len(runs), function(i) {
    gc(FALSE)
    time <- system.time(for (k in seq_len(times)) code())
    c(cpu = time[["user.self"]] + time[["sys.self"]], wall = time[["elapsed"]]) / times
  }, c(cpu = 0, wall = 0))
  apply(measured, 1, stats::median)
}

# The kernels that OpenBLAS really uses; it tells at its start, so a new process is asked.
blas_core <- function() {
  said <- suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), c("-e", "1"), stdout = TRUE,
                                   stderr = TRUE, env = "OPENBLAS_VERBOSE=2"))
  core <- grep("^Core:", said, value = TRUE)
  if (length(core) == 0) "not OpenBLAS" else sub("^Core: *", "", core[1])
}

processor <- function() {
  lines <- tryCatch(readLines("/proc/cpuinfo"), error = function(condition) character())
  name <- grep("^model name", lines, value = TRUE)
  if (length(name) == 0) Sys.info()[["machine"]] else sub("^.*: *", "", name[1])
}

# File of the BLAS behind Debian's links, with its folder, which names the implementation.
blas_library <- function() {
  file <- normalizePath(extSoftVersion()[["BLAS"]], mustWork = FALSE)
  file.path(basename(dirname(file)), basename(file))
}

# One row that says where and on what the numbers were measured.
bench_context <- function() {
  commit <- suppressWarnings(system2("git", c("rev-parse", "--short", "HEAD"), stdout = TRUE,
                                     stderr = FALSE))
  data.frame(
    date = format(Sys.Date()), commit = if (length(commit) == 1) commit else NA,
    processor = processor(), cores = parallel::detectCores(),
    blas = blas_library(), blas_core = blas_core(),
    blas_threads = Sys.getenv("OPENBLAS_NUM_THREADS", NA)
  )
}

# Prints the table and stores it with its context in bench/results/<name>.csv; long ones that the
# package installs are compressed, <name>.csv.gz.
store_results <- function(table, name, folder = "bench/results", context = bench_context(),
                          compress = FALSE) {
  print(table, digits = 3, row.names = FALSE)
  cat(sprintf("\n%s, %s (%s kernels), commit %s, %s\n", context$processor, context$blas,
              context$blas_core, context$commit, context$date))
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  path <- file.path(folder, paste0(name, if (compress) ".csv.gz" else ".csv"))
  connection <- if (compress) gzfile(path, "w") else file(path, "w")
  on.exit(close(connection))
  utils::write.csv(cbind(table, context), connection, row.names = FALSE)
}

# Exact (Clopper and Pearson) 95 % interval of a rate, as text.
rate_text <- function(hits, n) {
  interval <- stats::binom.test(hits, n)$conf.int
  sprintf("%d of %d (%.0f-%.0f %%)", hits, n, 100 * interval[1], 100 * interval[2])
}

# Data points of sparse coding, `on` of whose latents are on as a rule. With `slabs` a component
# that is on has an intensity of its own for each point.
simulate_sparse <- function(n_points, n_dims, n_latents, on = 3, slabs = FALSE) {
  components <- matrix(stats::rnorm(n_dims * n_latents), n_dims)
  latents <- matrix(stats::rbinom(n_points * n_latents, 1, on / n_latents), n_points)
  if (slabs) latents <- latents * stats::rnorm(length(latents), 1)
  latents %*% t(components) + matrix(stats::rnorm(n_points * n_dims), n_points)
}

# Peak memory of this process in MB.
peak_memory <- function() {
  lines <- tryCatch(readLines("/proc/self/status"), error = function(condition) "VmHWM: NA kB")
  as.numeric(sub("^VmHWM:[^0-9]*([0-9]+) kB", "\\1", grep("^VmHWM", lines, value = TRUE))) / 1024
}
