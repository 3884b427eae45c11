# Generics of R that have a default method, which makes nothing sensible of this package's objects:
# each of them gives the right thing, or says why there is none.

# Groups of functions of numbers: exp(), round(), then sum(), range(), and operators.
groups <- c("Math", "Summary", "Ops")

# Where the generics are, by the environment that defines them.
refused_generics <- list(
  stats = c("coef", "fitted", "residuals", "predict", "logLik", "AIC", "BIC", "nobs", "simulate",
            "update", "sigma", "deviance", "weights", "model.frame", "model.matrix",
            "df.residual", "formula", "terms", "vcov", "confint", "variable.names", "case.names",
            "family", "anova", "median", "quantile", "biplot", "screeplot"),
  base = c("as.data.frame", "plot", "as.matrix", groups, "t", "mean", "subset"),
  utils = c("head", "tail"),
  graphics = c("hist", "boxplot", "pairs", "barplot", "image", "persp", "contour", "lines",
               "points", "text")
)

# Of sources alone, which are used like matrices but are lists inside.
source_generics <- list(
  stats = c("aggregate", "na.omit", "na.fail", "na.exclude"),
  base = c("c", "rbind", "cbind", "as.list", "unlist", "unique", "duplicated", "rev", "rep", "sort",
           "with", "within", "transform", "subset", "merge", "split", "by", "as.double",
           "as.integer", "as.logical", "as.character", "as.vector", "is.finite", "is.infinite",
           "is.nan", "names<-", "dim<-", "length<-", "levels<-")
)

# What an object is, and what to do instead.
refused_classes <- list(
  gps_fit = c("a fit", ""),
  gp_fit = c("a Gaussian process", ""),
  gps_model = c("a model that has not been fitted",
                "`fit <- gps_fit(y, model)` fits it, then ask the fit."),
  gps_kernel = c("a kernel", "`fit <- gp_fit(x, targets, kernel)` fits it, then ask the fit."),
  gps_selector = c("a selector", "Ask a fit that was made with it."),
  gps_screen = c("a setting of a selector", "Ask a fit that was made with it."),
  gps_control = c("a setting of a fit", "Ask a fit that was made with it."),
  gps_source = c("a source of data",
                 paste("x[i, j] and as.matrix(x) read its numbers as a matrix. Data that are",
                       "computed from it are a new source: gps_source(n, d, function(from, to)",
                       "2 * x[from:to, ]).")),
  gps_checkpoint = c("a checkpoint",
                     "gps_resume(file, y) goes on from its file, and gives a fit."),
  gp_loo = c("leave-one-out predictions",
             paste("plot(fit$targets, loo$mean) shows them against the targets; plot(fit) draws",
                   "the fit.")),
  gps_bootstrap = c("a bootstrap of a fit", "summary() and confint() tell of it."),
  gps_plan = c("a plan of a fit", "Its numbers are in its `memory` and `seconds`."),
  gps_denoised = c("a denoised image", "Its `image` is the result, and its `fit` can be asked."),
  gps_objects = c("a set of pictures", "They are in its `image` and `mask`."),
  summary.gps_fit = c("the summary of a fit", "Ask the fit itself."),
  summary.gp_fit = c("the summary of a Gaussian process", "Ask the fit itself.")
)

# Why a fit has no method; it has all others, or R's own is right for it.
no_method <- c(
  deviance = "logLik(), AIC() and BIC() judge it.",
  weights = "fit$weights are those it was given, NULL where all data points weigh the same.",
  model.frame = "The data are what it was fitted to.",
  model.matrix = "The data are what it was fitted to.",
  terms = "The columns of its data are those of coef(fit).",
  vcov = "summary(gps_bootstrap(fit)) has standard errors of parameters.",
  confint = "gps_bootstrap(fit) gives intervals: confint() of it.",
  df.residual = "attr(logLik(fit), \"df\") counts its parameters.",
  anova = paste("Twice the difference of two bounds has no known distribution here:",
                "gps_compare(fit, other) compares fits of gps_fit() by BIC, ICL and new data,",
                "AIC() and BIC() compare those of gp_fit()."),
  family = "print() says which model it is of.",
  variable.names = "coef() has the names of the data's columns.",
  case.names = "predict() has the names of the data's rows.",
  as.data.frame = "data.frame(fit$x, fit$targets, fitted = fitted(fit)) has a row a data point.",
  as.matrix = "predict(fit) is a matrix with a row a data point.",
  head = "Its parts are in coef(fit), names(fit) lists what it holds.",
  tail = "Its parts are in coef(fit), names(fit) lists what it holds.",
  t = "coef(fit) has its matrices.", mean = "fitted(fit) has the means of the data points.",
  median = "fitted(fit) has the means of the data points.",
  quantile = "posterior_sample() and predict() tell what it knows of a data point.",
  Math = "coef(fit) has its numbers.", Summary = "coef(fit) has its numbers.",
  Ops = "coef(fit) has its numbers, and gps_compare(fit, other) compares fits.",
  biplot = "plot(fit) draws it.",
  screeplot = "plot(gps_choose(y, model, numbers)) compares numbers of latents.",
  subset = "Data are chosen before it is fitted: update(fit, y = y[rows, ]).",
  hist = "plot(fit) draws it; fitted(fit) has numbers.",
  boxplot = "plot(fit) draws it; fitted(fit) has numbers.",
  pairs = "plot(fit) draws it.", barplot = "plot(fit) draws it.", image = "plot(fit) draws it.",
  persp = "plot(fit) draws it.", contour = "plot(fit) draws it.",
  lines = "plot(fit) draws it; coef(fit) and predict(fit) have numbers to add to a figure.",
  points = "plot(fit) draws it; coef(fit) and predict(fit) have numbers to add to a figure.",
  text = "plot(fit) draws it; coef(fit) and predict(fit) have numbers to add to a figure."
)

# What is said otherwise of a kernel.
no_kernel_method <- c(
  Summary = "Kernels are added by +, as in kernel_rbf() + kernel_white().",
  Math = "Kernels can be added and multiplied, as in kernel_rbf() * kernel_periodic()."
)

# What is said otherwise of a Gaussian process.
no_gp_method <- c(
  vcov = "coef(fit) are the log parameters at a maximum; gp_gradient(fit) is the slope there.",
  confint = "predict(fit, interval = \"confidence\") has intervals of the function.",
  terms = "colnames(fit$x) are its inputs.", variable.names = "colnames(fit$x) are its inputs.",
  case.names = "rownames(fit$x) are its data points.",
  family = "The noise is normal; print() says with which kernel.",
  weights = "All data points weigh the same.",
  quantile = "predict(fit, interval = \"prediction\") has intervals of data points.",
  t = "fit$x and fit$targets are its matrices.",
  screeplot = "gp_loo(fit) judges it, and AIC() and BIC() compare fits.",
  subset = "Data are chosen before it is fitted: update(fit, x = , targets = ).",
  lines = "plot(fit) draws it; lines(x, predict(fit, x)) adds its means to a figure.",
  points = "plot(fit) draws it; points(x, predict(fit, x)) adds its means to a figure.",
  Ops = "coef(fit) has its parameters, and AIC() and BIC() compare fits."
)

# Which generics a class refuses, of some.
refused_by <- function(class, generics) {
  if (class %in% c("gps_fit", "gp_fit")) return(intersect(generics, names(no_method)))
  if (class == "gp_loo") {
    return(setdiff(generics, c("as.data.frame", "as.matrix", "head", "tail")))
  }
  if (class == "summary.gp_fit") return(setdiff(generics, "coef"))
  if (class == "gps_source") return(setdiff(generics, c("head", "tail", "as.matrix")))
  generics
}

# A method that refuses in words.
refuse_generic <- function(generic, class) {
  force(generic)
  what <- refused_classes[[class]]
  ways <- if (class == "gp_fit") c(no_gp_method, no_method) else no_method
  way <- if (class == "gps_kernel" && generic %in% names(no_kernel_method)) {
    no_kernel_method[[generic]]
  } else if (nzchar(what[2])) {
    what[2]
  } else {
    ways[[generic]]
  }
  function(...) {
    name <- if (generic %in% groups) .Generic else generic
    is_operator <- generic == "Ops" || grepl("<-$", name)
    name <- if (is_operator) sprintf("`%s`", name) else paste0(name, "()")
    gps_abort(sprintf("%s is not for %s. %s", name, what[1], way))
  }
}

# Lines as print() shows them.
format_printed <- function(x, ...) {
  refuse_shown(further(...))
  utils::capture.output(print(x))
}

# What print() shows says all there is to say.
summarise_itself <- function(object, ...) {
  refuse_unknown(further(...), character())
  object
}

# Generics of packages that need not be there, and the classes with a method for each.
late_methods <- list(mclust = list(icl = "gps_fit"))

# Registers a method once the package of its generic is loaded.
register_late <- function(package, generic, class, space) {
  register <- function(...) {
    registerS3method(generic, class, get(paste0(generic, ".", class), envir = space),
                     envir = asNamespace(package))
  }
  if (isNamespaceLoaded(package)) register()
  setHook(packageEvent(package, "onLoad"), register)
}

register_refusals <- function(class, generics, register) {
  for (package in names(generics)) {
    for (generic in refused_by(class, generics[[package]])) {
      register(generic, class, refuse_generic(generic, class), package)
    }
  }
}

# Registers them for all classes without a method of their own.
.onLoad <- function(libname, pkgname) {
  space <- parent.env(environment())
  register <- function(generic, class, method, package) {
    own <- exists(paste0(generic, ".", class), envir = space, inherits = FALSE)
    if (!own) registerS3method(generic, class, method, envir = asNamespace(package))
  }
  for (class in names(refused_classes)) {
    register_refusals(class, refused_generics, register)
    if (class == "gps_source") register_refusals(class, source_generics, register)
    register("format", class, format_printed, "base")
    register("summary", class, summarise_itself, "base")
  }
  # R calls a method of two objects only where both have the same one.
  for (class in c("gps_model", "gps_selector", "gps_control", "gps_fit", "gp_fit")) {
    register("+", class, `+.gps_kernel`, "base")
    register("*", class, `*.gps_kernel`, "base")
  }
  for (package in names(late_methods)) {
    for (generic in names(late_methods[[package]])) {
      for (class in late_methods[[package]][[generic]]) {
        register_late(package, generic, class, space)
      }
    }
  }
}

#' @rdname fit-methods
#' @importFrom stats sigma
#' @export
sigma.gps_fit <- function(object, ...) {
  refuse_unknown(further(...), character())
  check_fit(object)
  if (is.null(object$params$sigma2)) {
    gps_abort(if (!is.null(object$params$sigma)) {
      "sigma() is not for a mixture, each cluster of which has a covariance: coef(fit)$sigma."
    } else {
      sprintf("sigma() is for models with a noise variance, and the model %s has none: %s.",
              quoted(object$model$name), "coef(fit) has its parameters")
    })
  }
  sqrt(object$params$sigma2)
}

#' @rdname gp_fit-methods
#' @export
sigma.gp_fit <- function(object, ...) {
  refuse_unknown(further(...), character())
  check_gp_fit(object, "object")
  if (!has_white(object$kernel)) gps_abort("sigma() needs a kernel with kernel_white() noise.")
  sqrt(white_variance(object$kernel, object$theta, ncol(object$x)))
}

#' @export
print.gps_screen <- function(x, ...) {
  refuse_shown(further(...))
  show_settings(check_screen(x, "x"))
  invisible(x)
}
