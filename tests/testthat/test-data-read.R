# The door of the data: what is taken, what is refused, and with which words.
# @srrstats {G2.4b, G2.7, G2.9, G5.3, G5.8, G5.8a}

# A short fit of whatever is given as data.
quick_fit <- function(y, model = model_binary_sparse(2), selector = selector_handcrafted(), ...) {
  set.seed(1)
  suppressWarnings(gps_fit(y, model, selector, n_selected = min(2, model$n_latents),
                           control = gps_control(max_iter = 3, n_starts = 1, progress = FALSE),
                           ...), classes = "gps_warning_baseline")
}

# A fit without its warnings, which other tests see.
quiet_fit <- function(...) suppressWarnings(quick_fit(...), classes = "gps_warning")

plain <- function(n = 12, n_dims = 3) {
  set.seed(51)
  matrix(round(rnorm(n * n_dims, sd = 3)), n)
}

test_that("nothing is refused", {
  expect_gps_error(quick_fit(NULL), "`y` must be a numeric matrix or data frame")
  expect_gps_error(quick_fit(list()), "`y` is an empty list: give at least one data point.")
  expect_gps_error(quick_fit(matrix(0, 0, 3)), "with at least one row and one column")
  expect_gps_error(quick_fit(matrix(0, 3, 0)), "with at least one row and one column")
  expect_gps_error(quick_fit(data.frame()), "with at least one row and one column")
  expect_gps_error(quick_fit(data.frame(a = numeric())), "with at least one row and one column")
  expect_gps_error(quick_fit(array(0, c(0, 2, 2))), "with at least one row and one column")
  expect_gps_error(quick_fit(array(0, c(4, 0, 2))), "with at least one row and one column")
  expect_gps_error(quick_fit(numeric()), "not a double vector of length 0")
  expect_error(gps_fit(model = model_binary_sparse(2)), "y")
})

test_that("what is no table of numbers is refused", {
  expect_gps_error(quick_fit(1:5), "not an integer vector of length 5")
  expect_gps_error(quick_fit("data.csv"), "not \"data.csv\"")
  expect_gps_error(quick_fit(mean), "not a function")
  expect_gps_error(quick_fit(matrix(NA, 4, 3)), "`y` has no value in columns")
  expect_gps_error(quick_fit(matrix("a", 3, 3)), "not a text matrix (3 x 3)")
  expect_gps_error(quick_fit(matrix(1i, 3, 3)), "not a complex matrix (3 x 3)")
  expect_gps_error(quick_fit(matrix(as.raw(1), 3, 3)), "not a raw matrix (3 x 3)")
  expect_gps_error(quick_fit(matrix(list(1, 2, 3, 4), 2)), "not a list matrix (2 x 2)")
  expect_gps_error(quick_fit(structure(factor(c(1, 2, 1, 2)), dim = c(2, 2))), "`y` must be")
  expect_gps_error(quick_fit(array(0, c(2, 2, 2, 2, 2))), "`y` must be")
  expect_gps_error(quick_fit(y ~ x), "A formula needs `data`")
  expect_gps_error(quick_fit(new.env()), "`y` must be")
  expect_gps_error(quick_fit(quote(y)), "`y` must be")
})

test_that("columns that are not numbers are named", {
  frame <- as.data.frame(plain())
  refuse <- function(column, class) {
    frame$odd <- column
    expect_gps_error(quick_fit(frame), sprintf("Column 4 (\"odd\") of `y` must be numeric, not %s",
                                               class))
  }
  refuse(factor(rep(c("a", "b"), 6)), "factor")
  refuse(rep("1", 12), "character")
  refuse(complex(12), "complex")
  refuse(raw(12), "raw")
  refuse(I(as.list(1:12)), "AsIs")
  refuse(as.Date("2020-01-01") + 1:12, "Date")
  refuse(as.POSIXct("2020-01-01", tz = "UTC") + 1:12, "POSIXct")
  refuse(I(matrix(0, 12, 2)), "AsIs")
})

test_that("tables of any storage give the same fit, and the caller's object stays as it was", {
  y <- plain()
  wanted <- quick_fit(y)
  integers <- y
  storage.mode(integers) <- "integer"
  classed <- structure(y, class = c("table", "matrix"), note = "mine")
  compact <- matrix(1:36, 12)
  series <- stats::ts(y, start = 2000)
  frame <- as.data.frame(integers)
  for (given in list(integers, classed, series, frame)) {
    before <- unserialize(serialize(given, NULL))
    fit <- quick_fit(given)
    expect_identical(fit$params, wanted$params)
    expect_identical(fit$bound, wanted$bound)
    expect_identical(given, before)
  }
  before <- unserialize(serialize(y, NULL))
  quick_fit(y)
  expect_identical(y, before)
  expect_identical(quick_fit(compact)$params, quick_fit(matrix(as.double(1:36), 12))$params)
  logical <- y > 0
  expect_identical(quick_fit(logical)$params, quick_fit(logical + 0)$params)
})

test_that("compact sequences and memory-mapped vectors are read as they are", {
  compact <- 1:30
  dim(compact) <- c(10L, 3L)
  expect_identical(quick_fit(compact)$params, quick_fit(matrix(as.double(1:30), 10))$params)
  expect_identical(compact, matrix(1:30, 10))
})

test_that("one column, one row and one latent keep their shapes", {
  one_column <- quick_fit(plain()[, 1, drop = FALSE])
  expect_identical(dim(one_column$y), c(1L, 12L))
  expect_identical(dim(one_column$params$W), c(1L, 2L))
  one_row <- quiet_fit(plain()[1, , drop = FALSE])
  expect_identical(dim(one_row$y), c(3L, 1L))
  expect_identical(dim(one_row$prob_on), c(2L, 1L))
  one_latent <- quick_fit(plain(), model_binary_sparse(1))
  expect_identical(dim(one_latent$params$W), c(3L, 1L))
  expect_identical(dim(quick_fit(plain(), model_gaussian_mixture(1))$params$sigma), c(3L, 3L, 1L))
})

test_that("values that are not finite are refused with row and column", {
  for (bad in c(Inf, -Inf)) {
    y <- plain()
    y[7, 2] <- bad
    words <- sprintf("`y` must have finite values, but row 7, column 2 is %s.", format(bad))
    expect_gps_error(quick_fit(y), words)
    expect_gps_error(quick_fit(as.data.frame(y)), sub("column 2", "column 2 (\"V2\")", words))
    expect_gps_error(quick_fit(array(y, c(12, 3, 1))), words)
  }
  # Beside cells that are missing, which are not refused.
  y <- plain()
  y[cbind(c(2, 7, 9), c(2, 2, 3))] <- c(NA, Inf, NaN)
  expect_gps_error(quick_fit(y), "row 7, column 2 is Inf.")
})

test_that("images are arrays or lists, grey or coloured", {
  set.seed(2)
  y <- matrix(rnorm(60), 5)
  wanted <- quick_fit(y)
  grey <- array(y, c(5, 3, 4))
  coloured <- array(y, c(5, 2, 2, 3))
  for (images in list(grey, coloured)) {
    fit <- quick_fit(images)
    expect_identical(fit$params, wanted$params)
    expect_identical(fit$image_dim, dim(images)[-1])
  }
  as_list <- lapply(1:5, function(n) grey[n, , ])
  expect_identical(quick_fit(as_list)$params, wanted$params)
  expect_identical(quick_fit(as_list)$image_dim, c(3L, 4L))
  coloured_list <- lapply(1:5, function(n) coloured[n, , , ])
  expect_identical(quick_fit(coloured_list)$image_dim, c(2L, 2L, 3L))
  expect_identical(quick_fit(coloured_list)$params, wanted$params)
  binary <- grey > 0
  expect_identical(quick_fit(binary)$params, quick_fit(binary + 0)$params)
  expect_identical(quick_fit(lapply(1:5, function(n) binary[n, , ]))$params,
                   quick_fit(binary)$params)
  one_pixel <- quick_fit(array(y[, 1], c(5, 1, 1)))
  expect_identical(one_pixel$image_dim, c(1L, 1L))
})

test_that("the odd one of a list of images is named", {
  images <- list(matrix(1, 2, 3), matrix(2, 2, 3), matrix(3, 3, 2))
  expect_gps_error(quick_fit(images), "element 3 is a numeric matrix (3 x 2)")
  expect_gps_error(quick_fit(list(matrix(1, 2, 3), "a")), "element 2 is \"a\"")
  expect_gps_error(quick_fit(list(1:6, 1:6)), "element 1 is an integer vector of length 6")
  expect_gps_error(quick_fit(list(matrix(1, 2, 3), NULL)), "element 2 is NULL")
  expect_gps_error(quick_fit(list(matrix(1, 2, 2), matrix("a", 2, 2))),
                   "element 2 is a text matrix")
  expect_gps_error(quick_fit(list(matrix(1, 2, 2), array(1, c(2, 2, 1)))), "element 2")
})

models <- list(
  model_binary_sparse(2), model_binary_sparse(2, FALSE), model_gaussian_mixture(2),
  model_gaussian_mixture(2, "diagonal"), model_gaussian_mixture(2, "spherical")
)
selectors <- list(selector_handcrafted(), selector_gp(), selector_full())

expect_sound <- function(fit) {
  expect_true(all(is.finite(unlist(fit$params))) && is.finite(fit$bound))
  expect_true(all(is.finite(fit$prob_on)))
}

test_that("constant data are fitted at the noise floor, with a warning", {
  constant <- list(matrix(0, 12, 3), matrix(0.1, 12, 3), matrix(-1e10, 12, 3),
                   plain()[rep(1, 12), ])
  for (k in seq_along(constant)) {
    y <- constant[[k]]
    for (model in models) {
      # By turns.
      for (selector in selectors[is_full() | seq_along(selectors) %% 2 == k %% 2]) {
        expect_warning(fit <- quick_fit(y, model, selector), "`y` is constant",
                       class = "gps_warning")
        expect_sound(fit)
      }
    }
  }
  sparse <- quiet_fit(matrix(0, 12, 3))
  expect_identical(sparse$params$sigma2, 1e-6)
})

test_that("a constant column and duplicated rows are no obstacle", {
  y <- cbind(plain(20), 4)
  for (model in models) {
    for (selector in selectors) {
      expect_sound(quiet_fit(y, model, selector))
      expect_sound(quiet_fit(y[rep(1:5, 4), ], model, selector))
    }
  }
})

test_that("scales from 1e-150 to 1e139 are fitted, beyond them refused", {
  y <- plain(20)
  for (model in models) {
    for (selector in list(selector_handcrafted(), selector_full())) {
      at_one <- quick_fit(y, model, selector)
      for (scale in c(1e-150, 1e-10, 1e10, 1e139)) {
        fit <- quick_fit(y * scale, model, selector)
        expect_sound(fit)
        means <- if (is.null(fit$params$W)) fit$params$mu else fit$params$W
        wanted <- if (is.null(fit$params$W)) at_one$params$mu else at_one$params$W
        expect_near(means / scale, wanted, 1e-8)
        expect_near(fit$bound, at_one$bound - length(y) * log(scale), 1e-8)
      }
      mixed <- quiet_fit(sweep(y, 2, c(1e-150, 1, 1e139), "*"), model, selector)
      expect_sound(mixed)
    }
    expect_gps_error(quick_fit(y * 1e150, model), "`y` is too large to square: rescale it. Row ")
    expect_gps_error(quick_fit(y * 1e155, model), "`y` is too large to square: rescale it")
    expect_gps_error(quick_fit(y * 1e-155, model), "`y` is too small to square: rescale it")
    expect_gps_error(quick_fit(y * 1e-200, model), "`y` is too small to square: rescale it")
  }
})

test_that("learned selection at extreme scales fits or refuses, and nothing else", {
  y <- plain(20)
  for (scale in c(1e-150, 1e139)) {
    for (model in models[c(1, 3)]) {
      fit <- tryCatch(quick_fit(y * scale, model, selector_gp()), gps_error_numeric = identity)
      if (inherits(fit, "gps_fit")) expect_sound(fit) else expect_s3_class(fit, "gps_error_numeric")
    }
  }
})

test_that("names of rows and columns are kept on the side", {
  y <- plain()
  dimnames(y) <- list(paste0("r", 1:12), c("a", "b", "c"))
  data <- read_data(y)
  expect_identical(data$row_names, rownames(y))
  expect_identical(data$col_names, c("a", "b", "c"))
  expect_null(dimnames(data$y))
  expect_identical(read_data(as.data.frame(y))[-1], data[-1])
  expect_null(read_data(as.data.frame(plain()))$row_names)
  expect_identical(read_data(as.data.frame(plain()))$col_names, c("V1", "V2", "V3"))
})

test_that("the steps refuse what the fit refuses", {
  y <- plain()
  model <- gps_bind(model_binary_sparse(4), y)
  set.seed(1)
  params <- gps_init(model, y)
  selected <- matrix(1:2, 12, 2, byrow = TRUE)
  step <- gps_estep(model, params, y, selected)
  expect_gps_error(gps_estep(model, params, t(y), selected[1:3, ]),
                   "`y` must have 3 columns, not 12")
  square <- matrix(0, 3, 12)
  expect_gps_error(gps_estep(model, params, square, selected), "Is it transposed?")
  expect_gps_error(gps_estep(model_binary_sparse(4), params, y, selected), "gps_bind(model, y)")
  expect_gps_error(gps_estep(model, params, y, selected[1:5, ]), "`selected` must be 12 rows")
  for (bad in list(5, -1, 1.5)) {
    selected[3, 1] <- bad
    expect_gps_error(gps_estep(model, params, y, selected), "whole numbers between 0 and 4")
  }
  selected[3, ] <- c(2, 2)
  expect_gps_error(gps_estep(model, params, y, selected),
                   "Row 3 of `selected` names latent 2 twice")
  selected[3, ] <- 0
  expect_named(gps_estep(model, params, y, selected)$stats, names(step$stats))
  expect_gps_error(gps_estep(model, params, y, selected, want = "stat"), "Did you mean \"stats\"?")
  expect_gps_error(gps_estep(model, params, y, selected, want = 1), "`want` must be some of")
  for (bad in list(0, -1, NA, Inf, "1")) {
    expect_gps_error(gps_estep(model, params, y, selected, beta = bad), "`beta` must be")
  }
  expect_gps_error(gps_estep(model, params, y, selected, n_threads = 0), "`n_threads` must be")
  expect_gps_error(gps_estep(model, params, y, selected, max_active = 3), "`max_active` must be")
})

test_that("statistics of another size are refused, whatever is done to them", {
  y <- plain()
  set.seed(1)
  for (model in models) {
    model <- gps_bind(model, y)
    params <- gps_init(model, y)
    stats <- gps_estep(model, params, y, matrix(1:2, 12, 2, byrow = TRUE))$stats
    for (name in names(stats)) {
      wrong <- list(NULL, numeric(), stats[[name]][-1], "a", as.integer(stats[[name]]), list())
      # What is empty may be missing.
      if (length(stats[[name]]) == 0) wrong <- list(1, "a", list(), integer())
      for (value in wrong) {
        broken <- stats
        broken[name] <- list(value)
        expect_gps_error(gps_mstep(model, params, broken), sprintf("`stats$%s` must be", name))
      }
    }
    expect_gps_error(gps_mstep(model, params, NULL), "`stats` must be a named list")
    expect_gps_error(gps_mstep(model, params, 5), "`stats` must be a named list")
    expect_error(gps_mstep(model, params[-1], stats), class = "gps_error")
    expect_error(gps_mstep(model, lapply(params, `[`, 1), stats), class = "gps_error")
    expect_error(gps_mstep(model, lapply(params, as.character), stats), class = "gps_error")
    expect_error(gps_mstep(model_binary_sparse(3), params, stats), class = "gps_error_argument")
    worthless <- lapply(stats, function(x) x * NaN)
    outcome <- tryCatch(gps_mstep(model, params, worthless), gps_error = identity)
    expect_true(inherits(outcome, "gps_error_numeric") || !anyNA(unlist(outcome$params)))
  }
})

test_that("the other generics refuse what they cannot use", {
  y <- plain()
  model <- gps_bind(model_binary_sparse(2), y)
  set.seed(1)
  params <- gps_init(model, y)
  for (call in list(quote(gps_init(unbound, y)), quote(gps_draw(unbound, params, 3)),
                    quote(gps_handcrafted(unbound, params, y)),
                    quote(gps_mstep(unbound, params, list())),
                    quote(gps_mend(unbound, params, list())))) {
    unbound <- model_binary_sparse(2)
    expect_gps_error(eval(call), "`model` must have its sizes fixed")
    unbound <- "a model"
    expect_gps_error(eval(call), "`model` must be a model")
  }
  expect_gps_error(gps_bind("a model", y), "`model` must be a model")
  for (bad in list(NULL, "a", 1:3, matrix("a", 2, 2), matrix(0, 0, 3))) {
    expect_gps_error(gps_bind(model_binary_sparse(2), bad), "`y` must be a numeric matrix")
    expect_gps_error(gps_init(model, bad), "`y` must be a numeric matrix")
    expect_gps_error(gps_handcrafted(model, params, bad), "`y` must be a numeric matrix")
  }
  expect_gps_error(gps_init(model, y[, 1:2]), "`y` must have 3 columns, not 2")
  expect_gps_error(gps_handcrafted(model, params, y[, 1:2]), "`y` must have 3 columns, not 2")
  for (bad in list(0, -1, 2.5, NA, "3", NULL)) {
    expect_gps_error(gps_draw(model, params, bad), "`n` must be a whole number")
  }
  stats <- list(on = c(1, 2), count = 3)
  for (bad in list(NULL, 1, "a", mean, list(on = "a"))) {
    expect_gps_error(gps_mend(model, params, bad), "`stats` must be a named list of numbers")
  }
  expect_gps_error(gps_mend(model, params, list()), "`stats$")
  expect_gps_error(gps_mend(model, params, list(on = 1)), "`stats$")
  expect_gps_error(gps_mend(model, 1, stats), "`params` must be a named list")
  expect_gps_error(gps_mend(model, params, stats, 1), "`progress` must be NULL or a list")
  expect_gps_error(gps_draw(model, list(), 3), "`params` must be a named list")
  expect_gps_error(gps_draw(model, params[1:2], 3), "`params` must have the parameter `sigma2`")
})

test_that("values too large to square are refused by row and column, wherever they come in", {
  y <- plain(20)
  y[17, 2] <- -3e140
  words <- "is too large to square: rescale it. Row 17, column 2 is -3e+140; at most 1e+140"
  for (given in list(y, as.data.frame(y), function_source(y))) {
    for (model in models) expect_gps_error(quick_fit(given, model), words)
  }
  long <- matrix(0.5, 700, 3)
  long[600, 3] <- 1e141
  with_small_blocks(expect_gps_error(quick_fit(function_source(long), model_binary_sparse(2)),
                                     "Row 600, column 3 is 1e+141"))
  images <- array(1, c(4, 3, 3))
  images[2, 1, 1] <- 1e150
  expect_gps_error(quick_fit(images, model_occlusive(1, c(2, 2)), selector_handcrafted()),
                   "Row 2, column 1 is 1e+150")
  model <- gps_bind(model_binary_sparse(2), plain())
  params <- gps_init(model, plain())
  fit <- quick_fit(plain(20), model_binary_sparse(2))
  expect_gps_error(gps_bind(model, y), words)
  expect_gps_error(gps_init(model, y), words)
  expect_gps_error(gps_handcrafted(model, params, y), words)
  expect_gps_error(gps_estep(model, params, y, matrix(1L, 20, 1)), words)
  expect_gps_error(gps_affinity(selector_handcrafted(), list(model = model, params = params), y),
                   words)
  expect_gps_error(predict(fit, y), "`newdata` is too large to square")
})

test_that("data near the limits come to the end of a fit, whatever model and selector", {
  shapes <- list(c(5, 25), c(20, 6))
  scales <- c(1e-145, 9e139 / 4.5)
  for (scale in scales) {
    for (shape in if (is_full()) shapes else shapes[match(scale, scales)]) {
      for (model in list(model_binary_sparse(8), model_spike_slab(8), model_spike_slab(8, "full"),
                         model_max_spike_slab(8), model_gaussian_mixture(2, "diagonal"))) {
        for (selector in list(selector_random(), selector_gp(method = "ichol", rank = 4))) {
          set.seed(3)
          y <- matrix(pmin(pmax(stats::rnorm(prod(shape)), -4.5), 4.5), shape[1]) * scale
          fit <- suppressWarnings(
            gps_fit(y, model, selector, n_selected = 2, control = short_control(max_iter = 15)),
            classes = "gps_warning"
          )
          expect_true(all(is.finite(c(fit$bound, unlist(fit$params)))))
        }
      }
    }
  }
})
