# Two fits side by side, fits as data frames, and their calls.

flowers <- iris[c(1:20, 51:70, 101:120), 1:4]
short <- short_control(max_iter = 20)
tied <- gps_fit(flowers, model_gaussian_mixture(3, "tied"), selector_full(), control = short)
round <- gps_fit(flowers, model_gaussian_mixture(3, "spherical"), selector_full(),
                 start = rep(c("a", "b", "c"), each = 20), control = short)

test_that("fits of the same data are compared by what their generics say, and on new data", {
  unseen <- iris[c(21:30, 71:80), 1:4]
  found <- gps_compare(tied, spherical = round, newdata = unseen)
  expect_identical(found$fit, c("tied", "spherical"))
  for (name in c("AIC", "BIC")) {
    expect_identical(found[[name]], c(get(name)(tied), get(name)(round)))
  }
  expect_identical(found$ICL, c(icl(tied), icl(round)))
  logs <- cbind(predict(tied, unseen, "loglik"), predict(round, unseen, "loglik"))
  expect_near(found$held_out, unname(colMeans(logs)), 1e-14)
  best <- which.max(colMeans(logs))
  below <- logs[, best] - logs[, 3 - best]
  expect_near(found$difference[c(best, 3 - best)], c(0, mean(below)), 1e-12)
  expect_near(found$se[3 - best], sd(below) / sqrt(20), 1e-12)
  shown <- capture.output(print(found))
  expect_match(shown, "2 fits of the same data", all = FALSE)
  expect_match(shown, sprintf("Smallest BIC: %s", found$fit[which.min(found$BIC)]), all = FALSE)
  # On a narrow page every part of the table names its rows.
  old <- options(width = 40)
  on.exit(options(old))
  narrow <- capture.output(print(found))
  headed <- grep("n_latents|held_out", narrow)
  expect_length(headed, 2)
  expect_true(all(startsWith(narrow[c(headed + 1, headed + 2)],
                             rep(c("tied", "spherical"), each = 2))))
  expect_identical(gps_compare(list(tied, round))$fit, c("fit 1", "fit 2"))
})

test_that("the order of named columns is no matter of a comparison", {
  turned <- gps_fit(flowers[4:1], model_gaussian_mixture(2), selector_full(), control = short)
  expect_gps_error(gps_compare(tied, turned, newdata = "a"), "`newdata` must be a numeric matrix")
  expect_identical(gps_compare(tied, turned, newdata = iris[21:30, 1:4])$bound,
                   c(tied$bound, turned$bound))
  other <- gps_fit(flowers[4:1] + 1, model_gaussian_mixture(2), selector_full(), control = short)
  expect_gps_error(gps_compare(tied, other), "their numbers differ")
  expect_gps_error(gps_compare(tied, gps_fit(unname(as.matrix(flowers[4:1])), tied$model,
                                             selector_full(), control = short)),
                   "their numbers differ")
})

test_that("fits that cannot be compared are refused by name", {
  other <- gps_fit(flowers[-1, ], model_gaussian_mixture(2), selector_full(), control = short)
  expect_gps_error(gps_compare(tied, other), "\"tied\" and \"other\" are of different data (60 x 4")
  moved <- gps_fit(flowers + 1, model_gaussian_mixture(2), selector_full(), control = short)
  expect_gps_error(gps_compare(tied, moved), "their numbers differ")
  expect_gps_error(gps_compare(tied), "needs two fits or more")
  expect_gps_error(gps_compare(tied, 3), "`...` must be fits, as made by gps_fit()")
  expect_gps_error(gps_compare(tied, round, new = flowers), "Unknown argument `new`")
  counts <- round(as.matrix(flowers))
  expect_gps_error(gps_compare(
    gps_fit(counts, model_poisson_mixture(2), selector_full(), control = short),
    gps_fit(counts, model_gaussian_mixture(1), selector_full(), control = short)
  ), "probabilities of counts")
  expect_gps_error(anova(tied, round), "gps_compare(fit, other)")
})

test_that("a fit is a data frame of its points or of its latents", {
  points <- as.data.frame(round)
  expect_identical(names(points), c("class", "uncertainty", "a", "b", "c"))
  expect_identical(points$class, unname(predict(round, type = "class")))
  expect_equal(points$uncertainty, unname(predict(round, type = "uncertainty")))
  expect_identical(row.names(points), rownames(flowers))
  expect_equal(unname(as.matrix(points[3:5])), unname(expectations(round)))
  expect_identical(names(as.data.frame(tied))[3:5], paste0("cluster_", 1:3))
  clusters <- as.data.frame(round, what = "latents")
  expect_identical(clusters$latent, c("a", "b", "c"))
  expect_equal(clusters$expected, unname(colSums(expectations(round))))
  expect_equal(unname(as.matrix(clusters[names(flowers)])), unname(t(coef(round)$mu)))
  expect_identical(row.names(as.data.frame(round, 60:1)), as.character(60:1))
  expect_gps_error(as.data.frame(round, c("a", "b")), "`row.names` must be 60 distinct names")
  expect_gps_error(as.data.frame(round, what = "rows"), "`what` must be one of")
  sparse <- as.data.frame(a_fit("handcrafted"))
  expect_identical(names(sparse)[1:2], c("active", "latent_1"))
  expect_equal(sparse$active, unname(rowSums(sparse[-1])))
  expect_identical(dim(as.data.frame(a_fit("handcrafted"), what = "latents")), c(10L, 3L + 25L))
})

test_that("a fit has the call that made it, which follows its changes and holds no data", {
  expect_identical(deparse(getCall(tied)[1:3]),
                   "gps_fit(y = flowers, model = model_gaussian_mixture(3, \"tied\"))")
  expect_identical(deparse(tied$call$control), "short")
  k <- 2
  other <- update(tied, model = model_gaussian_mixture(k), max_iter = 3)
  expect_identical(deparse(other$call$model), "model_gaussian_mixture(k)")
  expect_identical(deparse(other$call$control), "short")
  begun <- gps_fit(flowers, model_gaussian_mixture(1), selector_full(),
                   control = gps_control(max_iter = 2, progress = FALSE))
  expect_identical(deparse(update(begun, max_iter = 3, n_starts = 1)$call$control),
                   "gps_control(max_iter = 3, progress = FALSE, n_starts = 1)")
  given <- do.call(gps_fit, list(as.matrix(flowers), model_gaussian_mixture(1), selector_full(),
                                 control = short))
  expect_identical(deparse(given$call$y), "y")
  expect_lt(as.numeric(object.size(given$call)), 5000)
  # Formulas and files keep it.
  expect_identical(deparse(unserialize(serialize(tied, NULL))$call), deparse(tied$call))
})

test_that("data that were not kept are compared by what is known of them, and print() says so", {
  set.seed(1)
  y <- matrix(rnorm(60), 30, dimnames = list(NULL, c("a", "b")))
  fit_of <- function(y, keep_data = TRUE, ...) {
    gps_fit(y, model_gaussian_mixture(1), selector_full(),
            control = short_control(max_iter = 2, keep_data = keep_data), ...)
  }
  whole <- fit_of(y)
  lean <- fit_of(y, FALSE)
  # Where all numbers are there they are compared, whatever stands beside them.
  expect_gps_error(gps_compare(lean, whole, fit_of(y * 10)), "their numbers differ")
  one <- gps_compare(whole, lean)
  expect_identical(attr(one, "unchecked"), "lean")
  expect_output(print(one), "2 fits, taken to be of the same data.*\"lean\" has no\\s+numbers")
  expect_gps_error(gps_compare(lean, fit_of(y * 10, FALSE)), "numbers differ in mean, spread")
  expect_gps_error(gps_compare(whole, fit_of(y + 1e-6, FALSE)), "numbers differ in mean, spread")
  # The same numbers in another order are not told apart.
  both <- gps_compare(lean, other = fit_of(y[30:1, ], FALSE))
  expect_identical(attr(both, "unchecked"), c("lean", "other"))
  expect_output(print(both), "\"lean\", \"other\" have\\s+no\\s+numbers to compare")
  expect_identical(attr(gps_compare(whole, fit_of(y)), "unchecked"), character())
  holed <- y
  holed[3, 2] <- NA
  expect_gps_error(gps_compare(lean, fit_of(holed, FALSE)), "0 and 1 missing cells")
  renamed <- y
  colnames(renamed) <- c("a", "c")
  expect_gps_error(gps_compare(whole, fit_of(renamed, FALSE)), "columns have other names")
  expect_gps_error(gps_compare(whole, fit_of(y, FALSE, weights = rep(1:2, 15))), "other weights")
  expect_gps_error(plot(one), "plot() each fit")
})

test_that("a chosen fit has a call that makes it anew, with the data as gps_choose() had them", {
  control <- gps_control(max_iter = 3, n_starts = 1, progress = FALSE)
  weights <- rep(1:2, 30)
  choose_quietly <- function(code) suppressWarnings(code, classes = "gps_warning")
  anew <- function(fit) {
    made <- choose_quietly(eval(fit$call, parent.frame()))
    expect_identical(made$model$n_latents, fit$model$n_latents)
    expect_identical(made$model$settings, fit$model$settings)
    expect_identical(made$n_selected, fit$n_selected)
    expect_identical(choose_quietly(update(fit, n_threads = 1))$call$model, fit$call$model)
    made
  }
  data <- as.data.frame(flowers)
  names(data) <- paste0("part", seq_along(data))
  choice <- choose_quietly(gps_choose(~ part1 + part2, model_gaussian_mixture, 2, data = data,
                                      control = control, weights = weights))
  expect_identical(choice$fit$call, quote(gps_fit(
    y = ~part1 + part2, data = data, model = model_gaussian_mixture(2),
    selector = selector_full(), control = control, weights = weights)), ignore_attr = TRUE)
  expect_equal(formula(choice$fit), ~ part1 + part2, ignore_attr = TRUE)
  expect_identical(anew(choice$fit)$weights, choice$fit$weights)
  model <- model_gaussian_mixture(5, "diagonal")
  choice <- choose_quietly(gps_choose(flowers, model, 2, "held-out", selector_gp(), n_selected = 4,
                                      control = control))
  expect_identical(choice$fit$call$model, quote(model_gaussian_mixture(2,
                                                                       covariance = "diagonal")))
  expect_identical(choice$fit$call$n_selected, 2)
  anew(choice$fit)
  several <- list(a = model_gaussian_mixture, b = function(k) model)
  choice <- choose_quietly(gps_choose(flowers, several["a"], 1:2, control = control))
  expect_match(deparse(choice$fit$call$model), "^several\\[\"a\"\\]\\[\\[\"a\"\\]\\][(][12][)]$")
  anew(choice$fit)
  choice <- choose_quietly(gps_choose(flowers, list(a = model_gaussian_mixture(1, "tied")), 2))
  expect_identical(choice$fit$call$control, quote(gps_control(progress = FALSE)))
  anew(choice$fit)
})

test_that("a run that went on is made again with what it had, and its call says so", {
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  y <- as.matrix(flowers)
  short <- gps_fit(y, model_gaussian_mixture(3), selector_handcrafted(), n_selected = 3,
                   control = gps_control(max_iter = 2, n_starts = 1, progress = FALSE,
                                         checkpoint = file))
  went_on <- gps_resume(file, y, max_iter = 4)
  expect_identical(went_on$n_selected, 3L)
  again <- update(went_on, max_iter = 3, checkpoint = NULL)
  expect_identical(again$n_selected, 3L)
  expect_identical(again$call[1:5], quote(gps_fit(y = y, model = went_on$model,
                                                  selector = went_on$selector,
                                                  n_selected = went_on$n_selected)))
  inside <- gps_denoise(volcano[1:20, 1:20] / 100, 0.1, size = 4, n_train = 50,
                        control = gps_control(max_iter = 1, n_starts = 1, progress = FALSE))
  expect_s3_class(inside$fit, "gps_fit")
  expect_null(inside$fit$call)
})
