# What slots say of data points: in the slots themselves, as a sparse matrix, or the latent that is
# likeliest. Nothing of the size of data points x latents is made for that; what is of that size has
# a limit.

# What a fit's own data have in their slots already; of mixtures the most probable cluster as well.
stored_types <- c("prob", "class", "uncertainty", "selected", "slots", "sparse")

# Types of slots, and those of them with the values of latents, which clusters do not have.
latent_types <- c("latent_slots", "latent_sparse")
sparse_types <- c("sparse", "latent_sparse")
slot_types <- c("slots", "sparse", latent_types)

predict_stored <- function(fit, type) {
  if (type == "prob") return(component_probs(fit))
  slots <- need_slots(fit, "predict() without `newdata`")
  if (type == "class") {
    return(shape_classes(likeliest_latent(slots$selected, slots$prob_on), fit, fit$row_names))
  }
  if (type == "uncertainty") return(stats::setNames(doubt_of(slots$prob_on), fit$row_names))
  if (type == "selected") return(shape_selected(t(slots$selected), fit$model, fit$row_names))
  shape_slots(list(selected = slots$selected, value = slots$prob_on), type, fit, fit$row_names)
}

most_probable_cluster <- function(fit) {
  slots <- need_slots(fit, "The most probable cluster of each data point")
  likeliest_latent(slots$selected, slots$prob_on)
}

# The selected latent with the largest probability, one a point, from slots x n.
likeliest_latent <- function(selected, prob_on) {
  slot <- max.col(t(prob_on), ties.method = "first")
  selected[cbind(slot, seq_along(slot))]
}

# The probability that a point is not in its likeliest cluster: what the other slots add up to,
# which keeps the digits that 1 - max loses.
doubt_of <- function(prob_on) {
  likeliest <- max.col(t(prob_on), ties.method = "first")
  prob_on[cbind(likeliest, seq_along(likeliest))] <- 0
  colSums(prob_on)
}

# Numbers of clusters as users get them: a factor where clusters have names.
shape_classes <- function(class, fit, row_names) {
  names <- fit$latent_names
  if (!is.null(names)) class <- factor(names[class], levels = unique(names))
  stats::setNames(class, row_names)
}

# Slots with their probabilities or means as a list, or as a sparse matrix.
shape_slots <- function(slots, type, fit, row_names) {
  model <- fit$model
  if (type %in% sparse_types) {
    found <- sparse_choices(slots$selected, slots$value, model, row_names)
    return(name_columns(found, fit$latent_names))
  }
  shown <- list(shape_selected(t(slots$selected), model, row_names),
                name_rows(t(slots$value), row_names))
  stats::setNames(shown, c("selected", if (type == "slots") "prob" else "latent"))
}

# The entries of scatter_choices() that are not 0, as a matrix of package Matrix, n x choices.
sparse_choices <- function(selected, value, model, row_names) {
  choice <- choice_of(model, selected)
  held <- which(choice > 0 & value != 0)
  entries <- list(row = (held - 1L) %/% nrow(choice) + 1L, column = choice[held],
                  value = value[held])
  if (!chooses_latents(model)) entries <- add_entries(entries)
  Matrix::sparseMatrix(i = entries$row, j = entries$column, x = entries$value,
                       dims = c(ncol(choice), count_choices(model)),
                       dimnames = list(row_names, NULL))
}

# Entries at distinct places: a component that several slots of a point hold, at other locations,
# has the sum of these, added in the order of slots as scatter_choices() does.
add_entries <- function(entries) {
  ordered <- order(entries$column, entries$row, method = "radix")
  entries <- lapply(entries, `[`, ordered)
  is_first <- c(TRUE, diff(entries$column) != 0 | diff(entries$row) != 0)[seq_along(ordered)]
  place <- cumsum(is_first)
  nth <- seq_along(place) - which(is_first)[place]
  sums <- lapply(entries, `[`, is_first)
  for (k in seq_len(max(0L, nth))) {
    at <- nth == k
    sums$value[place[at]] <- sums$value[place[at]] + entries$value[at]
  }
  sums
}

# Types whose results are dense, and what needs less.
dense_types <- list(
  prob = "Types \"slots\" and \"sparse\" say the same in little memory.",
  latent = "Types \"latent_slots\" and \"latent_sparse\" say the same in little memory.",
  state = "Types \"slots\" and \"sparse\" have the probabilities in little memory.",
  response = "Data points can be predicted some at a time, as `newdata`.",
  imputed = "Data points can be predicted some at a time, as `newdata`."
)

check_prediction_size <- function(fit, n_points, type) {
  if (is.null(dense_types[[type]])) return(invisible())
  is_of_data <- type %in% c("response", "imputed")
  n_columns <- if (is_of_data) fit$model$n_dims else count_choices(fit$model)
  check_dense(n_points, n_columns, sprintf("A prediction of type \"%s\"", type),
              dense_types[[type]], bytes = if (type == "state") 4 else 8)
}

# What latents are called: their numbers, or their names where they have names.
names_of_latents <- function(fit, numbers) {
  if (is.null(fit$latent_names)) numbers else fit$latent_names[numbers]
}

latent_labels <- function(fit, numbers) as.character(names_of_latents(fit, numbers))

# Numbers of latents, with their names where they have names.
named_numbers <- function(fit, numbers) {
  if (is.null(fit$latent_names)) numbers else stats::setNames(numbers, fit$latent_names[numbers])
}

# The names of such numbers, else the numbers.
shown_numbers <- function(numbers) if (is.null(names(numbers))) numbers else names(numbers)
