# Likelihoods without a maximum are said: when the fit is made, in print(), and with the bound.
# @srrstats {UL1.4, UL2.0, UL2.3, UL7.1}

exact_fit <- function(y, model, ..., mend = TRUE, n_starts = 1) {
  set.seed(1)
  gps_fit(y, model, selector_full(), ...,
          control = gps_control(n_starts = n_starts, mend = mend, max_iter = 25, progress = FALSE))
}

flowers <- as.matrix(iris[1:4])

# Data, what of each covariance is wrong with them ("" is nothing), and the kind of it.
degenerate_rows <- function() {
  set.seed(2)
  wide <- matrix(rnorm(1200), 30)
  list(
    constant = list(cbind(flowers, k = 7), 2, full = "column 5 (\"k\") has no spread",
                    diagonal = "column 5 (\"k\") has no spread", spherical = ""),
    zeros = list(unname(cbind(0, flowers, 0)), 2, full = "columns 1 and 6 have no spread",
                 diagonal = "columns 1 and 6 have no spread", spherical = ""),
    doubled = list(cbind(flowers, twice = 3 - 2 * flowers[, 1]), 2,
                   full = "columns 1 (\"Sepal.Length\") and 5 (\"twice\") are the same",
                   diagonal = "", spherical = ""),
    collinear = list(cbind(flowers, flowers[, 1] - flowers[, 3]), 3,
                     full = "and 5 determine one another", diagonal = "", spherical = ""),
    copies = list(rbind(flowers, flowers[rep(1, 20), ]), 4, full = "has shrunk to no width",
                  diagonal = "has shrunk to no width", spherical = "has shrunk to no width"),
    discrete = list(cbind(a = rep(0:3, 50), b = rep(1:50, each = 4)), 4,
                    full = "no width in column 1 (\"a\")",
                    diagonal = "no width in column 1 (\"a\")", spherical = ""),
    transposed = list(unname(t(flowers[1:40, ])), 1, full = "4 rows of 40 columns",
                      diagonal = "", spherical = ""),
    wide = list(wide, 1, full = "30 rows of 40 columns: a full covariance needs more rows",
                diagonal = "", spherical = ""),
    few = list(wide[, 1:8] + 30 * 0:4, 5, full = "and a full 8 x 8 covariance needs 9",
               diagonal = "", spherical = ""),
    lonely = list(rbind(flowers, 100), 4, full = "has 1 point, and a full 4 x 4 covariance needs 5",
                  diagonal = "has 1 point, and a covariance needs 2",
                  spherical = "has 1 point, and a covariance needs 2"),
    code = list(replace(flowers, cbind(3, 2), 99999999), 3,
                full = "(\"Sepal.Width\") is that of values far from all others, such as 9999",
                diagonal = "(\"Sepal.Width\") is that of values far from all others, such as 9999",
                spherical = "(\"Sepal.Width\") is that of values far from all others, such as 9999")
  )
}

# Means of four clusters, one of which is where it will shrink, and their variances (D x 4).
starts <- list(
  lonely = list(mu = rbind(flowers[c(51, 101, 102), ], 100), variances = matrix(1, 4, 4)),
  copies = list(mu = flowers[c(20, 51, 101, 1), ], variances = cbind(1, 1, 1, rep(1e-4, 4))),
  discrete = list(mu = cbind(0:3, 25), variances = matrix(c(0.01, 200), 2, 4)),
  few = list(mu = matrix(30 * 0:4, 5, 8), variances = matrix(1, 8, 5))
)

start_of <- function(name, kind) {
  start <- starts[[name]]
  if (is.null(start) || (name == "discrete" && kind == "spherical")) return(NULL)
  variances <- unname(start$variances)
  list(mu = unname(t(start$mu)),
       sigma = switch(kind, full = apply(variances, 2, diag, simplify = FALSE) |>
                        unlist() |> array(c(dim(variances)[1], dim(variances))),
                      diagonal = variances, spherical = variances[1, ]))
}

expect_said <- function(fit, words) {
  expect_match(paste(printed(fit), collapse = "\n"), words, fixed = TRUE)
  expect_match(paste(printed(logLik(fit)), collapse = "\n"), words, fixed = TRUE)
  expect_match(paste(attr(logLik(fit), "degenerate"), collapse = "; "), words, fixed = TRUE)
  expect_match(paste(printed(summary(fit)), collapse = "\n"), words, fixed = TRUE)
  expect_true(is.finite(BIC(fit)))
}

expect_sound_likelihood <- function(fit) {
  expect_identical(fit$standing$degenerate, character())
  expect_null(attr(logLik(fit), "degenerate"))
  expect_no_match(capture.output(print(fit), print(logLik(fit))), "Degenerate|no maximum")
}

test_that("mixtures of degenerate data say what is degenerate, and sound covariances say nothing", {
  rows <- degenerate_rows()
  for (name in names(rows)) {
    row <- rows[[name]]
    for (kind in c("full", "diagonal", "spherical")) {
      model <- model_gaussian_mixture(row[[2]], kind)
      start <- start_of(name, kind)
      if (row[[kind]] == "") {
        expect_no_warning(fit <- exact_fit(row[[1]], model, start = start))
        expect_sound_likelihood(fit)
      } else {
        told <- function(code) suppressWarnings(code, classes = "gps_warning_units")
        warned <- expect_warning(fit <- told(exact_fit(row[[1]], model, start = start)),
                                 row[[kind]], fixed = TRUE, class = "gps_warning_degenerate")
        expect_s3_class(warned, "gps_warning")
        expect_identical(warned$reasons, fit$standing$degenerate)
        # What prints the reasons looks at no covariance.
        if (kind == "full" || is_full()) expect_said(fit, row[[kind]])
        expect_match(paste(warned$reasons, collapse = "; "), row[[kind]], fixed = TRUE)
      }
    }
  }
})

test_that("the cause of a likelihood without a maximum is what the warning tells to look at", {
  far <- replace(flowers, cbind(3, 2), -1e9)
  expect_warning(exact_fit(far, model_gaussian_mixture(3)), "such as -1e\\+09. Look at")
  expect_warning(exact_fit(rbind(flowers, flowers[rep(1, 20), ]), model_gaussian_mixture(4),
                           start = start_of("copies", "full")),
                 "no width. Use fewer clusters or a simpler covariance, and look for")
})

test_that("what values far from all others do to a fit is said, not what follows from it", {
  flat <- function(kind, n_clusters, y) {
    fit <- suppressWarnings(exact_fit(y, model_gaussian_mixture(n_clusters, kind)))
    expect_identical(order_latents(fit)$standing$degenerate, fit$standing$degenerate)
    names(fit$standing$degenerate)
  }
  some <- replace(flowers, cbind(c(3, 90), 2), c(1e9, 1e9 + 1))
  for (kind in c("full", "tied")) {
    expect_identical(flat(kind, 1, rbind(flowers, 1e9)), "far")
    fit <- suppressWarnings(exact_fit(rbind(flowers, 1e9), model_gaussian_mixture(3, kind)))
    expect_identical(names(fit$standing$degenerate), "far")
    expect_false(any(grepl("Double", capture.output(print(fit)))))
  }
  for (kind in c("full", "diagonal")) expect_identical(flat(kind, 3, some), "far")
  # Columns that are alike besides are told of, too.
  expect_identical(flat("full", 1, cbind(rbind(flowers, 1e9), twice = c(1:150, 9), c(1:150, 9))),
                   c("collinear", "far"))
  expect_identical(flat("full", 3, cbind(flowers, flowers[, 1])), "collinear")
  # By a source, and beside missing cells.
  source <- gps_source(150, 4, function(from, to) some[from:to, , drop = FALSE])
  expect_warning(exact_fit(source, model_gaussian_mixture(2), n_starts = 2),
                 "such as 1000000001")
  expect_warning(exact_fit(replace(some, 5, NA), model_gaussian_mixture(2), n_starts = 2),
                 "such as 1000000001")
  # A fit is there also where its source cannot be read any more.
  counter <- counted_source(some)
  ended <- function() {
    counter$n_reads <- 0
    suppressWarnings(gps_fit(counter$source, model_gaussian_mixture(3, "diagonal"), selector_full(),
                             control = short_control(max_iter = 3)))
  }
  set.seed(1)
  fit <- ended()
  counter$most <- counter$n_reads - 1
  set.seed(1)
  expect_identical(ended()$params, fit$params)
})

test_that("what is degenerate does not depend on units, offsets or the order of rows and columns", {
  rows <- degenerate_rows()[c("constant", "doubled", "collinear")]
  for (row in rows) {
    y <- unname(row[[1]])
    wanted <- suppressWarnings(exact_fit(y, model_gaussian_mixture(2)))$standing$degenerate
    for (other in list(1024 * y, y + 100, y[rev(seq_len(nrow(y))), ], y[, rev(seq_len(ncol(y)))])) {
      expect_warning(fit <- exact_fit(other, model_gaussian_mixture(2)),
                     class = "gps_warning_degenerate")
      expect_identical(names(fit$standing$degenerate), names(wanted))
    }
  }
})

test_that("sound data are fitted by every model and selector without a word", {
  set.seed(3)
  bars <- simulate_bars(60, size = 3, value = 5)$y
  lit <- cbind(bars, 0, 5)
  clusters <- simulate_clusters(90, separation = 8)$y
  short <- short_control(max_iter = 2, sweeps = c(1, 2))
  selectors <- list(selector_handcrafted(), selector_gp(), selector_random(), selector_full())
  for (selector in selectors) {
    ranks <- !inherits(selector, "gps_selector_full")
    few <- !is_full() && !inherits(selector, "gps_selector_handcrafted")
    for (y in if (few) list(lit) else list(bars, lit)) {
      # A constant pixel that is lit is a baseline.
      based <- ncol(y) > ncol(bars)
      for (model in list(model_binary_sparse(6, intercept = based),
                         model_spike_slab(6, intercept = based),
                         model_spike_slab(6, "full", intercept = based),
                         model_max_spike_slab(6, intercept = based))) {
        expect_no_warning(fit <- gps_fit(y, model, selector, if (ranks) 3,
                                         control = short))
        expect_sound_likelihood(fit)
      }
    }
    for (kind in c("full", "diagonal", "spherical")) {
      expect_no_warning(fit <- gps_fit(clusters, model_gaussian_mixture(3, kind), selector,
                                       if (ranks) 2, control = short))
      expect_sound_likelihood(fit)
    }
  }
  for (kind in c("full", "diagonal", "spherical")) {
    expect_no_warning(expect_sound_likelihood(exact_fit(flowers, model_gaussian_mixture(3, kind))))
    expect_no_warning(expect_sound_likelihood(exact_fit(faithful, model_gaussian_mixture(2, kind))))
  }
})

test_that("a floor that one far row has raised is told as such", {
  set.seed(1)
  y <- rbind(simulate_bars(60, size = 3)$y, 1e9)
  expect_warning(gps_fit(y, model_binary_sparse(4), selector_full(),
                         control = gps_control(max_iter = 10, n_starts = 1)),
                 "values far from all others, such as codes", class = "gps_warning_degenerate")
})

test_that("a noise variance at its floor is said by every model that has one", {
  set.seed(4)
  y <- simulate_bars(60, size = 2, value = 5, sigma2 = 0)$y
  start <- list(W = 5 * simulate_bars(1, size = 2)$W / 10, sigma2 = 1e-3)
  for (model in list(model_binary_sparse(4), model_spike_slab(4))) {
    expect_warning(fit <- exact_fit(y, model, start = start), "the noise variance is at its floor",
                   class = "gps_warning_degenerate")
    expect_said(fit, "the noise variance is at its floor")
    expect_match(printed(fit), "Floors .*sigma2_floor 1.* in the last M-step",
                 all = FALSE)
  }
  for (model in list(model_binary_sparse(2), model_spike_slab(2), model_max_spike_slab(2),
                     model_gaussian_mixture(2), model_gaussian_mixture(2, "diagonal"),
                     model_gaussian_mixture(2, "spherical"))) {
    expect_warning(fit <- exact_fit(matrix(3, 20, 2), model), "`y` is constant",
                   class = "gps_warning_degenerate")
    expect_said(fit, if (is.null(fit$params$mu) || !is.null(fit$params$W)) "noise variance" else
      "the rows are all equal")
  }
  images <- array(3, c(10, 5, 5))
  expect_warning(fit <- gps_fit(images, model_occlusive(1, c(2, 2)), selector_handcrafted(),
                                control = short_control(max_iter = 2)), "`y` is constant",
                 class = "gps_warning_degenerate")
})

test_that("a fit that ends before annealing is over says that its noise was held", {
  set.seed(7)
  images <- simulate_scenes(scene_objects(1, c(6, 6), channels = 1), 20, c(10, 10), prob = 0.8)$y
  early <- gps_fit(images, model_occlusive(1, c(6, 6)), selector_handcrafted(),
                   control = short_control(max_iter = 2))
  expect_equal(coef(early)$sigma2, early$standing$held)
  expect_printed(early, "Annealing +was not over, and held the noise variance at")
  expect_identical(update(early, start = early)$standing$held, numeric())
})

test_that("components that nobody uses are named", {
  start <- list(mu = t(rbind(flowers[c(1, 51, 101), ], 1e4)))
  dimnames(start$mu) <- NULL
  # Mending would find the far cluster a place.
  expect_no_warning(fit <- exact_fit(flowers, model_gaussian_mixture(4), start = start,
                                     mend = FALSE))
  expect_identical(fit$standing$unused, 4L)
  expect_match(printed(fit), "Unused +cluster 4, on in less than one point",
               all = FALSE)
  # By its name, which is the number of another.
  centres <- t(start$mu)
  rownames(centres) <- c("4", "3", "2", "1")
  fit <- exact_fit(flowers, model_gaussian_mixture(4), start = centres, mend = FALSE)
  expect_match(printed(fit), "Unused +cluster 1, on in less than one point", all = FALSE)
  expect_identical(summary(fit)$dead, c("1" = 4L))
  expect_match(printed(summary(fit)), "Dead \\(less than one point\\): 1$", all = FALSE)
})

test_that("a fit that keeps neither data nor slots says what one that keeps them says", {
  y <- cbind(flowers, k = 7)
  fit_with <- function(...) {
    set.seed(1)
    quiet_degenerate(gps_fit(y, model_gaussian_mixture(3), selector_handcrafted(), 2,
                             control = short_control(max_iter = 10, ...)))
  }
  lean <- fit_with(keep_data = FALSE, keep_slots = FALSE)
  expect_identical(lean$standing, fit_with()$standing)
  expect_printed(lean, "column 5 \\(\"k\"\\) has no spread")
})

test_that("a fit without its standing is an older one, and a wrong one is refused", {
  fit <- exact_fit(faithful, model_gaussian_mixture(2))
  fit$standing <- NULL
  expect_printed(fit, "Gaussian mixture")
  fit$standing <- list(degenerate = 1)
  expect_gps_error(print(fit), "`standing` is not what it stands on")
})

test_that("data below zero are no data of the max model, and noise about zero is", {
  set.seed(5)
  y <- simulate_bars(100, model = "max_spike_slab", size = 3)$y
  short <- short_control(max_iter = 1, sweeps = c(1, 1))
  fit <- function(y) {
    set.seed(6)
    gps_fit(y, model_max_spike_slab(6), selector_handcrafted(), 3, control = short)
  }
  dark <- matrix(rnorm(200), 100)
  sound <- list(y, y[1:15, ], cbind(y, dark), y - 0.1, dark, pmax(y, 0), cbind(pmax(y, 0), 0))
  scales <- c(1e-100, 1e100)
  for (i in seq_along(sound)) {
    for (scale in if (is_full()) scales else scales[1 + i %% 2]) {
      expect_no_warning(fit(scale * sound[[i]]))
    }
  }
  column <- function(change) {
    y[, 5] <- change(y[, 5])
    y
  }
  negative <- list(
    scale(y, scale = FALSE), scale(y), -y, sweep(y, 2, colMeans(y[1:50, ]))[51:100, ],
    y - mean(y), column(function(x) x - 50), column(function(x) -x),
    column(function(x) replace(x, 1:20, -50)), column(function(x) replace(x, 3, -200)), cbind(y, -3)
  )
  for (i in seq_along(negative)) {
    bad <- negative[[i]]
    for (scale in if (is_full()) scales else scales[1 + i %% 2]) {
      expect_warning(suppressWarnings(fit(scale * bad), classes = "gps_warning_baseline"),
                     "takes all that `y` has below 0 for noise", class = "gps_warning_negative")
    }
  }
  blocks <- gps_source(100, 9, function(from, to) -y[from:to, , drop = FALSE])
  expect_warning(fit(blocks), class = "gps_warning_negative")
})

test_that("of a noise variance that rounding holds nobody says that there is no noise", {
  set.seed(1)
  y <- simulate_bars(30, size = 3)$y + 1e8
  told <- character()
  withCallingHandlers(
    gps_fit(y, model_binary_sparse(3), selector_full(),
            control = gps_control(max_iter = 3, n_starts = 1, progress = FALSE)),
    gps_warning = function(condition) {
      told <<- c(told, conditionMessage(condition))
      invokeRestart("muffleWarning")
    }
  )
  expect_match(told[length(told)], "explained with less or without any")
  expect_match(told[length(told)], "what rounding allows: subtract the column means")
})
