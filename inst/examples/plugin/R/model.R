# A mixture of Poisson distributions: exactly one of H clusters makes each data point of D counts,
# with a rate for each dimension. The expectations and the M-step are in src/poisson.c.

model_poisson <- function(n_components) {
  model_native(
    "gpspoisson", "gps_model_poisson", n_components,
    class = "gps_poisson", name = "Poisson mixture",
    params = list(rate = c("dims", "latents"), pi = "latents"),
    prepared = list(log_rate = c("dims", "latents"), log_pi = "latents", shared = "points"),
    stats = list(count = "one", on = "latents", sum = c("dims", "latents")),
    events = "rate_floor",
    ranges = list(rate = c(0, Inf), pi = c(0, 1)),
    rule = state_rule(min_active = 1, max_active = 1)
  )
}

# Rates stay above a share of the mean count.
gps_bind.gps_poisson <- function(model, y) {
  if (any(y < 0)) stop("`y` must have counts, which are not below 0.", call. = FALSE)
  model$options <- list(floor_rate = 1e-6 * (mean(y) + 1))
  NextMethod()
}

# Data points and the mean of all, half and half.
gps_init.gps_poisson <- function(model, y) {
  rows <- sample.int(nrow(y), model$n_latents, replace = nrow(y) < model$n_latents)
  list(rate = (t(y[rows, , drop = FALSE]) + colMeans(y)) / 2 + model$options$floor_rate,
       pi = rep(1 / model$n_latents, model$n_latents))
}

gps_draw.gps_poisson <- function(model, params, n) {
  cluster <- sample.int(model$n_latents, n, replace = TRUE, prob = params$pi)
  y <- matrix(stats::rpois(n * model$n_dims, params$rate[, cluster]), n, byrow = TRUE)
  list(y = y, latents = diag(model$n_latents)[cluster, , drop = FALSE])
}

gps_handcrafted.gps_poisson <- function(model, params, y) {
  y %*% log(params$rate) - rep(colSums(params$rate) - log(params$pi), each = nrow(y))
}
