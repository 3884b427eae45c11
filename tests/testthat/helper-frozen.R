# Small fixed problems whose numbers are written down: tools/freeze.R makes the table in frozen/,
# test-frozen.R and the same script hold the package against it. Exported functions only, so that
# the inside can be built anew without a change here.

# Each problem draws from a stream of its own, whatever the session has.
frozen_seed <- function(seed) set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")

# A control of few iterations, without what takes many.
frozen_control <- function(max_iter = 6, ...) {
  gps_control(max_iter = max_iter, n_starts = 1, mend = FALSE, progress = FALSE, n_threads = 1, ...)
}

# ---- Gaussian processes by themselves

frozen_points <- function(n = 24, n_dims = 2) {
  frozen_seed(1)
  x <- matrix(round(runif(n * n_dims, 0, 4), 2), n)
  list(x = x, targets = round(cbind(sin(x[, 1]), cos(x[, 2]), x[, 1]) + rnorm(3 * n, sd = 0.1), 2),
       newdata = matrix(round(runif(4 * n_dims, -1, 5), 2), 4))
}

frozen_kernels <- function() {
  list(
    composition = kernel_composition(), rbf = kernel_rbf(0.8, 1.2) + kernel_white(0.02),
    ard = kernel_rbf(0.8, c(0.9, 1.7), ard = TRUE) + kernel_linear(c(0.2, 0.1), ard = TRUE) +
      kernel_bias(0.5) + kernel_white(0.02),
    matern = kernel_matern(1.5, 0.7, 1.3) + kernel_matern(2.5, 0.9, c(1.1, 0.8), ard = TRUE) +
      kernel_white(0.05),
    linear = kernel_linear(0.3) + kernel_bias(0.6) + kernel_white(0.1),
    linear_ard = kernel_linear(c(0.3, 0.2), ard = TRUE) + kernel_white(0.1)
  )
}

# Arguments of gp_fit() for each engine.
frozen_engines <- list(
  exact = list(method = "exact"), ichol = list(method = "ichol", rank = 8),
  vfe = list(method = "inducing", rank = 7),
  fitc = list(method = "inducing", rank = 7, objective = "fitc"),
  dtc = list(method = "inducing", rank = 7, objective = "dtc"),
  fourier = list(method = "fourier", rank = 10), divide = list(method = "divide", rank = 10),
  divide_alone = list(method = "divide", rank = 10, cross = FALSE),
  neighbours = list(method = "neighbours", rank = 6)
)

frozen_gp <- function(points, kernel, arguments) {
  fit <- do.call(gp_fit, c(list(points$x, points$targets, kernel, n_threads = 1), arguments))
  c(list(lml = c(logLik(fit)), loo = gp_loo(fit), predicted = predict(fit, points$newdata)),
    # At the end of a search the gradient is what rounding makes of 0.
    if (isFALSE(arguments$optimise)) list(gradient = gp_gradient(fit)) else list(theta = coef(fit)))
}

# Every engine at the kernel's own parameters, for every kernel.
frozen_given <- function() {
  cases <- lapply(frozen_engines, function(arguments) {
    kernels <- frozen_kernels()
    # Fourier features stand for stationary terms, and neighbours need one that falls with distance.
    if (arguments$method %in% c("fourier", "neighbours")) {
      kernels <- kernels[!startsWith(names(kernels), "linear")]
    }
    lapply(kernels, function(kernel) {
      function() frozen_gp(frozen_points(), kernel, c(arguments, optimise = FALSE))
    })
  })
  name_cases("given", lapply(names(cases), function(engine) name_cases(engine, cases[[engine]])))
}

# Cases by their names, or lists of them, below a common word.
name_cases <- function(word, cases) {
  if (is.null(names(cases))) cases <- do.call(c, cases)
  stats::setNames(cases, paste(word, names(cases), sep = "/"))
}

# Every engine where a short search ends.
frozen_searched <- function() {
  engines <- c(frozen_engines, list(
    inputs = list(method = "inducing", rank = 5, learn_inputs = TRUE),
    starts = list(method = "exact", n_starts = 3)
  ))
  cases <- lapply(engines, function(arguments) {
    arguments <- utils::modifyList(list(n_starts = 1, max_evals = 8), arguments)
    if (arguments$n_starts > 1) arguments$max_evals <- 30
    function() frozen_gp(frozen_points(), frozen_kernels()$ard, arguments)
  })
  cases$features <- function() {
    frozen_gp(frozen_points(), frozen_kernels()$linear_ard, list(n_starts = 1, max_evals = 8))
  }
  cases$limits <- function() {
    frozen_gp(frozen_points(), frozen_kernels()$rbf,
              list(max_evals = 8, n_starts = 1, fixed = "log_var_white", upper = c(log_len = 0.2)))
  }
  name_cases("searched", cases)
}

# A kernel matrix that only jitter makes regular.
frozen_singular <- function() {
  list("given/exact/duplicates" = function() {
    points <- frozen_points()
    points$x[13:24, ] <- points$x[1:12, ]
    frozen_gp(points, kernel_rbf(1, 3), list(optimise = FALSE))
  })
}

# More dimensions than points; one point.
frozen_odd <- function() {
  name_cases("odd", list(
    wide = function() {
      frozen_gp(frozen_points(6, 9), frozen_kernels()$linear, list(optimise = FALSE))
    },
    one = function() {
      points <- frozen_points()
      points$x <- points$x[1, , drop = FALSE]
      points$targets <- points$targets[1, , drop = FALSE]
      frozen_gp(points, frozen_kernels()$rbf, list(optimise = FALSE))
    }
  ))
}

# ---- What selectors rank by: targets dense, or in slots where latents lie on a grid

frozen_selector <- function(method = "exact", kernel = kernel_composition(), ...) {
  selector_gp(kernel, method, refit_every = 2, refit_evals = 5, refit_rows = 25, ...)
}

frozen_selectors <- function() {
  linear <- kernel_linear() + kernel_bias()
  list(
    exact = frozen_selector(), features = frozen_selector(kernel = linear),
    matern = frozen_selector(kernel = kernel_matern(ard = TRUE)),
    ichol = frozen_selector("ichol", rank = 9),
    ichol_linear = frozen_selector("ichol", linear, rank = 9),
    vfe = frozen_selector("inducing", rank = 8),
    fitc = frozen_selector("inducing", rank = 8, objective = "fitc"),
    dtc = frozen_selector("inducing", rank = 8, objective = "dtc", learn_inputs = TRUE),
    fourier = frozen_selector("fourier", rank = 10),
    divide = frozen_selector("divide", rank = 15),
    divide_alone = frozen_selector("divide", rank = 15, cross = FALSE),
    neighbours = frozen_selector("neighbours", rank = 6)
  )
}

# Affinities by the last expectations: by the kernel that a selector begins with, or after a refit.
frozen_affinity <- function(selector, model, y, n_selected, is_refit) {
  model <- gps_bind(model, y)
  frozen_seed(3)
  n <- nrow(y)
  state <- list(model = model, params = gps_init(model, y), iteration = 1)
  state$selected <- t(vapply(seq_len(n), function(i) sort(sample.int(model$n_latents, n_selected)),
                             integer(n_selected)))
  state$prob_on <- matrix(round(runif(n * n_selected), 3), n)
  state$memory <- gps_learn(selector, state, y)
  if (is_refit) {
    state$iteration <- 4
    state$memory <- gps_learn(selector, state, y)
  }
  affinity <- gps_affinity(selector, state, y)
  # Those of a grid are many.
  list(affinity = affinity[, seq(1, ncol(affinity), by = if (ncol(affinity) > 99) 13 else 1)],
       some = gps_affinity(selector, state, y, points = c(7, 3))[, 1:6])
}

frozen_ranks <- function(is_refit) {
  selectors <- frozen_selectors()
  plain <- lapply(selectors, function(selector) {
    function() frozen_affinity(selector, model_binary_sparse(6), frozen_bars(), 3, is_refit)
  })
  placed <- selectors[!names(selectors) %in% c("fitc", "divide", "divide_alone", "neighbours")]
  placed$smooth <- frozen_selector(smooth = 1.5)
  placed <- lapply(placed, function(selector) {
    function() {
      model <- model_occlusive(2, c(6, 6), image = c(9, 9))
      frozen_affinity(selector, model, matrix(frozen_scenes(), 14), 2, is_refit)
    }
  })
  name_cases(if (is_refit) "refit" else "begun",
             c(name_cases("dense", plain), name_cases("slots", placed)))
}

# ---- Fits

frozen_bars <- function(model = "binary_sparse", n = 40, ...) {
  frozen_seed(2)
  round(simulate_bars(n, model, size = 3, value = 5, ...)$y, 1)
}

frozen_clusters <- function(n = 60) {
  frozen_seed(4)
  round(simulate_clusters(n)$y, 2)
}

frozen_scenes <- function(n = 14) {
  frozen_seed(5)
  round(simulate_scenes(scene_objects(2, c(6, 6), 1), n, c(9, 9), prob = 0.7)$y, 3)
}

sparse_fit <- function(selector = selector_handcrafted(), model = model_binary_sparse(6),
                       y = frozen_bars(), n_selected = 3, ..., control = frozen_control()) {
  list(y = y, model = model, selector = selector, n_selected = n_selected, control = control, ...)
}

fits_binary_sparse <- function() {
  run <- gps_control(max_iter = 40, n_starts = 3, progress = FALSE, n_threads = 1)
  list(
    handcrafted = function() sparse_fit(),
    screened = function() sparse_fit(selector_handcrafted(gps_screen())),
    priors = function() sparse_fit(model = model_binary_sparse(6, shared_prob = FALSE)),
    intercept = function() {
      sparse_fit(model = model_binary_sparse(6, intercept = TRUE), y = frozen_bars(intercept = 7))
    },
    full = function() sparse_fit(selector_full(), n_selected = NULL),
    random = function() sparse_fit(selector_random()),
    custom = function() sparse_fit(selector_custom(function(params, y) y %*% params$W)),
    learner = function() {
      sparse_fit(selector_custom(function(params, y, memory) y %*% memory,
                                 function(params, y, expectations) crossprod(y, expectations)))
    },
    gibbs = function() sparse_fit(control = frozen_control(method = "gibbs")),
    few_active = function() sparse_fit(max_active = 2),
    monotone = function() sparse_fit(frozen_selector(), control = frozen_control(monotone = TRUE)),
    annealed = function() {
      sparse_fit(frozen_selector(), control = frozen_control(anneal = 4, hold = 2))
    },
    grown = function() sparse_fit(frozen_selector(), control = frozen_control(grow = 20)),
    polished = function() sparse_fit(frozen_selector(), control = frozen_control(20)),
    whole = function() sparse_fit(frozen_selector(), control = run),
    batches = function() sparse_fit(control = frozen_control(batch_size = 15)),
    source = function() sparse_fit(y = frozen_source())
  )
}

# The bars, read by a function.
frozen_source <- function() {
  y <- frozen_bars()
  gps_source(nrow(y), ncol(y), function(from, to) y[from:to, , drop = FALSE])
}

# The Gaussian process in each form, in batches and over a source.
fits_learned <- function() {
  by_method <- lapply(frozen_selectors(), function(selector) function() sparse_fit(selector))
  methods <- c("ichol", "vfe", "fourier", "neighbours")
  batched <- lapply(frozen_selectors()[methods], function(selector) {
    function() sparse_fit(selector, control = frozen_control(batch_size = 15))
  })
  c(by_method, stats::setNames(batched, paste0("batches_", names(batched))), list(
    singleton = function() sparse_fit(frozen_selector(screen = gps_screen("singleton"))),
    unscreened = function() sparse_fit(frozen_selector(screen = FALSE, explore = 0.3)),
    auto = function() sparse_fit(frozen_selector("auto")),
    source = function() sparse_fit(frozen_selector(), y = frozen_source()),
    source_ichol = function() sparse_fit(frozen_selector("ichol", rank = 9), y = frozen_source())
  ))
}

fits_slabs <- function() {
  slabs <- function(...) sparse_fit(..., y = frozen_bars("spike_slab"))
  greatest <- function(...) sparse_fit(..., y = frozen_bars("max_spike_slab"))
  gibbs <- frozen_control(method = "gibbs")
  list(
    spike = function() slabs(model = model_spike_slab(6)),
    spike_learned = function() slabs(frozen_selector(), model_spike_slab(6)),
    spike_priors = function() slabs(model = model_spike_slab(6, shared_prob = FALSE)),
    spike_intercept = function() slabs(model = model_spike_slab(6, intercept = TRUE)),
    spike_full = function() slabs(model = model_spike_slab(6, "full")),
    spike_full_learned = function() {
      slabs(frozen_selector("ichol", rank = 9), model_spike_slab(6, "full"))
    },
    spike_gibbs = function() slabs(model = model_spike_slab(6), control = gibbs),
    spike_starts = function() {
      slabs(frozen_selector(), model_spike_slab(6), control = gps_control(
        max_iter = 12, n_starts = 2, mend = FALSE, progress = FALSE, n_threads = 1
      ))
    },
    spike_batches = function() {
      slabs(model = model_spike_slab(6), control = frozen_control(batch_size = 15))
    },
    greatest = function() greatest(model = model_max_spike_slab(6), max_active = 1),
    greatest_learned = function() {
      greatest(frozen_selector(), model_max_spike_slab(6), max_active = 1)
    },
    greatest_gibbs = function() greatest(model = model_max_spike_slab(6)),
    greatest_gibbs_learned = function() greatest(frozen_selector(), model_max_spike_slab(6))
  )
}

fits_mixture <- function() {
  mixture <- function(form = "full", selector = selector_handcrafted(), ...) {
    sparse_fit(selector, model_gaussian_mixture(4, form), frozen_clusters(), 2, ...)
  }
  list(
    full = function() mixture(), full_learned = function() mixture("full", frozen_selector()),
    diagonal = function() mixture("diagonal"),
    spherical = function() mixture("spherical", frozen_selector("divide", rank = 20)),
    ard = function() mixture(selector = frozen_selector(kernel = kernel_rbf(ard = TRUE))),
    neighbours = function() mixture("diagonal", frozen_selector("neighbours", rank = 6)),
    whole = function() {
      mixture(control = gps_control(max_iter = 40, n_starts = 3, progress = FALSE, n_threads = 1))
    },
    batches = function() mixture(control = frozen_control(batch_size = 20))
  )
}

fits_occlusive <- function() {
  placed <- function(selector = selector_handcrafted(), ..., control = frozen_control(8)) {
    sparse_fit(selector, model_occlusive(2, c(6, 6), ...), frozen_scenes(), 2, control = control)
  }
  list(
    handcrafted = function() placed(), exact = function() placed(frozen_selector()),
    linear = function() placed(frozen_selector(kernel = kernel_linear() + kernel_bias())),
    ichol = function() placed(frozen_selector("ichol", rank = 9)),
    vfe = function() placed(frozen_selector("inducing", rank = 8)),
    fourier = function() placed(frozen_selector("fourier", rank = 10)),
    monotone = function() placed(control = frozen_control(8, monotone = TRUE, anneal = 1)),
    batches = function() placed(control = frozen_control(5, batch_size = 7))
  )
}

# In one of them latents tie, and every order of sums makes another fit.
brittle_fit <- "occlusive/ichol"

frozen_fits <- function(is_brittle) {
  calls <- c(name_cases("binary", fits_binary_sparse()), name_cases("learned", fits_learned()),
             name_cases("slabs", fits_slabs()), name_cases("mixture", fits_mixture()),
             name_cases("occlusive", fits_occlusive()), name_cases("discrete", fits_discrete()))
  calls <- calls[(names(calls) == brittle_fit) == is_brittle]
  lapply(calls, function(call) function() fit_numbers(call()))
}

# What a fit says of its parameters, its way, some of its points and of new data.
fit_numbers <- function(call) {
  frozen_seed(6)
  fit <- do.call(gps_fit, call[names(call) != "newdata"])
  points <- seq_len(min(6, ncol(fit$selected)))
  y <- if (is.array(call$y)) call$y else frozen_bars()
  newdata <- 0.9 * if (is.matrix(y)) y[1:3, ] else y[1:3, , ]
  if (!is.null(call$newdata)) newdata <- call$newdata
  # An exact learned selector ranks new data by the fit's own, of which a source is not kept.
  is_able <- !is.null(fit$y) || is.null(fit$kernel_theta) || !is.null(fit$gp$cross)
  new <- sapply(if (is_able) c("prob", "selected", "response"), simplify = FALSE,
                function(type) predict(fit, newdata, type = type))
  list(params = coef(fit), bounds = fit$trace$bound, kernel = as.double(fit$kernel_theta),
       selected = fit$selected, prob_on = fit$prob_on[, points], new = new)
}

# ---- The tables: a named list of vectors, a line each

# How far a number may be off, relative to the largest of its vector. Kernels of OpenBLAS for other
# processors change numbers at given parameters by up to 2e-13, and those that a search has gone
# through by up to 2e-10.
frozen_tolerance <- c(engines = 1e-12, fits = 1e-9)

# `brittle` ones are far off with every other order of a sum: bits of one machine only.
frozen_tables <- c("engines", "fits", "brittle")

frozen_cases <- function(table) {
  switch(table,
    engines = c(frozen_given(), frozen_odd(), frozen_ranks(FALSE)),
    fits = c(frozen_searched(), frozen_ranks(TRUE), frozen_fits(FALSE)),
    brittle = c(frozen_singular(), frozen_fits(TRUE))
  )
}

# The numbers of a table with the installed package.
frozen_numbers <- function(table) {
  flat <- lapply(frozen_cases(table), function(run) {
    flatten_numbers(suppressWarnings(run(), classes = "gps_warning"))
  })
  stats::setNames(unlist(flat, recursive = FALSE, use.names = FALSE),
                  paste0(rep(names(flat), lengths(flat)), ": ", unlist(lapply(flat, names))))
}

flatten_numbers <- function(x, name = NULL) {
  if (!is.list(x)) return(if (length(x) > 0) stats::setNames(list(as.double(x)), name))
  do.call(c, lapply(names(x), function(part) {
    flatten_numbers(x[[part]], paste(c(name, part), collapse = "."))
  }))
}

write_frozen <- function(numbers, file) {
  text <- vapply(numbers, function(x) paste(sprintf("%.15g", x), collapse = " "), "")
  writeLines(paste(names(numbers), text, sep = "\t"), file)
}

read_frozen <- function(file) {
  parts <- strsplit(readLines(file), "\t", fixed = TRUE)
  numbers <- lapply(parts, function(part) {
    as.double(strsplit(paste0(part[2], ""), " ", fixed = TRUE)[[1]])
  })
  stats::setNames(numbers, vapply(parts, `[[`, "", 1))
}

# By how much each vector is off, relative to its largest number.
frozen_distance <- function(now, then) {
  vapply(names(then), function(name) {
    a <- now[[name]]
    b <- then[[name]]
    if (length(a) != length(b) || !identical(is.finite(a), is.finite(b))) return(Inf)
    kept <- is.finite(b)
    if (!identical(a[!kept], b[!kept])) return(Inf)
    max(0, abs(a - b)[kept]) / max(1e-300, abs(b[kept]))
  }, 0)
}
