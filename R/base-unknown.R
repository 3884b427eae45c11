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
  y = c("x", "X", "Y", "df", "dat", "mat", "matrix", "train", "observations", "samples"),
  control = c("ctrl", "ctl", "opts", "params.control"),
  weights = c("w", "weight", "sample_weight", "wt"), labels = c("names", "row_names", "rownames"),
  d = c("ncol", "n_cols", "ncols", "dims", "n_dims", "D", "columns"),
  n = c("nrow", "n_rows", "R", "B", "nboot", "n_boot"),
  path = c("file", "filename", "con", "name"), dataset = c("name", "key", "path"),
  image = c("img", "x", "y", "picture", "noisy"), sd = c("noise", "sigma", "noise_sd", "stddev"),
  size = c("patch_size", "patch", "width"), step = c("stride", "by"),
  type = c("what", "kind", "dtype", "precision"), which = c("type", "what"),
  truth = c("true", "latents"),
  n_selected = c("selected", "h_prime", "H_prime"), selector = c("select", "selection"),
  start = c("init", "initial", "params", "inits"), nsim = c("n_sim", "times"),
  targets = c("y", "target", "response"), x = c("X", "inputs", "data"),
  kernel = c("kern", "covfun"), optimise = c("optimize", "optimizer", "learn"),
  max_evals = c("max_iter", "maxit", "iter", "max_eval"), period = c("p", "periodicity", "freq"),
  lengthscale = c("ls", "l", "ell", "length_scale", "scale", "range", "rho", "theta"),
  variance = c("sigma2", "var", "sigmaf2", "constant_value", "signal_variance", "noise_level"),
  ard = "ARD", nu = "smoothness"
)

# Arguments of other software that are ours by a formula: their name, ours, and how in a sentence.
conversions <- list(
  c("sigma", "variance", "`variance` is its square if it is a standard deviation: sigma^2."),
  c("sigma", "lengthscale", "If it is kernlab's, `lengthscale` is sqrt(1 / (2 * sigma))."),
  c("sd", "variance", "`variance` is its square: sd^2."),
  c("amplitude", "variance", "`variance` is its square: amplitude^2."),
  c("sigmaf", "variance", "`variance` is its square: sigmaf^2."),
  c("noise", "variance", "Noise is a term by itself: kernel_rbf() + kernel_white(variance)."),
  c("nugget", "variance", "Noise is a term by itself: kernel_rbf() + kernel_white(variance)."),
  c("gamma", "lengthscale", "`lengthscale` is sqrt(1 / (2 * gamma))."),
  c("precision", "variance", "`variance` is its inverse: 1 / precision."),
  c("bandwidth", "lengthscale", "In kernel_rbf() it is the `lengthscale`."),
  c("frequency", "period", "`period` is its inverse: 1 / frequency."),
  c("sigma2", "sd", "`sd` is its root: sqrt(sigma2)."),
  c("variance", "sd", "`sd` is its root: sqrt(variance)."),
  c("var", "sd", "`sd` is its root: sqrt(var)."),
  c("sd", "sigma2", "`sigma2` is its square: sd^2."),
  c("sigma", "sigma2", "`sigma2` is its square: sigma^2."),
  c("noise", "kernel", "Noise is a term of `kernel`: kernel_rbf() + kernel_white(variance)."),
  c("nugget", "kernel", "It is a term of `kernel`: kernel_rbf() + kernel_white(variance)."),
  c("sigma2", "kernel", "Noise is a term of `kernel`: kernel_rbf() + kernel_white(variance)."),
  c("alpha", "kernel", "Noise is a term of `kernel`: kernel_rbf() + kernel_white(variance)."),
  c("noise", "start", "The noise is learned; `start` = list(sigma2 = ) says where it begins."),
  c("sigma2", "start", "The noise is learned; `start` = list(sigma2 = ) says where it begins."),
  c("lengthscale", "kernel", "It is an argument of `kernel`: kernel_rbf(lengthscale = )."),
  c("length_scale", "kernel", "It is an argument of `kernel`: kernel_rbf(lengthscale = ).")
)

# Sentences for a name that is an argument of ours by a formula, or NULL.
advise_conversion <- function(name, valid) {
  fit <- Filter(function(row) row[1] == name && row[2] %in% valid, conversions)
  if (length(fit) > 0) paste(vapply(fit, `[[`, "", 3), collapse = " ")
}

# What is no argument of any function here.
no_argument <- c(
  seed = "set.seed() before the call governs all random numbers.",
  random_state = "set.seed() before the call governs all random numbers.",
  formula = paste("Give the columns themselves, as a matrix or data frame:",
                  "data[c(\"a\", \"b\")]."),
  data = paste("Data are the first argument, a numeric matrix or data frame with data points in",
               "rows."),
  binary = "A file of raw numbers takes the place of the data: gps_source_binary(path, d).",
  header = "A file of text takes the place of the data: gps_source_csv(path).",
  scale = "Columns are taken in their units: scale(y) makes them alike.",
  scaled = "Columns are taken in their units: scale(y) makes them alike.",
  standardize = "Columns are taken in their units: scale(y) makes them alike.",
  center = "Columns are taken as they are: scale(y, scale = FALSE) centres them.",
  family = "The model says how data are made, see the model_*() functions.",
  lambda = "There is no penalty; compare numbers of latents by gps_choose().",
  digits = "It is an argument of print(): print(x, digits = ).",
  nfolds = "gps_choose(criterion = \"held-out\") compares numbers of latents on data left out.",
  prior = "There are no priors of parameters: a fit maximises the likelihood's bound.",
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
  converted <- advise_conversion(name, valid)
  if (!is.null(converted)) return(converted)
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
