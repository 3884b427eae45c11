# Artificial scenes with known truth: pictures of objects in front of each other.

#' Scenes of objects in front of each other
#'
#' The artificial data of the paper's section 4.3: every object may be in an image, anywhere; where
#' objects meet, the nearer one hides the farther one, and which is nearer is drawn anew in every
#' image.
#'
#' @section Generative model:
#' Object k is in image n with probability `prob`; its position is uniform, and so is the order in
#' depth of the objects that are there. A pixel has the colour of the nearest object that covers it,
#' or that of the background, plus noise from \eqn{N(0, \sigma^2)}{N(0, sigma^2)} in each channel.
#'
#' @section Differences from the paper:
#' The paper states no noise and shows its 16 objects only as pictures: `sigma` and the shapes of
#' [scene_objects()] are choices of this package.
#'
#' @param objects Objects, as made by [scene_objects()], or a list with their `image` and `mask`,
#'   shaped as there.
#' @param n Number of images: whole number >= 1.
#' @param size Height and width of an image: one whole number, or two, at least those of an object.
#' @param prob Probability that an object is in an image: a number in \[0, 1\], or one for each
#'   object.
#' @param sigma Standard deviation of the noise: number in \[0, 1e150\].
#' @param wrap FALSE: all of an object lies inside its image. TRUE: positions are cyclic, what
#'   leaves an image on one side comes back on the other.
#' @param background Colour of the background: a number in \[-1e150, 1e150\], or one for each
#'   channel.
#' @param ... nothing; an unknown argument is an error that says which there are.
#'
#' @return A list with
#' * `y`: images, an array n x height x width x channels; without the last axis where there is one
#'   channel.
#' * `latents`: a data frame with one row for each object in an image: `point` (number of the
#'   image),
#'   `object`, `row` and `column` of the top left corner of the object's box, `depth` (1 is the
#'   nearest of its image) and `visible`, the share of the object's pixels that no other hides.
#'   Rows are in the order of images and objects.
#' * `objects`, and the other parameters that the data were drawn from: `pi` (`prob` of each
#'   object),
#'   `sigma2` and `background` (one number for each channel).
#' @seealso [match_components()] and [selection_recall()] compare what was learned with the truth.
#' @concept simulated data
#' @examples
#' set.seed(1)
#' scenes <- simulate_scenes(n = 4)
#' head(scenes$latents)
#' plot(grDevices::as.raster(pmin(pmax(scenes$y[1, , , ], 0), 1)), interpolate = FALSE)
#' @export
simulate_scenes <- function(objects = scene_objects(), n, size = c(30, 30), prob = 0.2,
                            sigma = 0.03, wrap = FALSE, background = 0, ...) {
  refuse_unknown(further(...), names(formals(simulate_scenes)))
  if (is_number(objects)) refuse_placed_number(objects)
  need_given()
  objects <- check_objects(objects, "objects")
  n_objects <- dim(objects$image)[1]
  box <- dim(objects$image)[2:3]
  n_channels <- dim(objects$image)[4]
  n <- check_count(n, "n")
  size <- check_pair(size, "size")
  if (any(size < box)) {
    gps_abort(sprintf("`size` must be at least that of the objects, %s, not %s.", shown_dim(box),
                      shown_dim(size)))
  }
  check_cells(n, as.double(size[1]) * size[2] * n_channels, "`n` and `size`")
  check_cells(n, n_objects, "`n` and `objects`")
  prob <- rep_len(check_each(prob, "prob", n_objects, "object", lower = 0, upper = 1), n_objects)
  sigma <- check_number(sigma, "sigma", lower = 0, upper = 1e150)
  wrap <- check_flag(wrap, "wrap")
  background <- rep_len(check_each(background, "background", n_channels, "channel",
                                   lower = -1e150, upper = 1e150), n_channels)

  scenes <- with_memory(
    simulated_scenes(objects, n, size, prob, sigma, if (wrap) size else size - box + 1L,
                     background),
    "`n` = %d images of %s pixels", n, shown_dim(size)
  )
  c(scenes, list(objects = objects, pi = prob, sigma2 = sigma^2, background = background))
}

# A number in the place of the objects, which come first.
refuse_placed_number <- function(x) {
  gps_abort(sprintf(paste("`objects`, the first argument, must be objects, as made by",
                          "scene_objects(), not %s. So many images are simulate_scenes(n = %s), so",
                          "many objects scene_objects(%s)."),
                    given_number(x), given_number(x), given_number(x)))
}

simulated_scenes <- function(objects, n, size, prob, sigma, n_places, background) {
  latents <- draw_places(n, prob, n_places)
  painted <- paint_scenes(objects, latents, n, size, background)
  latents$visible <- painted$visible
  y <- painted$y + sigma * stats::rnorm(length(painted$y))
  dim(y) <- c(n, size, if (length(background) > 1) length(background))
  list(y = y, latents = latents)
}

# Which objects are in which image, where (on a grid of `n_places` rows and columns), and how near.
draw_places <- function(n, prob, n_places) {
  n_objects <- length(prob)
  on <- which(matrix(stats::runif(n * n_objects) < rep(prob, each = n), n, n_objects),
              arr.ind = TRUE)
  on <- on[order(on[, 1], on[, 2]), , drop = FALSE]
  n_on <- nrow(on)
  latents <- data.frame(
    point = unname(on[, 1]), object = unname(on[, 2]),
    row = sample.int(n_places[1], n_on, replace = TRUE),
    column = sample.int(n_places[2], n_on, replace = TRUE)
  )
  latents$depth <- rank_within(stats::runif(n_on), latents$point)
  latents
}

# Rank of each value among those of its group; groups come in ascending order.
rank_within <- function(value, group) {
  rank <- integer(length(value))
  rank[order(group, value)] <- sequence(rle(group)$lengths)
  rank
}

# list(y [n x pixels x channels], visible): scenes without noise.
paint_scenes <- function(objects, latents, n, size, background) {
  n_pixels <- prod(size)
  n_channels <- dim(objects$image)[4]
  covered <- covered_pixels(objects, latents, size)
  cell <- latents$point[covered$instance] + n * (covered$pixel - 1)
  # The nearest is written last and stays.
  farthest_first <- order(-latents$depth[covered$instance])
  owner <- integer(n * n_pixels)
  owner[cell[farthest_first]] <- covered$instance[farthest_first]
  is_seen <- owner[cell] == covered$instance

  y <- matrix(rep(background, each = n * n_pixels), n * n_pixels, n_channels)
  seen <- covered[is_seen, ]
  values <- matrix(objects$image, ncol = n_channels)
  from <- latents$object[seen$instance] + dim(objects$image)[1] * (seen$offset - 1)
  y[cell[is_seen], ] <- values[from, ]
  n_instances <- nrow(latents)
  visible <- tabulate(seen$instance, n_instances) / tabulate(covered$instance, n_instances)
  list(y = y, visible = visible)
}

# One row for each pixel of each object in a scene: number of the row of `latents`, pixel of the
# image and pixel of the object's box.
covered_pixels <- function(objects, latents, size) {
  box <- dim(objects$mask)[2:3]
  mask <- matrix(objects$mask > 0, dim(objects$mask)[1])
  offsets <- lapply(seq_len(nrow(mask)), function(k) which(mask[k, ]))
  n_covered <- lengths(offsets)[latents$object]
  instance <- rep(seq_len(nrow(latents)), n_covered)
  offset <- as.integer(unlist(offsets[latents$object]))
  row <- latents$row[instance] - 1L + (offset - 1L) %% box[1]
  column <- latents$column[instance] - 1L + (offset - 1L) %/% box[1]
  data.frame(instance = instance, offset = offset,
             pixel = 1 + row %% size[1] + size[1] * (column %% size[2]))
}
