# Random fits: whatever goes in, either a classed refusal before the work comes out, or a fit that
# is finite, in range, and whose methods all work.

count_fits <- function() 3700L

attack_fit <- function(item) {
  set.seed(item)
  problem <- random_problem()
  fit <- run_watched(problem)
  if (!inherits(fit$value, "gps_fit")) return(fit$wrong)
  c(fit$wrong, check_numbers(fit$value), check_methods(fit$value, problem))
}

# Arguments of gps_fit().
random_problem <- function() {
  size <- random_sizes()
  if (flip(0.2)) {
    y <- random_images(size$n)
    shape <- dim(y)[2:3]
    model <- model_occlusive(pick(1, 1, 2, 3), pmax(1, shape - pick(0, 0, 2)),
                             clutter = pick(0.05, 0.05, 0, 0.5), background = pick(NULL, NULL, 0))
    n_choices <<- as.integer(prod(shape) * model$n_components)
    n_slots <- model$n_components
  } else {
    model <- random_model(size$h)
    y <- wrap_matrix(data_for(model, random_matrix(size$n, size$d)))
    n_slots <- n_choices <<- model$n_latents
  }
  n_selected <- pick(NULL, sample.int(n_slots, 1), sample.int(n_slots, 1))
  list(y = y, model = model, selector = random_selector(), n_selected = n_selected,
       max_active = if (!is.null(n_selected) && flip(0.3)) sample.int(n_selected, 1),
       control = refused_as_null(random_control()))
}

refused_as_null <- function(code) tryCatch(code, gps_error = function(condition) gps_control())

# list(value, wrong): the fit, and what was wrong with its conditions.
run_watched <- function(problem) {
  wrong <- character()
  note <- function(...) wrong <<- unique(c(wrong, paste0(...)))
  value <- tryCatch(
    withCallingHandlers(do.call(gps_fit, problem), warning = function(condition) {
      if (!inherits(condition, "gps_warning")) note("plain warning: ", conditionMessage(condition))
      invokeRestart("muffleWarning")
    }),
    error = function(condition) {
      message <- conditionMessage(condition)
      is_late <- grepl("^(Iteration [0-9]+ of|The last pass)", message)
      if (!inherits(condition, "gps_error")) note("plain error: ", message)
      else if (is_late) note("late error: ", message)
      NULL
    }
  )
  list(value = value, wrong = wrong)
}

check_numbers <- function(fit) {
  all_finite <- function(x) all(is.finite(unlist(x)))
  c(if (!is.finite(fit$bound)) "the bound is not finite",
    if (!all_finite(fit$params)) "parameters are not finite",
    if (!all_finite(fit$prob_on) || any(fit$prob_on < 0 | fit$prob_on > 1 + 1e-9)) "prob_on",
    if (any(fit$trace$jitter < 0)) "jitter",
    tryCatch({
      gpselect:::check_fit(fit)
      NULL
    }, error = function(condition) paste("check_fit():", conditionMessage(condition))))
}

# What must work of every fit, by name.
fit_methods <- list(
  print = function(fit, problem) print(fit), summary = function(fit, problem) print(summary(fit)),
  coef = function(fit, problem) coef(fit), logLik = function(fit, problem) c(AIC(fit), BIC(fit)),
  prob = function(fit, problem) check_rows_of(predict(fit), fit),
  expectations = function(fit, problem) check_rows_of(expectations(fit), fit),
  states = function(fit, problem) posterior_states(fit, 1), plot = function(fit, problem) plot(fit),
  simulate = function(fit, problem) stats::simulate(fit, 1, seed = 1),
  new = function(fit, problem) {
    for (type in c("prob", "latent", "state", "response", "loglik", "selected")) {
      value <- predict(fit, problem$y, type = type)
      if (!all(is.finite(value))) stop(type, " is not finite")
    }
  },
  fitted = function(fit, problem) c(fitted(fit), residuals(fit)),
  sample = function(fit, problem) posterior_sample(fit, 2, 1),
  stored = function(fit, problem) {
    again <- unserialize(serialize(fit, NULL))
    stopifnot(identical(predict(again, problem$y), predict(fit, problem$y)))
  },
  update = function(fit, problem) update(fit, control = gps_control(max_iter = 1, n_starts = 1)),
  resume = function(fit, problem) {
    gps_fit(problem$y, problem$model, problem$selector, fit$n_selected,
            control = gps_control(max_iter = 1), start = fit)
  }
)

check_rows_of <- function(value, fit) {
  if (nrow(value) != fit$n_points || !all(is.finite(value))) stop("shape or values of prob")
}

# What fails of a random half of the methods. A refusal is allowed where data were not kept.
check_methods <- function(fit, problem) {
  has_data <- is.matrix(fit$y)
  unlist(lapply(names(fit_methods)[stats::runif(length(fit_methods)) < 0.5], function(name) {
    tryCatch({
      suppressWarnings(fit_methods[[name]](fit, problem), classes = "gps_warning")
      NULL
    }, error = function(condition) {
      if (inherits(condition, "gps_error") && !has_data) return(NULL)
      paste0(name, "(): ", conditionMessage(condition))
    }, warning = function(condition) {
      paste0(name, "(), plain warning: ", conditionMessage(condition))
    })
  }))
}
