# By what data are known again, at the cost of one pass.

# Points of which all numbers are kept, and numbers in all.
trait_points <- 32L
trait_numbers <- 2^16

# list of weights as they were given, sizes, names, moments, the numbers of some points, and of a
# matrix sums over points with factors of changing sign, which tell of points that have changed
# places.
data_traits <- function(task) {
  y <- task$y
  n <- max(1, min(trait_points, trait_numbers %/% n_dims(y)))
  list(weights = task$given$weights, is_source = is_source(y), size = c(n_points(y), n_dims(y)),
       names = task$columns, missing = task$missing,
       moments = unclass(task$moments)[c("centre", "variances", "square", "range")],
       numbers = rows_data(y, even_rows(y, n)),
       sums = if (!is_source(y)) drop(y %*% sin(seq_len(n_points(y)))))
}

# Four numbers that a fit keeps whatever else it keeps, mean, mean square, least and greatest value:
# by these it is known from fits of data in another unit, or of other points.
data_marks <- function(moments) {
  unname(c(mean(moments$centre), moments$square, moments$range))
}

# Whether marks are of other data; fits of earlier versions have none. Sums may be rounded in
# another order.
differ_in_marks <- function(one, two) {
  if (is.null(one) || is.null(two)) return(FALSE)
  root <- sqrt(one[2])
  any(abs(one - two) > 1e-9 * c(root, root^2, root, root))
}

# In what data differ from those of a run that have these traits, in words, or NULL.
tell_traits <- function(found, kept) {
  size <- function(traits) sprintf("%.0f x %.0f", traits$size[1], traits$size[2])
  if (!identical(found$size, kept$size)) {
    return(sprintf("it has %s numbers, not %s", size(found), size(kept)))
  }
  if (!identical(found$is_source, kept$is_source)) {
    return(sprintf("the run read %s", if (kept$is_source) "a source" else "a matrix"))
  }
  if (!identical(found$names, kept$names)) {
    return(paste0("its columns have other names",
                  if (is.null(kept$names)) ", those of the run had none: unname(y)"))
  }
  if (!identical(found$missing, kept$missing)) return("other cells are missing")
  scale <- sqrt(kept$moments$square)
  is_near <- function(x, y, unit) all(abs(x - y) <= 1e-12 * unit)
  n <- kept$size[1]
  is_same <- identical(found$numbers, kept$numbers) &&
    identical(found$moments$range, kept$moments$range) &&
    is_near(found$moments$centre, kept$moments$centre, scale) &&
    is_near(found$moments$variances, kept$moments$variances, scale^2) &&
    (is.null(kept$sums) || is_near(found$sums, kept$sums, n * scale))
  if (!is_same) "it has other numbers"
}
