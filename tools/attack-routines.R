# Routines of src/entries.h with one part of their arguments altered, below everything that R
# checks: a refusal of the package's class, or a result. What a model in C reads of its own
# (`inputs`) is altered in type and length alone: its numbers are between the model and its
# constructor.

count_routines <- function() 6000L

attack_routine <- function(item) {
  calls <- recorded_calls()
  set.seed(item)
  name <- sample(names(calls), 1)
  arguments <- calls[[name]][[sample.int(length(calls[[name]]), 1)]]
  if (length(arguments) == 0) return(NULL)
  path <- if (flip(0.5)) whole_path(arguments)
  if (is.null(path)) path <- random_path(arguments)
  is_own <- "inputs" %in% unlist(Filter(is.character, path)) || names_arrays(arguments, path)
  part <- Reduce(function(x, at) if (is.list(x)) x[[at]], path, arguments)
  known <- if (is_own) changes[reshaping] else if (is.integer(part) && flip(0.7)) index_changes else
    c(changes, index_changes)
  change <- sample(names(known), 1)
  altered <- tryCatch(alter(arguments, path, known[[change]]), error = function(condition) NULL)
  if (is.null(altered)) return(NULL)
  symbol <- get(paste0("C_", name), envir = asNamespace("gpselect"))
  wrong <- outcome_of(do.call(base::.Call, c(list(symbol), altered), quote = TRUE))
  if (!is.null(wrong)) {
    sprintf("%s, argument %s with %s: %s", name, paste(path, collapse = "$"), change, wrong)
  }
}

# The way to some whole numbers, or NULL: what names something else is where a mistake is worst.
whole_path <- function(arguments) {
  ways <- list()
  look <- function(x, way) {
    if (is.integer(x) && length(x) > 0) ways[[length(ways) + 1]] <<- way
    if (!is.list(x)) return(invisible())
    at <- if (is.null(names(x))) seq_along(x) else names(x)
    for (i in at) look(x[[i]], c(way, list(i)))
  }
  look(arguments, list())
  if (length(ways) > 0) ways[[sample.int(length(ways), 1)]]
}

# Whether the way leads into what a model reads: a list of arrays that come without names around it.
names_arrays <- function(arguments, path) {
  first <- arguments[[path[[1]]]]
  is.list(first) && all(c("package", "symbol") %in% names(arguments[[1]])) &&
    !is.null(names(first)) && all(vapply(first, is.double, NA)) && length(path) > 1
}

# Changes of type or length.
reshaping <- c("gone", "na", "word", "list", "fun", "nothing", "shorter", "longer", "text", "true",
               "frame", "own", "nameless", "formula")

# Of numbers that name something: the type stays.
put_index <- function(value) {
  function(x) {
    if (!is.integer(x) || length(x) == 0) stop("not whole numbers")
    replace(x, sample.int(length(x), 1), as.integer(value))
  }
}
index_changes <- list(
  one_na = put_index(NA), one_zero = put_index(0), one_minus = put_index(-1),
  one_next = function(x) put_index(max(x, na.rm = TRUE) + 1)(x), one_large = put_index(1e6),
  one_most = put_index(.Machine$integer.max), one_least = put_index(-.Machine$integer.max),
  same = function(x) if (is.integer(x)) replace(x, TRUE, x[1]) else stop("not whole numbers"),
  backwards = function(x) if (is.integer(x)) replace(x, TRUE, rev(x)) else stop("not numbers"),
  whole_minus = function(x) replace(x, TRUE, as(-1, typeof(x))),
  one_infinite = function(x) if (is.double(x)) replace(x, 1, Inf) else stop("no numbers"),
  all_nan = function(x) if (is.double(x)) replace(x, TRUE, NaN) else stop("no numbers")
)

# Records calls of all routines for all children, which find the file by an environment variable.
keep_calls <- function() {
  if (file.exists(Sys.getenv("GPSELECT_CALLS"))) return(invisible())
  suppressPackageStartupMessages(library(gpselect))
  grDevices::pdf(NULL)
  file <- tempfile(fileext = ".rds")
  utils::capture.output(calls <- record_calls(read_entries(), work_of_routines))
  calls <- calls[lengths(calls) > 0]
  if (!setequal(names(calls), read_entries())) {
    stop("No calls were recorded of ", toString(setdiff(read_entries(), names(calls))))
  }
  saveRDS(calls, file)
  Sys.setenv(GPSELECT_CALLS = file)
}

recorded_calls <- function() {
  if (is.null(attack_store$recorded)) {
    file <- Sys.getenv("GPSELECT_CALLS")
    if (!file.exists(file)) stop("There are no recorded calls.")
    attack_store$recorded <- readRDS(file)
  }
  attack_store$recorded
}

# What the other parts of the attack call, and what they do not come to. `call` is a .Call that is
# recorded.
work_of_routines <- function(call) {
  for (it in sound_calls()) try(do.call(it$name, it$arguments, quote = TRUE), silent = TRUE)
  for (work in more_work) suppressWarnings(work())
  code <- kernel_routine(kernel_rbf())
  call(code$symbol, code$code, c(0, 0), matrix(1:6 / 2, 2), 1L)
  inner("leading_direction")(matrix(1:6 / 2, 2), c(1, 2, 3))
  inner("group_sums")(matrix(1:6 / 2, 2), c(2L, 1L, 2L), 2L)
  inner("thin_slots")(matrix(stats::runif(40), 20))
  work_of_large_fits(call)
}

# What nothing but fits of many points, clusters or iterations comes to.
work_of_large_fits <- function(call) {
  slots <- list(selected = matrix(c(1L, 2L, 1L, 3L, 2L, 3L), 2), prob_on = matrix(0.5, 2, 3))
  block <- inner("new_block")(1, 2)
  part <- inner("block_slots")(slots$selected, block)
  call(inner("C_resting"), part, block, 2L, 3L)
  call(inner("C_gp_pack"), inner("slot_targets")(slots, list(n_latents = 3L)))
  centres <- matrix(1:4 / 2, 2)
  call(inner("C_centre_distances"), matrix(1:6 / 2, 2), 1:3, c(1L, 2L, 1L), centres, centres)
}

inner <- function(name) get(name, envir = asNamespace("gpselect"))

# The kernel matrix by itself is asked for by tests alone.
kernel_routine <- function(kernel) {
  list(symbol = inner("C_gp_kernel_matrix"), code = inner("gp_kernel_code")(kernel))
}

ranked_by <- function(method, y = bars_y(), model = model_binary_sparse(4), control = quick(),
                      ...) {
  fit <- gps_fit(y, model, selector_gp(method = method, refit_every = 1, refit_evals = 2, ...), 2,
                 control = control)
  predict(fit, y)
}

regressed_by <- function(method, ...) {
  fit <- gp_fit(bars_y()[, 1:2], bars_y()[, 3:4], method = method, max_evals = 2, ...)
  list(gp_loo(fit), gp_gradient(fit), predict(fit, bars_y()[1:3, 1:2]))
}

more_work <- list(
  fourier = function() list(ranked_by("fourier", rank = 6), regressed_by("fourier", rank = 6)),
  neighbours = function() {
    ranked_by("neighbours", rank = 4, screen = FALSE)
    list(ranked_by("neighbours", rank = 4), regressed_by("neighbours", rank = 4))
  },
  index = function() {
    regressed_by("neighbours", rank = 4, index = TRUE)
  },
  divide = function() ranked_by("divide", rank = 12),
  linear = function() regressed_by("exact", kernel = kernel_linear() + kernel_white()),
  inducing = function() ranked_by("inducing", rank = 5, objective = "fitc", learn_inputs = TRUE),
  batches = function() {
    ranked_by("ichol", rank = 5, control = quick(batch_size = 10))
    ranked_by("neighbours", rank = 4, control = quick(batch_size = 10))
  },
  placed = function() {
    for (method in c("ichol", "exact", "neighbours")) {
      ranked_by(method, images_y(), model_occlusive(2, c(3, 3)), smooth = 1, screen = FALSE)
    }
  },
  clusters = function() {
    y <- simulate_clusters(60)$y
    for (covariance in c("full", "tied", "diagonal", "spherical")) {
      gps_fit(y, model_gaussian_mixture(3, covariance), selector_handcrafted(), control = quick())
    }
  },
  sparse = function() {
    y <- Matrix::Matrix(bars_y() * (bars_y() > 1), sparse = TRUE)
    for (model in list(model_binary_sparse(4), model_max_spike_slab(4))) {
      gps_fit(y, model, selector_handcrafted(), 2, control = quick())
    }
  },
  missing = function() {
    y <- replace(bars_y(), c(3, 40), NA)
    gps_fit(y, model_binary_sparse(4), selector_handcrafted(), 2, control = quick())
  },
  budget = function() fit_with(control = quick(budget = 2)),
  models = function() {
    check_gps_model(model_spike_slab(4), bars_y(), session = FALSE)
    check_gps_model(model_max_spike_slab(4), bars_y(), session = FALSE)
    check_gps_model(model_gaussian_mixture(3), bars_y(), session = FALSE)
    check_gps_model(model_occlusive(2, c(3, 3)), images_y(), session = FALSE)
  },
  checkpoint = function() {
    fit_with(control = quick(checkpoint = tempfile()))
  }
)
