# Whether a version got slower: the stages of an EM iteration, the Gaussian process engine, and
# whole fits, by two installed versions of the package that take turns.
# OPENBLAS_NUM_THREADS=1 Rscript bench/compare.R OLD_LIB NEW_LIB [pattern] [runs] [seconds]
# `pattern` chooses groups by a regular expression; `seconds` is how long a measurement takes at
# least, of work that is shorter. Both versions must be installed in the same way (byte-compiled,
# same compiler and flags). CPU time is compared, so the machine may be in use; the rows to believe
# are those whose interval is narrow.
#
# Each version has a process of its own. These do the same job in turns, the first of a pair being
# one time the old and one time the new. `old` and `new` are medians of CPU milliseconds, `ratio` is
# new by old, `low` to `high` an interval for the median of the pairs' ratios (of at least 95 % for
# 9 runs and more), and `verdict` is "slower" where `ratio` and `low` agree that it is by more than
# 3 %. A fit or a search may take another number of iterations or evaluations in another version:
# `steps` says how many, and `ratio` is of the time for one.
#
# Memory that a job has freed stays with its process. Else a matrix would be made of new pages in
# one process and of old ones in the other, by what they did before; in a virtual machine a new page
# costs more than the work on it.

source("bench/common.R")
given <- commandArgs(TRUE)
if (length(given) < 2) stop("Rscript bench/compare.R OLD_LIB NEW_LIB [pattern] [runs] [seconds]")
libraries <- c(old = given[1], new = given[2])
argument <- function(i, default) if (length(given) >= i) given[i] else default
pattern <- argument(3, ".")
runs <- as.integer(argument(4, 15))
seconds <- as.numeric(argument(5, 0.2))
allowed <- 1.03

Sys.setenv(MALLOC_MMAP_MAX_ = "0", MALLOC_TRIM_THRESHOLD_ = "17179869184")
workers <- parallel::makePSOCKcluster(2, rscript_args = "--no-init-file")
names(workers) <- names(libraries)
on_one <- function(side, fun, ...) parallel::clusterCall(workers[side], fun, ...)[[1]]

# What a worker does first: its version, and the jobs by group.
begin_worker <- function(lib, folder) {
  setwd(folder)
  source("bench/common.R")
  source("bench/work.R")
  source("bench/compare-jobs.R")
  engine <- engine_of(lib)
  groups <<- compare_groups(engine)
  names(groups)
}

open_group <- function(group) {
  set.seed(1)
  jobs <<- groups[[group]]()
  names(jobs)
}

# CPU seconds of one turn, and how many steps it took, NA where that is no question.
run_job <- function(job, times) {
  gc(FALSE)
  code <- jobs[[job]]
  time <- system.time(for (k in seq_len(times)) said <- code())
  c((time[["user.self"]] + time[["sys.self"]]) / times, count_steps(said))
}

groups <- NULL
jobs <- NULL
for (side in names(libraries)) groups <- on_one(side, begin_worker, libraries[[side]], getwd())

count_times <- function(job) {
  for (side in names(libraries)) once <- on_one(side, run_job, job, 1L)[1]
  if (once > seconds) return(1L)
  tenfold <- on_one("old", run_job, job, 10L)[1]
  as.integer(max(1, min(1e5, ceiling(seconds / max(tenfold, 1e-5)))))
}

# The order statistics of the pairs' ratios between which their median lies.
median_interval <- function(ratio) {
  n <- length(ratio)
  below <- max(1, stats::qbinom(0.025, n, 0.5))
  sort(ratio)[c(below, n + 1 - below)]
}

compare_job <- function(group, job) {
  times <- count_times(job)
  measured <- vapply(seq_len(runs), function(run) {
    order <- if (run %% 2 == 1) c("old", "new") else c("new", "old")
    turns <- lapply(order, on_one, run_job, job, times)
    unlist(turns[match(c("old", "new"), order)])
  }, numeric(4))
  steps <- measured[c(2, 4), 1]
  per_step <- if (anyNA(steps)) 1 else steps[1] / steps[2]
  ratio <- stats::median(measured[3, ]) / stats::median(measured[1, ]) * per_step
  interval <- median_interval(measured[3, ] / measured[1, ] * per_step)
  row <- data.frame(group = group, job = job, old = 1e3 * stats::median(measured[1, ]),
                    new = 1e3 * stats::median(measured[3, ]), ratio = ratio, low = interval[1],
                    high = interval[2], steps = if (anyNA(steps)) "" else toString(steps),
                    verdict = if (min(ratio, interval[1]) > allowed) "slower" else "")
  cat(sprintf("%-49s %-36s %9.3f %9.3f  %.3f (%.3f-%.3f) %s %s\n", group, job, row$old, row$new,
              ratio, row$low, row$high, row$steps, row$verdict))
  row
}

compare_group <- function(group) {
  for (side in names(libraries)) jobs <- on_one(side, open_group, group)
  do.call(rbind, lapply(jobs, compare_job, group = group))
}

versions <- vapply(libraries, function(lib) {
  format(utils::packageVersion("gpselect", lib.loc = lib))
}, "")
chosen <- grep(pattern, groups, value = TRUE)
if (length(chosen) == 0) stop("no group is called so: ", paste(groups, collapse = "; "))
table <- do.call(rbind, lapply(chosen, compare_group))
parallel::stopCluster(workers)
table <- cbind(table, old_version = versions[["old"]], new_version = versions[["new"]], runs = runs)
# The whole comparison is kept; what is slower is said again at its end.
if (identical(chosen, groups)) store_results(table, "compare")
slower <- table[table$verdict != "", c("group", "job", "ratio")]
cat(sprintf("\n%d of %d jobs slower by more than %g %%\n", nrow(slower), nrow(table),
            100 * (allowed - 1)))
if (nrow(slower) > 0) print(slower, digits = 3, row.names = FALSE)
