# What a stored fit says: written beside it by data-raw/stored-fits.R, made again by
# test-stored.R. Exported functions only.

numbers_of <- function(fit, newdata) {
  types <- c("prob", "latent", "state", "response", "loglik", "selected")
  keeps <- !is.null(fit$y)
  predicts <- keeps || !is.null(fit$gp$cross) || is.null(fit$selector$kernel)
  each <- function(types, ...) {
    sapply(types, function(type) predict(fit, ..., type = type), simplify = FALSE)
  }
  list(coef = coef(fit), logLik = c(logLik(fit)), df = attr(logLik(fit), "df"),
       own = each(c("prob", "selected", if (keeps) c("loglik", "state"))),
       new = if (predicts) each(types, newdata))
}

gp_numbers <- function(fit, newdata) {
  list(coef = coef(fit), logLik = c(logLik(fit)), loo = gp_loo(fit), gradient = gp_gradient(fit),
       own = predict(fit), new = predict(fit, newdata))
}
