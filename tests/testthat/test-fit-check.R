# Everything a user may do with a fit.
all_methods <- list(
  print = function(fit) capture.output(print(fit)), summary = summary, coef = coef,
  logLik = logLik, nobs = nobs, AIC = AIC, BIC = BIC, fitted = fitted, residuals = residuals,
  predict = predict, simulate = function(fit) simulate(fit),
  update = function(fit) update(fit, max_iter = 1), expectations = expectations,
  posterior_states = function(fit) posterior_states(fit, 1),
  posterior_sample = function(fit) posterior_sample(fit),
  plot = function(fit) plot(fit, "selection"),
  gps_affinity = function(fit) gps_affinity(selector_handcrafted(), fit, bars_data()$y),
  gps_learn = function(fit) gps_learn(selector_handcrafted(), fit, bars_data()$y),
  selection_recall = function(fit) selection_recall(fit, bars_data()$latents),
  start = function(fit) {
    gps_fit(bars_data()$y, model_binary_sparse(10), selector_handcrafted(), start = fit)
  }
)

test_that("every method refuses what is no fit", {
  cut <- unclass(a_fit("gp"))[1:8]
  class(cut) <- "gps_fit"
  foreign <- structure(list(coefficients = 1), class = "gps_fit")
  for (name in names(all_methods)) {
    expect_error(all_methods[[name]](cut), class = "gps_error_argument", info = name)
    expect_error(all_methods[[name]](foreign), class = "gps_error_argument", info = name)
  }
  expect_error(coef.gps_fit(1), class = "gps_error_argument")
  expect_error(check_fit(structure(1, class = "gps_fit")), class = "gps_error_argument")
  expect_error(expectations(lm(dist ~ speed, cars)), class = "gps_error_argument")
})

test_that("a fit with anything tampered is refused", {
  fit <- a_fit("gp")
  for (name in setdiff(fit_fields, c("starts", "memory", "row_names", "col_names", "image_dim"))) {
    broken <- unclass(fit)
    broken[[name]] <- NULL
    class(broken) <- "gps_fit"
    expect_error(check_fit(broken), sprintf("no `%s`", name), class = "gps_error_argument")
    broken <- fit
    broken[name] <- list(environment())
    expect_error(check_fit(broken), class = "gps_error_argument", info = name)
  }
  tamper <- list(
    function(fit) within_list(fit, version = package_version("999.1")),
    function(fit) within_list(fit, selected = fit$selected[-1, ]),
    function(fit) within_list(fit, selected = replace(fit$selected, 3, 11L)),
    function(fit) within_list(fit, selected = replace(fit$selected, 3, -1L)),
    function(fit) within_list(fit, selected = replace(fit$selected, 3, NA)),
    function(fit) within_list(fit, selected = fit$selected + 0),
    function(fit) within_list(fit, selected = fit$selected[c(1, 1, 3, 4), ]),
    function(fit) within_list(fit, prob_on = fit$prob_on[, -1]),
    function(fit) within_list(fit, prob_on = fit$prob_on * 2),
    function(fit) within_list(fit, prob_on = replace(fit$prob_on, 1, NaN)),
    function(fit) within_list(fit, y = fit$y[, -1]),
    function(fit) within_list(fit, y = t(fit$y)),
    function(fit) within_list(fit, y = replace(fit$y, 1, NA)),
    function(fit) within_list(fit, n_selected = 11L),
    function(fit) within_list(fit, max_active = 5L),
    function(fit) within_list(fit, n_points = 119L),
    function(fit) within_list(fit, kernel_theta = c(fit$kernel_theta, 1)),
    function(fit) within_list(fit, kernel_theta = replace(fit$kernel_theta, 1, Inf)),
    function(fit) within_list(fit, kernel_trace = fit$kernel_trace[-3]),
    function(fit) within_list(fit, kernel_trace = fit$kernel_trace[0, ]),
    function(fit) within_list(fit, kernel_trace = within_list(fit$kernel_trace, log_var_lin = 1)),
    function(fit) {
      fit$kernel_trace[1, 3] <- 1e308
      fit
    },
    function(fit) within_list(fit, bound_error = Inf),
    function(fit) within_list(fit, image_dim = c(5L, 6L)),
    function(fit) within_list(fit, row_names = "a"),
    function(fit) within_list(fit, seed = c(1, 2)),
    function(fit) within_list(fit, trace = fit$trace[-2]),
    function(fit) within_list(fit, trace = within_list(fit$trace, bound = "a")),
    function(fit) within_list(fit, trace = within_list(fit$trace, refit = 1)),
    function(fit) within_list(fit, starts = data.frame(start = 1L)),
    function(fit) {
      within_list(fit, starts = data.frame(start = 1L, bound_per_point = 1, chosen = NA))
    },
    function(fit) within_list(fit, n_iter = Inf),
    function(fit) within_list(fit, n_iter = .Machine$integer.max),
    function(fit) {
      fit$selector$kernel$terms[[1]]$ard <- 1
      fit
    },
    function(fit) within_list(fit, params = fit$params[-1]),
    function(fit) within_list(fit, params = within_list(fit$params, W = fit$params$W[-1, ])),
    function(fit) within_list(fit, params = within_list(fit$params, sigma2 = NaN)),
    function(fit) within_list(fit, params = within_list(fit$params, pi = 2))
  )
  for (i in seq_along(tamper)) {
    expect_error(check_whole(tamper[[i]](fit)), class = "gps_error_argument",
                 info = paste("case", i))
  }
})

test_that("whatever any part of a fit holds, methods answer or say what is wrong", {
  optional <- c("omitted", "n_missing", "cell_means", "pixels", "marks", "begun", "weights", "gp",
                "failed_starts", "start_params", "standing", "chosen", "memory", "ranks_once",
                "call", "latent_names")
  values <- list(NA, "a", quote(x), numeric(), list(), -1)
  use <- function(fit) {
    capture.output(print(fit), print(summary(fit)))
    predict(fit, bars_data()$y[1:2, ])
  }
  for (kind in c("gp", "learner")) {
    fit <- a_fit(kind)
    for (name in union(names(fit), optional)) {
      # What the second fit has beside the first it has in its selector.
      for (value in if (kind == "gp" || is_full()) values else values[c(1, 2, 5)]) {
        changed <- fit
        changed[[name]] <- value
        said <- tryCatch({
          suppressWarnings(use(changed))
          NULL
        }, error = identity)
        if (!is.null(said)) {
          expect_true(inherits(said, "gps_error"), paste(kind, name, deparse(value)))
        }
      }
    }
    odd <- list(omitted = c(3L, 2L), omitted = 0L, omitted = 1.5, n_missing = 0.5,
                marks = rep(NaN, 4), chosen = list(line = 3), memory = list(cross = 1),
                call = "gps_fit", begun = 3)
    for (i in seq_along(odd)) {
      changed <- fit
      changed[[names(odd)[i]]] <- odd[[i]]
      expect_gps_error(check_fit(changed), sprintf("`%s`", names(odd)[i]))
    }
  }
})

test_that("a changed model never reaches the numerics", {
  change_model <- function(name, ...) {
    fit <- a_fit(name)
    fit$model <- within_list(fit$model, ...)
    fit
  }
  model <- a_fit("gp")$model
  mixture <- a_fit("spherical")$model
  odd <- list(
    change_model("gp", n_latents = 12L), change_model("gp", n_latents = 2e9),
    change_model("gp", n_dims = 24L), change_model("gp", shape = c(25L, 1000L)),
    change_model("gp", lengths = replace(model$lengths, 1, 1)),
    change_model("gp", sizes = c(probs = 1, priors = 1)),
    change_model("gp", prepared = list()),
    change_model("gp", native = list(package = "stats", symbol = "optif9")),
    change_model("gp", options = list(shared_prob = 0, floor_sigma2 = 1e-9)),
    change_model("gp", options = list(floor_sigma2 = 1)),
    change_model("gp", settings = list(shared_prob = FALSE)),
    change_model("gp", stats_dims = list()),
    # C branches on the kind of covariance.
    change_model("spherical", options = within_list(mixture$options, kind = 0)),
    change_model("spherical", settings = list(covariance = "full"))
  )
  for (i in seq_along(odd)) {
    expect_error(predict(odd[[i]]), class = "gps_error_argument", info = paste("case", i))
  }
  fit <- a_fit("gp")
  class(fit$model)[1] <- "gps_unheard_of"
  expect_error(predict(fit), "unknown class \"gps_unheard_of\"", class = "gps_error_argument")
  fit <- a_fit("gp")
  class(fit$selector)[1] <- "gps_selector_oracle"
  expect_error(predict(fit), "unknown class", class = "gps_error_argument")
  fit <- a_fit("gp")
  fit$selector$kernel$terms[[1]]$type <- "cubic"
  expect_error(predict(fit), "selector was changed", class = "gps_error_argument")
})

test_that("a changed selector or screen never reaches the numerics", {
  set.seed(1)
  fit <- gps_fit(bars_data()$y, model_binary_sparse(10), n_selected = 4, control = quick_control(),
                 selector = selector_handcrafted(screen = gps_screen()))
  expect_identical(check_fit(fit), fit)
  change <- function(...) within_list(fit, selector = within_list(fit$selector, ...))
  screen <- fit$selector$screen
  odd <- list(
    change(explore = 0.5), change(screen = within_list(screen, propose = 0)),
    change(screen = within_list(screen, propose = -5L)), change(screen = list(propose = 3L)),
    change(screen = within_list(screen, explore = c(-1L, 0L))), change(label = 1)
  )
  for (i in seq_along(odd)) {
    expect_error(check_fit(odd[[i]]), "selector was changed", class = "gps_error_argument",
                 info = paste("case", i))
  }
  broken <- fit$selector
  for (propose in c(0L, -5L)) {
    broken$screen$propose <- propose
    expect_error(gps_fit(bars_data()$y, model_binary_sparse(10), broken, n_selected = 4),
                 "`propose` must be a whole number", class = "gps_error_argument")
  }
  custom <- a_fit("learner")
  custom$selector$learn <- 3
  expect_error(check_fit(custom), "selector was changed", class = "gps_error_argument")
  custom <- a_fit("custom")
  custom$selector$affinity <- quote(x)
  expect_error(check_fit(custom), "selector was changed", class = "gps_error_argument")
})

test_that("nothing stored is evaluated", {
  was_run <- FALSE
  trap <- quote(was_run <<- TRUE)
  for (place in c("n_selected", "bound", "status", "seed", "trace", "control", "version")) {
    fit <- a_fit("gp")
    fit[[place]] <- trap
    expect_error(print(fit), class = "gps_error_argument", info = place)
  }
  for (place in c("settings", "params", "rule", "native", "options")) {
    fit <- a_fit("gp")
    fit$model[[place]] <- list(shared_prob = trap)
    expect_error(print(fit), class = "gps_error_argument", info = place)
  }
  fit <- a_fit("gp")
  fit$params$sigma2 <- trap
  expect_error(coef(fit), class = "gps_error_argument")
  fit <- a_fit("gp")
  fit$control$max_iter <- trap
  expect_error(update(fit), class = "gps_error_argument")
  expect_false(was_run)
})
