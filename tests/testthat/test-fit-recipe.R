# A step of a recipe. What recipes does itself, such as asking for columns by their roles, is not
# tested here.

# R finds packages of Debian and of its own repository, not all of which go together: then not even
# a step of recipes' own can be prepared.
skip_without_recipes <- function() {
  # Where there is no clock to ask for the time zone, a package that recipes loads warns of it.
  suppressWarnings(skip_if_not_installed("recipes"))
  own <- recipes::recipe(~ eruptions, data = faithful)
  own <- recipes::step_center(own, recipes::all_predictors())
  works <- tryCatch(is.list(recipes::prep(own)), error = function(condition) FALSE)
  skip_if_not(works, "recipes does not go together with the other packages")
}

# What print() says, on the console or as a message: recipes of 2024 and later do the latter.
say_printed <- function(x) {
  lines <- NULL
  said <- capture_messages(lines <- capture_output(print(x)))
  paste(c(lines, said), collapse = " ")
}

recipe_fits <- new.env()

tibble_of <- function(data) structure(data, class = c("tbl_df", "tbl", "data.frame"))

step_recipe <- function(..., data = iris, num_comp = 3, model = model_gaussian_mixture,
                        options = list(selector = selector_full(), control = quick_control())) {
  set.seed(4)
  recipe <- recipes::recipe(Species ~ ., data = data)
  step_gpselect(recipe, recipes::all_numeric_predictors(), num_comp = num_comp, model = model,
                options = options, ...)
}

prepared <- function() {
  if (is.null(recipe_fits$mixture)) {
    recipe_fits$mixture <- recipes::prep(step_recipe(id = "latents"))
  }
  recipe_fits$mixture
}

test_that("a step gives what the fit predicts, for new data in any order of columns", {
  skip_without_recipes()
  recipe <- prepared()
  step <- recipe$steps[[1]]
  fit <- step$res
  expect_s3_class(fit, "gps_fit")
  expect_identical(step$columns, names(iris)[1:4])
  baked <- recipes::bake(recipe, new_data = iris)
  expect_s3_class(baked, "tbl_df")
  expect_named(baked, c("Species", "GPS1", "GPS2", "GPS3"))
  expect_equal(as.matrix(baked[-1]), predict(fit, iris[1:4], type = "latent"),
               ignore_attr = TRUE)
  expect_equal(rowSums(baked[-1]), rep(1, 150))
  expect_identical(recipes::bake(recipe, new_data = NULL), baked)
  other <- data.frame(mark = "a", iris[c(4, 1, 5, 3, 2)])
  expect_identical(recipes::bake(recipe, new_data = other)[names(baked)], baked)
  expect_identical(recipes::bake(recipe, new_data = iris[7, ]), baked[7, ])
})

test_that("no rows, missing cells, absent columns and infinite numbers", {
  skip_without_recipes()
  recipe <- prepared()
  step <- recipe$steps[[1]]
  expect_identical(recipes::bake(recipe, new_data = iris[0, ]),
                   recipes::bake(recipe, new_data = iris)[0, ])
  holes <- iris[1:4, ]
  holes[2, 1:3] <- NA
  expect_equal(as.matrix(recipes::bake(recipe, new_data = holes)[-1]),
               predict(step$res, holes[1:4]), ignore_attr = TRUE)
  holes[3, 2] <- Inf
  expect_gps_error(recipes::bake(recipe, new_data = holes),
                   "Step \"latents\": `new_data` must have finite values, but row 3, column 2")
  expect_gps_error(recipes::bake(step, tibble_of(iris[-2])),
                   "`new_data` must have the columns of the training data by name, but")
  words <- transform(iris, Sepal.Width = as.character(Sepal.Width))
  expect_gps_error(recipes::bake(step, tibble_of(words)),
                   "Column 2 (\"Sepal.Width\") of `new_data` must be numeric")
  # Of training data recipes says which step it was, around what is said here.
  expect_error(recipes::prep(step_recipe(data = iris[0, ])), "have no rows", class = "gps_error")
  expect_error(recipes::prep(step_recipe(data = transform(iris, Sepal.Width = Inf))),
               "`training` must have finite values", class = "gps_error")
})

test_that("a seed repeats a step, and the session's numbers are left alone", {
  skip_without_recipes()
  again <- step_recipe(id = "latents")
  set.seed(9)
  before <- .Random.seed
  again <- recipes::prep(again)
  first <- recipes::bake(again, new_data = iris)
  expect_identical(.Random.seed, before)
  expect_identical(first, recipes::bake(prepared(), new_data = iris))
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(again, file)
  expect_identical(recipes::bake(readRDS(file), new_data = iris), first)
})

test_that("what is kept, how columns are called, and steps that do nothing", {
  skip_without_recipes()
  step <- prepared()$steps[[1]]
  step$keep_original_cols <- TRUE
  step$prefix <- "code"
  data <- tibble_of(iris)
  expect_named(recipes::bake(step, data), c(names(iris), paste0("code", 1:3)))
  data$code2 <- 1
  expect_gps_error(recipes::bake(step, data), "a column \"code2\" already: give another `prefix`")
  idle <- recipes::prep(step_recipe(num_comp = 0))
  expect_identical(names(recipes::bake(idle, new_data = iris)), names(iris))
  none <- step_gpselect(recipes::recipe(Species ~ ., data = iris), recipes::has_role("other"),
                        model = model_gaussian_mixture)
  none <- recipes::prep(none)
  expect_identical(names(recipes::bake(none, new_data = iris)), names(iris))
  expect_match(say_printed(none$steps[[1]]), "No latents")
})

test_that("codes of sparse coding, of a model by a function, with weights", {
  skip_without_recipes()
  bars <- simulate_bars(60, size = 3, value = 5)
  data <- data.frame(unname(bars$y), Species = "a")
  make <- function(k) model_spike_slab(k, shared_prob = FALSE)
  recipe <- recipes::prep(step_recipe(data = data, num_comp = 6, model = make, type = "prob",
                                      options = list(selector = selector_handcrafted(),
                                                     n_selected = 3, control = quick_control())))
  fit <- recipe$steps[[1]]$res
  expect_identical(fit$n_selected, 3L)
  expect_equal(as.matrix(recipes::bake(recipe, new_data = data)[-1]),
               predict(fit, data[1:9], type = "prob"), ignore_attr = TRUE)
  table <- generics::tidy(recipe, number = 1)
  expect_identical(table$value, as.vector(coef(fit)$W))
  expect_identical(table$terms[1:9], names(data)[1:9])
  expect_identical(unique(table$component), paste0("GPS", 1:6))
})

test_that("weights that are frequencies count rows, others are left out", {
  skip_without_recipes()
  skip_if_not_installed("hardhat")
  # Recipes bring it; the package itself does not ask for it.
  of_hardhat <- function(name) getExportedValue("hardhat", name)
  control <- quick_control()
  weigh <- function(weights) {
    data <- tibble_of(faithful)
    data$weight <- weights
    set.seed(4)
    recipe <- recipes::recipe(~ ., data = data)
    recipe <- step_gpselect(recipe, recipes::all_predictors(), num_comp = 2, seed = 1,
                            model = model_gaussian_mixture, options = list(control = control))
    recipes::prep(recipe)$steps[[1]]
  }
  counted <- weigh(of_hardhat("frequency_weights")(rep(1:2, 136)))
  set.seed(1)
  fit <- gps_fit(faithful, model_gaussian_mixture(2), control = control, weights = rep(1:2, 136))
  expect_identical(coef(counted$res), coef(fit))
  expect_match(say_printed(counted), "weighted")
  left <- weigh(of_hardhat("importance_weights")(rep(1:2, 136)))
  expect_null(left$res$weights)
  expect_false(left$case_weights)
})

test_that("tidy(), tunable(), required packages and print() of a step", {
  skip_without_recipes()
  recipe <- step_recipe(id = "latents")
  expect_match(say_printed(recipe$steps[[1]]), "Latents of gpselect from")
  table <- generics::tidy(recipe, number = 1)
  expect_match(table$terms, "all_numeric_predictors()", fixed = TRUE)
  expect_identical(as.list(table[-1]), list(value = NA_real_, component = NA_character_,
                                            id = "latents"))
  fit <- prepared()$steps[[1]]$res
  table <- generics::tidy(prepared(), id = "latents")
  expect_s3_class(table, "tbl_df")
  expect_identical(table$value, as.vector(coef(fit)$mu))
  row <- generics::tunable(recipe)
  expect_identical(c(row$name, row$component, row$component_id),
                   c("num_comp", "step_gpselect", "latents"))
  expect_true("gpselect" %in% generics::required_pkgs(recipe))
  # What tune() stands for is known when the recipe is prepared.
  open <- step_recipe(num_comp = quote(tune()))
  expect_error(recipes::prep(open), "tune")
})

test_that("arguments are refused by name", {
  skip_without_recipes()
  expect_gps_error(step_recipe(num_comp = -1), "`num_comp` must be a whole number of at least 0")
  expect_gps_error(step_recipe(model = "mixture"), "`model` must be")
  expect_gps_error(step_recipe(type = "probs"), "`type` must be one of \"latent\", \"prob\"")
  expect_gps_error(step_recipe(options = list(weights = 1)), "`options` has \"weights\"")
  expect_gps_error(step_recipe(options = list(1)), "`options` must be a named list")
  expect_gps_error(step_recipe(seed = 1.5), "`seed` must be a whole number")
  expect_gps_error(step_recipe(prefix = NA), "`prefix` must be")
  expect_gps_error(step_gpselect(recipes::recipe(~ ., data = faithful)), "`model` is missing")
})

test_that("infinite values are missing cells in a step whose control says so", {
  skip_without_recipes()
  data <- data.frame(a = c(1.1, 2.3, Inf, 0.4, 3.2, 1.7), b = c(2, 1, 3, 5, 4, 2.5))
  as_na <- gps_control(infinite = "missing", max_iter = 2, n_starts = 1, progress = FALSE)
  step <- list(model = model_gaussian_mixture(2), num_comp = 2, seed = 1, columns = names(data),
               type = "latent", prefix = "GPS",
               options = list(selector = selector_full(), control = as_na))
  fit <- function(data) suppressWarnings(fit_columns(step, data, NULL), classes = "gps_warning")
  set.seed(1)
  expect_warning(step$res <- suppressWarnings(fit_columns(step, data, NULL),
                                              classes = "gps_warning_degenerate"),
                 "`training` has 1 infinite value", class = "gps_warning_infinite")
  blanked <- replace(data, 1, list(replace(data$a, 3, NA)))
  set.seed(1)
  expect_identical(coef(fit(blanked)), coef(step$res))
  expect_warning(codes <- step_codes(step, data), "`new_data` has 1 infinite value",
                 class = "gps_warning_infinite")
  expect_identical(codes, step_codes(step, blanked))
  expect_gps_error(fit_columns(replace(step, "num_comp", 500L), data, NULL),
                   "`num_comp` must be at most the number of training rows, 6, not 500")
  step$options$control <- quick_control()
  expect_gps_error(fit(data), "row 3, column 1 (\"a\") is Inf")
})

test_that("a role is a word", {
  skip_without_recipes()
  expect_gps_error(step_recipe(role = 3), "`role` must be a word")
  expect_no_error(step_recipe(role = NA))
})
