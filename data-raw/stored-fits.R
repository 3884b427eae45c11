# Makes tests/testthat/stored/<version>/*.rds: small fits of every model and the forms of selectors,
# with numbers that they predict. Later versions must load them and give the same numbers. Run once
# with each version that a fit should be kept of, from the top of the package:
#   R_LIBS=<library with that version> Rscript data-raw/stored-fits.R [families]
# Of 0.4.0 there are those of the models that it is the first to have: "discrete".
library(gpselect)
source(file.path("tests", "testthat", "helper-stored.R"))

first_columns <- function(params, y) y %*% params$W
by_products <- function(params, y, memory) y %*% memory
learn_products <- function(params, y, expectations) crossprod(y, expectations)

short <- function(...) {
  gps_control(max_iter = 6, n_starts = 1, mend = FALSE, progress = FALSE, n_threads = 1, ...)
}

# Few digits, since they are stored.
bars <- function(n = 20, ...) round(simulate_bars(n, size = 3, value = 5, ...)$y, 1)
named <- function(y) {
  dimnames(y) <- list(paste0("case", seq_len(nrow(y))), paste0("pixel", seq_len(ncol(y))))
  y
}
slabs <- function() bars(model = "spike_slab")
greatest <- function() bars(model = "max_spike_slab")
clusters <- function(n = 36) round(simulate_clusters(n)$y, 2)
ones <- function(n = 20) (bars(n) > 2.5) + 0
counts <- function(n = 36) round(abs(clusters(n)))
scenes <- function(n = 12) {
  round(simulate_scenes(scene_objects(2, c(6, 6), 1), n, c(10, 10))$y, 1)
}

learned <- function(method = "exact", kernel = kernel_rbf(), ...) {
  selector_gp(kernel, method, refit_every = 3, refit_evals = 5, ...)
}

sparse <- function(selector, y = bars(), n_selected = 3, control = short(), model = NULL, ...) {
  if (is.null(model)) model <- model_binary_sparse(6)
  gps_fit(y, model, selector, n_selected = n_selected, control = control, ...)
}

fits <- list(
  binary_sparse = list(
    handcrafted = function() sparse(selector_handcrafted(), named(bars())),
    screened = function() sparse(selector_handcrafted(gps_screen())),
    priors = function() {
      sparse(selector_handcrafted(), model = model_binary_sparse(6, shared_prob = FALSE))
    },
    full = function() sparse(selector_full(), n_selected = NULL),
    random = function() sparse(selector_random()),
    custom = function() sparse(selector_custom(first_columns)),
    learner = function() sparse(selector_custom(by_products, learn_products)),
    images = function() sparse(selector_handcrafted(), array(bars(), c(20, 3, 3))),
    gibbs = function() sparse(selector_handcrafted(), control = short(method = "gibbs")),
    few_active = function() sparse(selector_handcrafted(), max_active = 2),
    starts = function() {
      sparse(learned(), control = gps_control(max_iter = 6, n_starts = 2, progress = FALSE))
    },
    no_data = function() sparse(selector_handcrafted(), control = short(keep_data = FALSE))
  ),
  learned = list(
    exact = function() sparse(learned(kernel = kernel_composition())),
    features = function() sparse(learned(kernel = kernel_linear() + kernel_bias())),
    ard = function() sparse(learned(kernel = kernel_matern(ard = TRUE))),
    ichol = function() sparse(learned("ichol", rank = 8)),
    ichol_no_data = function() {
      sparse(learned("ichol", rank = 8), control = short(keep_data = FALSE))
    },
    vfe = function() sparse(learned("inducing", rank = 8)),
    fitc = function() sparse(learned("inducing", rank = 8, objective = "fitc")),
    dtc = function() sparse(learned("inducing", rank = 8, objective = "dtc", learn_inputs = TRUE)),
    fourier = function() sparse(learned("fourier", rank = 10)),
    divide = function() sparse(learned("divide", rank = 12)),
    divide_alone = function() sparse(learned("divide", rank = 12, cross = FALSE)),
    batches = function() {
      sparse(learned("ichol", rank = 6), control = short(batch_size = 10))
    },
    screened = function() sparse(learned(screen = gps_screen("singleton")))
  ),
  spike_slab = list(
    diagonal = function() sparse(learned(), slabs(), model = model_spike_slab(6)),
    full = function() sparse(selector_handcrafted(), slabs(), model = model_spike_slab(6, "full")),
    gibbs = function() {
      sparse(selector_handcrafted(), slabs(), model = model_spike_slab(6),
             control = short(method = "gibbs"))
    }
  ),
  max_spike_slab = list(
    exact = function() {
      sparse(selector_handcrafted(), greatest(), max_active = 1, model = model_max_spike_slab(6))
    },
    gibbs = function() sparse(learned(), greatest(), model = model_max_spike_slab(6))
  ),
  gaussian_mixture = list(
    full = function() gps_fit(clusters(), model_gaussian_mixture(3), learned(), control = short()),
    diagonal = function() {
      gps_fit(clusters(), model_gaussian_mixture(3, "diagonal"), selector_handcrafted(),
              control = short())
    },
    spherical = function() {
      gps_fit(clusters(), model_gaussian_mixture(3, "spherical"), selector_full(),
              control = short())
    },
    starts = function() {
      y <- clusters()
      colnames(y) <- c("length", "width")
      gps_fit(y, model_gaussian_mixture(3), learned(kernel = kernel_rbf(ard = TRUE)),
              control = gps_control(max_iter = 10, progress = FALSE))
    },
    batches = function() {
      gps_fit(clusters(), model_gaussian_mixture(3), selector_handcrafted(),
              control = short(batch_size = 12))
    }
  ),
  occlusive = list(
    handcrafted = function() {
      gps_fit(scenes(), model_occlusive(2, c(6, 6)), selector_handcrafted(), n_selected = 2,
              control = short())
    },
    learned = function() {
      gps_fit(scenes(), model_occlusive(2, c(6, 6)), learned(), n_selected = 2, control = short())
    }
  )
)

# What only later versions can fit.
if (packageVersion("gpselect") >= "0.3.0") {
  with_intercept <- function(model, y, ...) sparse(learned(), y + 100, model = model, ...)
  fits$intercept <- list(
    binary_sparse = function() with_intercept(model_binary_sparse(6, intercept = TRUE), bars()),
    spike_slab = function() with_intercept(model_spike_slab(6, intercept = TRUE), slabs()),
    max_spike_slab = function() {
      with_intercept(model_max_spike_slab(6, intercept = TRUE), greatest(), max_active = 1)
    },
    surplus = function() {
      sparse(learned(), bars(200), model = model_binary_sparse(10),
             control = gps_control(n_starts = 1, progress = FALSE, n_threads = 1))
    }
  )
}

if (packageVersion("gpselect") >= "0.4.0") {
  fits$discrete <- list(
    causes = function() sparse(selector_handcrafted(), ones(), model = model_noisy_or(6)),
    causes_learned = function() sparse(learned(), ones(), model = model_noisy_or(6)),
    causes_gibbs = function() {
      sparse(selector_handcrafted(), ones(), model = model_noisy_or(6),
             control = short(method = "gibbs"))
    },
    counts = function() {
      gps_fit(counts(), model_poisson_mixture(3), selector_full(), control = short())
    },
    counts_learned = function() {
      gps_fit(counts(), model_poisson_mixture(3), learned(), control = short())
    }
  )
}

# Data that a fit has not seen, shaped as its own.
newdata_of <- function(fit) {
  n <- 5
  y <- switch(
    fit$model$native$symbol,
    gps_model_gaussian_mixture = clusters(n), gps_model_occlusive = scenes(n),
    gps_model_spike_slab = bars(n, model = "spike_slab"), gps_model_noisy_or = ones(n),
    gps_model_poisson_mixture = counts(n),
    gps_model_max_spike_slab = bars(n, model = "max_spike_slab"), bars(n)
  )
  if (is.matrix(y)) colnames(y) <- fit$col_names
  y
}

gp_fits <- local({
  x <- function() matrix(round(runif(50, 0, 4), 2), 25)
  curve <- function(x) cbind(sin(x[, 1]), cos(x[, 2])) + rnorm(2 * nrow(x), sd = 0.1)
  fit <- function(..., kernel = kernel_rbf() + kernel_white()) {
    x <- x()
    gp_fit(x, curve(x), kernel, ..., max_evals = 15)
  }
  list(
    exact = function() fit(), given = function() fit(optimise = FALSE),
    composition = function() fit(kernel = kernel_composition()),
    features = function() fit(kernel = kernel_linear() + kernel_bias() + kernel_white()),
    ard = function() {
      fit(kernel = kernel_matern(1.5, ard = TRUE) + kernel_rbf() + kernel_white())
    },
    auto = function() fit("auto"), ichol = function() fit("ichol", rank = 8),
    vfe = function() fit("inducing", rank = 8),
    fitc = function() fit("inducing", rank = 8, objective = "fitc"),
    dtc = function() fit("inducing", rank = 8, objective = "dtc", learn_inputs = TRUE),
    fourier = function() fit("fourier", rank = 10), divide = function() fit("divide", rank = 10),
    divide_alone = function() fit("divide", rank = 10, cross = FALSE)
  )
})

store <- function(makers, file, newdata_of, numbers_of) {
  made <- Map(function(make, name) {
    set.seed(sum(utf8ToInt(name)))
    fit <- suppressWarnings(make(), classes = "gps_warning")
    newdata <- newdata_of(fit)
    list(fit = fit, newdata = newdata, numbers = numbers_of(fit, newdata))
  }, makers, names(makers))
  saveRDS(made, file, version = 3, compress = "xz")
  cat(sprintf("%s: %d bytes\n", file, file.size(file)))
}

folder <- file.path("tests", "testthat", "stored", as.character(packageVersion("gpselect")))
dir.create(folder, recursive = TRUE, showWarnings = FALSE)
wanted <- commandArgs(trailingOnly = TRUE)
if (length(wanted) == 0) wanted <- c(names(fits), "gp")
for (family in setdiff(wanted, "gp")) {
  store(fits[[family]], file.path(folder, paste0(family, ".rds")), newdata_of, numbers_of)
}
if ("gp" %in% wanted) {
  store(gp_fits, file.path(folder, "gp.rds"), function(fit) matrix(runif(10, -1, 5), 5), gp_numbers)
}
