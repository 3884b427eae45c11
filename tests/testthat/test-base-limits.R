# What memory does not hold is refused in the package's class, with what was asked for.

most <- .Machine$integer.max

test_that("counts beyond the limit of integers are refused with the limit", {
  read <- function(from, to) matrix(0, to - from + 1, 2)
  for (bad in list(3e9, 2^31, 1e300, Inf)) {
    expect_gps_error(gps_source(bad, 2, read), "`n` must be a whole number between 1 and 21474836")
    expect_gps_error(gps_control(max_iter = bad), "between 0 and 2147483647")
    expect_gps_error(gps_control(batch_size = bad), "between 1 and 2147483647")
    expect_gps_error(model_binary_sparse(bad), "between 1 and 2147483647")
    expect_gps_error(simulate_bars(bad), "between 1 and 2147483647")
  }
  expect_gps_error(model_occlusive(1, c(3e9, 2)), "must be whole numbers between 1 and 100000")
  expect_gps_error(gps_control(sweeps = c(1, 3e9)), "`sweeps[2]` must be a whole number between 1")
  for (bad in list(0, 2.5, -3e9, NA)) {
    expect_gps_error(gps_source(bad, 2, read), "`n` must be a whole number of at least 1")
  }
  expect_gps_error(gps_source("5", 2, read), "`n` must be a number of data points, not \"5\"")
  source <- gps_source(most, 2, read)
  expect_printed(source, "2147483647 data points")
})

test_that("a file of too many data points is said to be one", {
  skip_on_os("windows")
  path <- tempfile()
  on.exit(unlink(path))
  # A file with a hole takes no room.
  connection <- file(path, "wb")
  seek(connection, 3e9, rw = "write")
  writeBin(as.raw(1), connection)
  close(connection)
  skip_if(file.size(path) < 3e9, "no large files")
  expect_gps_error(gps_source_binary(path, 1, "uint8"),
                   "has 3000000001 data points; a source has at most 2147483647")
})

test_that("as many draws as there are integers are refused before anything is made", {
  set.seed(1)
  y <- matrix(abs(rnorm(60)), 20)
  for (model in list(model_binary_sparse(3), model_spike_slab(3), model_spike_slab(3, "full"),
                     model_max_spike_slab(3), model_gaussian_mixture(3),
                     model_gaussian_mixture(3, "diagonal"))) {
    model <- gps_bind(model, y)
    condition <- expect_gps_error(gps_draw(model, gps_init(model, y), most),
                                  "`n` draws ask for 2147483647 x 3 values", "memory")
    expect_s3_class(condition, "gps_error_argument")
  }
  image <- gps_bind(model_occlusive(1, c(2, 2), c(3, 3)), matrix(rnorm(90), 10))
  expect_gps_error(gps_draw(image, gps_init(image, matrix(rnorm(90), 10)), most),
                   "2147483647 x 9 values", "memory")
  fit <- gps_fit(y, model_binary_sparse(3), selector_full(), control = short_control(max_iter = 2))
  expect_gps_error(simulate(fit, n = most), "2147483647 x 3 values", "memory")
  expect_gps_error(posterior_sample(fit, most, 1), "2147483647 x 3 values", "memory")
  expect_gps_error(simulate_bars(most), "2147483647 x 25 values", "memory")
  expect_gps_error(simulate_clusters(most), "2147483647 x 3 values", "memory")
  expect_gps_error(simulate_scenes(n = most), "2147483647 x 2700 values", "memory")
  expect_gps_error(scene_objects(most), "2147483647 x 300 values", "memory")
})

test_that("where memory ends, the error has the package's class and says what was asked for", {
  skip_on_cran()
  output <- run_short_of_memory(c(
    "options(gpselect.max_cells = Inf)",
    "set.seed(1)",
    "say <- function(what, code) tryCatch({ code; cat(what, 'made\\n') }, error = function(e) {",
    "  cat(what, if (inherits(e, 'gps_error_memory')) 'memory' else 'other',",
    "      gsub('\\n', ' ', conditionMessage(e)), '\\n')",
    "})",
    "y <- matrix(abs(rnorm(60)), 20)",
    "short <- gps_control(max_iter = 1, n_starts = 1)",
    "fit <- gps_fit(y, model_binary_sparse(2), selector_full(), control = short)",
    "model <- gps_bind(model_binary_sparse(2), y)",
    "say('draw', gps_draw(model, coef(fit), 4e8))",
    "say('simulate', simulate(fit, n = 4e8))",
    "say('sets', simulate(fit, 2^31 - 1))",
    "say('posterior', posterior_sample(fit, 4e7))",
    "say('fit', suppressWarnings(gps_fit(y, model_binary_sparse(1e9), selector_random())))",
    "say('bars', simulate_bars(8e7))",
    "say('clusters', simulate_clusters(6e8))",
    "say('process', gp_fit(matrix(rnorm(2e4), ncol = 1), rnorm(2e4), optimise = FALSE))",
    "wide <- gps_source(9, 2e9, function(from, to) 0)",
    "say('source', gps_fit(wide, model_binary_sparse(2), selector_random()))",
    "say('match', match_components(matrix(1, 2, 4e4), matrix(1, 2, 4e4)))",
    "say('small', gps_fit(y, model_binary_sparse(2), selector_full(), control = short))"
  ))
  for (words in c("^draw memory `n` = 400000000 draws: cannot allocate .*not enough memory",
                  "^simulate memory `nsim` = 1 data sets of `n` = 400000000 points: cannot",
                  "^sets memory `nsim` = 2147483647 data sets", "^posterior memory `n_draws` = 4",
                  "^fit memory A fit of 20 data points with 1000000000 latents",
                  "^bars memory `n` = 80000000 images", "^clusters memory `n` = 6",
                  "^process memory A Gaussian process on 20000 data points",
                  "^source memory A fit of 9 data points of 2000000000 dimensions",
                  "^match memory Similarities of 40000 x 40000 components", "^small made")) {
    expect_match(output, words, all = FALSE)
  }
})

with_cells <- function(limit, code) {
  before <- options(gpselect.max_cells = limit)
  on.exit(options(before))
  code
}

test_that("dense results above the limit are refused with size, limit and what needs less", {
  fit <- a_fit("handcrafted")
  y <- named_bars()
  for (type in names(dense_types)) {
    n_columns <- if (type %in% c("response", "imputed")) 25 else 10
    for (newdata in list(NULL, y)) {
      expected <- predict(fit, newdata, type)
      expect_identical(with_cells(120 * n_columns, predict(fit, newdata, type)), expected)
      condition <- with_cells(120 * n_columns - 1, expect_gps_error(
        predict(fit, newdata, type),
        sprintf("A prediction of type \"%s\": 120 x %d values", type, n_columns), "memory"
      ))
      expect_s3_class(condition, "gps_error_argument")
      words <- c("options(gpselect.max_cells = ) sets the limit",
                 if (n_columns == 25) "as `newdata`" else
                   if (type == "latent") "\"latent_slots\" and \"latent_sparse\"" else
                     "Types \"slots\" and \"sparse\"")
      for (word in words) expect_match(conditionMessage(condition), word, fixed = TRUE)
    }
  }
  for (type in c("loglik", "selected", "slots")) {
    expect_identical(with_cells(1, predict(fit, y, type)), predict(fit, y, type))
  }
  refused <- function(code, words) with_cells(1199, expect_gps_error(code, words, "memory"))
  refused(expectations(fit), "expectations(): 120 x 10 values")
  refused(fitted(fit), "type \"response\": 120 x 25 values")
  refused(residuals(fit), "type \"response\": 120 x 25 values")
  refused(posterior_sample(fit), "`n_draws` = 1 draws for 120 data points: 120 x 10 values")
  expect_identical(with_cells(1200, dim(posterior_sample(fit, 60, 1:2))), c(60L, 2L, 10L))
})

test_that("the size is told of what is far too large, before any data are read", {
  read <- function(from, to) stop("read")
  expect_gps_error(check_dense(1e5, 1e4, "This", "That."), paste(
    "This: 100,000 x 10,000 values (7.45 GB) are more than the limit of 268,435,456 (2 GB). That.",
    "options(gpselect.max_cells = ) sets the limit, and Inf ends it."
  ), "memory")
  expect_gps_error(predict(a_fit("gp"), gps_source(most, 25, read)),
                   "2,147,483,647 x 10 values (160 GB)", "memory")
})

test_that("the option for the limit is a number", {
  fit <- a_fit("handcrafted")
  for (bad in list("a", 0, -1, NA, c(1, 2), list(1))) {
    words <- "`options(gpselect.max_cells)` must be a number"
    with_cells(bad, expect_gps_error(predict(fit), words))
  }
  expect_identical(with_cells(NULL, predict(fit)), with_cells(Inf, predict(fit)))
})

test_that("an image is denoised whatever the limit", {
  set.seed(2)
  image <- matrix(rnorm(100), 10)
  denoise <- function() {
    set.seed(3)
    suppressWarnings(gps_denoise(image, sd = 1, size = 4, model = model_spike_slab(4),
                                 control = short_control(max_iter = 1)))$image
  }
  expect_identical(with_cells(1, denoise()), denoise())
})

test_that("numbers of points are checked without a list of all", {
  expect_identical(check_point_numbers(c(most, 1), most), c(most, 1L))
  for (bad in list(0, 1.5, 4, NA, numeric(), "1", -1, c(1, NaN), TRUE, Inf)) {
    expect_gps_error(check_point_numbers(bad, 3), "`points` must be whole numbers between 1 and 3")
  }
  expect_identical(check_point_numbers(NULL, 3), 1:3)
})
