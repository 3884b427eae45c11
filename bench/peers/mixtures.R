# Mixtures with many clusters beside what else there is: k-means of R, scikit-learn, faiss and
# ClusterR, mini-batch k-means, mixtures of scikit-learn, mclust and ClusterR. All get the same data
# and one thread, and each runs in a process of its own. Measured are the log likelihood a point
# under all clusters (higher is better; k-means has none), the mean squared distance of a point from
# the nearest centre (lower is better), CPU seconds of the fit, and the peak memory of the process.
# Every fit is a row in inst/extdata/many-latents-peers.csv, gains and losses; rows of data and
# methods that are not asked for stay as they are.
#
#   make bench-peers, or: Rscript bench/peers/mixtures.R [option=value ...]
#
#   data=grid_100,...      some of the data sets in bench/peers/data.R
#   methods=...            some of the methods, by a regular expression
#   seeds=1:3              medians of so many seeds
#   limit=600              CPU seconds after which a process is stopped: its row says so in
#                          `outcome`, and has NA in place of what it would have found

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
source("bench/peers/data.R")
source("bench/peers/distances.R")

options <- list(data = paste(names(peer_data), collapse = ","), methods = ".", seeds = "1",
                limit = "600")
for (argument in strsplit(commandArgs(TRUE), "=", fixed = TRUE)) {
  stopifnot(length(argument) == 2, argument[1] %in% names(options))
  options[[argument[1]]] <- argument[2]
}
seeds <- eval(str2lang(options$seeds))

by_python <- c("scikit-learn k-means", "scikit-learn mini-batch k-means", "faiss k-means",
               "scikit-learn mixture", "scikit-learn mixture, from k-means")
by_r <- c("R kmeans", "mclust, begun on a sample", "ClusterR k-means",
          "ClusterR mixture (diagonal)", "gpselect, default", "gpselect, neighbours",
          "gpselect, hand-crafted", "gpselect, all clusters")

# Numbers that a fit in another process printed, and the mean squared distance to its centres.
run_fit <- function(method, data, seed, folder) {
  unlink(file.path(folder, "centres.bin"))
  script <- if (method %in% by_python) c("/usr/bin/python3", "bench/peers/fit.py") else
    c(file.path(R.home("bin"), "Rscript"), "bench/peers/fit.R")
  said <- suppressWarnings(system2(
    "prlimit", c(paste0("--cpu=", options$limit), script, shQuote(method), folder, dim(data$y),
                 data$C, seed),
    stdout = TRUE, stderr = TRUE,
    env = c("OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1",
            paste0("R_LIBS=", paste(.libPaths(), collapse = ":")))
  ))
  line <- grep("^result ", said, value = TRUE)
  if (length(line) != 1) {
    # Of a process that a signal ended the shell has a status above 128.
    is_stopped <- isTRUE(attr(said, "status") > 128)
    message(method, ": no result. ", paste(utils::tail(said, 3), collapse = " / "))
    return(c(loglik = NA, quantisation = NA, seconds = NA, peak_mb = NA, stopped = is_stopped,
             failed = !is_stopped))
  }
  numbers <- suppressWarnings(as.numeric(strsplit(line, " +")[[1]][2:4]))
  c(loglik = numbers[3], quantisation = quantisation(data$y, read_centres(folder, data)),
    seconds = numbers[1], peak_mb = numbers[2], stopped = 0, failed = 0)
}

# How the runs of a row ended, "" where all have a result.
describe_outcome <- function(runs) {
  if (any(runs["stopped", ] > 0)) return(sprintf("stopped after %s s", options$limit))
  if (any(runs["failed", ] > 0)) "failed" else ""
}

# Both languages write centre by centre; ClusterR has no numbers for a cluster that lost its points.
read_centres <- function(folder, data) {
  d <- ncol(data$y)
  centres <- matrix(readBin(file.path(folder, "centres.bin"), "double", d * data$C), d)
  centres[, is.finite(colSums(centres)), drop = FALSE]
}

quantisation <- function(y, centres) {
  mean_by_distance(y, centres, function(distance) pmax(0, apply(distance, 1, min)))
}

compare <- function(name) {
  data <- peer_data[[name]]()
  folder <- tempfile("peers")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  writeBin(as.vector(t(data$y)), file.path(folder, "y.bin"))
  methods <- grep(options$methods, c(by_r, by_python), value = TRUE)
  rows <- lapply(methods, function(method) {
    runs <- vapply(seeds, function(seed) run_fit(method, data, seed, folder), numeric(6))
    row <- data.frame(data = name, N = nrow(data$y), D = ncol(data$y), C = data$C, method = method,
                      t(apply(runs[1:4, , drop = FALSE], 1, stats::median)),
                      seeds = length(seeds), outcome = describe_outcome(runs))
    print(row, digits = 5, row.names = FALSE)
    row
  })
  do.call(rbind, rows)
}

# The rows of this run in place of those that the file has of the same data and methods.
store_rows <- function(new, file = "inst/extdata/many-latents-peers.csv") {
  new <- cbind(new, bench_context())
  if (file.exists(file)) {
    old <- utils::read.csv(file, colClasses = c(commit = "character"))
    if (is.null(old$outcome)) old$outcome <- ""
    old$outcome[is.na(old$outcome)] <- ""
    new <- rbind(old[!paste(old$data, old$method) %in% paste(new$data, new$method), ], new)
  }
  rank <- match(new$data, names(peer_data)) * 100 + match(new$method, c(by_r, by_python))
  utils::write.csv(new[order(rank), ], file, row.names = FALSE)
}

for (name in strsplit(options$data, ",")[[1]]) store_rows(compare(name))
