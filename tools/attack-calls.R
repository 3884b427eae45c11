# A sound call of every exported function and method, by name: function and arguments.

# Objects that calls share; made once in a process.
attack_store <- new.env()

shared_object <- function(name, make) {
  if (is.null(attack_store[[name]])) {
    set.seed(1)
    attack_store[[name]] <- suppressWarnings(make(), classes = "gps_warning")
  }
  attack_store[[name]]
}

quick <- function(...) gps_control(max_iter = 2, n_starts = 1, progress = FALSE, n_threads = 1, ...)

bars_y <- function() shared_object("bars", function() simulate_bars(30, size = 3)$y)

images_y <- function() {
  shared_object("images", function() {
    array(stats::runif(10 * 25), c(10, 5, 5)) + rep(c(0, 3), each = 5)
  })
}

attack_fits <- list(
  handcrafted = function() {
    gps_fit(bars_y(), model_binary_sparse(4), selector_handcrafted(), 3, control = quick())
  },
  learned = function() gps_fit(bars_y(), model_spike_slab(4), selector_gp(), 2, control = quick()),
  basis = function() {
    gps_fit(bars_y(), model_spike_slab(4, "full"),
            selector_gp(method = "ichol", rank = 5), 2, control = quick())
  },
  sampled = function() {
    gps_fit(bars_y(), model_max_spike_slab(4), selector_handcrafted(), 3, control = quick())
  },
  mixture = function() {
    gps_fit(bars_y(), model_gaussian_mixture(3), selector_full(), control = quick())
  },
  placed = function() {
    gps_fit(images_y(), model_occlusive(2, c(3, 3)), selector_handcrafted(), 2, control = quick())
  },
  causes = function() {
    gps_fit((bars_y() > 2) + 0, model_noisy_or(4), selector_handcrafted(), 3, control = quick())
  },
  counts = function() {
    gps_fit(round(abs(bars_y())), model_poisson_mixture(3), selector_full(), control = quick())
  }
)

fit_of <- function(name) shared_object(paste0("fit_", name), attack_fits[[name]])

regression <- function() {
  shared_object("regression", function() gp_fit(bars_y()[, 1:2], bars_y()[, 3], max_evals = 2))
}

bound_model <- function() {
  shared_object("bound", function() gps_bind(model_binary_sparse(4), bars_y()))
}

first_params <- function() shared_object("params", function() gps_init(bound_model(), bars_y()))

slots_of <- function(n = 30) matrix(1:2, n, 2, byrow = TRUE)

step_stats <- function() gps_estep(bound_model(), first_params(), bars_y(), slots_of())$stats

step_state <- function() {
  list(model = bound_model(), params = first_params(), selected = slots_of(),
       prob_on = slots_of() / 4)
}

picture <- function() matrix(as.double(1:64 %% 7), 8)

denoised <- function() {
  shared_object("denoised", function() {
    gps_denoise(picture(), 1, model_binary_sparse(2), selector_full(), size = 2, control = quick())
  })
}

binary_file <- function() {
  shared_object("file", function() {
    path <- tempfile()
    writeBin(as.double(1:60), path, endian = "little")
    path
  })
}

table_file <- function() {
  shared_object("table", function() {
    path <- tempfile(fileext = ".csv")
    writeLines(c("a,b", sprintf("%d,%d", 1:9, 9:1)), path)
    path
  })
}

# list(function name, arguments) by the name of the call.
sound_calls <- function() {
  c(constructor_calls(), data_calls(), step_calls(), fit_calls(), method_calls())
}

call_of <- function(.name, ...) list(name = .name, arguments = list(...))

constructor_calls <- function() {
  list(
    call_of("model_binary_sparse", n_latents = 4, shared_prob = TRUE),
    call_of("model_spike_slab", n_latents = 4, covariance = "full", shared_prob = TRUE),
    call_of("model_max_spike_slab", n_latents = 4, shared_prob = FALSE),
    call_of("model_noisy_or", n_latents = 4, shared_prob = FALSE),
    call_of("model_poisson_mixture", n_components = 3),
    call_of("model_gaussian_mixture", n_components = 3, covariance = "diagonal"),
    call_of("model_occlusive", n_components = 2, size = c(2, 2), image = c(5, 5), clutter = 0.1,
            density = 1, background = 0),
    call_of("kernel_rbf", variance = 1, lengthscale = 2, ard = FALSE),
    call_of("kernel_linear", variance = 1, ard = FALSE), call_of("kernel_bias", variance = 1),
    call_of("kernel_white", variance = 1),
    call_of("kernel_rq", variance = 1, lengthscale = 2, alpha = 1, ard = FALSE),
    call_of("kernel_periodic", variance = 1, lengthscale = 1, period = 2, ard = FALSE),
    call_of("kernel_matern", nu = 2.5, variance = 1, lengthscale = 1, ard = FALSE),
    call_of("selector_gp", kernel = kernel_rbf(), method = "inducing", rank = 5, refit_every = 2,
            refit_evals = 2, refit_rows = 10, explore = 0.1, smooth = 0, screen = FALSE,
            objective = "vfe", learn_inputs = FALSE, cross = TRUE),
    call_of("selector_handcrafted", screen = NULL),
    call_of("selector_custom", affinity = function(params, y) y, learn = NULL),
    call_of("gps_screen", rank_by = "greedy", keep = TRUE, propose = 2, explore = c(1, 1),
            random_slot = TRUE, moves = 0, pool = 3, conditional = c(1, 1), temperature = 0,
            guided = c(0, 0)),
    call_of("gps_control", max_iter = 2, tol = 0, anneal = 1, hold = 0, n_starts = 1,
            monotone = FALSE, polish = TRUE, method = "auto", sweeps = c(1, 1), batch_size = 5,
            step = 0.7, cluster = NULL, n_threads = 1, time_limit = 10, checkpoint = NULL,
            keep_data = TRUE, progress = FALSE, trace = TRUE, mend = TRUE, grow = NULL)
  )
}

data_calls <- function() {
  objects <- scene_objects(2, c(6, 6), 1)
  list(
    call_of("simulate_bars", n = 5, model = "binary_sparse", size = 3, prob = 0.2, value = 1,
            sigma2 = 1, mu = 1, psi = 1),
    call_of("simulate_clusters", n = 5, n_clusters = 2, n_dims = 2, layout = "random",
            separation = 1, sd = 1),
    call_of("scene_objects", n = 2, size = c(6, 6), channels = 1),
    call_of("simulate_scenes", objects = objects, n = 3, size = c(8, 8), prob = 0.5, sigma = 0.1,
            wrap = TRUE, background = 0),
    call_of("extract_patches", image = picture(), size = c(2, 2), step = 2, n = NULL,
            as = "matrix"),
    call_of("assemble_patches", patches = extract_patches(picture(), 2), dim = c(8, 8), size = 2,
            positions = NULL),
    call_of("read_objects", dir = tempdir(), size = c(2, 2), pattern = "png$", threshold = 0.5),
    call_of("gps_source", n = 5, d = 2, read = function(from, to) matrix(0, to - from + 1, 2),
            names = NULL),
    call_of("gps_source_binary", path = binary_file(), d = 3, type = "double", endian = "little",
            offset = 0, names = NULL),
    call_of("gps_source_hdf5", path = binary_file(), dataset = "y", points = "rows", names = NULL),
    call_of("gps_source_csv", path = table_file(), columns = 1, header = TRUE, sep = ",", dec = ".",
            na = "NA", binary = NULL),
    call_of("gps_source_parquet", path = table_file(), columns = 1, binary = NULL),
    call_of("gps_write_binary", y = bars_y(), path = tempfile(), type = "double", endian = "little",
            overwrite = FALSE)
  )
}

step_calls <- function() {
  model <- bound_model()
  params <- first_params()
  list(
    call_of("gps_bind", model = model_binary_sparse(4), y = bars_y()),
    call_of("gps_init", model = model, y = bars_y()),
    call_of("gps_draw", model = model, params = params, n = 3),
    call_of("gps_handcrafted", model = model, params = params, y = bars_y()),
    call_of("check_gps_model", model = model_binary_sparse(4), y = bars_y(), session = FALSE),
    call_of("gps_estep", model = model, params = params, y = bars_y(), selected = slots_of(),
            max_active = 2, want = "stats", beta = 1, n_threads = 1, method = "gibbs",
            sweeps = c(1, 2), value = NULL),
    call_of("gps_mstep", model = model, params = params, stats = step_stats()),
    call_of("gps_mend", model = model, params = params, stats = step_stats(), progress = NULL),
    call_of("gps_affinity", selector = selector_handcrafted(), state = step_state(), y = bars_y(),
            points = 1:3),
    call_of("gps_affinity", selector = selector_gp(), state = fit_of("learned"), y = bars_y(),
            points = 1:3),
    call_of("gps_learn", selector = selector_gp(), state = step_state(), y = bars_y())
  )
}

fit_calls <- function() {
  fit <- fit_of("handcrafted")
  list(
    call_of("gps_fit", y = bars_y(), model = model_binary_sparse(4),
            selector = selector_handcrafted(), n_selected = 3, max_active = 2, control = quick(),
            start = NULL),
    call_of("gps_fit", y = images_y(), model = model_occlusive(2, c(3, 3)),
            selector = selector_gp(), n_selected = 2, max_active = 2, control = quick(),
            start = NULL),
    call_of("gps_fit", y = bars_y(), model = model_gaussian_mixture(3), selector = selector_gp(),
            n_selected = 2, max_active = 1, control = quick(), start = coef(fit_of("mixture"))),
    call_of("gps_denoise", image = picture(), sd = 1, model = model_binary_sparse(2),
            selector = selector_full(), size = 2, step = 2, n_selected = NULL, max_active = NULL,
            n_train = 10, control = quick(), remainder = TRUE, start = NULL),
    call_of("expectations", fit = fit), call_of("posterior_states", fit = fit, n = 1, top = 2),
    call_of("posterior_sample", fit = fit, n_draws = 2, points = 1:2, seed = 1),
    call_of("match_components", found = coef(fit)$W, truth = coef(fit)$W, threshold = 0.9),
    call_of("compare_selectors", y = bars_y(), model = model_binary_sparse(4),
            selectors = list(a = selector_handcrafted(), b = selector_random()), seeds = 1,
            n_selected = 3, max_active = 2, control = quick(), truth = NULL, latents = NULL,
            target = -50, audit_points = 5),
    call_of("gps_audit", fit = fit_of("handcrafted"), y = NULL, n = 5, probable = 0.1,
            n_threads = 1),
    call_of("selection_recall", fit = fit, latents = matrix(1, 30, 4), within = 0, truth = NULL,
            all_objects = FALSE),
    call_of("gp_fit", x = bars_y()[, 1:2], targets = bars_y()[, 3], kernel = kernel_composition(),
            method = "inducing", optimise = TRUE, max_evals = 2, n_threads = 1, rank = 5,
            objective = "vfe", learn_inputs = FALSE, cross = TRUE),
    call_of("gp_gradient", fit = regression(), n_threads = 1),
    call_of("gp_loo", fit = regression(), n_threads = 1)
  )
}

method_calls <- function() {
  fit <- fit_of("learned")
  list(
    call_of("predict", object = fit, newdata = bars_y()[1:3, ], type = "state", n_threads = 1),
    call_of("predict", object = fit_of("placed"), newdata = images_y()[1:2, , ], type = "objects",
            n_threads = 1),
    call_of("predict", object = regression(), newdata = bars_y()[1:3, 1:2], n_threads = 1),
    call_of("simulate", object = fit, nsim = 1, seed = 1, n = 3),
    call_of("update", object = fit, control = quick(), max_iter = 1, n_selected = 3),
    call_of("plot", x = fit, which = "components", truth = NULL, beside = NULL, point = 1),
    call_of("plot", x = denoised(), clean = NULL, peak = 7),
    call_of("plot", x = regression(), target = 1, n_grid = 5),
    call_of("print", x = fit), call_of("summary", object = fit), call_of("coef", object = fit),
    call_of("logLik", object = fit), call_of("nobs", object = fit),
    call_of("residuals", object = fit), call_of("fitted", object = fit)
  )
}
