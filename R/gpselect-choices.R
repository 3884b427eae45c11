# What a user has to choose, and how to read what comes back.

#' What to choose, and how to read a result
#'
#' What has to be chosen before a fit, what the defaults do, and what to make of what is printed.
#'
#' @section Numbers of latents:
#' [gps_choose()] compares numbers. Up to twenty or so, give them all. In the hundreds give a few
#' that grow by a factor, `c(50, 100, 200, 400)`, on a sample of the rows and with a `time_limit` in
#' [gps_control()], and look more closely where the criterion is best; [gps_plan()] tells first what
#' a fit costs. For patches of pictures [gps_denoise()] takes four latents a pixel, but not so many
#' that there are fewer than 20 patches for each.
#'
#' @section Numbers of selected latents:
#' `n_selected = NULL` follows the model and the number of latents (see [gps_fit()]). `"auto"` finds
#' by a pilot how many hold the posterior; [gps_audit()] tells afterwards whether they did. A sum
#' over states doubles with each further latent, unless the model is a mixture. `max_active` makes
#' it shorter where it is known that few are on at once: in natural images 3 or 4 of 8.
#'
#' @section Selectors:
#' Leave the default, [selector_gp()], unless there is a reason. [selector_handcrafted()] is cheaper
#' where the model's own formula ranks well, as in sums of parts of which few are on.
#' [selector_full()] is exact EM: for a few latents, and the yardstick for the others, see
#' [compare_selectors()].
#'
#' @section Covariances of clusters:
#' "full" has D (D + 1) / 2 numbers for each cluster, and wants some 5 D rows for each. With many
#' clusters, or many columns, "diagonal" is what the rows usually allow; "tied" has correlations, in
#' common to all; "spherical" is for columns of one unit, where clusters are round. [gps_choose()]
#' compares models of different covariances as it compares numbers.
#'
#' @section Units, offsets and contrast:
#' There is no need to divide by 255, or to standardise columns for "full", "diagonal" and "tied"
#' mixtures: in another unit the fit is the same in that unit. "spherical" mixtures and all other
#' models take columns to have one unit. An offset matters to models whose parts are added to zero:
#' subtract the mean of each patch of a picture, and add it again at the end (see the example of
#' [extract_patches()]), or give the model an `intercept`, one for each column. Nothing has to be
#' whitened.
#'
#' A component that is flat and on in most data points stands for an offset that was left in; one
#' that is flat and on in points which are flat themselves says that nothing else is in them.
#'
#' @section Identifiers of rows:
#' Leave a column of names out of the data, `gps_fit(~ . - id, model, data = d, labels = d$id)`;
#' predictions and tables have the names then.
#'
#' @section Iterations and starts:
#' "stopped at the limit" means that the bound was still rising by more than `tol`: go on by
#' `update(fit, start = fit)`, which begins where the fit has ended, or give a larger `max_iter`.
#' "converged" means that it was not. Of several short starts the best goes on. "no other ends near
#' the best" says that the others were worse, not that the best is bad: where it matters, fit with
#' `n_starts = 20` and see whether the bound rises, or what [gps_consensus()] finds in all of them.
#' A mixture of many clusters has one start, from seeds, and moves clusters afterwards.
#'
#' @section Audits:
#' The verdict of [gps_audit()] is about what was selected: the share of the posterior, and of
#' probable latents, that it holds. The correlation of the ranking is about the order among all
#' latents that were looked at, also of those that are hardly probable, and may be low where the
#' right ones are selected; it tells something only beside a bad verdict.
#'
#' @section Sparse codes:
#' `predict(fit, type = "latent_sparse")` has the values of the latents as a sparse matrix of
#' package Matrix, in which what was not selected is 0. Attach the package before computing with
#' it, `library(Matrix)`: R's own `mean()` does not know such a matrix.
#'
#' @section What other packages call it:
#' | there | here |
#' |---|---|
#' | `$cluster`, `$classification`, `labels_` | `predict(fit, type = "class")` |
#' | `$centers`, `cluster_centers_` | `t(coef(fit)$mu)` |
#' | `$z`, `predict_proba()` | `predict(fit, type = "prob")` |
#' | `$loglik` | `logLik(fit)`, by point `predict(fit, type = "loglik")` |
#' | `components_`, the dictionary | `coef(fit)$W` |
#' | `transform()`, codes | `predict(fit, type = "latent")` |
#'
#' @name gpselect_choices
#' @aliases choices
#' @concept getting started
#' @concept number of clusters
#' @concept tuning
#' @seealso [gps_fit()], [gpselect_cheatsheet]
#' @examples
#' set.seed(1)
#' patches <- extract_patches(ascent, size = 6, n = 300)
#' fit <- gps_fit(patches - rowMeans(patches), model_spike_slab(12),
#'                control = gps_control(max_iter = 10, n_starts = 1))
#' fit <- update(fit, start = fit) # went no further than 10 iterations
#' gps_audit(fit, n = 30) # amber: more could be selected
NULL
