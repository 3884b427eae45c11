# Elements that fits of other packages have, and what has the same here: `$` of a list that lacks an
# element is NULL without a word, and what is computed from that is wrong.

foreign_elements <- list(
  gps_fit = c(
    cluster = "predict(fit, type = \"class\")", classification = "predict(fit, type = \"class\")",
    labels_ = "predict(fit, type = \"class\")", clusters = "predict(fit, type = \"class\")",
    size = "table(predict(fit, type = \"class\"))", centers = "coef(fit)$mu",
    centres = "coef(fit)$mu", means = "coef(fit)$mu", mu = "coef(fit)$mu", W = "coef(fit)$W",
    sigma = "coef(fit)$sigma", sigma2 = "coef(fit)$sigma2", pi = "coef(fit)$pi",
    lambda = "coef(fit)$pi", coefficients = "coef(fit)", parameters = "coef(fit)",
    z = "predict(fit)", posterior = "predict(fit)", probabilities = "predict(fit)",
    membership = "predict(fit)", uncertainty = "predict(fit, type = \"uncertainty\")",
    scores = "predict(fit, type = \"latent\")", codes = "predict(fit, type = \"latent\")",
    loglik = "logLik(fit)", logLik = "logLik(fit)", loglikelihood = "logLik(fit)",
    BIC = "BIC(fit)", bic = "BIC(fit)", AIC = "AIC(fit)", aic = "AIC(fit)", ICL = "icl(fit)",
    icl = "icl(fit)", fitted.values = "fitted(fit)", fitted = "fitted(fit)",
    residuals = "residuals(fit)", nobs = "nobs(fit)", G = "fit$model$n_latents",
    k = "fit$model$n_latents", iter = "fit$n_iter", converged = "fit$status"
  ),
  gp_fit = c(
    coefficients = "coef(fit)", parameters = "coef(fit)", fitted.values = "fitted(fit)",
    fitted = "fitted(fit)", residuals = "residuals(fit)", logLik = "logLik(fit)",
    loglik = "logLik(fit)", sigma = "sigma(fit)", lengthscale = "exp(coef(fit)[\"log_len\"])",
    mean = "predict(fit)$mean", variance = "predict(fit)$variance",
    nobs = "nobs(fit)", AIC = "AIC(fit)", BIC = "BIC(fit)"
  )
)

own_element <- function(x, name, ways) {
  if (!is.list(x)) return(NULL)
  # As for any list the beginning of a name stands for it.
  if (!name %in% names(ways) || name %in% names(x)) return(.subset2(x, name, exact = FALSE))
  gps_warn(sprintf("A fit has no element `%s`: write %s.", name, ways[[name]]), class = "element")
  NULL
}

#' @export
`$.gps_fit` <- function(x, name) own_element(x, name, foreign_elements$gps_fit)

#' @export
`$.gp_fit` <- function(x, name) own_element(x, name, foreign_elements$gp_fit)
