# Latents are plain, or they have places: component x place on the model's grid, number = place +
# places x (component - 1), places column by column. What fits, selection and judgement ask about
# that is here, each question by itself: what can be chosen, what it is called, how it is looked
# for, regressed and shown. None of them looks at a grid.

is_placed <- function(model) !is.null(model$grid)

# Whether what is chosen for a point is a latent itself, not a component at one of its places.
chooses_latents <- function(model) !is_placed(model)

# Whether the data are images, in which components are pictures.
has_images <- function(model) is_placed(model)

# Whether latents have neighbours in place, over which predictions can be smoothed and between which
# screening moves.
has_neighbours <- function(model) is_placed(model)

# Whether latents are so many that screening draws its candidates among them, others in each round,
# beside those that the point has.
draws_candidates <- function(model) is_placed(model)

# Whether expectations are regressed in slots, by coefficients of each point over all others,
# however few they are.
regresses_slots <- function(model) is_placed(model)

# Height and width of the places of a choice, of which a state holds one at most; NULL where each
# latent is by itself.
choice_grid <- function(model) model$grid

# Errors where `what` needs components with places, or cannot have them.
need_places <- function(model, what, way = "") {
  if (is_placed(model)) return(invisible(model))
  gps_abort(paste0(what, " is for models whose components have locations", way, "."))
}

refuse_places <- function(model, what, why = "") {
  if (!is_placed(model)) return(invisible(model))
  gps_abort(paste0(what, " is not for models whose components have locations", why, "."))
}

count_places <- function(model) if (is_placed(model)) prod(model$grid) else 1

# Whether latents of two models have the same numbers.
has_same_places <- function(model, other) identical(model$grid, other$grid)

# What one choice is called.
choice_word <- function(model) {
  if (is_placed(model)) return("component")
  if (model$rule$min_active == 1) "cluster" else "latent"
}

latent_word <- function(model) if (is_placed(model)) "component" else "latent"

# What can be selected for a data point at once: latents, or where only one place of a component can
# be, components.
count_choices <- function(model) {
  if (!is_placed(model)) model$n_latents else model$n_latents %/% as.integer(prod(model$grid))
}

# The choice that each latent is; 0 stays 0.
choice_of <- function(model, latent) {
  if (!is_placed(model)) return(latent)
  latent[] <- as.integer((latent + prod(model$grid) - 1) %/% prod(model$grid))
  latent
}

# Component, row and column of latents (0 of empty slots).
locate_latents <- function(model, latent) {
  place <- ifelse(latent > 0, (latent - 1) %% prod(model$grid), -1)
  list(component = as.vector(choice_of(model, latent)),
       row = as.integer(ifelse(place < 0, 0, place %% model$grid[1] + 1)),
       column = as.integer(ifelse(place < 0, 0, place %/% model$grid[1] + 1)))
}

# The numbers of latents by their component, row and column.
latent_at <- function(model, place) {
  place$row + model$grid[1] * (place$column - 1) + count_places(model) * (place$component - 1)
}

# Values of slots (slots x n) at their latents, or at their components: n x choices.
scatter_choices <- function(selected, values, model) {
  if (!is_placed(model)) return(scatter_slots(selected, values, model$n_latents))
  out <- matrix(0, ncol(selected), count_choices(model))
  choice <- choice_of(model, selected)
  for (slot in seq_len(nrow(selected))) {
    at <- cbind(seq_len(ncol(selected)), choice[slot, ])[choice[slot, ] > 0, , drop = FALSE]
    out[at] <- out[at] + values[slot, choice[slot, ] > 0]
  }
  out
}

slot_usage <- function(model, selected, prob_on) {
  .Call(C_latent_sums, choice_of(model, selected), prob_on, count_choices(model))
}

describe_choices <- function(model) {
  if (!is_placed(model)) return(format(model$n_latents))
  sprintf("%d components at %s places", count_choices(model), shown_dim(model$grid))
}

# What a slot may hold one of, in words.
describe_latents <- function(model) {
  if (!is_placed(model)) return(plural(model$n_latents, "latent"))
  sprintf("%s placed latents (%s at %s places)", format_number(model$n_latents),
          plural(count_choices(model), "component"), shown_dim(model$grid))
}

# Selected latents n x slots; with locations n x slots x (component, row, column).
shape_selected <- function(selected, model, row_names) {
  if (!is_placed(model)) return(name_rows(selected, row_names))
  array(as.integer(unlist(locate_latents(model, selected))), c(dim(selected), 3),
        list(row_names, NULL, c("component", "row", "column")))
}

# Latents as people read them: numbers, or data frames of component, row and column.
shape_latents <- function(model, latents) {
  if (!is_placed(model)) return(latents)
  structure(lapply(latents, function(on) as.data.frame(locate_latents(model, on))),
            class = "gps_places")
}

# Numbers for what a screen leaves open. With places candidates are drawn among very many latents,
# neighbours in place among them; plain latents are looked at in full where they are few.
screen_defaults <- function(model, n_selected, most_draws) {
  if (!is_placed(model)) {
    few <- as.integer(ceiling(1.5 * n_selected))
    wide <- model$defaults$wide
    return(list(propose = max(few, wide), explore = c(4L, 1L), guided = c(0L, 0L),
                random_slot = FALSE, moves = 0L,
                pool = max(4L * n_selected, if (!is.null(wide)) model$n_latents),
                conditional = c(0L, 0L), sweeps = 2L, inserts = if (is.null(wide)) 0L else 2L,
                neighbours = 0L))
  }
  share <- function(part) {
    as.integer(min(most_draws, max(n_selected, ceiling(part * model$n_latents))))
  }
  list(propose = 10L * n_selected, explore = c(share(0.02), share(0.001)),
       guided = c(0L, share(0.005)), random_slot = TRUE, moves = 4L, pool = 4L * n_selected,
       conditional = c(0L, 3L * n_selected), sweeps = 0L, inserts = 0L,
       neighbours = 0L)
}

# How latents are laid out for spread_targets(): on the model's grid, or on none.
spread_layout <- function(model, smooth = 0) {
  grid <- if (!is_placed(model)) c(0L, 0L) else as.integer(model$grid)
  list(n_latents = model$n_latents, grid = grid, smooth = as.double(smooth))
}
