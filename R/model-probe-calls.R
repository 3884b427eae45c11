# check_gps_model() for models of R functions: what calls leave behind, M-steps, derivatives, draws.

# Two calls with the same arguments: what they change, and whether they agree.
probe_own_calls <- function(report, case) {
  part <- parts_of(case, 1:3)[[1]]
  arguments <- list(params = case$params, part = part)
  ask <- function() ask_log_joint(case$model, arguments$params, arguments$part)
  if (!exists(".Random.seed", envir = globalenv(), inherits = FALSE)) set.seed(1)
  before <- list(given = copy_deeply(arguments), own = own_variables(case$model),
                 session = session_variables(), seed = session_seed())
  first <- ask()
  report_random(report, before$seed)
  report_changed(report, case, arguments, before)
  second <- ask()
  if (length(report$findings) == 0 && !identical(first, second)) {
    add_finding(report, "random", "log_joint",
                "Two calls with the same arguments give different values.",
                "Its value must follow from its arguments alone: no clock, files or generators.")
  }
}

session_seed <- function() get0(".Random.seed", envir = globalenv(), inherits = FALSE)

report_random <- function(report, seed) {
  if (identical(seed, session_seed())) return(invisible())
  add_finding(report, "random", "log_joint", "It draws from R's random numbers.", paste(
    "Its value must follow from its arguments alone, or posteriors and bounds are of no model.",
    "Draw in `init` and `draw` only."
  ))
}

report_changed <- function(report, case, arguments, before) {
  given <- c(list(params = arguments$params), arguments$part[c("y", "states", "latents")])
  was <- c(list(params = before$given$params), before$given$part[c("y", "states", "latents")])
  changed <- changed_names(given, was)
  if (length(changed) > 0) {
    add_finding(report, "input", "log_joint", sprintf(
      "It changes its argument %s where that stands.", list_arguments(changed)
    ), "C code must copy what it changes: use Rf_duplicate(), or write to a new vector.")
  }
  changed <- changed_names(own_variables(case$model), before$own)
  if (length(changed) > 0) {
    add_finding(report, "input", "log_joint", sprintf(
      "It changes %s, which it keeps from call to call.", list_arguments(changed)
    ), paste("Nothing may be kept between calls, by `<<-`, assign() or environments: points come",
             "in any order, on any worker. What has to be kept is a parameter."))
  }
  changed <- changed_names(session_variables(), before$session)
  if (length(changed) > 0) {
    add_finding(report, "global", "log_joint", sprintf(
      "It sets %s in the global environment.", list_arguments(changed)
    ), "Return all that it finds; nothing of the session may be changed.")
  }
}

# Names of what is there on one side only, or differs.
changed_names <- function(now, before) {
  names <- union(names(now), names(before))
  names[!vapply(names, function(name) identical(now[[name]], before[[name]]), NA)]
}

copy_deeply <- function(x) unserialize(serialize(x, NULL))

# Copies of all that the functions keep, but functions, by name.
own_variables <- function(model) {
  homes <- own_homes(model$functions, list())
  kept <- lapply(homes, function(home) {
    values <- as.list(home, all.names = TRUE)
    copy_deeply(lapply(values[!vapply(values, is.function, NA)], plain_environment))
  })
  do.call(c, c(list(list()), kept))
}

# What stands in an environment in place of it, since copies of environments are never identical.
plain_environment <- function(x) if (is.environment(x)) as.list(x, all.names = TRUE) else x

# Environments of functions and of the functions in these, up to packages and the session.
own_homes <- function(functions, found) {
  for (f in functions[vapply(functions, is.function, NA)]) {
    home <- environment(f)
    while (!is.null(home) && !is_packaged(home) && !identical(home, globalenv())) {
      if (any(vapply(found, identical, NA, home))) break
      found <- own_homes(as.list(home, all.names = TRUE), c(found, list(home)))
      home <- parent.env(home)
    }
  }
  found
}

session_variables <- function() {
  names <- setdiff(ls(globalenv(), all.names = TRUE), ".Random.seed")
  names <- names[!vapply(names, bindingIsActive, NA, env = globalenv())]
  mget(names, envir = globalenv())
}

# Three M-steps from the first parameters, each after an E-step: none may lower the expected log
# joint.
probe_own_mstep <- function(report, case) {
  model <- case$model
  y <- t(case$y)
  block <- new_block(0, ncol(y))
  params <- case$params
  for (step in 1:3) {
    stats <- run_estep(model, params, y, block, case$selected, case$states, 1L, "stats")$stats
    new <- mstep_model(model, params, stats)$params
    old_value <- expected_log_joint(model, params, stats)
    value <- expected_log_joint(model, new, stats)
    if (is.na(value) || value < old_value - mstep_tolerance * max(1, abs(old_value))) {
      return(report_mstep(report, old_value, value, step))
    }
    params <- new
  }
}

# The derivative along random ways against central differences.
probe_own_gradient <- function(report, case) {
  model <- case$model
  y <- t(case$y)
  block <- new_block(0, ncol(y))
  stats <- run_estep(model, case$params, y, block, case$selected, case$states, 1L, "stats")$stats
  gradient <- own_gradient(model, case$params, stats)
  for (name in names(case$params)) {
    theta <- case$params[[name]]
    way <- sample(c(-1, 1), length(theta), replace = TRUE)
    size <- 1e-5 * max(abs(theta), 1e-3)
    value <- vapply(c(-1, 1), function(side) {
      changed <- case$params
      changed[[name]][] <- theta + side * size * way
      expected_log_joint(model, changed, stats)
    }, 1)
    wanted <- diff(value) / (2 * size)
    found <- sum(way * gradient[[name]])
    rounding <- 1e-10 * max(1, abs(value)) / size
    if (!is.finite(wanted) || abs(found - wanted) <= 1e-3 * abs(wanted) + rounding) next
    add_finding(report, "gradient", "gradient", sprintf(
      "The derivative by `%s` along a random way is %s, and by differences of `log_joint` %s.",
      name, plain_number(found, 4), plain_number(wanted, 4)
    ), "Derive the sum of `weights * log_joint` anew; its shape is that of the parameters.")
  }
}

probe_own_draw <- function(report, case) {
  model <- case$model
  is_valid <- function(params) bound_own_params(model, params)$n_moved == 0
  probe_draws(report, model, case$params, joint_by_states(model), is_valid)
}
