# Splitting a component in two: halves of the residuals of its points, and what a model makes of
# them.

# Two halves of the residuals [D x n] of a latent's points along a direction, which `find` makes of
# deviations from the mean and of weights: `centres` [D x 2], `size` [2], and squares: `between`
# them, `along` the direction, `within` the halves in each dimension [D x 2], and `within_along` the
# direction [2]. A point is `unit` observations.
# Latent 0: all points, of which a cause that is missing is on in few, so that the direction is that
# of the largest skewness.
split_residual <- function(residual, latent, weights = NULL, find = leading_direction) {
  if (ncol(residual) == 0 || total_weight(weights, ncol(residual)) < 4) return(NULL)
  centre <- row_means(residual, weights)
  deviation <- residual - centre
  direction <- find(deviation, weights)
  if (latent == 0) direction <- skewed_direction(deviation, direction, weights)
  score <- drop(crossprod(deviation, direction))
  is_high <- score > 0
  for (iteration in 1:10) {
    if (!any(is_high) || all(is_high)) return(NULL)
    before <- is_high
    is_high <- score > (mean_of(score[is_high], weights[is_high]) +
                          mean_of(score[!is_high], weights[!is_high])) / 2
    if (identical(is_high, before)) break
  }
  halves <- lapply(list(is_high, !is_high), function(is_in) {
    sum_half(residual[, is_in, drop = FALSE], score[is_in], weights[is_in])
  })
  size <- vapply(halves, `[[`, 1, "size")
  if (any(size == 0)) return(NULL)
  centres <- cbind(halves[[1]]$centre, halves[[2]]$centre)
  list(latent = latent, centres = centres, size = size, along = sum(weigh(score^2, weights)),
       within = cbind(halves[[1]]$within, halves[[2]]$within),
       within_along = vapply(halves, `[[`, 1, "along"), unit = 1,
       between = prod(size) / sum(size) * sum((centres[, 1] - centres[, 2])^2))
}

# The split of some of the points whose residuals are [D x N] that promises most, with its `gain`,
# or NULL. Where columns have units of their own, what varies most may be noise: then points are
# split along the column in which they look most like two groups, too.
promising_split <- function(model, residual, points, latent, weights, params) {
  finders <- c(leading_direction, if (length(residual_unit(model)) > 1) humped_column)
  own <- residual[, points, drop = FALSE]
  splits <- lapply(finders, function(find) {
    split <- split_residual(own, latent, weights[points], find)
    if (is.null(split)) return(NULL)
    split$gain <- weighed_gain(model, split, residual, weights, params)
    split
  })
  gain <- vapply(splits, function(split) if (is.null(split)) -Inf else split$gain, 1)
  splits[[which.max(gain)]]
}

# What a split says of one half: its residuals [D x n] and their places along the direction.
sum_half <- function(residual, score, weights) {
  centre <- row_means(residual, weights)
  list(size = total_weight(weights, ncol(residual)), centre = centre,
       within = rowSums(weigh_columns((residual - centre)^2, weights)),
       along = sum(weigh((score - mean_of(score, weights))^2, weights)))
}

# The splits that promise most of many latents at once, from the residuals [D x n] of points, of
# which each is one of latent `of` [n]: arrays with the latents along the last dimension, of those
# that can be split, and their `gain`.
promising_splits <- function(model, residual, of, weights, params) {
  root <- common_root(model, params)
  finders <- c(leading_columns, if (has_column_widths(model)) humped_columns,
               if (!is.null(root)) function(x) leading_beside(x, root))
  x <- group_points(residual, of, weights)
  splits <- lapply(finders, function(find) {
    splits <- split_groups(x, find(x))
    splits$gain <- weighed_gains(model, splits, params)
    splits
  })
  Reduce(better_splits, splits)
}

# Of two ways to split latents for each of these the one that promises more.
better_splits <- function(splits, others) {
  joined <- Map(function(one, other) {
    shape <- dim(one)
    both <- c(one, other)
    if (is.null(shape)) return(both)
    each <- utils::head(shape, -1)
    array(both, c(each, length(both) / prod(each)))
  }, splits, others)
  ordered <- order(joined$latent, -joined$gain)
  pick_splits(joined, ordered[!duplicated(joined$latent[ordered])])
}

# Points of latents that can be split, those of one after those of another: deviations from the
# means of their groups, too.
group_points <- function(residual, of, weights = NULL) {
  latents <- sort(unique(of))
  group <- match(of, latents)
  is_large <- group_weights(weights, group, length(latents)) >= 4
  kept <- which(is_large[group])
  kept <- kept[order(group[kept])]
  latents <- latents[is_large]
  x <- list(residual = residual[, kept, drop = FALSE], weights = weights[kept], latent = latents,
            group = match(of[kept], latents), n_groups = length(latents))
  centre <- group_sums(weigh_columns(x$residual, x$weights), x$group, x$n_groups) /
    rep(group_weights(x$weights, x$group, x$n_groups), each = nrow(residual))
  x$deviation <- x$residual - centre[, x$group, drop = FALSE]
  x
}

# What split_residual() says of each group, split along its direction [D x groups]: of those that
# have two halves.
split_groups <- function(x, direction) {
  x$score <- colSums(x$deviation * direction[, x$group, drop = FALSE])
  x$side <- 2L * x$group - (halve_groups(x) > 0)
  splits <- c(list(latent = x$latent), sum_halves(x))
  pick_splits(splits, which(splits$size[1, ] > 0 & splits$size[2, ] > 0))
}

# Sums [k x groups] of the columns of x [k x n] of each group.
group_sums <- function(x, group, n_groups) .Call(C_group_sums, x, group, n_groups)

# How many points each group has, or their weights added up.
group_weights <- function(weights, group, n_groups) {
  if (is.null(weights)) return(as.double(tabulate(group, n_groups)))
  group_sums(t(weights), group, n_groups)[1, ]
}

# Of each group the direction along which its points vary most, [D x groups].
leading_columns <- function(x) {
  leading_directions(x$deviation, x$weights, tabulate(x$group, x$n_groups))
}

# The same in coordinates in which the mean covariance of the clusters, whose upper triangle `root`
# is, is the identity: noise that all clusters have along a direction is then no reason to split
# along it.
leading_beside <- function(x, root) {
  x$deviation <- backsolve(root, x$deviation, transpose = TRUE)
  backsolve(root, leading_columns(x))
}

# Of each group that of the column that humped_column() finds.
humped_columns <- function(x) {
  size <- rep(group_weights(x$weights, x$group, x$n_groups), each = nrow(x$deviation))
  means <- function(values) {
    group_sums(weigh_columns(values, x$weights), x$group, x$n_groups) / size
  }
  square <- x$deviation^2
  far <- share_far(means(square^2), means(square))
  column <- max.col(-t(far), "first")
  replace(matrix(0, nrow(far), x$n_groups), cbind(column, seq_len(x$n_groups)), 1)
}

# 1 for points in the upper half of their group, 0 for others, as split_residual() finds them.
halve_groups <- function(x) {
  is_high <- as.double(x$score > 0)
  score <- weigh(x$score, x$weights)
  for (iteration in 1:10) {
    side <- 2L * x$group - as.integer(is_high)
    means <- group_sums(t(score), side, 2L * x$n_groups) /
      group_weights(x$weights, side, 2L * x$n_groups)
    means <- matrix(means, 2)
    limit <- ((means[1, ] + means[2, ]) / 2)[x$group]
    after <- ifelse(is.finite(limit), as.double(x$score > limit), is_high)
    if (identical(after, is_high)) break
    is_high <- after
  }
  is_high
}

# What split_residual() says of halves, of all groups.
sum_halves <- function(x) {
  n_dims <- nrow(x$residual)
  sums <- function(value) group_sums(weigh_columns(value, x$weights), x$side, 2L * x$n_groups)
  size <- group_weights(x$weights, x$side, 2L * x$n_groups)
  centres <- sums(x$residual) / rep(c(size), each = n_dims)
  score <- t(x$score)
  mean_score <- (c(sums(score)) / size)[x$side]
  size <- matrix(size, 2)
  dim(centres) <- c(n_dims, 2, x$n_groups)
  within <- sums((x$residual - matrix(centres, n_dims)[, x$side, drop = FALSE])^2)
  gap <- matrix(centres[, 1, ] - centres[, 2, ], n_dims)
  list(centres = centres, size = size,
       along = group_sums(weigh_columns(score^2, x$weights), x$group, x$n_groups)[1, ],
       within = array(within, dim(centres)), within_along = matrix(sums((score - mean_score)^2), 2),
       unit = group_weights(x$weights, x$group, x$n_groups) / tabulate(x$group, x$n_groups),
       between = size[1, ] * size[2, ] / colSums(size) * colSums(gap^2))
}

# Unit vector along which the columns of x [D x n] vary most, by power iteration.
leading_direction <- function(x, weights = NULL) drop(leading_directions(x, weights, ncol(x)))

# The same of groups of columns that follow one another: [D x groups].
leading_directions <- function(x, weights, sizes) {
  .Call(C_leading_directions, x, weights, sizes, 20L)
}

# The unit vector of the row of x [D x n], of mean 0, whose values have the fewest far from the mean
# beside their variance: two groups of equal size have none. 0 where no row has anything to split.
humped_column <- function(x, weights = NULL) {
  far <- share_far(row_means(x^4, weights), row_means(x^2, weights))
  replace(numeric(nrow(x)), which.min(replace(far, far == Inf, NA)), 1)
}

# From means of fourth powers and of squares how many values are far out. Columns in which no
# cluster can be narrower, such as constant ones, differ by rounding: often by one of two numbers.
share_far <- function(fourth, square) {
  replace(fourth / square^2, !(square > cluster_floor), Inf)
}

# Along the mean of columns far out on its side: of several directions in a mixture, iterating this
# keeps one.
skewed_direction <- function(x, direction, weights = NULL) {
  if (sum(weigh(crossprod(x, direction)^3, weights)) < 0) direction <- -direction
  for (iteration in 1:10) {
    direction <- unit_length(drop(x %*% weigh(pmax(crossprod(x, direction), 0)^2, weights)))
  }
  direction
}

unit_length <- function(x) x / max(sqrt(sum(x^2)), .Machine$double.xmin)

# Whether a model has the two methods below; without them it has no moves.
can_move <- function(model) has_method(model, "move_gain")

# Units of the dimensions, one each or one of all, in which residuals are split.
residual_unit <- function(model) UseMethod("residual_unit")

#' @export
residual_unit.default <- function(model) 1

# Roughly what the bound gains if a component is there for each half of a split. Sums of points and
# of squares in it are in proportion to the number of points.
move_gain <- function(model, split, residual, params = NULL) UseMethod("move_gain")

# The same where points have weights: of as many points as there are with the same mean squares,
# times the observations that a point stands for.
weighed_gain <- function(model, split, residual, weights, params = NULL) {
  if (is.null(weights)) return(move_gain(model, split, residual, params))
  unit <- mean(weights)
  sums <- c("size", "along", "within", "within_along", "between")
  split[sums] <- lapply(split[sums], `/`, unit)
  split$unit <- unit
  unit * move_gain(model, split, weigh_columns(residual, sqrt(weights / unit)), params)
}

# The same of many splits in arrays, whose `unit` is the mean weight of their points.
weighed_gains <- function(model, splits, params) {
  unit <- splits$unit
  sums <- c("size", "along", "within", "within_along", "between")
  splits[sums] <- lapply(splits[sums], function(x) x / rep(unit, each = length(x) / length(unit)))
  unit * halves_gain(model, splits, params)
}

# Parameters with the component `from` moved to one half of a split, and the split latent to the
# other.
move_component <- function(model, params, from, split) UseMethod("move_component")
