# Models in C of another package: native/tables.c and others, compiled once a session.

compiled_tables <- new.env()

# Skips the test, or returns the library.
skip_without_tables <- function(name = "tables") {
  skip_on_os("windows")
  if (is.null(compiled_tables[[name]])) compiled_tables[[name]] <- load_tables(name)
  if (is.character(compiled_tables[[name]])) skip(compiled_tables[[name]])
  invisible(compiled_tables[[name]])
}

# The library, or a text that says why there is none.
load_tables <- function(name) {
  folder <- tempfile(name)
  dir.create(folder)
  source <- paste0(name, ".c")
  file.copy(test_path("native", source), folder)
  include <- system.file("include", package = "gpselect")
  if (!nzchar(Sys.which("make")) || include == "") return("There is no compiler.")
  old <- Sys.getenv("PKG_CPPFLAGS")
  Sys.setenv(PKG_CPPFLAGS = paste0("-I", shQuote(include)))
  on.exit(Sys.setenv(PKG_CPPFLAGS = old))
  library <- file.path(folder, paste0(name, .Platform$dynlib.ext))
  status <- suppressWarnings(system2(
    file.path(R.home("bin"), "R"), c("CMD", "SHLIB", "-o", library, file.path(folder, source)),
    stdout = FALSE, stderr = FALSE, timeout = 120
  ))
  if (status != 0 || !file.exists(library)) return("The compiler failed.")
  dyn.load(library)
}

# A mixture of Poissons whose table is `symbol`; what it declares may be another thing.
table_model <- function(symbol, n_latents = 3L, params = list(rate = c("dims", "latents"),
                                                              share = "latents"),
                        prepared = list(log_share = "latents"),
                        stats = list(count = "one", on = "latents", sum = c("dims", "latents")),
                        events = "rate_floor", options = list(lowest = 1e-3)) {
  model_native("gpstables", symbol, n_latents, params, prepared, stats, events, options,
               class = "gps_table_test", name = "Poisson mixture",
               ranges = list(rate = c(0, Inf), share = c(0, 1)), rule = state_rule(1, 1))
}

registerS3method("gps_init", "gps_table_test", function(model, y) {
  rows <- seq(1, nrow(y), length.out = model$n_latents)
  list(rate = t(y[rows, , drop = FALSE]) + 0.5,
       share = rep(1 / model$n_latents, model$n_latents))
}, envir = asNamespace("gpselect"))

draw_counts <- function(n = 200) {
  set.seed(4)
  rate <- cbind(c(1, 5, 9, 2), c(8, 1, 2, 6), c(3, 9, 1, 1))
  cluster <- sample(3, n, TRUE)
  matrix(rpois(4 * n, t(rate[, cluster])), n)
}
