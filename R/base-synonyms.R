# What other software calls our arguments, as tables.

# The same by another name.
synonyms <- list(
  max_iter = c("iter", "niter", "n_iter", "maxit", "iter.max", "itmax", "epochs", "max.iter",
               "iterations"),
  tol = c("eps", "epsilon", "tolerance", "reltol", "abstol"),
  n_starts = c("nstart", "nstarts", "n_init", "starts", "restarts",
               "n_restarts_optimizer"),
  n_threads = c("cores", "ncores", "n_cores", "mc.cores", "nthreads", "n_jobs", "threads",
                "parallel", "ncpus", "num_threads", "workers"),
  progress = c("verbose", "verbosity", "quiet", "silent", "print.level"),
  batch_size = c("batch", "minibatch"), time_limit = c("timeout", "max_time", "maxtime"),
  sweeps = c("burnin", "burn_in", "n_burn", "thin"), anneal = c("temperature", "temp"),
  checkpoint = c("save", "save_file"),
  n_components = c("k", "K", "G", "C", "n_clusters", "nclusters", "clusters", "centers", "ncomp",
                   "n_latents", "components", "nmix", "n_comp", "g"),
  num_comp = c("k", "K", "G", "n_components", "n_clusters", "n_latents", "ncomp", "n_comp",
               "components", "clusters", "centers"),
  n_clusters = c("k", "K", "G", "C", "n_components", "centers", "clusters"),
  n_latents = c("k", "K", "H", "G", "C", "n_components", "n_clusters", "ncomp", "latents",
                "components", "factors", "rank", "n_atoms", "dict_size", "range", "ks"),
  covariance = c("modelNames", "covariance_type", "cov", "cov_type"),
  newdata = c("newx", "newy", "new_data", "data", "x", "y", "X"),
  y = c("x", "X", "Y", "df", "dat", "mat", "matrix", "train", "observations"),
  control = c("ctrl", "ctl", "opts", "params.control"),
  weights = c("w", "weight", "sample_weight", "wt"), labels = c("names", "row_names", "rownames"),
  d = c("ncol", "n_cols", "ncols", "dims", "n_dims", "D", "columns"),
  n = c("nrow", "n_rows", "R", "B", "nboot", "n_boot", "n_obs",
        "max_patches", "n_patches"),
  path = c("file", "filename", "con", "name"), dataset = c("name", "key", "path"),
  image = c("img", "x", "y", "picture", "noisy"), sd = c("noise", "sigma", "noise_sd", "stddev"),
  size = c("patch_size", "patch", "width"), step = c("stride", "by"),
  type = c("what", "kind", "dtype", "precision", "output", "method"), which = c("type", "what"),
  truth = c("true", "latents"),
  n_selected = c("selected", "h_prime", "H_prime", "hprime"),
  max_active = c("n_nonzero_coefs", "sparsity", "truncation"),
  n_train = c("n_patches", "max_patches"), criterion = c("criteria", "metric"),
  seeds = c("repeats", "reps", "seed", "n_seeds"), n_dims = c("d", "dim", "p", "D"),
  prob = c("pi", "sparsity"), columns = c("usecols", "col.names"), sep = c("delim", "delimiter"),
  na = c("na.strings", "na_values"), affinity = c("f", "fun", "score"),
  learn = c("train", "fit", "update"), explore = c("exploration", "epsilon", "n_random"),
  propose = c("candidates", "n_candidates"), refit_every = "retrain",
  selector = c("select", "selection"),
  start = c("init", "initial", "params", "inits", "initialization", "init_params", "means_init",
            "weights_init", "warm_start"), nsim = c("n_sim", "times"),
  targets = c("y", "target", "response"), x = c("X", "inputs", "data", "design"),
  kernel = c("kern", "covfun", "kpar", "covtype", "covariance"),
  optimise = c("optimize", "optimizer", "learn"),
  max_evals = c("max_iter", "maxit", "iter", "max_eval"), period = c("p", "periodicity", "freq"),
  lengthscale = c("ls", "l", "ell", "length_scale", "scale", "range", "rho", "theta"),
  variance = c("sigma2", "var", "sigmaf2", "constant_value", "signal_variance", "noise_level"),
  se.fit = c("return_std", "return_cov", "se", "std"),
  ard = "ARD", nu = "smoothness", trend = c("basis", "mean", "drift"),
  rank = c("n_inducing", "num_inducing", "inducing", "n_features")
)

# What other software calls the values of our arguments; several where arguments differ.
value_synonyms <- list(
  VVV = "full", VVI = "diagonal", VII = "spherical", diag = "diagonal", unrestricted = "full",
  EEE = "tied", common = "tied", pooled = "tied", isotropic = "spherical", bic = "BIC",
  cv = "held-out", CV = "held-out", icl = "ICL", cluster = c("class", "clusters"),
  clusters = "class", label = "class", labels = "class", membership = "class",
  classification = c("class", "clusters"),
  posterior = c("prob", "selection"), probability = "prob", probabilities = "prob",
  proba = "prob", responsibilities = "prob", z = "prob", raw = "prob",
  codes = c("latent", "prob"), scores = c("latent", "prob"), embedding = c("latent", "prob"),
  mean = "response", fitted = "response", reconstruction = "response", loglikelihood = "loglik",
  logLik = "loglik", density = c("loglik", "clusters"), loglik = "bound", uncertainty = "selection",
  convergence = "bound", trace = "bound", history = "bound", elbo = "bound", usage = "selection",
  means = "components", centers = "components", centres = "components", loadings = "components",
  dictionary = "components", W = "components", mu = "components", rate = "components",
  em = "exact", EM = "exact", mcmc = "gibbs", MCMC = "gibbs", sampling = "gibbs",
  credible = "confidence", predict = "prediction", float64 = "double", float32 = "float",
  numeric = "double", real = "double"
)

# What asks for the cluster of each point elsewhere.
cluster_words <- c("cluster", "clusters", "label", "labels", "membership", "classification")

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
  c("normalize_y", "trend", paste("trend = \"constant\" takes the mean of the targets off; their",
                                  "unit is up to the kernel's variance.")),
  c("h", "sd", paste("`sd` is the standard deviation of the noise, `size` the height and width of",
                     "patches.")),
  c("sigma2", "sd", "`sd` is its root: sqrt(sigma2)."),
  c("variance", "sd", "`sd` is its root: sqrt(variance)."),
  c("var", "sd", "`sd` is its root: sqrt(var)."),
  c("sd", "sigma2", "`sigma2` is its square: sd^2."),
  c("sigma", "sigma2", "`sigma2` is its square: sigma^2."),
  c("noise", "kernel", "Noise is a term of `kernel`: kernel_rbf() + kernel_white(variance)."),
  c("nugget", "kernel", "It is a term of `kernel`: kernel_rbf() + kernel_white(variance)."),
  c("sigma2", "kernel", "Noise is a term of `kernel`: kernel_rbf() + kernel_white(variance)."),
  c("alpha", "kernel", "Noise is a term of `kernel`: kernel_rbf() + kernel_white(variance)."),
  c("mu", "start", "gps_fit(start = list(mu = )) begins with it."),
  c("W", "start", "gps_fit(start = list(W = )) begins with it."),
  c("noise", "sigma2", "`sigma2` is its variance."),
  c("noise", "start", "Noise is learned; gps_fit(start = list(sigma2 = )) says where it begins."),
  c("sigma2", "start", "Noise is learned; gps_fit(start = list(sigma2 = )) says where it begins."),
  c("lengthscale", "kernel", "It is an argument of `kernel`: kernel_rbf(lengthscale = )."),
  c("length_scale", "kernel", "It is an argument of `kernel`: kernel_rbf(lengthscale = )."),
  c("noise.var", "kernel", "Noise is a term of `kernel`: kernel_rbf() + kernel_white(variance)."),
  c("ard", "kernel", "It is an argument of `kernel`: kernel_rbf(ard = TRUE)."),
  c("period", "kernel", "It is an argument of `kernel`: kernel_periodic(period = )."),
  c("nu", "kernel", "It is an argument of `kernel`: kernel_matern(nu = )."),
  c("variance", "kernel", "It is an argument of `kernel`: kernel_rbf(variance = )."),
  c("sigma", "kernel", paste("Noise of this standard deviation is a term of `kernel`:",
                             "kernel_rbf() + kernel_white(sigma^2).")),
  c("var", "kernel", "It is a parameter of `kernel`, see ?kernels.")
)

# What is said of any way to leave data out.
held_out_words <-
  "gps_choose(criterion = \"held-out\") compares numbers of latents on data left out."

# What is said of distances.
distance_words <-
  "Clusters are told apart by densities, not distances: `covariance` of the model is their shape."

# What is said of rows with missing cells.
gap_words <- paste("NA are missing cells, where the model allows for them;",
                   "gps_control(missing = \"omit\") leaves out the rows that have some.")

# What is said of weights of a penalty, and after the name of `level`.
penalty_words <- "There is no penalty; compare numbers of latents by gps_choose()."
level_words <-
  "an argument of predict() of gp_fit(), and of confint() and plot() of a bootstrap."

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
  scale = "Columns are taken in their units: scale() makes them alike.",
  scaled = "Columns are taken in their units: scale() makes them alike.",
  standardize = "Columns are taken in their units: scale() makes them alike.",
  center = "Columns are taken as they are: scale(, scale = FALSE) centres them.",
  family = "The model says how data are made, see the model_*() functions.",
  lambda = penalty_words,
  reg_covar = "Variances have floors of their own, so that none becomes 0.",
  dist = distance_words, distance = distance_words, metric = distance_words,
  level = paste("It is", level_words), conf = paste("`level` is", level_words),
  alpha = penalty_words,
  threshold = paste("predict(fit, type = \"state\") is the most probable state; of probabilities",
                    "predict(fit) > 0.5 says which are above a threshold."),
  digits = "It is an argument of print(): print(x, digits = ).",
  na.rm = gap_words,
  tuneLength = "gps_choose() compares numbers of latents.",
  nlambda = "There is no penalty; gps_choose() compares numbers of latents.",
  algorithm = "The algorithm is EM; `method` of gps_control() says how it sums over states.",
  plot = "plot() draws what comes out.",
  trControl = held_out_words, folds = held_out_words, cv = held_out_words,
  nfolds = held_out_words,
  newdata = "predict(fit, newdata) takes new data.",
  prior = "There are no priors of parameters: a fit maximises the likelihood's bound.",
  subset = "Give the rows themselves, of data as of a matrix: d[rows, ].",
  na.action = gap_words,
  offset = "Latents have no response that it could be part of: take it from the data first."
)

# The same of Gaussian processes.
no_gp_argument <- c(
  family = paste("Targets are numbers with normal noise; there are no other families, and TRUE and",
                 "FALSE count as 1 and 0."),
  weights = "All data points weigh the same; noise is a term of `kernel`, kernel_white().",
  subset = "Give the rows themselves: data = d[rows, ].",
  na.action = paste("Rows with NA are refused; data = na.omit(get_all_vars(formula, d)) leaves out",
                    "those that have some in the columns of the formula."),
  offset = "Take it from the targets, left of ~: y - offset.",
  contrasts = "model.matrix() makes columns of categories, by contrasts of your choice.",
  newdata = "predict(fit, newdata) takes new data."
)

# What R's figures take, and those of this package do not, unless they name it.
graphic_names <- c("pch", "cex", "cex.axis", "cex.lab", "cex.main", "lwd", "lty", "las", "xlab",
                   "ylab", "xlim", "ylim", "zlim", "log", "axes", "asp", "bg", "fg", "font", "bty",
                   "ann", "sub", "add", "ask", "xaxt", "yaxt", "legend", "palette", "border")

# Values of `type` by which R's figures say what is drawn.
graphic_types <- c("p", "l", "b", "c", "o", "h", "s", "S", "n")

# Those of them that belong to functions of data, and to fits of models.
about_data <- c("data", "subset", "na.action", "na.rm", "binary", "header", "formula", "scale",
                "scaled", "standardize", "center")
about_models <- c("dist", "distance", "metric", "family", "lambda", "alpha", "threshold", "nfolds",
                  "folds", "cv", "prior", "reg_covar")
