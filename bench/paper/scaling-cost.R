# Parts of bench/paper/scaling.R that measure time and memory; each wants the machine for itself.
# Times are CPU seconds of one thread, which suffer less from what else runs than the clock.

cpu_seconds <- function() sum(proc.time()[c("user.self", "sys.self")])

# `code`, and what `clock()` and the CPU said at the end of each EM iteration in it.
watch_iterations <- function(code, clock = function() 0) {
  seen <- list()
  watch <- function() seen[[length(seen) + 1]] <<- c(cpu = cpu_seconds(), clock = clock())
  suppressMessages(trace("end_step", exit = bquote((.(watch))()), where = engine, print = FALSE))
  on.exit(suppressMessages(untrace("end_step", where = engine)))
  force(code)
  do.call(rbind, seen)
}

# The CPU seconds of the last `n` iterations, beside those of `clock()`.
iteration_seconds <- function(seen, n) {
  if (nrow(seen) == n) seen <- rbind(c(NA, 0), seen)
  spent <- diff(utils::tail(seen, n + 1))
  list(own = spent[, "cpu"] - spent[, "clock"], clock = spent[, "clock"])
}

# ---- size

size_folder <- file.path("build", "scaling")

# Data of model A that are nowhere: points are made when they are asked for, in groups of 64, each
# from its own seed. `clock()` says how many seconds that has taken so far.
made_data <- function(n, d, n_latents, on = 3) {
  set.seed(1)
  components <- matrix(stats::rnorm(d * n_latents), n_latents)
  spent <- 0
  group <- function(k) {
    set.seed(k)
    latents <- matrix(stats::runif(64 * n_latents) < on / n_latents, 64)
    latents %*% components + stats::rnorm(64 * d)
  }
  read <- function(from, to) {
    began <- cpu_seconds()
    first <- (from - 1) %/% 64
    made <- do.call(rbind, lapply(first:((to - 1) %/% 64), group))
    y <- made[from:to - 64 * first, , drop = FALSE]
    spent <<- spent + cpu_seconds() - began
    y
  }
  list(read = read, clock = function() spent)
}

size_selectors <- list(
  ichol = function(rank) selector_gp(method = "ichol", rank = rank),
  exact = function(rank) selector_gp(method = "exact"),
  "hand-crafted" = function(rank) selector_handcrafted()
)

# Ten plain EM iterations in this process; the row is stored. `cell`: method, N, D, H, rank.
run_size <- function(cell) {
  size <- as.numeric(cell[-1])
  data <- made_data(size[1], size[2], size[3])
  y <- if (cell[1] == "exact") {
    data$read(1, size[1])
  } else {
    gps_source(size[1], size[2], data$read)
  }
  set.seed(1)
  fit <- NULL
  control <- gps_control(max_iter = 10, tol = 0, polish = FALSE, mend = FALSE, n_threads = 1,
                         keep_data = FALSE, progress = FALSE)
  total <- system.time(seen <- watch_iterations({
    fit <- gps_fit(y, model_binary_sparse(size[3]), size_selectors[[cell[1]]](size[4]),
                   n_selected = 6, control = control)
  }, data$clock))[["elapsed"]]
  spent <- iteration_seconds(seen, 10)
  row <- data.frame(
    method = cell[1], n = size[1], d = size[2], n_latents = size[3], rank = size[4],
    median_seconds = stats::median(spent$own), mean_seconds = mean(spent$own),
    first_seconds = spent$own[1], reading_seconds = stats::median(spent$clock),
    total_seconds = total, peak_mb = peak_memory(), bound = fit$bound / size[1]
  )
  row$us_per_point <- 1e6 * row$median_seconds / size[1]
  utils::write.csv(row, file.path(size_folder, paste0(paste(cell, collapse = "-"), ".csv")),
                   row.names = FALSE)
}

# One row for each measurement: against N, and at N = 2e4 against H, D and rank.
plan_sizes <- function(points) {
  base <- data.frame(method = "ichol", n = 2e4, d = 64, n_latents = 100, rank = 100)
  vary <- function(name, values, method = "ichol") {
    cells <- base[rep(1, length(values)), ]
    cells[[name]] <- values
    cells$method <- method
    cells
  }
  cells <- rbind(
    vary("n", c(2e3, 1e4, 1e5, 1e6)), vary("n", c(2e3, 1e4), "exact"),
    vary("n", c(2e3, 1e4, 1e5), "hand-crafted"), vary("n_latents", c(25, 50, 100, 200, 400)),
    vary("d", c(16, 256, 1024)), vary("rank", c(25, 50, 200, 400))
  )
  cells[cells$n <= points, ]
}

measure_size <- function(options) {
  dir.create(size_folder, showWarnings = FALSE, recursive = TRUE)
  cells <- plan_sizes(options$points)
  rows <- lapply(seq_len(nrow(cells)), function(i) {
    cell <- vapply(cells[i, ], format, "", scientific = FALSE, trim = TRUE)
    system2(file.path(R.home("bin"), "Rscript"),
            c("bench/paper/scaling.R", paste0("run=", paste(cell, collapse = ","))))
    row <- utils::read.csv(file.path(size_folder, paste0(paste(cell, collapse = "-"), ".csv")))
    print(row, digits = 3, row.names = FALSE)
    row
  })
  do.call(rbind, rows)
}

# ---- claims

# Refits on all points every T* iterations, as in the paper, and on 500 as by default: seconds of
# thirty iterations on bars from one start.
measure_claims <- function(options) {
  bars <- bars_of(1)
  cells <- expand.grid(every = c(1, 5, 10), rows = c(2000, 500),
                       method = c("exact", "ichol 100", "ichol 200"), stringsAsFactors = FALSE)
  rows <- Map(function(every, rows, method) {
    rank <- as.integer(sub("[a-z]* *", "", method))
    selector <- if (method == "exact") {
      selector_gp(method = "exact", refit_every = every, refit_rows = rows)
    } else {
      selector_gp(method = "ichol", rank = rank, refit_every = every, refit_rows = rows)
    }
    fit <- NULL
    began <- cpu_seconds()
    seen <- watch_iterations(
      fit <- fit_bars(bars, 1, selector, max_iter = 30, tol = 0, n_starts = 1, n_threads = 1,
                      mend = FALSE, polish = FALSE)
    )
    spent <- diff(c(began, seen[, "cpu"]))
    row <- data.frame(method = method, refit_rows = rows, refit_every = every,
                      refits = sum(fit$trace$refit), seconds = sum(spent),
                      refit_seconds = mean(spent[fit$trace$refit]),
                      other_seconds = stats::median(spent[!fit$trace$refit]),
                      bound = fit$bound, found = sum(match_components(fit, bars)$matched))
    print(row, digits = 3, row.names = FALSE)
    row
  }, cells$every, cells$rows, cells$method)
  table <- do.call(rbind, unname(rows))
  every_one <- table[table$refit_every == 1, ]
  key <- function(rows) paste(rows$method, rows$refit_rows)
  table$faster_than_every_1 <- every_one$seconds[match(key(table), key(every_one))] / table$seconds
  exact <- table[table$method == "exact", ]
  key <- function(rows) paste(rows$refit_rows, rows$refit_every)
  table$faster_than_exact <- exact$seconds[match(key(table), key(exact))] / table$seconds
  table
}

# ---- batches

batch_passes <- c(1, 2, 3, 5, 8)

# How long until a fit of 100,000 points is within 1 % of the bound at which whole passes end: fits
# of 1, 2, ... passes, each with its final pass over all points. Whole passes cut short beside them.
# The short starts on 2000 points do most of the work on such data; with a single start everything
# is learned in the passes. Minibatches have no mending, and so whole passes have none then.
measure_batches <- function(options) {
  datasets <- list(
    "bars, D 25, H 10" = function(seed) bars_of(seed, 1e5)$y,
    "random components, D 64, H 30" = function(seed) {
      set.seed(100 + seed)
      simulate_sparse(1e5, 64, 30)
    }
  )
  seeds <- if (is.null(options$seeds)) 1:2 else options$seeds
  cells <- expand.grid(n_starts = c(8, 1), data = names(datasets)[options$data], seed = seeds,
                       stringsAsFactors = FALSE)
  rows <- Map(function(n_starts, data, seed) {
    raced <- race_batches(datasets[[data]](seed), seed, n_starts)
    cbind(data = data, seed = seed, n_starts = n_starts, raced)
  }, cells$n_starts, cells$data, cells$seed)
  do.call(rbind, unname(rows))
}

race_batches <- function(y, seed, n_starts) {
  n_latents <- if (ncol(y) == 25) 10L else 30L
  whole <- time_batches(y, n_latents, seed, n_starts, NULL, 200)
  rows <- list(whole)
  for (batch_size in list(NULL, 5000, 2000, 1000)) {
    for (passes in batch_passes) {
      row <- time_batches(y, n_latents, seed, n_starts, batch_size, passes)
      rows[[length(rows) + 1]] <- row
      if (whole$bound - row$bound <= 0.002 * abs(whole$bound)) break
    }
  }
  rows <- do.call(rbind, rows)
  rows$short_of_whole <- (whole$bound - rows$bound) / abs(whole$bound)
  rows$share_of_time <- rows$seconds / whole$seconds
  print(rows, digits = 4, row.names = FALSE)
  rows
}

time_batches <- function(y, n_latents, seed, n_starts, batch_size, passes) {
  set.seed(1000 + seed)
  control <- gps_control(max_iter = passes, batch_size = batch_size, n_starts = n_starts,
                         mend = n_starts > 1, n_threads = 1, progress = FALSE)
  began <- cpu_seconds()
  fit <- gps_fit(y, model_binary_sparse(n_latents), selector_gp(), n_selected = 5,
                 control = control)
  seconds <- cpu_seconds() - began
  data.frame(batch_size = if (is.null(batch_size)) nrow(y) else batch_size, passes = passes,
             updates = fit$n_iter, seconds = seconds,
             start_seconds = sum(fit$trace$seconds[fit$trace$start > 0]),
             bound = fit$bound / nrow(y), status = fit$status)
}
