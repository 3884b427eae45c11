# @srrstats {G1.0, G1.1, G1.2, G1.4, G1.5, G1.6, G2.0a, G2.1a, G5.4c, G5.5, G5.6b, G5.10, G5.12}
# @srrstats {UL1.4b, UL4.0, UL4.2, UL6.1, PD1.0}
# @srrstatsNA {G3.1, G3.1a, G5.11, G5.11a, PD3.4, PD3.5, PD3.5a}

#' gpselect: expectation maximisation with learned selection of latent variables
#'
#' A model with H binary latents has 2^H states for each data point. gpselect sums only over those
#' of the few latents that matter for the point, or samples them, and learns which latents these
#' are: in every EM iteration a Gaussian process regresses the posterior means of the last one on
#' the data, and its leave-one-out prediction ranks the latents (Shelton and others, 2017; equations
#' are numbered as there).
#'
#' @section Where to read on:
#' * Fit: [gps_fit()], [gps_control()]; models: [model_binary_sparse()],
#'   [model_spike_slab()], [model_max_spike_slab()], [model_gaussian_mixture()],
#'   [model_occlusive()]; of binary data [model_noisy_or()], of counts
#'   [model_poisson_mixture()]; your own: [model_custom()].
#' * Who ranks the latents: [selector_gp()] and its alternatives; kernels: [kernel_rbf()] and
#'   others; refining the ranking: [gps_screen()].
#' * Use a fit: [summary.gps_fit()], [predict.gps_fit()], [plot.gps_fit()], [expectations()],
#'   [posterior_states()], [match_components()], [selection_recall()].
#' * Images: [extract_patches()], [assemble_patches()], [gps_denoise()].
#' * Single steps: [gps_estep()], [gps_mstep()], [gps_affinity()], [gps_learn()].
#' * Gaussian process regression by itself: [gp_fit()], [gp_loo()], [gp_gradient()].
#' * Data to try it on: [simulate_bars()], [simulate_clusters()], [simulate_scenes()] of
#'   [scene_objects()] or [read_objects()], [digits8], [ascent].
#'
#' @section Other software:
#' We know of no other package for R that learns which latents an E-step has to look at; the authors
#' of the paper tried the method in programs of their own. What is built in beside it has been built
#' before: mixtures of Gaussians by mclust and others, Gaussian processes by kernlab and
#' DiceKriging; `bench/` of the sources compares them. Sparse coding with binary and spike-and-slab
#' latents, the maximum as superposition and occlusion are after the papers named on each model's
#' page.
#'
#' @section Options:
#' * `gpselect.threads`: OpenMP threads where `n_threads` is NULL, see [gps_control()].
#' * `gpselect.max_cells`: how many values a dense result of [predict()][predict.gps_fit],
#'   [expectations()], [fitted()][fit-methods], [residuals()][fit-methods] or [posterior_sample()]
#'   may have, a number of at least 1 or Inf; 2^28 by default, which are 2 GB of real numbers.
#'   Larger results are refused by an error of class `gps_error_memory`.
#' * `gpselect.check_memory`: FALSE lets a fit begin that surely needs more memory than there is,
#'   see [gps_plan()].
#' * `gpselect.tell_names`: TRUE lets [gps_fit()] tell, in a message, where rows or columns have no
#'   names, or such as R makes up, since results are labelled by them. The same is told once.
#'
#' All commands are on one page, [gpselect_cheatsheet]. What makes a fit fast or slow is in
#' [gpselect_performance].
#'
#' @references Shelton, J. A., Gasthaus, J., Dai, Z., Luecke, J. and Gretton, A. (2017). GP-Select:
#'   Accelerating EM using adaptive subspace preselection. *Neural Computation*, 29(8).
#'   \doi{10.1162/NECO_a_00982}
#' @concept sparse coding
#' @concept clustering
#' @concept mixture model
#' @concept latent variables
#' @concept expectation maximisation
#' @concept expectation maximization
#' @concept truncated inference
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(200, size = 4, value = 10)
#' gps_fit(bars$y, model_binary_sparse(8), control = gps_control(max_iter = 20))
#' @keywords internal
#' @useDynLib gpselect, .registration = TRUE, .fixes = "C_"
"_PACKAGE"
