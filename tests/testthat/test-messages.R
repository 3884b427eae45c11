# The words of the main refusals and warnings, as users read them.
# @srrstats {G5.2}

test_that("refused data", {
  fit <- function(y, ...) gps_fit(y, model_binary_sparse(4), selector_handcrafted(), ...)
  y <- matrix(c(1:11, Inf), 4)
  frame <- data.frame(length = 1:3, species = factor(c("a", "b", "c")))
  odd_images <- list(matrix(0, 2, 2), matrix(0, 2, 3))
  expect_snapshot(error = TRUE, cnd_class = TRUE, {
    fit(NULL)
    fit(list())
    fit(matrix(0, 0, 3))
    fit(1:10)
    fit(y)
    fit(frame)
    fit(odd_images)
    fit(matrix(1e160, 3, 3))
    fit(matrix("a", 2, 2))
  })
})

test_that("refused settings of a fit", {
  y <- matrix(1:40, 10)
  expect_snapshot(error = TRUE, cnd_class = TRUE, {
    gps_fit(y, "binary")
    gps_fit(y, model_binary_sparse(4), "gp")
    gps_fit(y, model_binary_sparse(4), control = list())
    gps_fit(y, model_binary_sparse(4), n_selected = 5)
    gps_fit(y, model_binary_sparse(4), n_selected = "auto", max_active = 5)
    gps_fit(y, model_binary_sparse(4), n_selected = 3, max_active = 4)
    gps_fit(y, model_binary_sparse(40), selector_full(), control = gps_control(method = "exact"))
    gps_fit(y, model_gaussian_mixture(4), control = gps_control(method = "gibbs"))
    gps_fit(y, model_gaussian_mixture(11))
    gps_fit(y, model_binary_sparse(4), start = list(V = 1))
    gps_fit(y, model_binary_sparse(4), start = list(W = 1:3))
    gps_fit(y, model_binary_sparse(4), start = list(sigma2 = 0))
  })
})

test_that("refused controls, models, selectors and screens", {
  expect_snapshot(error = TRUE, cnd_class = TRUE, {
    gps_control(maxiter = 10)
    gps_control(max_iter = 2.5)
    gps_control(tol = -1)
    gps_control(method = "gibs")
    gps_fit(matrix(0, 2, 2), model_noisy_or(1), control = list(params = 1))
    gps_control(sweeps = 5)
    gps_control(checkpoint = 3)
    gps_control(monotone = TRUE, anneal = 2)
    gps_control(monotone = TRUE, method = "gibbs")
    model_binary_sparse(0)
    model_gaussian_mixture(3, "sperical")
    selector_gp(explore = 2)
    selector_gp("rbf")
    selector_gp(method = "exact", rank = 5)
    selector_gp(method = "cholesky")
    selector_custom(1)
    selector_gp(NA_character_)
    gps_screen(rank_by = "gredy")
    gps_screen(moves = TRUE)
  })
})

test_that("errors while a fit runs", {
  y <- matrix(rnorm(40), 10)
  control <- gps_control(max_iter = 3, n_starts = 1, progress = FALSE)
  expect_snapshot(error = TRUE, cnd_class = TRUE, {
    gps_fit(y, model_binary_sparse(4), selector_custom(function(params, y) stop("no file")), 2,
            control = control)
    gps_fit(y, model_binary_sparse(4), selector_custom(function(params, y) 1), 2,
            control = control)
  })
})

test_that("refused steps", {
  y <- matrix(rnorm(40), 10)
  model <- gps_bind(model_binary_sparse(4), y)
  set.seed(1)
  params <- gps_init(model, y)
  slots <- matrix(1:2, 10, 2, byrow = TRUE)
  expect_snapshot(error = TRUE, cnd_class = TRUE, {
    gps_estep(model_binary_sparse(4), params, y, slots)
    gps_estep(model, params, y[, 1:3], slots)
    gps_estep(model, params[1:2], y, slots)
    gps_estep(model, params, y, slots + 3)
    gps_estep(model, params, y, cbind(slots, 1))
    gps_estep(model, params, y, slots, want = "stat")
    gps_mstep(model, params, list(count = 10))
    gps_draw(model, params, 0)
  })
})

test_that("warnings", {
  control <- gps_control(max_iter = 1, n_starts = 1, progress = FALSE)
  set.seed(1)
  expect_snapshot({
    constant <- gps_fit(matrix(1, 6, 2), model_binary_sparse(2), selector_full(), control = control)
    wide <- gps_fit(matrix(1:4, 2), model_binary_sparse(3), selector_full(), control = control)
    lone <- gps_fit(matrix(1:4, 1), model_binary_sparse(2), selector_gp(), 1, control = control)
  })
})

# What users of other packages try first: each is told what to write instead.

flowers <- as.matrix(iris[1:4])
few <- flowers[c(1:9, 60:68, 110:118), ]

test_that("arguments without a name, several numbers and long lists are answered", {
  fit <- a_fit("mixture")
  gp <- gp_fit(1:9, sin(1:9), kernel_rbf(1, 1) + kernel_white(), optimise = FALSE)
  expect_gps_error(update(fit, 4), "A mixture of 4 clusters is model_gaussian_mixture(4).")
  expect_gps_error(update(fit, model_gaussian_mixture(4)), "It has a name here: model = .")
  expect_gps_error(update(fit, nonsense = 1), "All arguments are on ?gps_fit and ?gps_control.")
  expect_gps_error(gps_control(nonsense = 1), "All arguments are on ?gps_control.")
  expect_gps_error(gp_fit(1:9, 1:9, nonsense = 1), "All arguments are on ?gp_fit.")
  expect_gps_error(predict(fit, t(fit$y), "prob", 1, FALSE, flowers), "It has a name here: newdata")
  expect_gps_error(gps_fit(few, G = 1:5), "gps_choose(y, model, numbers) compares several")
  expect_gps_error(coef(fit, "mu"), "coef(fit)$mu")
  expect_gps_error(coef(gp, "log_len"), "coef(fit)[\"log_len\"]")
  expect_gps_error(logLik(fit, newdata = few), "predict(fit, newdata, type = \"loglik\")")
  expect_gps_error(fitted(fit, few), "predict(fit, newdata, type = \"response\")")
  expect_gps_error(residuals(fit, type = "pearson"), "less fitted(fit)")
  expect_gps_error(predict(gp, 1, type = "response"), "$mean")
  expect_gps_error(selector_random(n = 2), "`n_selected` of gps_fit()")
  expect_gps_error(selector_full(3), "all latents")
  expect_gps_error(gps_plan(fit), "y, fit$model")
  expect_gps_error(predict(fit, threshold = 0.5), "type = \"state\"")
  expect_gps_error(gps_bootstrap(fit, method = "parametric"), "Did you mean `type`?")
})

test_that("figures that a fit does not have are answered with its own", {
  fit <- a_fit("mixture")
  bars <- a_fit("handcrafted")
  said <- function(which, fit) {
    conditionMessage(expect_gps_error(plot(fit, which), "`which` must be one of"))
  }
  expect_no_match(said("nonsense", fit), "scene")
  expect_no_match(said("nonsense", bars), "clusters|entropy|functions|kernel|scene")
  expect_match(said("classification", fit), "Did you mean \"clusters\"?", fixed = TRUE)
  expect_match(said("BIC", fit), "gps_choose(y, model, numbers)", fixed = TRUE)
  expect_match(said("all", bars), "which = c(\"components\", \"bound\"", fixed = TRUE)
  for (number in list(1, 1:2)) expect_match(said(number, fit), "Figures have names")
  expect_match(said(fit, fit), "plot(fit, beside = other)", fixed = TRUE)
  expect_match(said(flowers, fit), "`truth`")
  for (name in figures_of(fit, names(figures))) expect_true(is.function(figures[[name]]$draw))
  expect_gps_error(plot(fit, lwd = 2), "`main`, `col` and `key` change it")
  expect_gps_error(plot(fit, main = 1), "one title (text)")
  expect_gps_error(plot(fit, "components", truth = iris$Species), "table(predict(fit, type")
  expect_gps_error(match_components(predict(fit, type = "class"), iris$Species), "table(predict(")
})

test_that("columns by their names, lists of one table and other names are answered", {
  fit <- gps_fit(few, model_gaussian_mixture(3, "spherical"), selector_full(),
                 control = gps_control(max_iter = 1, n_starts = 1))
  expect_gps_error(predict(fit, list(few)), "give its table itself, newdata[[1]]")
  other <- stats::setNames(as.data.frame(few), letters[1:4])
  condition <- expect_gps_error(predict(fit, other), "unname(as.matrix(newdata))")
  expect_identical(predict(fit, unname(as.matrix(other))), unname(predict(fit)))
  one_new <- stats::setNames(as.data.frame(few), c(colnames(few)[1:3], "d"))
  for (some in list(other[1:3], one_new)) {
    expect_no_match(conditionMessage(expect_gps_error(predict(fit, some), "missing")), "unname")
  }
  expect_gps_error(update(fit, weights = "Sepal.Width"), "weights = data$Sepal.Width")
  expect_gps_error(update(fit, weights = data.frame(w = 1:27)), "weights = data$w")
  expect_gps_error(gp_fit(mtcars, "mpg"), "gp_fit(mpg ~ ., data = x)")
  path <- tempfile(fileext = ".rds")
  saveRDS(fit, path)
  expect_gps_error(gps_resume(path, few), "update(fit, start = fit) goes on", "data")
  fit["y"] <- list(NULL)
  expect_gps_error(update(fit), "give them, update(fit, y = y)")
})

test_that("terms of formulas, and formulas without data, are written as they can be", {
  term <- function(formula) gp_fit(formula, mtcars)
  expect_gps_error(term(mpg ~ factor(cyl)), "model.matrix(~ 0 + factor(cyl), data)")
  expect_gps_error(term(mpg ~ I(wt^2)), "transform(data, wt_new = wt^2)")
  expect_gps_error(term(mpg ~ log(wt)), "transform(data, wt_log = log(wt))")
  expect_gps_error(term(mpg ~ wt:hp), "transform(data, wt_hp_new = wt * hp)")
  expect_gps_error(term(mpg ~ s(wt)), "Write wt: curves are what")
  expect_gps_error(term(mpg ~ wt | cyl), "no groups here")
  expect_gps_error(term(mpg ~ mtcars$wt), "without their data frame: wt")
  expect_gps_error(gps_fit(~ log(mpg), model_gaussian_mixture(2), data = mtcars), "mpg_log = log")
  expect_gps_error(gp_fit(mtcars$mpg ~ mtcars$wt), "gp_fit(mpg ~ wt, data = mtcars)")
  a <- 1:3
  b <- 4:6
  expect_gps_error(gp_fit(a ~ b), "gp_fit(a ~ b, data = data.frame(a, b))")
  expect_gps_error(gp_fit(a ~ not_there), "data = d)")
  expect_gps_error(gp_fit(a ~ b, data = cbind(a, b)), "data = d). It is a numeric matrix (3 x 2).")
  gap <- mtcars
  gap$wt[2] <- NA
  expect_gps_error(gp_fit(mpg ~ wt, gap), "data = na.omit(get_all_vars(mpg ~ wt, data)).")
  expect_gps_error(gp_fit(1:9, 1:9, fixed = "lengthscale"), "Did you mean \"log_len\"?")
  model <- model_gaussian_mixture(2)
  fit <- gps_fit(~ mpg + wt, model, selector_full(), data = mtcars,
                 control = gps_control(max_iter = 1, n_starts = 1))
  expect_equal(formula(fit), ~ mpg + wt, ignore_attr = TRUE)
  other <- as.matrix(mtcars[c("mpg", "wt")])
  expect_identical(names(update(fit, y = other)$call), c("", "y", "model", "selector", "control"))
  expect_identical(update(fit, data = mtcars[-1, ])$call$data, quote(mtcars[-1, ]))
  columns <- ~ mpg + wt
  fit$call$y <- quote(columns)
  expect_equal(formula(fit), columns, ignore_attr = TRUE)
  expect_gps_error(formula(a_fit("mixture")), "a fit without one")
  expect_gps_error(subset(fit, mpg > 20), "y[rows, ]")
  expect_gps_error(screeplot(fit), "gps_choose(y, model, numbers)")
})

test_that("models of other packages, functions and settings are answered", {
  fit <- function(model) gps_fit(few, model)
  expect_gps_error(fit(stats::kmeans(few, 2)), "can be a start")
  expect_gps_error(fit(stats::kmeans), "There are model_binary_sparse(),")
  expect_gps_error(fit(model_gaussian_mixture), "has to be called, with parentheses")
  expect_gps_error(gps_control(max_iter = Inf), "1e9 is as good as no limit")
  expect_gps_error(gps_control(list(max_iter = 2)), "do.call(gps_control, list)")
  expect_gps_error(gps_control(method = "em"), "Did you mean \"exact\"?")
  done <- a_fit("mixture")
  expect_gps_error(summary(done, 3), "print() takes `digits`")
  expect_gps_error(compare_selectors(few, done$model, list(selector_full())), "have no names")
  expect_gps_error(gps_control(step = 0.1), "power by which steps shrink")
  expect_gps_error(gps_control(sweeps = 3), "sweeps = c(2, 3)")
})

test_that("rows that a Gaussian process cannot use are left out for what it uses alone", {
  # The data that the error of `call` advises.
  advice <- function(call) {
    said <- tryCatch(call, gps_error = conditionMessage)
    sub("^.*data = (na[.]omit[(].*[)])[.]$", "\\1", said)
  }
  data <- airquality  # As the advice calls them.
  used <- eval(str2lang(advice(gp_fit(Ozone ~ Temp + Wind, airquality))))
  expect_identical(nrow(used), sum(!is.na(airquality$Ozone)))
  expect_setequal(names(used), c("Ozone", "Temp", "Wind"))
  expect_identical(nrow(eval(str2lang(advice(gp_fit(log(Ozone) ~ . - Solar.R, airquality))))),
                   nrow(used))
  small <- gp_fit(Ozone ~ Temp + Wind, data = used, optimise = FALSE)
  expect_identical(nobs(small), nrow(used))
  # What is infinite, or no number but by the formula, na.omit() would leave.
  bad <- transform(mtcars, wt = replace(wt, 2, Inf))
  expect_gps_error(gp_fit(mpg ~ wt, bad), "Leave the row out of `data`.")
  negative <- transform(mtcars, mpg = replace(mpg, 2, -1))
  expect_gps_error(suppressWarnings(gp_fit(log(mpg) ~ wt, negative)), "the row out of `data`.")
  expect_gps_error(gp_fit(bad$wt, bad$mpg), "Leave the row out of `x` and `targets`.")
  expect_gps_error(gp_fit(airquality["Temp"], as.matrix(airquality[1:2])),
                   ", x[keep, , drop = FALSE] and targets[keep, ] have none.")
  # All columns of the data of a fit are used.
  expect_gps_error(gps_fit(airquality, model_gaussian_mixture(2), na.rm = TRUE),
                   "gps_control(missing = \"omit\") leaves out the rows")
})
