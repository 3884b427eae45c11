# The events of a trace in words: floors and rescues of the models that come with the package.

event_words <- c(
  sigma2_floor = "the noise variance is at its floor",
  sigma_floor = "variances of clusters are at their floors",
  pi_floor = "clusters have the least probability",
  pi_clamped = "probabilities of being on are at the least or largest one",
  empty_cluster = "clusters of less than one data point keep their mean",
  sigma_kept = "clusters of too few points keep the covariance that they had",
  psi_floor = "variances of values are at their floors",
  slab_kept = "latents that are hardly on keep the values that they had",
  w_floor = "entries of W are at their floor",
  rate_floor = "rates are at their floors",
  prob_floor = "probabilities of W or leak are at the least or largest one",
  ridge = "the equations for W needed a ridge",
  jitter = "the matrix of the kernel needed a number on its diagonal"
)

# "sigma_kept: clusters of ...": sentences for those of these events that have words.
explain_events <- function(names) {
  names <- intersect(names, names(event_words))
  if (length(names) > 0) sprintf("%s: %s", names, event_words[names])
}
