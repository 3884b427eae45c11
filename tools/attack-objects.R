# Objects with one part altered, given to what uses them: a classed refusal, or success.

count_objects <- function() 3200L

attack_object <- function(item) {
  set.seed(item)
  kind <- object_kinds[[sample(names(object_kinds), 1, prob = lengths(object_kinds))]]
  name <- sample(setdiff(names(kind), "uses"), 1)
  object <- shared_object(paste0("object_", name), kind[[name]])
  path <- random_path(object)
  change <- sample(names(changes), 1)
  altered <- tryCatch(alter(object, path, changes[[change]]), error = function(condition) NULL)
  if (is.null(altered)) return(NULL)
  use <- sample(names(kind$uses), 1)
  wrong <- outcome_of(kind$uses[[use]](altered))
  if (!is.null(wrong)) {
    sprintf("%s of %s with %s %s: %s", use, name, paste(path, collapse = "$"), change, wrong)
  }
}

# Numbers or names of the way to a part, at most four deep.
random_path <- function(object, depth = 4) {
  parts <- unclass(object)
  if (!is.list(parts) || length(parts) == 0 || depth == 0) return(NULL)
  at <- if (is.null(names(parts))) sample.int(length(parts), 1) else sample(names(parts), 1)
  if (is.character(at) && !nzchar(at)) return(NULL)
  c(list(at), if (flip(0.6)) random_path(parts[[at]], depth - 1))
}

# The object with the part at `path` changed, its classes kept.
alter <- function(object, path, change) {
  if (length(path) == 0) return(change(object))
  classes <- oldClass(object)
  object <- unclass(object)
  object[path[[1]]] <- list(alter(object[[path[[1]]]], path[-1], change))
  structure(object, class = classes)
}

# What becomes of a part.
changes <- list(
  gone = function(x) NULL, na = function(x) NA, minus = function(x) -1, zero = function(x) 0,
  large = function(x) 1e9, word = function(x) "abc", list = function(x) list(),
  fun = function(x) function(...) stop("a function of the attack"), nothing = function(x) x[0],
  shorter = function(x) utils::head(unclass(x), -1), longer = function(x) c(x, x),
  nan = function(x) replace(x, 1, NaN), turned = function(x) t(x),
  text = function(x) array(as.character(x), dim(x)), shifted = function(x) x + 1,
  most = function(x) replace(x, length(x), .Machine$integer.max), half = function(x) x / 2,
  true = function(x) TRUE, frame = function(x) data.frame(a = 1:2), own = function(x) list(x),
  nameless = function(x) unname(x), formula = function(x) y ~ x
)

short <- function() quick(time_limit = 2)

fit_with <- function(selector = selector_handcrafted(), model = model_binary_sparse(4),
                     control = short(), y = bars_y(), ...) {
  gps_fit(y, model, selector, n_selected = 2, control = control, ...)
}

bound <- function(model) function() gps_bind(model, bars_y())

step_of <- function(model) {
  y <- bars_y()
  gps_estep(model, gps_init(model, y), y, slots_of(), max_active = 1)
}

model_uses <- list(
  fit = function(x) fit_with(model = x), step = step_of, print = function(x) print(x),
  init = function(x) gps_init(x, bars_y()), bind = function(x) gps_bind(x, bars_y()),
  rank = function(x) {
    gps_affinity(selector_handcrafted(), list(model = x, params = gps_init(x, bars_y())), bars_y())
  },
  mstep = function(x) gps_mstep(x, gps_init(x, bars_y()), step_of(x)$stats),
  draw = function(x) gps_draw(x, gps_init(x, bars_y()), 3)
)

# Data that the model of a fit can have.
data_like <- function(model) {
  switch(class(model)[1], gps_occlusive = images_y(), gps_noisy_or = (bars_y() > 2) + 0,
         gps_poisson_mixture = round(abs(bars_y())), bars_y())
}

fit_uses <- list(
  print = function(x) print(x), summary = function(x) print(summary(x)),
  coef = function(x) c(coef(x), logLik(x), BIC(x)), predict = function(x) predict(x),
  new = function(x) predict(x, data_like(x$model)),
  response = function(x) predict(x, type = "response"),
  state = function(x) predict(x, type = "state"),
  fitted = function(x) c(fitted(x), residuals(x)), simulate = function(x) stats::simulate(x),
  plot = function(x) plot(x), update = function(x) update(x, max_iter = 1),
  expect = function(x) expectations(x), states = function(x) posterior_states(x, 1),
  sample = function(x) posterior_sample(x, 2, 1), start = function(x) fit_with(start = x),
  rank = function(x) gps_affinity(x$selector, x, bars_y(), points = 2)
)

selector_uses <- list(
  fit = function(x) fit_with(x), print = function(x) print(x),
  rank = function(x) gps_affinity(x, step_state(), bars_y()),
  learn = function(x) gps_learn(x, step_state(), bars_y())
)

regression_uses <- list(
  print = function(x) print(x), summary = function(x) print(summary(x)),
  loo = function(x) gp_loo(x),
  gradient = function(x) gp_gradient(x), predict = function(x) predict(x, bars_y()[1:3, 1:2]),
  own = function(x) predict(x), plot = function(x) plot(x), coef = function(x) c(coef(x), logLik(x))
)

kernel_uses <- list(
  fit = function(x) gp_fit(bars_y()[, 1:2], bars_y()[, 3], x, max_evals = 2),
  learned = function(x) fit_with(selector_gp(x)), print = function(x) print(x),
  sum = function(x) x + kernel_white(), coef = function(x) coef(x)
)

object_kinds <- list(
  models = list(
    binary = function() model_binary_sparse(4), slab = function() model_spike_slab(4),
    max = function() model_max_spike_slab(4), mixture = function() model_gaussian_mixture(3),
    placed = function() model_occlusive(2, c(2, 2), c(3, 3)), causes = function() model_noisy_or(4),
    counts = function() model_poisson_mixture(3),
    bound_a = bound(model_binary_sparse(4)),
    bound_b = bound(model_spike_slab(4, "full")), bound_c = bound(model_max_spike_slab(4)),
    bound_d = bound(model_gaussian_mixture(3)), bound_e = bound(model_occlusive(2, 2:3, c(3, 3))),
    uses = model_uses
  ),
  fits = list(
    fit_a = function() fit_of("handcrafted"), fit_b = function() fit_of("learned"),
    fit_f = function() fit_of("basis"), fit_c = function() fit_of("sampled"),
    fit_d = function() fit_of("mixture"), fit_e = function() fit_of("placed"),
    fit_g = function() fit_of("causes"), fit_h = function() fit_of("counts"), uses = fit_uses
  ),
  selectors = list(
    hand = function() selector_handcrafted(gps_screen()), gp = function() selector_gp(),
    ichol = function() selector_gp(method = "ichol", rank = 5, screen = gps_screen()),
    custom = function() selector_custom(function(params, y) y %*% params$W), uses = selector_uses
  ),
  kernels = list(
    rbf = function() kernel_rbf(), sum = function() kernel_composition(),
    matern = function() kernel_matern(1.5, lengthscale = 2) + kernel_white(),
    product = function() kernel_rq() * kernel_periodic() + kernel_white(), uses = kernel_uses
  ),
  regressions = list(
    exact = function() regression(),
    low = function() {
      gp_fit(bars_y()[, 1:2], bars_y()[, 3], method = "inducing", rank = 5, max_evals = 2)
    },
    uses = regression_uses
  ),
  settings = list(
    control = function() short(), uses = list(fit = function(x) fit_with(control = x),
                                              print = function(x) print(x))
  ),
  sources = list(
    read = function() gps_source(30, 9, function(from, to) bars_y()[from:to, , drop = FALSE]),
    file = function() gps_source_binary(binary_file(), 3),
    uses = list(fit = function(x) fit_with(y = x), print = function(x) print(x),
                new = function(x) predict(fit_of("handcrafted"), x))
  ),
  pictures = list(
    denoised = function() denoised(), uses = list(print = function(x) print(x),
                                                  plot = function(x) plot(x))
  )
)
