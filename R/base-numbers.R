# Numbers in disguise: what R stores in another way than it shows is read by value at every door.

# Vectors, matrices, data frames and lists with 64-bit integers (class integer64, stored in the bits
# of doubles) as doubles, and dense matrices of package Matrix as R's own. All else as it is.
plain_numbers <- function(x) {
  if (inherits(x, "integer64")) return(read_integer64(x))
  if (inherits(x, "denseMatrix")) {
    require_package("Matrix", "A matrix of package Matrix")
    return(as.matrix(x))
  }
  if (!is.list(x) || is_source(x) || !is.null(dim(x)) && !is.data.frame(x)) return(x)
  is_wide <- vapply(unclass(x), inherits, NA, what = "integer64")
  for (i in which(is_wide)) x[[i]] <- read_integer64(x[[i]])
  x
}

# Exact up to 2^53, as doubles are. The lowest integer is NA.
read_integer64 <- function(x) {
  kept <- attributes(x)[c("dim", "dimnames", "names")]
  value <- numeric(length(x))
  bits <- as.vector(unclass(x))
  for (from in seq(1, length.out = ceiling(length(bits) / 2^24), by = 2^24)) {
    at <- from:min(from + 2^24 - 1, length(bits))
    value[at] <- decode_integer64(bits[at])
  }
  attributes(value) <- kept[!vapply(kept, is.null, NA)]
  value
}

decode_integer64 <- function(bits) {
  halves <- matrix(readBin(writeBin(bits, raw(), endian = "little"), "integer", 2 * length(bits),
                           endian = "little"), 2)
  # The integer that R takes for NA is one with the highest bit alone.
  whole <- function(half) ifelse(is.na(half), -2^31, as.double(half))
  low <- whole(halves[1, ])
  value <- whole(halves[2, ]) * 2^32 + low + ifelse(low < 0, 2^32, 0)
  value[is.na(halves[2, ]) & low == 0] <- NA
  value
}
