# Models whose numerics are a table in C, of this package or of another, and what that table says.

#' Models and selectors of other packages
#'
#' What an author needs to add a model or a selector: objects, made here, and methods of a few
#' generics. print(), coef(), predict(), plot() and all else that a fit has then work as for the
#' models of this package. A model that is only wanted in R is less work with [model_custom()].
#'
#' @section A model in C:
#' 1. A package with `LinkingTo: gpselect` has one C file with a table of functions, `gps_model` of
#'    `<gpselect/model.h>`. The header says what each member does, and which are required. The table
#'    names all arrays that the model reads or writes and their shapes.
#' 2. `R_init_<package>()` calls `R_RegisterCCallable("mypackage", "my_model", get)`, where `get` is
#'    a function without arguments that returns the table's address.
#' 3. In R a constructor calls `model_native("mypackage", "my_model", n_latents, class = "my_model",
#'    ...)`, and there is a method `gps_init.my_model(model, y)`. The other generics of [gps_model]
#'    are optional: gps_bind() where options depend on the data (it sets `model$options` and calls
#'    `NextMethod()`), gps_draw() for [simulate()], gps_handcrafted() for [selector_handcrafted()],
#'    gps_mend() for repairs after each M-step, and gps_prepare() and gps_mstep() where the table
#'    does not have these members.
#' 4. Weights of data points need nothing: what a point adds to the statistics is multiplied by
#'    its weight. A table that does so itself (`weighs`) spares a pass over the statistics for each
#'    point; a method gps_init(model, y, weights) gets the weights, NULL: 1 each.
#' 5. Data with NA are refused, unless the table says that the model allows for [missing_cells]
#'    (`takes_missing`): its functions are told which cells a point lacks, and the header says what
#'    they must make of that. Methods in R get data with column means in missing cells.
#'
#' What R declares is held against the table when the model is bound to data: an array or an event
#' that only one of them knows, or of which they know different shapes, is an error of class
#' `gps_error_model` that names it. No order means anything in both languages.
#'
#' `system.file("examples", "plugin", package = "gpselect")` is a small package with such a model, a
#' mixture of Poisson distributions, to begin with.
#' @section Shapes:
#' A shape is a vector of words, each a size: "dims" D, "latents" H, "points" the points of a block,
#' "one" 1. Other words have their numbers in `sizes`, a named vector. `params`, `prepared` and
#' `stats` are named lists of shapes; NULL: as the table says, where it allows one shape only.
#' Options are numbers from the beginning, or from gps_bind() on.
#' @section A selector:
#' `affinity(params, y, memory, rows)` gets the parameters, data points `y` (n x D), what `learn`
#' last returned, and the numbers of these points among those that `learn` saw, or NULL for new
#' data; it returns n x H affinities, larger for more relevant latents. It needs `rows` to leave a
#' point out when that is ranked, and not to judge it by its own answer. `learn(params, y,
#' expectations)`, if there is one, gets all data points of a run and their posterior means n x H
#' after each E-step; its value is the memory. Both may have fewer arguments; see also
#' [selector_custom()]. `system.file("examples", "selectors", package = "gpselect")` has selectors
#' by nearest neighbours and by forests of the package ranger.
#'
#' @param class the class that methods are for, a name; or several, the most special first.
#' @param name,label what print() calls it.
#' @param n_latents number of latents H, a whole number of at least 1.
#' @param params,prepared,stats named lists of shapes.
#' @param ranges named list: lowest and highest value of some of the parameters.
#' @param rule which states there are, from `state_rule()`.
#' @param settings named list of plain values that print() shows.
#' @param exact_active most latents on for which the log joint of a state is known in closed form;
#'   more are sampled.
#' @param gauge NULL, or the dimension over which one number each is no free parameter, since it can
#'   be changed without changing what can be observed.
#' @param defaults named list of what NULL in [gps_control()] and in a selector means for the model,
#'   as far as it differs from `n_starts = 8`, `tol = 4e-6`, `anneal = 1`, `hold = 0`,
#'   `screen = NULL`.
#' @param package,symbol where the table is: the names given to `R_RegisterCCallable()`.
#' @param events names of what the M-step counts; NULL: as the table says.
#' @param options named list of numbers.
#' @param sizes named vector: the numbers behind words of the model's own.
#' @param min_active 0; or 1 for models in which exactly one latent is on, with `max_active = 1`.
#' @param max_active most latents on at once.
#' @param affinity,learn functions, see the section on selectors.
#' @param explore share of the selected latents that are replaced by random ones while a fit
#'   explores, in 0..1.
#' @return a `gps_model`, a `gps_selector`, or a rule for the `rule` argument.
#' @rdname new_gps_model
#' @examples
#' # The mean of the nearest neighbours' expectations, without the point's own.
#' selector_near <- function(k) {
#'   affinity <- function(params, y, memory, rows) {
#'     distance <- outer(rowSums(y^2), rowSums(memory$y^2), `+`) - 2 * y %*% t(memory$y)
#'     if (!is.null(rows)) distance[cbind(seq_along(rows), rows)] <- Inf
#'     t(apply(distance, 1, function(d) colMeans(memory$on[order(d)[1:k], , drop = FALSE])))
#'   }
#'   learn <- function(params, y, expectations) list(y = y, on = expectations)
#'   new_gps_selector("selector_near", "nearest neighbours", affinity, learn,
#'                    settings = list(k = k))
#' }
#' set.seed(1)
#' y <- simulate_bars(100, size = 3)$y
#' gps_fit(y, model_binary_sparse(6), selector_near(5), n_selected = 3,
#'         control = gps_control(max_iter = 5, n_starts = 2))
#' @export
model_native <- function(package, symbol, n_latents, params = NULL, prepared = NULL, stats = NULL,
                         events = NULL, options = list(), sizes = NULL, class = character(),
                         name = symbol, ranges = list(), rule = state_rule(), settings = list(),
                         exact_active = Inf, gauge = NULL, defaults = list()) {
  need_given()
  native <- list(package = package, symbol = symbol)
  if (!is_native(native)) abort_value(native, "package` and `symbol", "the names of a table")
  table <- model_table(native)
  given <- list(params = params, prepared = prepared, stats = stats)
  shapes <- lapply(stats::setNames(nm = names(given)), function(kind) {
    if (!is.null(given[[kind]])) return(given[[kind]])
    shapes_of_table(table, kind, setdiff(names(options), names(table$options)))
  })
  model <- new_gps_model(c(class, "gps_native_model"), name, n_latents, shapes$params, ranges, rule,
                         settings, exact_active, gauge, defaults)
  parts <- list(prepared = shapes$prepared, stats = shapes$stats,
                events = if (is.null(events)) table$events else events, sizes = sizes,
                options = options, native = native)
  model[names(parts)] <- parts
  model
}

# What every model has, whoever computes it. Shapes are vectors of names of dimensions
# (model-params.R).
#
# grid, filled in by gps_bind(): NULL, or c(height, width) where latents are a grid of positions for
# each of several components: those of one component exclude each other, neighbours on the cyclic
# grid are alike.
#' @rdname new_gps_model
#' @order 1
#' @export
new_gps_model <- function(class, name, n_latents, params = list(), ranges = list(),
                          rule = state_rule(), settings = list(), exact_active = Inf, gauge = NULL,
                          defaults = list()) {
  need_given()
  defaults <- make_of(model_defaults, as.list(defaults), "defaults", "new_gps_model")
  model <- structure(
    list(name = name, n_latents = check_count(n_latents, "n_latents"), settings = settings,
         params = params, ranges = ranges, rule = rule, exact_active = exact_active, gauge = gauge,
         defaults = defaults, grid = NULL, version = this_version()),
    class = c(class, "gps_model")
  )
  fault <- find_fault(model)
  if (!is.null(fault)) gps_abort(sprintf("The model cannot be made: %s.", fault), "model")
  model
}

# A native model of this package.
new_native_model <- function(class, name, n_latents, params, ranges, prepared, stats, events, rule,
                             settings, symbol, exact_active = Inf, gauge = NULL,
                             defaults = model_defaults()) {
  model <- new_gps_model(c(class, "gps_native_model"), name, n_latents, params, ranges, rule,
                         settings, exact_active, gauge, defaults)
  parts <- list(prepared = prepared, stats = stats, events = events,
                native = list(package = "gpselect", symbol = symbol))
  model[names(parts)] <- parts
  model
}

#' @export
gps_bind.gps_native_model <- function(model, y) {
  bind_native(model, ncol(y), model$sizes, lapply(model$options, as.double))
}

#' @export
takes_missing.gps_native_model <- function(model) model_table(model$native)$has$takes_missing

#' @export
rebind_model.gps_native_model <- function(model) {
  is_data <- is_named_list(model$options) && all(vapply(model$options, is.numeric, NA))
  if (!is_data) gps_abort("The model's `options` are no named list of numbers.", "model")
  if (is_bound(model)) bind_native(model, model$n_dims, model$sizes, model$options) else model
}

# Sizes of all arrays that do not depend on the block, computed once.
bind_native <- function(model, n_dims, sizes = NULL, options) {
  model$n_dims <- as.integer(n_dims)
  model$sizes <- sizes
  model$options <- options
  all_sizes <- dimension_sizes(model)
  model$shape <- c(model$n_dims, model$n_latents)
  model$stats_dims <- resolve_dims(model$stats, all_sizes)
  model$stats_lengths <- resolve_lengths(model$stats, all_sizes)
  model$lengths <- c(resolve_lengths(model$params, all_sizes), lengths(options))
  check_table(model)
  model
}

#' @export
gps_mstep.gps_native_model <- function(model, params, stats) {
  .Call(C_mstep, model$native, model$shape, c(params, model$options), model$lengths, params, stats)
}

#' @export
block_inputs.gps_native_model <- function(model, params, y, block) {
  inputs <- c(params, model$options)
  n_numbers <- model$lengths
  if (length(model$prepared) > 0) {
    dims <- resolve_dims(model$prepared, block_sizes(model, block))
    prepared <- .Call(C_prepare, model$native, model$shape, inputs, n_numbers, dims, y, block)
    n_prepared <- lengths(prepared)
    if (is.null(prepared)) {
      # What a method in R prepares need not be as declared.
      prepared <- gps_prepare(model, params, t(block_data(y, block)))
      n_prepared <- vapply(dims, prod, 1)
    }
    inputs <- c(inputs, prepared)
    n_numbers <- c(n_numbers, n_prepared)
  }
  attr(inputs, "lengths") <- n_numbers
  inputs
}

# What routines in C get of a model: its shape, what block_inputs() made, and the lengths that this
# must have, since they trust them.
native_problem <- function(model, inputs) {
  list(shape = model$shape, inputs = inputs, lengths = attr(inputs, "lengths"))
}

#' @export
run_estep.gps_native_model <- function(model, inputs, y, block, selected, states, n_threads, want,
                                       beta = 1, iteration = 0L, chain = NULL) {
  .Call(C_estep, model$native, model$shape, inputs, attr(inputs, "lengths"), model$stats_dims, y,
        block, selected, states,
        list(beta = beta, iteration = iteration, n_threads = n_threads, want = want, chain = chain))
}

# ---- the table ----

# The table of a model in C (inst/include/gpselect/model.h) names all arrays that it reads or
# writes. R asks for these names once a session, and holds against them what the model declares.

# list(params, options, prepared, stats, events, has) of a native model. Arrays are a list named by
# them of list(shapes, presence): `shapes` are the ways in which dimensions may be named, and
# `presence` is "" for one that is needed, "?" for one that may miss, "=" for one that may be fixed.
model_table <- function(native) {
  key <- paste0(native$package, "::", native$symbol)
  if (is.null(tables[[key]])) tables[[key]] <- ask_table(native)
  tables[[key]]
}

tables <- new.env(parent = emptyenv())

ask_table <- function(native) {
  table <- tryCatch({
    tryCatch(.Call(C_model_table, native), error = function(condition) {
      if (inherits(condition, "gps_error")) stop(condition)
      # Its package is not loaded yet.
      loadNamespace(native$package)
      .Call(C_model_table, native)
    })
  }, error = function(condition) {
    if (inherits(condition, "gps_error")) stop(condition)
    gps_abort(sprintf("The model %s of package %s is not there: %s", native$symbol,
                      native$package, conditionMessage(condition)), "model", parent = condition)
  })
  kinds <- c("params", "options", "prepared", "stats")
  table[kinds] <- lapply(table[kinds], function(arrays) lapply(arrays, read_shapes))
  table
}

read_shapes <- function(text) {
  presence <- sub("^([?=]?).*$", "\\1", text)
  shapes <- strsplit(sub("^[?=]", "", text), "|", fixed = TRUE)[[1]]
  list(shapes = strsplit(trimws(shapes), " +"), presence = presence)
}

# What a table says of the shapes of a kind of array; `fixed` are parameters that are options.
shapes_of_table <- function(table, kind, fixed) {
  arrays <- table[[kind]]
  arrays <- arrays[vapply(arrays, `[[`, "", "presence") != "?" & !names(arrays) %in% fixed]
  for (name in names(arrays)) {
    if (length(arrays[[name]]$shapes) == 1) next
    gps_abort(sprintf("`%s` must be given: its `%s` may have several shapes.", kind, name), "model")
  }
  lapply(arrays, function(array) array$shapes[[1]])
}

# Nothing, or an error that names what the table and the declaration do not have in common.
check_table <- function(model) {
  table <- model_table(model$native)
  fixed <- names(table$params) %in% names(model$options)
  fixed[fixed] <- vapply(table$params[fixed], `[[`, "", "presence") == "="
  hold_against(model, table$params[!fixed], model$params, "parameter")
  hold_against(model, table$prepared, model$prepared, "prepared array")
  hold_against(model, table$stats, model$stats, "statistic")
  hold_options(model, c(table$options, table$params[fixed]))
  odd <- c(setdiff(model$events, table$events), setdiff(table$events, model$events))
  if (length(odd) > 0 && table$has$mstep) abort_declared(model, "event", odd[1], "is not in both")
  if (length(table$prepared) > 0 && !table$has$prepare && !has_method(model, "gps_prepare")) {
    abort_declared(model, "prepared array", names(table$prepared)[1],
                "needs the member `prepare` or a method of gps_prepare()")
  }
}

# Arrays that are declared in R as shapes.
hold_against <- function(model, arrays, declared, kind) {
  hold_names(model, arrays, declared, kind)
  for (name in names(declared)) {
    shapes <- arrays[[name]]$shapes
    if (is_among(unname(declared[[name]]), shapes)) next
    abort_declared(model, kind, name, sprintf(
      "is declared as %s in R and as %s in C", paste(declared[[name]], collapse = " x "),
      paste(vapply(shapes, paste, "", collapse = " x "), collapse = " or ")
    ))
  }
}

# Whether one of `shapes` is this one. A loop, since each model that enters asks for all its arrays.
is_among <- function(shape, shapes) {
  for (one in shapes) if (identical(one, shape)) return(TRUE)
  FALSE
}

# Options, which are there.
hold_options <- function(model, arrays) {
  hold_names(model, arrays, model$options, "option")
  sizes <- dimension_sizes(model)
  for (name in names(model$options)) {
    lengths <- resolve_lengths(arrays[[name]]$shapes, sizes)
    if (is.double(model$options[[name]]) && length(model$options[[name]]) %in% lengths) next
    abort_declared(model, "option", name, sprintf(
      "has %d values of type %s and must have %s numbers", length(model$options[[name]]),
      typeof(model$options[[name]]), paste(lengths, collapse = " or ")
    ))
  }
}

hold_names <- function(model, arrays, declared, kind) {
  for (name in names(arrays)[!names(arrays) %in% names(declared)]) {
    if (arrays[[name]]$presence == "?") next
    abort_declared(model, kind, name, "is read in C and missing in R")
  }
  unknown <- names(declared)[!names(declared) %in% names(arrays)]
  if (length(unknown) > 0) abort_declared(model, kind, unknown[1], "is in R and unknown in C")
}

abort_declared <- function(model, kind, name, what) {
  gps_abort(sprintf("The %s `%s` of the model %s %s.", kind, name, quoted(model$name), what),
            "model")
}
