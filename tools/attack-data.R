# Random data, models, selectors and controls for the attack.

pick <- function(...) {
  choices <- list(...)
  choices[[sample.int(length(choices), 1)]]
}

flip <- function(prob = 0.5) stats::runif(1) < prob

random_sizes <- function() {
  list(n = pick(1, 2, 3, 5, 10, 30, 60), d = pick(1, 2, 3, 5, 9, 16), h = sample.int(8, 1))
}

# n x D numbers of one of many kinds.
random_matrix <- function(n, d) {
  noise <- matrix(stats::rnorm(n * d), n)
  level <- function(lower, upper) 10^stats::runif(1, lower, upper)
  switch(
    sample(c("noise", "noise", "bars", "clusters", "constant", "repeated", "large", "small",
             "columns", "zeros", "sparse", "offset", "whole", "outlier", "positive", "lines"), 1),
    noise = noise, bars = noise + 10 * outer(seq_len(n) %% 3 == 0, seq_len(d) %% 2 == 0),
    clusters = noise + 20 * (seq_len(n) %% 3), constant = matrix(level(-3, 3), n, d),
    repeated = noise[sample.int(n, n, replace = TRUE), , drop = FALSE],
    large = noise * level(50, 160), small = noise * level(-160, -50),
    columns = sweep(noise, 2, 10^stats::runif(d, -150, 150), "*"),
    zeros = 0 * noise, sparse = noise * (abs(noise) > 1.3), offset = noise + level(0, 16),
    whole = round(3 * noise), outlier = replace(noise, 1, level(3, 150)), positive = abs(noise),
    lines = outer(seq_len(n), seq_len(d))
  )
}

# Images n x height x width (x channels) of objects, or odd ones.
random_images <- function(n) {
  size <- c(pick(1, 3, 5, 8), pick(2, 4, 7))
  channels <- pick(1, 1, 3)
  y <- array(random_matrix(n, prod(size) * channels), c(n, size, channels))
  if (flip()) y[, 1:min(2, size[1]), 1:2, ] <- y[, 1:min(2, size[1]), 1:2, ] + 5
  if (channels == 1) array(y, dim(y)[1:3]) else y
}

# The same data by another door.
wrap_matrix <- function(y) {
  switch(
    sample(c("plain", "plain", "plain", "frame", "named", "source", "whole", "logical"), 1),
    plain = y, frame = as.data.frame(y),
    named = array(y, dim(y), list(paste0("r", seq_len(nrow(y))), paste0("c", seq_len(ncol(y))))),
    source = gps_source(nrow(y), ncol(y), function(from, to) y[from:to, , drop = FALSE]),
    whole = if (all(abs(y) < 1e9)) array(as.integer(y), dim(y)) else y,
    logical = y > 0
  )
}

random_kernel <- function() {
  pick(kernel_composition(), kernel_rbf(), kernel_linear(), kernel_white(),
       kernel_rbf(ard = TRUE) + kernel_bias(), kernel_matern(pick(0.5, 1.5, 2.5)),
       kernel_rq() * kernel_periodic() + kernel_white(), kernel_periodic(ard = TRUE),
       kernel_rbf(lengthscale = 10^stats::runif(1, -3, 3)) + kernel_white(1e-6))
}

random_screen <- function() {
  pick(NULL, NULL, FALSE, gps_screen(), gps_screen("singleton"), gps_screen(keep = FALSE),
       gps_screen(propose = 1, explore = c(1, 0), pool = 1), gps_screen(moves = 2),
       gps_screen(conditional = c(2, 1), guided = c(1, 1), temperature = 0.5))
}

random_selector <- function() {
  switch(
    sample(c("gp", "gp", "gp", "handcrafted", "handcrafted", "full", "random", "custom",
             "learner"), 1),
    gp = selector_gp(random_kernel(),
                     pick("auto", "exact", "ichol", "inducing", "fourier", "divide"),
                     refit_every = pick(1, 2, 10), refit_evals = 3, refit_rows = 10,
                     explore = pick(0, 0.1, 1), screen = random_screen()),
    handcrafted = selector_handcrafted(random_screen()), full = selector_full(),
    random = selector_random(),
    custom = selector_custom(function(params, y) {
      matrix(seq_along(params$pi), nrow(y), n_choices, byrow = TRUE)
    }),
    learner = selector_custom(function(params, y, memory) matrix(memory, nrow(y), n_choices),
                              function(params, y, expectations) mean(expectations))
  )
}

# What custom selectors return a column for; set with the model.
n_choices <- 1L

random_model <- function(h) {
  shared <- flip()
  pick(model_binary_sparse(h, shared), model_spike_slab(h, pick("diagonal", "full"), shared),
       model_max_spike_slab(h, shared),
       model_gaussian_mixture(h, pick("full", "diagonal", "spherical")), model_noisy_or(h, shared),
       model_poisson_mixture(h))
}

# Numbers that the model can have mostly, where it cannot have all.
data_for <- function(model, y) {
  if (flip(0.1)) return(y)
  if (inherits(model, "gps_noisy_or")) return((y > stats::median(y)) + 0)
  if (inherits(model, "gps_poisson_mixture")) return(floor(pmin(abs(y), 1e12)))
  y
}

random_control <- function() {
  gps_control(max_iter = pick(0, 1, 2, 5, 10), tol = pick(NULL, NULL, 0, 1e-2),
              anneal = pick(NULL, NULL, 3), hold = pick(NULL, 0, 2, "auto"),
              n_starts = pick(1, 1, 2), monotone = flip(0.1), polish = flip(),
              method = pick("auto", "auto", "exact", "gibbs"),
              sweeps = pick(NULL, c(0, 1), c(1, 3)), batch_size = pick(NULL, NULL, NULL, 4, 20),
              keep_data = flip(0.8), progress = FALSE, trace = flip(), mend = flip(),
              grow = pick(NULL, NULL, NULL, 2, 10), n_threads = pick(1, 2))
}
