# The commands of the package on one page.
# @srrstats {G2.3b}

#' All of gpselect on one page
#'
#' A cheat sheet: what to type for what. `y` are data, n x D; `fit` is what [gps_fit()] returns.
#'
#' @section Data:
#' | to have | type |
#' |---|---|
#' | a matrix, data frame, array of images | `y` itself, or `gps_fit(~ a + b, model, data = d)` |
#' | a table in a file, columns by name | `y <- gps_source_csv("f.csv", c("a", "b"))` |
#' | the same but for a column of names | `y <- gps_source_csv("f.csv", -1)`, `gps_fit(labels =)` |
#' | the same of a Parquet file | `y <- gps_source_parquet("f.parquet", c("a", "b"))` |
#' | numbers in a file | `gps_source_binary("f.bin", d)`, `gps_source_hdf5("f.h5", "set")` |
#' | a fast copy in a file | `gps_write_binary(y, "f.bin")` |
#' | anything that reads rows | `y <- gps_source(n, d, function(from, to) ...)` |
#' | a look at a source | `head(y)`, `y[1:5, ]`, `dim(y)` |
#' | patches of a picture | `p <- extract_patches(picture, 8)` |
#' | the picture of patches | `assemble_patches(p, dim(picture))`, of a fit's with `like = p` |
#' | data to try | `simulate_bars(1000)`, `simulate_clusters(150)`, `digits8`, `ascent` |
#' | missing cells; weights | NA in `y`; `weights =` |
#'
#' @section A fit:
#' | to fit | type |
#' |---|---|
#' | sums of parts, on or off | `gps_fit(y, model_binary_sparse(10))` |
#' | sums of parts of any strength | `model_spike_slab(10)` |
#' | the largest part wins | `model_max_spike_slab(10)` |
#' | clusters | `model_gaussian_mixture(5)`; of counts `model_poisson_mixture(5)` |
#' | causes of zeros and ones | `model_noisy_or(10)` |
#' | objects that hide each other | `model_occlusive(20, size = c(8, 8))` |
#' | your own | `model_custom()`, then `check_gps_model()` |
#' | how many latents | `choice <- gps_choose(y, model_gaussian_mixture, 2:8)`, `plot(choice)` |
#' | how many to select | `n_selected = "auto"` |
#' | from a partition, centres, a fit | `start = kmeans(y, 5)`, `start = fit` |
#'
#' @section Who ranks:
#' | to rank by | type |
#' |---|---|
#' | a learned Gaussian process | `selector_gp()`, the default |
#' | what the model knows | `selector_handcrafted()` |
#' | nothing: exact EM | `selector_full()` |
#' | your own function | `selector_custom()` |
#' | several, compared | `compare_selectors()` |
#'
#' @section Settings:
#' | to | type |
#' |---|---|
#' | stop sooner or later | `control = gps_control(max_iter = 50, tol = 1e-4, time_limit = 60)` |
#' | begin from more starts | `gps_control(n_starts = 20)` |
#' | go through many rows in batches | `gps_control(batch_size = 5000)` |
#' | go on without batches, and mend | `update(fit, start = fit, control = gps_control())` |
#' | use more cores | `gps_control(n_threads = 4)` |
#' | know time and memory first | `gps_plan(y, model)` |
#' | be able to go on after a stop | `gps_control(checkpoint = "f.rds")`, `gps_resume("f.rds", y)` |
#' | have the same result again | `set.seed(1)` before |
#' | save a small fit | `gps_control(keep_data = FALSE, keep_slots = FALSE)`, `saveRDS()` |
#'
#' @section Ask a fit:
#' | to see | type |
#' |---|---|
#' | what it is, how it ended | `fit`, `summary(fit)`, `plot(fit)` |
#' | parameters | `coef(fit)`; their errors `summary(gps_bootstrap(fit))` |
#' | what is on in each point | `predict(fit, type = "prob")`, `"state"`, `"latent"` |
#' | sparse codes: the latents' values | `predict(fit, type = "latent_sparse")`, `"latent_slots"` |
#' | its cluster, and how sure | `predict(fit, type = "class")`, `"uncertainty"` |
#' | its reconstruction; gaps filled | `predict(fit, type = "response")`, `"imputed"` |
#' | the same of new data | `predict(fit, newdata, type = )` |
#' | rows that it explains worst, outliers | `head(order(predict(fit, type = "loglik")))` |
#' | states and draws of one point | `posterior_states(fit, 1)`, `posterior_sample(fit)` |
#' | how well it fits | `logLik(fit)`, `AIC(fit)`, `BIC(fit)`, `icl(fit)` |
#' | whether the selection missed anything | `gps_audit(fit)` |
#' | how near the truth it is | `match_components(fit, truth)` |
#' | tables | `tidy(fit)`, `glance(fit)`, `augment(fit)` of packages generics and broom |
#' | latents as columns for another model | `step_gpselect(recipe, ...)` of package recipes |
#' | a paragraph for a paper | `gps_report(fit)` |
#'
#' @section By themselves:
#' | to | type |
#' |---|---|
#' | take noise out of a picture | `gps_denoise(picture)$image` |
#' | regress by a Gaussian process | `g <- gp_fit(x, y)`, `predict(g, x)`, `gp_loo(g)` |
#' | make a kernel | `kernel_rbf() + kernel_linear() + kernel_white()` |
#'
#' Names of arguments and words that choose, such as `"prob"`, are in lower case and are told apart
#' by case: `"Prob"` is an error that says what was meant.
#'
#' @name gpselect_cheatsheet
#' @aliases cheatsheet
#' @concept cheat sheet
#' @concept overview
#' @seealso [gps_fit()], `vignette("gpselect")`, [gpselect_performance]
#' @examples
#' set.seed(1)
#' y <- simulate_bars(200, size = 4, value = 10)$y
#' fit <- gps_fit(y, model_binary_sparse(8), control = gps_control(max_iter = 20))
#' fit
#' head(predict(fit, type = "prob"), 3)
NULL
