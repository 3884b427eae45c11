# check_gps_model() for models of R functions: what they need of the session. They are called in a
# new one, first as they are; where that gives other values, with the packages that are attached
# here, then with the variables that they may mean, too, and what helps tells what is missing.

# Seconds that a new session may take.
session_timeout <- 120

probe_own_session <- function(report, case) {
  home <- dirname(getNamespaceInfo("gpselect", "path"))
  if (!file.exists(file.path(home, "gpselect", "Meta", "package.rds"))) {
    return(skip_check(report, "session", "since gpselect is not installed where it is loaded from"))
  }
  calls <- session_calls(case)
  here <- run_calls(case$model$functions, calls)
  said <- run_session(list(functions = case$model$functions, calls = calls, here = here,
                           packages = rev(attached_packages()),
                           variables = named_variables(case$model)), home)
  if (is.null(said)) return(skip_check(report, "session", "since no new session answered"))
  run_check(report, "session", "session", for (kind in names(calls)) {
    if (is.null(here[[kind]]$error)) report_session(report, case, kind, here, said)
  })
}

# What each function is called with.
session_calls <- function(case) {
  model <- case$model
  y <- t(case$y)
  part <- parts_of(case, 1:2)[[1]]
  latents <- if (takes_own(model$functions$log_joint, "latents", 4)) list(part$latents)
  calls <- list(init = list(case$y),
                log_joint = c(list(case$params, part$y, part$states), latents))
  posterior <- tryCatch(
    run_estep(model, case$params, y, new_block(0, ncol(y)), case$selected, case$states, 1L,
              "stats")$stats,
    error = function(condition) NULL
  )
  if (!is.null(posterior)) calls$mstep <- list(case$params, y, posterior)
  calls$draw <- list(case$params, 2L)
  calls[intersect(names(calls), names(model$functions))]
}

# list(value) or list(error) of each call, from the same random numbers. It runs in a new session,
# too, where there is nothing but base R: no other function of this package may stand in it.
run_calls <- function(functions, calls) {
  values <- lapply(names(calls), function(kind) {
    set.seed(1)
    tryCatch({
      list(value = suppressWarnings(do.call(functions[[kind]], calls[[kind]], quote = TRUE)))
    }, error = function(condition) list(error = conditionMessage(condition)))
  })
  names(values) <- names(calls)
  values
}

# list(bare, packages, variables), results of the calls in the three stages, or NULL. What is as it
# is here has no stages after the first.
run_session <- function(payload, home) {
  files <- tempfile(c("session", "given", "said"), fileext = c(".R", ".rds", ".rds"))
  on.exit(unlink(files))
  environment(run_calls) <- globalenv()
  saveRDS(c(payload, list(run = run_calls, home = home)), files[2])
  writeLines(c(
    "local({",
    sprintf("  given <- readRDS(%s)", encodeString(files[2], quote = "\"")),
    "  .libPaths(c(given$home, .libPaths()))",
    "  suppressMessages(library(gpselect))",
    "  said <- list(bare = given$run(given$functions, given$calls))",
    "  if (!identical(said$bare, given$here)) {",
    "    for (name in given$packages)",
    "      try(suppressMessages(library(name, character.only = TRUE)), TRUE)",
    "    said$packages <- given$run(given$functions, given$calls)",
    "    list2env(given$variables, globalenv())",
    "    said$variables <- given$run(given$functions, given$calls)",
    "  }",
    sprintf("  saveRDS(said, %s)", encodeString(files[3], quote = "\"")),
    "})"
  ), files[1])
  libraries <- paste(.libPaths(), collapse = .Platform$path.sep)
  suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(files[1])),
                           stdout = FALSE, stderr = FALSE, timeout = session_timeout,
                           env = paste0("R_LIBS=", shQuote(libraries))))
  if (file.exists(files[3])) readRDS(files[3])
}

# Packages that are attached here beside those of every session.
attached_packages <- function() {
  found <- sub("^package:", "", grep("^package:", search(), value = TRUE))
  setdiff(found, c("gpselect", "stats", "graphics", "grDevices", "utils", "datasets", "methods",
                   "base"))
}

# Variables of the session whose names stand anywhere in the functions, also as text.
named_variables <- function(model) {
  known <- own_homes(model$functions, list())
  functions <- c(model$functions, unlist(lapply(known, as.list), recursive = FALSE))
  functions <- functions[vapply(functions, function(f) is.function(f) && !is.primitive(f), NA)]
  words <- unique(unlist(lapply(functions, function(f) words_of(body(f)))))
  names <- intersect(words, setdiff(ls(globalenv(), all.names = TRUE), ".Random.seed"))
  values <- mget(names, envir = globalenv())
  values[vapply(values, function(x) utils::object.size(x) < 1e7, NA)]
}

# Names and texts in a piece of code.
words_of <- function(code) {
  texts <- unlist(rapply(list(code_parts(code)), function(x) x, classes = "character"))
  c(all.names(code), texts)
}

code_parts <- function(code) {
  if (is.character(code)) return(code)
  if (!is.call(code)) return(NULL)
  # Names stand in all.names(), and the name of what is left out in `x[, 1]` is empty.
  lapply(seq_along(code), function(i) if (!is.symbol(code[[i]])) code_parts(code[[i]]))
}

report_session <- function(report, case, kind, here, said) {
  is_like <- function(stage) {
    there <- said[[stage]][[kind]]
    is.null(there$error) && isTRUE(all.equal(there$value, here[[kind]]$value, tolerance = 1e-8))
  }
  if (is_like("bare")) return(invisible())
  there <- said$bare[[kind]]
  what <- if (is.null(there$error)) "In a new session it gives other values." else
    sprintf("In a new session it stops: %s", there$error)
  variables <- named_variables(case$model)
  if (!is_like("packages") && is_like("variables")) {
    return(add_finding(report, "global", kind, sprintf(
      "It needs %s of the global environment. %s", list_arguments(names(variables)), what
    ), paste("A stored fit does not have it, and it may change meanwhile. Make it a parameter or",
             "an argument's default, or name it plainly in the function: then it is stored with",
             "the model.")))
  }
  advice <- if (is_like("packages")) sprintf(
    "Say package::name() for what comes from %s, which is attached here.",
    paste(attached_packages(), collapse = ", ")
  ) else paste("A stored fit must work elsewhere. Look for options, environment variables, files,",
               "objects in memory that cannot be stored, and variables that do not stand in it.")
  add_finding(report, "session", kind, what, advice)
}
