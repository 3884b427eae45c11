# Models, selectors, kernels, screens, controls and sources whose parts were edited: each use works
# or refuses in the package's own class of error. All parts x junk x uses; quickly a sample of them.

junk <- list(NULL, NA, NA_real_, "a", numeric(), list(), quote(x), -1, 50, Inf, TRUE, c(1, 2, 3),
             matrix(1, 2, 2), function(...) 1, NA_character_, structure(list(), class = "foo"))

# Paths to all parts of a list, at most three deep. Some classes have a length of their own.
paths_of <- function(x, deep = 3) {
  x <- unclass(x)
  unlist(lapply(seq_along(x), function(i) {
    inner <- if (deep > 1 && is.list(x[[i]])) paths_of(x[[i]], deep - 1)
    c(list(i), lapply(inner, function(path) c(i, path)))
  }), recursive = FALSE)
}

# Ways to change a part: junk, and what of the part itself is gone, cut, longer, larger or of other
# sign.
changes_of <- function(part, more) {
  if (is.function(part)) return(junk)
  own <- list(part[0], part[1], if (is.numeric(part)) -part, if (is.numeric(part)) part + more,
              if (is.list(part)) list(part, part), if (is.atomic(part)) rep(part, 2))
  c(junk, own)
}

# The error of a use, unless it is none or of the package.
odd_error <- function(use, x) {
  condition <- tryCatch({
    setTimeLimit(elapsed = 30, transient = TRUE)
    suppressWarnings(utils::capture.output(use(x)))
    NULL
  }, error = identity)
  setTimeLimit()
  if (!is.null(condition) && !inherits(condition, "gps_error")) conditionMessage(condition)
}

# Every part of `x` x ways to change it x `uses`; a `share` of them. What stays valid must not run
# long: `more` is added to numbers.
sweep_parts <- function(name, x, uses, share, more = 4000) {
  for (path in paths_of(x)) {
    changes <- changes_of(x[[path]], more)
    for (i in which(runif(length(changes)) < share)) {
      changed <- tryCatch({
        y <- x
        if (is.null(changes[[i]])) y[[path]] <- NULL else y[[path]] <- changes[[i]]
        y
      }, error = function(condition) NULL)
      if (is.null(changed)) next
      use <- if (share < 1) sample(names(uses), 1) else names(uses)
      for (word in use) {
        message <- odd_error(uses[[word]], changed)
        expect(is.null(message), sprintf("%s %s [%s] change %d: %s", name, word,
                                         paste(path, collapse = ","), i, message))
      }
    }
  }
}

one_iteration <- function() gps_control(max_iter = 1, n_starts = 1, progress = FALSE, n_threads = 1)

# Models of every kind, with data, parameters, selected latents and statistics.
model_cases <- function() {
  y <- abs(matrix(rnorm(60), 20))
  images <- matrix(runif(8 * 30), 8)
  models <- list(model_binary_sparse(3), model_binary_sparse(3, shared_prob = FALSE),
                 model_spike_slab(3), model_spike_slab(3, "full"), model_max_spike_slab(3),
                 model_gaussian_mixture(3), model_gaussian_mixture(3, "diagonal"),
                 model_gaussian_mixture(3, "spherical"), model_occlusive(2, c(2, 3), c(5, 6)),
                 model_noisy_or(3), model_noisy_or(3, shared_prob = FALSE),
                 model_poisson_mixture(3))
  lapply(models, function(model) {
    y <- if (inherits(model, "gps_occlusive")) images else y
    if (inherits(model, c("gps_noisy_or", "gps_poisson_mixture"))) y <- (y > 0.7) + 0
    bound <- gps_bind(model, y)
    params <- gps_init(bound, y)
    attr(params, "labels") <- NULL
    selected <- matrix(1:3, nrow(y), 3, byrow = TRUE)
    if (inherits(model, "gps_occlusive")) selected <- cbind(rep(4L, nrow(y)), 33L)
    list(model = model, bound = bound, y = y, params = params, selected = selected,
         stats = gps_estep(bound, params, y, selected, max_active = 1)$stats)
  })
}

bound_uses <- function(case) {
  state <- case[c("params", "selected")]
  state$prob_on <- 0 * case$selected
  list(
    exact = function(m) gps_estep(m, case$params, case$y, case$selected, 1),
    gibbs = function(m) gps_estep(m, case$params, case$y, case$selected, method = "gibbs"),
    mstep = function(m) gps_mstep(m, case$params, case$stats),
    mend = function(m) gps_mend(m, case$params, case$stats),
    init = function(m) gps_init(m, case$y), draw = function(m) gps_draw(m, case$params, 3),
    handcrafted = function(m) gps_handcrafted(m, case$params, case$y),
    affinity = function(m) {
      gps_affinity(selector_handcrafted(), c(list(model = m), state), case$y)
    },
    learn = function(m) gps_learn(selector_gp(), c(list(model = m), state), case$y),
    bind = function(m) gps_bind(m, case$y), print = print,
    fit = function(m) gps_fit(case$y, m, selector_random(), 2, control = one_iteration())
  )
}

test_that("a model with any part changed is refused by name or makes no difference", {
  set.seed(1)
  for (case in model_cases()) {
    name <- class(case$model)[1]
    share <- if (is_full()) 1 else 0.008
    sweep_parts(paste("bound", name), case$bound, bound_uses(case), share)
    uses <- bound_uses(case)[c("bind", "print", "fit")]
    sweep_parts(name, case$model, uses, share)
  }
})

test_that("an edited selector, kernel, screen, control or source works or is refused by name", {
  # A control whose checkpoint became a file's name writes it.
  before <- setwd(tempdir())
  on.exit(setwd(before))
  set.seed(2)
  y <- simulate_bars(16, size = 3)$y
  fit_with <- function(selector = selector_handcrafted(), control = one_iteration(), data = y) {
    gps_fit(data, model_binary_sparse(6), selector, n_selected = 3, control = control)
  }
  state <- list(model = gps_bind(model_binary_sparse(6), y))
  state$params <- gps_init(state$model, y)
  selector_uses <- list(fit = fit_with, print = print,
                        affinity = function(x) gps_affinity(x, c(state, list(memory = NULL)), y))
  kernel_uses <- list(gp = function(k) gp_fit(y, y[, 1:2], k, max_evals = 2), print = print,
                      coef = coef, sum = function(k) k + kernel_bias() + k,
                      selector = function(k) selector_gp(k))
  whole <- gps_source(16, 9, function(from, to) y[from:to, , drop = FALSE])
  file <- tempfile()
  # An odd value of `checkpoint` names a file where the session stands.
  folder <- setwd(tempdir())
  on.exit({
    unlink(file)
    setwd(folder)
  })
  writeBin(as.double(t(y)), file)
  source_uses <- list(print = print, fit = function(x) fit_with(data = x),
                      bind = function(x) gps_bind(model_binary_sparse(6), x))
  things <- list(
    gp = list(selector_gp(kernel_rbf(1, 2)), selector_uses),
    basis = list(selector_gp(method = "inducing", rank = 4), selector_uses),
    hand = list(selector_handcrafted(gps_screen()), selector_uses),
    full = list(selector_full(), selector_uses), random = list(selector_random(), selector_uses),
    custom = list(selector_custom(first_bars), selector_uses),
    screen = list(gps_screen(), list(fit = function(x) fit_with(selector_handcrafted(x)))),
    kernel = list(kernel_rbf(ard = TRUE) + kernel_linear() + kernel_white(), kernel_uses),
    product = list(kernel_rq(ard = TRUE) * kernel_periodic() + kernel_white(), kernel_uses),
    custom = list(kernel_custom(function(x, z, p) p * outer(x[, 1], z[, 1])) + kernel_white(),
                  kernel_uses),
    control = list(one_iteration(), list(fit = function(x) fit_with(control = x), print = print)),
    sampler = list(gps_control(max_iter = 1, n_starts = 1, batch_size = 5, progress = FALSE),
                   list(fit = function(x) fit_with(control = x))),
    source = list(whole, source_uses), file = list(gps_source_binary(file, 9), source_uses)
  )
  for (name in names(things)) {
    sweep_parts(name, things[[name]][[1]], things[[name]][[2]], if (is_full()) 1 else 0.05,
                more = 10)
  }
})

test_that("a part that was changed is named, with its argument", {
  y <- bars_data()$y
  model <- model_binary_sparse(3)
  change <- function(x, part, value) {
    x[part] <- list(value)
    x
  }
  expect_gps_error(gps_fit(y, change(model, "prepared", NULL), selector_full()),
                   "`model` is not as model_binary_sparse() makes it: its part `prepared` was")
  bound <- gps_bind(model, y)
  params <- gps_init(bound, y)
  selected <- matrix(1:3, 120, 3, byrow = TRUE)
  odd <- bound
  odd$options$floor_sigma2 <- -odd$options$floor_sigma2
  expect_gps_error(gps_estep(odd, params, y, selected), "its part `options` was changed")
  odd <- change(bound, "native", list(package = "stats", symbol = "optif9"))
  expect_gps_error(gps_mstep(odd, params, list()), "its part `native` was changed")
  odd <- change(bound, "shape", c(25L, 4000L))
  expect_gps_error(gps_draw(odd, params, 2), "`shape` was changed")
  expect_gps_error(gps_bind(change(model, "n_latents", -3), y), "`n_latents` must be")
  class(odd) <- c("gps_unheard_of", "gps_native_model", "gps_model")
  odd$native$package <- "gpselect"
  expect_gps_error(print(odd), "unknown class \"gps_unheard_of\"")
  control <- change(gps_control(), "batch_size", NA)
  expect_gps_error(gps_fit(y, model, selector_full(), control = control),
                   "`control` is not as gps_control() makes it: `batch_size` must be")
  expect_gps_error(print(change(gps_control(), "sedd", 1)), "its part `sedd` was changed")
  odd <- selector_handcrafted(gps_screen())
  odd$screen$propose <- 0
  expect_gps_error(gps_fit(y, model, odd), "`propose` must be a whole number")
  expect_gps_error(gps_affinity(change(odd, "label", 1), list(), y), "`selector` is not as")
  odd <- kernel_rbf() + kernel_white()
  odd$terms[[2]]$variance <- -1
  expect_gps_error(odd + kernel_bias(), "`e1$terms[[2]]` is not as kernel_*() makes it: `variance`")
  expect_gps_error(gp_fit(1:5, 1:5, odd), "`kernel$terms[[2]]`")
})

test_that("what an edit leaves valid is used", {
  y <- bars_data()$y
  control <- one_iteration()
  control$max_iter <- 3
  control$keep_data <- NULL
  selector <- selector_random()
  selector$screen <- NULL
  set.seed(3)
  fit <- gps_fit(y, model_binary_sparse(4), selector, 2, control = control)
  set.seed(3)
  like <- gps_fit(y, model_binary_sparse(4), selector_random(), 2,
                  control = change_control(one_iteration(), list(max_iter = 3L)))
  expect_identical(coef(fit), coef(like))
  expect_identical(fit$control, like$control)
})

test_that("a model of another version is brought up to date, or its version is said", {
  y <- bars_data()$y
  old <- unclass(gps_bind(model_binary_sparse(3), y))
  class_of <- class(gps_bind(model_binary_sparse(3), y))
  old$version <- NULL
  old$events <- "other"
  old <- structure(old, class = class_of)
  new <- gps_bind(model_binary_sparse(3), y)
  expect_identical(check_model(old), new)
  params <- gps_init(old, y)
  selected <- matrix(1:3, 120, 3, byrow = TRUE)
  expect_identical(gps_estep(old, params, y, selected), gps_estep(new, params, y, selected))
  expect_named(gps_mstep(old, params, gps_estep(old, params, y, selected)$stats)$events, new$events)
  old$version <- "0.999.1"
  expect_gps_error(gps_init(old, y), "version 0.999.1 made it")
  old$events <- new$events
  expect_identical(check_model(old), old)
})

test_that("what is only shown raises no error of R's own", {
  set.seed(4)
  fit <- a_fit("handcrafted")
  line <- gp_fit(1:9, sin(1:9), kernel_rbf() + kernel_white(), method = "inducing", rank = 4,
                 max_evals = 3)
  places <- list(data.frame(component = 1L, row = 2L, column = 3L))
  things <- list(
    summary = summary(fit), gp = line, gp_summary = summary(line), objects = scene_objects(2),
    places = structure(places, class = "gps_places")
  )
  uses <- list(print = print)
  for (name in names(things)) {
    sweep_parts(name, things[[name]], uses, if (is_full()) 1 else 0.05)
  }
  bound <- logLik(fit)
  for (name in c("df", "nobs", "error")) {
    for (value in junk) {
      attr(bound, name) <- value
      expect_null(odd_error(print, bound), info = name)
    }
    bound <- logLik(fit)
  }
})

test_that("accessors look at no values of data points, and what uses them does", {
  fit <- a_fit("gp")
  fit$prob_on[7] <- NaN
  fit$y[3] <- NA
  for (accessor in list(coef, logLik, nobs, BIC)) expect_no_error(accessor(fit))
  expect_no_error(print_quietly(fit))
  expect_gps_error(expectations(fit), "`prob_on` is not")
  expect_gps_error(residuals(fit), "`y` is not its data")
  hand <- a_fit("handcrafted")
  hand$selected[5] <- 999L
  expect_no_error(predict(hand, named_bars()[1:2, ]))
  expect_gps_error(predict(hand), "`selected` is not")
  line <- gp_fit(1:9, sin(1:9), kernel_rbf() + kernel_white(), method = "ichol", rank = 4,
                 max_evals = 3)
  line$x[2] <- NaN
  for (accessor in list(coef, logLik, nobs, function(x) predict(x, 1.5))) {
    expect_no_error(accessor(line))
  }
  for (use in list(predict, gp_loo, gp_gradient, fitted, print)) {
    expect_gps_error(use(line), "is damaged")
  }
})

test_that("the core itself refuses a model whose arrays are not declared as it needs them", {
  set.seed(5)
  y <- abs(matrix(rnorm(60), 20))
  model <- gps_bind(model_binary_sparse(3), y)
  params <- gps_init(model, y)
  stats <- gps_estep(model, params, y, matrix(1:3, 20, 3, byrow = TRUE))$stats
  dims <- resolve_dims(model$prepared, dimension_sizes(model, 20))
  prepare <- function(m = list(), d = dims, p = params) {
    m <- utils::modifyList(unclass(model)[c("native", "shape", "lengths", "options")], m)
    .Call(C_prepare, m$native, m$shape, c(p, m$options), m$lengths, d, t(y), new_block(0, 20))
  }
  expect_named(prepare(), names(dims))
  refused <- list(
    function() prepare(d = dims[-1]), function() prepare(d = list()),
    function() prepare(d = within_list(dims, gram = c(-1L, 3L))),
    function() prepare(d = within_list(dims, gram = integer())),
    function() prepare(p = params["W"]), function() prepare(list(shape = c(3L, 0L))),
    function() prepare(list(lengths = model$lengths[-4])),
    function() prepare(list(lengths = replace(model$lengths, 1, NaN))),
    function() prepare(list(native = list(package = 1, symbol = NA))),
    function() prepare(list(options = list(floor_sigma2 = NULL)))
  )
  mstep <- function(inputs = c(params, model$options), p = params, s = stats) {
    .Call(C_mstep, model$native, model$shape, inputs, model$lengths, p, s)
  }
  expect_named(mstep()$params, names(params))
  refused <- c(refused, function() mstep(params), function() mstep(p = params[-1]),
               function() mstep(p = 1), function() mstep(s = stats[-1]), function() mstep(s = NULL))
  for (i in seq_along(refused)) {
    expect_error(refused[[i]](), class = "gps_error_model", info = paste("case", i))
  }
})

test_that("what was made where numbers are written in another way is as its maker makes it", {
  make <- function() {
    list(model_occlusive(2, c(6, 6), clutter = 0.0712345), selector_handcrafted(gps_screen()),
         model_occlusive(2, c(6, 6), clutter = c(fixed = 1e-5)), selector_gp(explore = 0.05123),
         selector_gp(method = "ichol", rank = 100000), gps_control(tol = 1e-5, time_limit = 1e5))
  }
  made <- make()
  other <- list(list(OutDec = ","), list(digits = 1), list(scipen = -100), list(scipen = 100))
  for (way in other) {
    old <- options(way)
    elsewhere <- tryCatch(make(), finally = options(old))
    expect_identical(lapply(elsewhere, unclass), lapply(made, unclass))
  }
})
