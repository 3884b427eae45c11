# All classes of the package against the generics of R: each gives the right thing or says why not.

all_objects <- function() {
  set.seed(64)
  y <- matrix(rnorm(100), 10)
  quiet <- function(code) suppressWarnings(code, classes = "gps_warning")
  gp <- gp_fit(1:9, sin(1:9), kernel_rbf(1, 1) + kernel_white(), optimise = FALSE)
  list(
    gps_fit = a_fit("handcrafted"), gps_fit = a_fit("mixture"), gp_fit = gp,
    gps_model = model_binary_sparse(3), gps_model = model_gaussian_mixture(3),
    gps_model = model_spike_slab(3), gps_model = model_max_spike_slab(3),
    gps_model = model_occlusive(2, c(3, 3)), gps_model = gps_bind(model_binary_sparse(3), y),
    gps_kernel = kernel_composition(), gps_selector = selector_gp(),
    gps_selector = selector_full(), gps_control = gps_control(), gps_screen = gps_screen(),
    gps_source = gps_source(10, 10, function(from, to) y[from:to, , drop = FALSE]),
    gps_denoised = quiet(gps_denoise(y, 1, model_binary_sparse(2), size = 3,
                                     control = quick_control())),
    gps_objects = scene_objects(2), summary.gps_fit = summary(a_fit("handcrafted")),
    summary.gp_fit = summary(gp)
  )
}

# What gives the right thing, by class; all else refuses.
right <- list(
  gps_fit = c("coef", "fitted", "residuals", "predict", "logLik", "AIC", "BIC", "nobs", "simulate",
              "update", "plot", "sigma", "as.data.frame"),
  gp_fit = c("coef", "fitted", "residuals", "predict", "logLik", "AIC", "BIC", "nobs", "plot",
             "sigma", "simulate", "update", "formula"),
  gps_source = c("head", "tail", "as.matrix"), gps_kernel = c("coef", "Ops"),
  gps_denoised = c("plot", "fitted", "residuals"), gps_objects = "plot", summary.gp_fit = "coef"
)

test_that("every generic refuses what it has no answer for, by name and with a way out", {
  objects <- all_objects()
  for (i in seq_along(objects)) {
    class <- names(objects)[i]
    members <- c("exp", "round", "sum", "range")
    if (class == "gps_source") members <- c(members, unlist(source_generics))
    for (generic in setdiff(c(unlist(refused_generics), members), c(groups, right[[class]]))) {
      arguments <- c(unname(objects[i]), if (grepl("<-", generic)) "a")
      shown <- if (grepl("<-", generic)) sprintf("`%s`", generic) else paste0(generic, "()")
      expect_gps_error(do.call(generic, arguments), paste(shown, "is not for"))
    }
    if (class == "gps_kernel") next
    for (code in expression(x * 2, 2 - x, -x, !x, x == 1, 1 < x, x & TRUE, x %/% 2)) {
      expect_gps_error(eval(code, list(x = objects[[i]])), "` is not for")
    }
  }
})

test_that("print, format and summary show every object", {
  for (object in all_objects()) {
    shown <- utils::capture.output(print(object))
    if (inherits(object, "gps_kernel")) shown <- trimws(shown[-1])
    expect_identical(format(object), shown)
    expect_gt(length(utils::capture.output(print(summary(object)))), 0)
  }
})

test_that("noise and sizes are given where there are any", {
  fit <- a_fit("handcrafted")
  expect_identical(sigma(fit), sqrt(coef(fit)$sigma2))
  expect_gps_error(sigma(a_fit("mixture")), "coef(fit)$sigma")
  y <- matrix(c(0:5, 3:0, 7, 7:1, 9, 9), 10)
  counts <- gps_fit(y, model_poisson_mixture(1), selector_full(),
                    control = gps_control(max_iter = 1, progress = FALSE))
  expect_gps_error(sigma(counts), "has none")
  gp <- gp_fit(1:9, sin(1:9), kernel_rbf(1, 1) + kernel_white(0.25), optimise = FALSE)
  expect_identical(sigma(gp), 0.5)
  bare <- gp_fit(1:9, sin(1:9), kernel_rbf(1, 1), optimise = FALSE)
  expect_gps_error(sigma(bare), "kernel_white()")
  source <- gps_source(7, 2, function(from, to) matrix(0, to - from + 1, 2))
  expect_identical(dim(source), c(7L, 2L))
  expect_equal(length(source), 14)
  expect_null(colnames(source))
  colnames(source) <- c("u", "v")
  expect_identical(dimnames(source), list(NULL, c("u", "v")))
  expect_identical(source[2, "v"], matrix(0, 1, 1, dimnames = list(NULL, "v")))
  expect_gps_error(colnames(source) <- "u", "`names` must be NULL or 2 names")
  expect_gps_error(colnames(source) <- c("v", "u"), "the same names in another order")
  expect_gps_error(rownames(source) <- 1:7, "The rows of a source have no names")
  expect_gps_error(source[1, 1] <- 3, "Numbers of a source cannot be set")
  expect_gps_error(source[1] <- 3, "Numbers of a source cannot be set")
  expect_identical(capture.output(str(source)), paste("", format(source)[1], ""))
  dimnames(source) <- NULL
  # Names that the function gives put columns in order: others must not do so unseen.
  y <- matrix(1:6, 2, dimnames = list(NULL, c("a", "b", "c")))
  named <- gps_source(2, 3, function(from, to) y[from:to, , drop = FALSE])
  turned <- gps_source(2, 3, named$read, names = c("c", "b", "a"))
  for (names in list(NULL, c("x", "y", "z"), c("a", "b", "c"))) {
    colnames(named) <- names
    expect_identical(unname(named[, ]), unname(y) + 0)
    expect_gps_error(colnames(named) <- c("c", "b", "a"), "the same names in another order")
    expect_gps_error(colnames(turned) <- names, "the same names in another order")
  }
  holed <- gps_source(7, 2, function(from, to) ifelse(from:to == 6, NA, 1) %o% 1:2)
  expect_identical(c(anyNA(source), anyNA(holed), sum(is.na(holed))), c(0L, 1L, 2L))
  expect_identical(is.na(holed), is.na(holed[, ]))
  expect_identical(c(nrow(source), ncol(source)), c(7L, 2L))
  source$n <- "many"
  expect_gps_error(dim(source), "must be a source")
})

test_that("every figure of the smallest fits is drawn or refused", {
  open <- grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  quiet <- function(code) suppressWarnings(code, classes = "gps_warning")
  data <- list(matrix(3), matrix(c(1, 2), 1), matrix(c(1, 2), 2), matrix(5, 4, 1))
  models <- list(model_gaussian_mixture(1), model_gaussian_mixture(1, "diagonal"),
                 model_gaussian_mixture(1, "spherical"), model_binary_sparse(1),
                 model_spike_slab(1), model_max_spike_slab(1))
  for (i in seq_along(data)) {
    y <- data[[i]]
    # Every second pair, all in `make test-full`.
    for (model in if (is_full()) models else models[1 + (i + c(0, 2, 4)) %% 6]) {
      is_sparse <- model$rule$min_active == 0
      selector <- if (is_sparse) selector_gp() else selector_full()
      fit <- quiet(gps_fit(y, model, selector, control = short_control(max_iter = 2)))
      for (which in c(list(NULL), names(figures))) {
        condition <- tryCatch(plot(fit, which), error = identity)
        expect_false(inherits(condition, "error") && !inherits(condition, "gps_error"))
      }
    }
  }
})
