# Frozen fits of models of zeros and ones and of counts, see helper-frozen.R.

frozen_ones <- function(n = 40) (frozen_bars(n = n) > 2.5) + 0

frozen_counts <- function() round(abs(frozen_clusters()))

fits_discrete <- function() {
  causes <- function(selector = selector_handcrafted(), model = model_noisy_or(6), ...) {
    sparse_fit(selector, model, frozen_ones(), ..., newdata = frozen_ones()[40:38, ])
  }
  counts <- function(selector = selector_handcrafted(), ...) {
    sparse_fit(selector, model_poisson_mixture(4), frozen_counts(), 2, ...,
               newdata = frozen_counts()[60:58, ])
  }
  whole <- gps_control(max_iter = 40, n_starts = 3, progress = FALSE, n_threads = 1)
  list(
    causes = function() causes(), causes_learned = function() causes(frozen_selector()),
    causes_priors = function() causes(model = model_noisy_or(6, shared_prob = FALSE)),
    causes_whole = function() causes(control = whole),
    causes_gibbs = function() causes(control = frozen_control(method = "gibbs")),
    causes_batches = function() causes(control = frozen_control(batch_size = 15)),
    counts = function() counts(), counts_learned = function() counts(frozen_selector()),
    counts_whole = function() counts(control = whole),
    counts_batches = function() counts(control = frozen_control(batch_size = 20))
  )
}
