# Small fits that the tests of methods share, made once a run.

fit_store <- new.env()

quick_control <- function(...) {
  gps_control(max_iter = 15, n_starts = 1, progress = FALSE, n_threads = 1, ...)
}

bars_data <- function() {
  set.seed(11)
  simulate_bars(120, value = 5)
}

named_bars <- function() {
  y <- bars_data()$y
  dimnames(y) <- list(paste0("case", seq_len(nrow(y))), paste0("pixel", seq_len(ncol(y))))
  y
}

first_bars <- function(params, y) y %*% params$W

make_fit <- list(
  handcrafted = function() {
    gps_fit(named_bars(), model_binary_sparse(10), selector_handcrafted(), n_selected = 4,
            control = quick_control())
  },
  gp = function() {
    gps_fit(bars_data()$y, model_binary_sparse(10), selector_gp(kernel_linear()), n_selected = 4,
            max_active = 3, control = quick_control())
  },
  unscreened = function() {
    gps_fit(bars_data()$y, model_binary_sparse(10), selector_handcrafted(FALSE), n_selected = 4,
            control = quick_control())
  },
  gp_alone = function() {
    gps_fit(bars_data()$y, model_binary_sparse(10), selector_gp(kernel_linear(), screen = FALSE),
            n_selected = 4, max_active = 3, control = quick_control())
  },
  full = function() {
    gps_fit(bars_data()$y, model_binary_sparse(8, shared_prob = FALSE), selector_full(),
            control = quick_control())
  },
  random = function() {
    gps_fit(bars_data()$y, model_binary_sparse(10), selector_random(), n_selected = 4,
            control = quick_control())
  },
  custom = function() {
    gps_fit(bars_data()$y, model_binary_sparse(10), selector_custom(first_bars), n_selected = 4,
            control = quick_control())
  },
  learner = function() {
    selector <- selector_custom(function(params, y, memory) y %*% memory,
                                function(params, y, expectations) crossprod(y, expectations))
    gps_fit(bars_data()$y, model_binary_sparse(10), selector, n_selected = 4,
            control = quick_control())
  },
  sampled = function() {
    set.seed(15)
    gps_fit(simulate_bars(120, value = 2)$y, model_binary_sparse(10), selector_handcrafted(),
            n_selected = 5, max_active = 4, control = quick_control(method = "gibbs"))
  },
  images = function() {
    y <- array(bars_data()$y, c(120, 5, 5))
    gps_fit(y, model_binary_sparse(10), selector_handcrafted(), n_selected = 4,
            control = quick_control())
  },
  mixture = function() {
    set.seed(12)
    y <- simulate_clusters(90)$y
    colnames(y) <- c("length", "width")
    gps_fit(y, model_gaussian_mixture(3), selector_gp(kernel_rbf(), screen = FALSE),
            n_selected = 2, control = gps_control(n_starts = 4, progress = FALSE, n_threads = 1))
  },
  spherical = function() {
    set.seed(13)
    gps_fit(simulate_clusters(60)$y, model_gaussian_mixture(3, "spherical"),
            selector_handcrafted(), n_selected = 2, control = quick_control())
  }
)

a_fit <- function(name) {
  if (is.null(fit_store[[name]])) {
    set.seed(sum(utf8ToInt(name)))
    fit_store[[name]] <- suppressWarnings(make_fit[[name]](), classes = "gps_warning")
  }
  fit_store[[name]]
}

# A fit with exactly these parameters, and the selection that `affinity` makes.
fit_at <- function(y, model, params, affinity, n_selected, ...) {
  selector <- selector_custom(function(params, y) affinity)
  suppressWarnings(
    gps_fit(y, model, selector, n_selected = n_selected, start = params,
            control = gps_control(max_iter = 0, progress = FALSE, n_threads = 1), ...),
    classes = "gps_warning"
  )
}

# Fits in which nothing has more than one of something.
degenerate_fits <- function() {
  quiet <- function(code) suppressWarnings(code, classes = "gps_warning")
  one <- quick_control()
  set.seed(14)
  y <- matrix(rnorm(40), 20)
  list(
    one_point = quiet(gps_fit(y[1, , drop = FALSE], model_binary_sparse(3), selector_random(),
                              n_selected = 2, control = one)),
    one_dim = quiet(gps_fit(y[, 1, drop = FALSE], model_binary_sparse(2), selector_handcrafted(),
                            n_selected = 1, control = one)),
    one_latent = quiet(gps_fit(y, model_binary_sparse(1), selector_handcrafted(), control = one)),
    one_slot = quiet(gps_fit(y, model_binary_sparse(3), selector_gp(kernel_rbf()),
                             n_selected = 1, control = one)),
    one_cluster = quiet(gps_fit(y, model_gaussian_mixture(1), selector_full(), control = one)),
    one_dim_mixture = quiet(gps_fit(y[, 1, drop = FALSE], model_gaussian_mixture(2, "diagonal"),
                                    selector_handcrafted(), n_selected = 1, control = one)),
    all_one = quiet(gps_fit(matrix(2), model_binary_sparse(1), selector_full(), control = one))
  )
}

# A list or fit with some elements changed.
within_list <- function(x, ...) {
  changes <- list(...)
  x[names(changes)] <- changes
  x
}

# All that a method may look at: what is checked at once, and what where it is used.
check_whole <- function(fit) {
  fit <- check_fit(fit)
  need_slots(fit, "this")
  need_data(fit, "this")
}
