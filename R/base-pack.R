# Objects hold the same large vectors in several places: R shares them in memory, but writes each
# anew.

# Shorter vectors are not worth looking for.
least_packed <- 512L

# list(object, vectors): the object with a number in place of each large vector in its lists, and
# the vectors. `known` is a vector that need not be written, number 0, or NULL.
pack_shared <- function(object, known = NULL) {
  store <- new.env(parent = emptyenv())
  store$known <- known
  store$vectors <- list()
  list(object = pack_part(object, store), vectors = store$vectors)
}

pack_part <- function(x, store) {
  if (is.list(x)) return(map_parts(x, pack_part, store))
  if (!is.atomic(x) || length(x) < least_packed) return(x)
  structure(list(find_vector(x, store)), class = packed_class)
}

packed_class <- "gps_packed_vector"

find_vector <- function(x, store) {
  # The same bits: zeros have signs, and values that are not numbers have kinds.
  is_same <- function(other) identical(x, other, num.eq = FALSE, single.NA = FALSE)
  if (is_same(store$known)) return(0L)
  for (number in seq_along(store$vectors)) if (is_same(store$vectors[[number]])) return(number)
  store$vectors <- c(store$vectors, list(x))
  length(store$vectors)
}

unpack_shared <- function(packed, known = NULL) {
  unpack_part(packed$object, list(known = known, vectors = packed$vectors))
}

# The part of the object with this path of names alone.
unpack_at <- function(packed, path) {
  packed$object <- Reduce(function(part, name) part[[name]], path, packed$object)
  unpack_shared(packed)
}

unpack_part <- function(x, store) {
  if (!is.list(x)) return(x)
  if (!inherits(x, packed_class)) return(map_parts(x, unpack_part, store))
  number <- unclass(x)[[1]]
  if (number == 0) store$known else store$vectors[[number]]
}

# A list of the same attributes, whatever its class.
map_parts <- function(x, f, ...) {
  kept <- attributes(x)
  x <- lapply(unclass(x), f, ...)
  attributes(x) <- kept
  x
}
