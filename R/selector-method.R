# Which form of the Gaussian process a learned selector gets; the work is in selector-gp.R (exact,
# and models whose latents lie on a grid), selector-basis.R and selector-divide.R.

# A learned selector with its method and rank for these data; its class says where it is at work.
# `is_batched`: sums over batches only.
resolve_engine <- function(selector, model, y, is_batched = FALSE) {
  n_points <- n_points(y)
  if (is_batched && is.function(selector$learn)) refuse_batches("one with `learn`")
  if (!inherits(selector, "gps_selector_gp")) return(selector)
  if (is_batched && !is.null(model$grid)) refuse_grid_batches(model)
  if (selector$method == "auto") {
    selector$is_auto <- TRUE
    selector$method <- if (is_batched || !is_small_source(y)) {
      "ichol"
    } else {
      choose_method(selector$kernel, n_dims(y), n_points)$method
    }
  }
  if (selector$method == "exact") {
    if (is_batched) refuse_batches("`method` = \"exact\"")
    return(selector)
  }
  if (engine_kind(selector$method) == "basis") check_basis_kernel(selector$kernel, selector$method)
  selector$rank <- check_rank(selector$rank, selector$method, n_points)
  if (selector$method == "divide" && is_batched) refuse_batches("`method` = \"divide\"")
  set_engine_class(selector, model)
}

set_engine_class <- function(selector, model) {
  if (selector$method == "exact") return(selector)
  if (!is.null(model$grid)) return(check_grid_method(selector))
  kind <- if (selector$method == "divide") "divide" else "basis"
  class(selector) <- c(paste0("gps_selector_", kind), class(selector))
  selector
}

refuse_batches <- function(which) {
  gps_abort(sprintf(
    paste("Minibatches need a selector that learns from sums over data points, and %s needs",
          "all points at once: use `method` \"ichol\", \"inducing\" or \"fourier\"."),
    which
  ))
}

# Latents on a grid are regressed by coefficients of each point over all others, which a batch does
# not have.
refuse_grid_batches <- function(model) {
  gps_abort(sprintf(
    paste("`batch_size` cannot be used with selector_gp() for the model %s: each data point would",
          "be ranked by the predictions of others. What works: selector_handcrafted() in batches,",
          "or selector_gp() without `batch_size`."),
    dQuote(model$name, FALSE)
  ))
}

check_grid_method <- function(selector) {
  is_fitc <- selector$method == "inducing" && selector$objective == "fitc"
  if (selector$method != "divide" && !is_fitc) return(selector)
  gps_abort(sprintf(
    "%s is not available for models whose latents lie on a grid: use \"exact\" or \"ichol\".",
    if (is_fitc) "`objective` = \"fitc\"" else "`method` = \"divide\""
  ))
}

# Method and rank in words.
engine_words <- function(selector) {
  size <- if (is.null(selector$rank)) "" else sprintf(" %d", selector$rank)
  words <- switch(
    selector$method,
    exact = "exact", ichol = paste0("incomplete Cholesky of rank", size),
    inducing = sprintf("%s inducing inputs (%s)", size, toupper(selector$objective)),
    fourier = sprintf("%s random Fourier features", size),
    divide = sprintf("blocks of%s points%s", size, if (selector$cross) ", crossed" else "")
  )
  if (is.null(selector$rank)) words <- sub(" of( rank| points)", "", words)
  words <- trimws(words)
  if (isTRUE(selector$is_auto)) paste(words, "(chosen by the number of points)") else words
}

# What a fit keeps of its Gaussian process: the method, and where it has a basis, all that predicts.
kept_gp <- function(task, state) {
  selector <- task$selector
  if (!inherits(selector, "gps_selector_gp")) return(NULL)
  memory <- state$memory
  gp <- list(method = selector$method, rank = selector$rank, is_auto = isTRUE(selector$is_auto),
             units = memory$units)
  if (!inherits(selector, "gps_selector_basis") || is.null(memory$prepared)) return(gp)
  cross <- if (is.null(state$sums)) memory$cross else state$sums$cross
  c(gp, list(prepared = memory$prepared, cross = cross))
}

# Predictions are made as the fit was; one that does not say how was exact.
with_engine_of <- function(selector, fit) {
  if (!inherits(selector, "gps_selector_gp")) return(selector)
  gp <- if (is.null(fit$gp)) list(method = "exact") else fit$gp
  selector[c("method", "rank")] <- gp[c("method", "rank")]
  set_engine_class(selector, fit$model)
}
