# Fits as data frames, and columns by a formula.
# @srrstats {G2.10}

test_that("tidy() has every parameter once", {
  for (name in c("mixture", "spherical", "handcrafted", "full")) {
    fit <- a_fit(name)
    table <- gpselect:::tidy.gps_fit(fit)
    expect_identical(table$estimate, unlist(lapply(unname(coef(fit)), as.vector)))
    expect_identical(unique(table$term), names(coef(fit)))
    expect_false(anyDuplicated(table[c("term", "latent", "dim", "dim2")]) > 0)
  }
  fit <- a_fit("mixture")
  table <- gpselect:::tidy.gps_fit(fit)
  at <- table$term == "sigma" & table$latent == "2" & table$dim == "length" & table$dim2 == "width"
  expect_identical(table$estimate[at], coef(fit)$sigma["length", "width", 2])
  expect_true(all(is.na(table$dim[table$term == "pi"])))
})

test_that("glance() is a row of what the fit says of itself", {
  fit <- a_fit("mixture")
  row <- gpselect:::glance.gps_fit(fit)
  expect_identical(nrow(row), 1L)
  expect_identical(c(row$logLik, row$BIC, row$ICL), c(fit$bound, BIC(fit), icl(fit)))
  expect_true(is.na(gpselect:::glance.gps_fit(a_fit("gp"))$ICL))
})

test_that("augment() puts labels beside the data", {
  fit <- a_fit("mixture")
  beside <- gpselect:::augment.gps_fit(fit)
  expect_identical(beside$.class, predict(fit, type = "class"))
  expect_equal(sum(beside$.loglik), fit$bound)
  expect_identical(names(beside)[1:2], c("length", "width"))
  new <- data.frame(width = 1:2, length = 3:4, label = c("a", "b"))
  expect_identical(gpselect:::augment.gps_fit(fit, newdata = new)$.class,
                   predict(fit, new, type = "class"))
  expect_gps_error(gpselect:::augment.gps_fit(fit, new), "other data are `newdata`")
  # Data of the fit, with a further column; others; and where the fit has kept none.
  data <- data.frame(mark = 1, beside[1:2])
  expect_identical(gpselect:::augment.gps_fit(fit, data)[names(beside)], beside)
  data[2, 2] <- data[2, 2] + 1
  expect_gps_error(gpselect:::augment.gps_fit(fit, data), "`data` are not those of the fit")
  lean <- update(a_fit("full"), keep_data = FALSE, keep_slots = FALSE, max_iter = 1)
  expect_equal(gpselect:::augment.gps_fit(lean, t(a_fit("full")$y))$.loglik,
               unname(predict(lean, t(a_fit("full")$y), type = "loglik")))
  sparse <- gpselect:::augment.gps_fit(a_fit("handcrafted"))
  expect_equal(sparse$.active, unname(rowSums(expectations(a_fit("handcrafted")))))
})

test_that("methods are found by the generics of other packages, where they are there", {
  skip_if_not_installed("ggplot2")
  for (which in c("bound", "selection", "clusters")) {
    figure <- ggplot2::autoplot(a_fit("mixture"), which = which)
    expect_s3_class(figure, "ggplot")
    expect_silent(ggplot2::ggplot_build(figure))
  }
  expect_gps_error(ggplot2::autoplot(a_fit("gp"), which = "clusters"),
                   "needs a fit of model_gaussian_mixture()")
  skip_if_not_installed("generics")
  expect_identical(generics::glance(a_fit("gp")), gpselect:::glance.gps_fit(a_fit("gp")))
})

test_that("a formula names columns", {
  control <- gps_control(max_iter = 3, n_starts = 1, progress = FALSE)
  fit_by <- function(...) {
    set.seed(1)
    gps_fit(..., model = model_gaussian_mixture(2), selector = selector_full(), control = control)
  }
  expected <- fit_by(iris[c("Sepal.Width", "Petal.Length")])
  fit <- fit_by(~ Sepal.Width + Petal.Length, data = iris)
  expect_identical(coef(fit), coef(expected))
  expect_identical(predict(fit, iris[1:3, ]), predict(expected, iris[1:3, ]))
  expect_identical(coef(fit_by(~ . - Species, data = iris)), coef(fit_by(iris[1:4])))
  odd <- stats::setNames(faithful, c("a b", "c"))
  expect_identical(coef(fit_by(~ `a b` + c, data = odd)), coef(fit_by(odd)))
  # As tibbles are: one column by [ stays a table.
  tibble <- structure(iris, class = c("tbl_df", "tbl", "data.frame"))
  expect_identical(coef(fit_by(~ . - Species, data = tibble)), coef(fit_by(iris[1:4])))
  expect_snapshot(error = TRUE, {
    fit_by(~ Sepal.Width)
    fit_by(Species ~ ., data = iris)
    fit_by(~ ., data = iris)
    fit_by(~ log(Sepal.Width), data = iris)
    fit_by(~ sepal.width, data = iris)
    fit_by(~ 1, data = iris)
  })
})

test_that("data.frame() and cbind() take a fit as as.data.frame() does", {
  fit <- a_fit("mixture")
  expect_identical(data.frame(fit, check.names = FALSE), as.data.frame(fit))
  n <- fit$n_points
  for (names in list(mean, list("a"), rep(NA, n), rep("a", n), 1:3)) {
    expect_gps_error(as.data.frame(fit, row.names = names), "`row.names` must be")
  }
  expect_gps_error(as.data.frame(fit, optional = mean), "`optional` must be")
})

test_that("a Gaussian process is a tidy data frame, too", {
  skip_if_not_installed("generics")
  fit <- gp_fit(mpg ~ wt + hp, mtcars, kernel_rbf(1, 50) + kernel_white(5), optimise = FALSE)
  expect_identical(generics::tidy(fit)$value, unname(exp(coef(fit))))
  glanced <- generics::glance(fit)
  expect_equal(unlist(glanced[c("logLik", "AIC", "BIC", "nobs")]),
               c(logLik = as.numeric(logLik(fit)), AIC = AIC(fit), BIC = BIC(fit), nobs = 32))
  own <- generics::augment(fit, mtcars)
  expect_identical(dim(own), c(32L, 14L))
  expect_equal(own$.fitted + own$.resid, mtcars$mpg)
  expect_equal(own$.se.fit, predict(fit, se.fit = TRUE)$se.fit, ignore_attr = TRUE)
  expect_identical(names(generics::augment(fit))[4:6], c(".fitted", ".se.fit", ".resid"))
  new <- generics::augment(fit, newdata = mtcars[3:1, ])
  expect_equal(new$.fitted, own$.fitted[3:1])
  expect_null(new$.resid)
  expect_gps_error(generics::augment(fit, mtcars[32:1, ]), "Give them as `newdata`")
  two <- gp_fit(cbind(mpg, qsec) ~ wt, mtcars, kernel_rbf() + kernel_white(), optimise = FALSE)
  expect_equal(generics::augment(two)$.resid_2, mtcars$qsec - fitted(two)[, 2], ignore_attr = TRUE)
})

test_that("elements of other packages' fits name what has them here", {
  tidied <- a_fit("mixture")
  gp <- gp_fit(1:9, sin(1:9), kernel_rbf(1, 1) + kernel_white(), optimise = FALSE)
  expect_warning(found <- tidied$cluster, "predict(fit, type = \"class\")", fixed = TRUE,
                 class = "gps_warning_element")
  expect_null(found)
  expect_warning(gp$coefficients, "coef(fit)", fixed = TRUE, class = "gps_warning_element")
  # What is there is told as ever, by the beginning of its name as well.
  expect_no_warning(expect_identical(tidied$param, tidied[["params"]]))
  expect_no_warning(expect_null(tidied$nonsense))
  # Every way that is named can be gone.
  for (class in names(foreign_elements)) {
    ways <- foreign_elements[[class]]
    fit <- if (class == "gps_fit") tidied else gp
    expect_false(any(names(ways) %in% names(fit)))
    for (way in ways) {
      if (!way %in% c("coef(fit)$W", "coef(fit)$sigma2")) {
        expect_no_error(found <- eval(str2lang(way)))
        expect_false(is.null(found))
      }
    }
  }
})
