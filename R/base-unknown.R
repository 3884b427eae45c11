# Arguments that a function does not have, and what was meant by them.

# What other software calls our arguments.
synonyms <- list(
  max_iter = c("iter", "niter", "n_iter", "maxit", "iter.max", "itmax", "epochs", "max.iter"),
  tol = c("eps", "epsilon", "tolerance", "reltol", "abstol"),
  n_starts = c("nstart", "nstarts", "n_init", "starts", "restarts"),
  n_threads = c("cores", "ncores", "n_cores", "mc.cores", "nthreads", "n_jobs", "threads"),
  progress = c("verbose", "verbosity", "quiet", "silent", "print.level"),
  batch_size = c("batch", "minibatch"),
  n_components = c("k", "K", "G", "C", "n_clusters", "nclusters", "clusters", "centers", "ncomp",
                   "n_latents", "components"),
  n_clusters = c("k", "K", "G", "C", "n_components", "centers", "clusters"),
  n_latents = c("k", "K", "H", "G", "C", "n_components", "n_clusters", "ncomp", "latents",
                "components", "factors"),
  covariance = c("modelNames", "covariance_type", "cov", "cov_type"),
  newdata = c("newx", "newy", "new_data", "data", "x", "y", "X"),
  type = c("what", "kind"), which = c("type", "what"), truth = c("true", "latents"),
  n_selected = c("selected", "h_prime", "H_prime"), selector = c("select", "selection"),
  start = c("init", "initial", "params", "inits"), nsim = c("n_sim", "times"),
  targets = c("y", "target", "response"), x = c("X", "inputs", "data"),
  kernel = c("kern", "covfun"), optimise = c("optimize", "optimizer", "learn"),
  max_evals = c("max_iter", "maxit", "iter", "max_eval"),
  lengthscale = c("ls", "l", "ell", "length_scale", "scale", "range", "rho", "theta"),
  variance = c("sigma2", "sigma", "var", "noise", "amplitude"), ard = "ARD", nu = "smoothness"
)

# What is no argument of any function here.
no_argument <- c(
  seed = "set.seed() before the call governs all random numbers.",
  random_state = "set.seed() before the call governs all random numbers.",
  formula = paste("Give the columns themselves, as a matrix or data frame:",
                  "data[c(\"a\", \"b\")]."),
  data = paste("Data are the first argument, a numeric matrix or data frame with data points in",
               "rows."),
  subset = "Give the rows themselves, of data as of a matrix: d[rows, ].",
  na.action = "NA are missing cells, where the model allows for them; na.omit() leaves out rows."
)

# An error for arguments that a function does not have. `parts`: names of our arguments that are
# made by functions with arguments of their own.
refuse_unknown <- function(extra, valid, parts = character()) {
  if (length(extra) == 0) return(invisible())
  name <- if (is.null(names(extra))) "" else names(extra)[1]
  valid <- setdiff(valid, "...")
  there <- if (length(valid) == 0) {
    "There are no further arguments."
  } else {
    sprintf("There %s %s.", if (length(valid) == 1) "is" else "are", list_arguments(valid))
  }
  words <- c(sprintf("Unknown argument %s.",
                     if (name == "") "without a name" else sprintf("`%s`", printable(name))),
             if (name != "") advise_argument(name, valid, argument_makers(parts)), there)
  gps_abort(paste(words, collapse = " "))
}

# Functions whose values are arguments, and what they take.
argument_makers <- function(parts) {
  makers <- list(control = "gps_control", selector = "selector_gp",
                 model = c("model_gaussian_mixture", "model_binary_sparse"))[parts]
  makers <- lapply(names(makers), function(part) {
    lapply(makers[[part]], function(name) {
      list(part = part, call = name, names = setdiff(names(formals(name)), "..."))
    })
  })
  unlist(makers, recursive = FALSE)
}

# A sentence on what was meant by a name, or NULL.
advise_argument <- function(name, valid, makers) {
  meant <- names(synonyms)[vapply(synonyms, function(words) name %in% words, NA)]
  own <- intersect(meant, valid)
  if (length(own) > 0) return(sprintf("Did you mean `%s`?", own[1]))
  if (name %in% names(no_argument)) return(no_argument[[name]])
  for (wanted in list(name, meant)) {
    exact <- advise_maker(makers, function(names) intersect(wanted, names))
    if (!is.null(exact)) return(exact)
  }
  near <- nearest_name(name, valid)
  if (!is.null(near)) return(sprintf("Did you mean `%s`?", near))
  advise_maker(makers, function(names) nearest_name(name, names))
}

# The first maker with an argument that `find(names)` finds.
advise_maker <- function(makers, find) {
  for (maker in makers) {
    found <- find(maker$names)
    if (length(found) > 0) {
      return(sprintf("`%s` is an argument of %s(): %s = %s(%s = ).", found[1], maker$call,
                     maker$part, maker$call, found[1]))
    }
  }
  NULL
}

# print() and format() of R hand on what their own default methods take.
refuse_shown <- function(extra, valid = character()) {
  of_base <- c(names(formals(print.default)), names(formals(format.default)))
  names <- if (is.null(names(extra))) rep("", length(extra)) else names(extra)
  refuse_unknown(extra[!names %in% of_base | names == ""], valid)
}
