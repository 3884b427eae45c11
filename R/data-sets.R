#' Handwritten digits
#'
#' 1,797 handwritten digits of 8 x 8 pixels in grey levels, the test set of a well-known collection.
#'
#' @format A list with
#' * `x`: integer matrix, 1797 x 64, one image a row, 0 (paper) to 16 (ink). Pixels are ordered as
#'   in `as.vector(image)`, column by column, and named `r1c1`, `r2c1`, ..., `r8c8` (row, column):
#'   `matrix(digits8$x[n, ], 8)` is image n with its top row first. The attribute `size`, as of
#'   [extract_patches()], lets `plot()` of a fit draw pictures; rows cut from `x` lose it:
#'   `plot(fit, size = 8)`.
#' * `label`: integer vector of length 1797, the digits 0 to 9.
#' @source E. Alpaydin and C. Kaynak, *Optical Recognition of Handwritten Digits*, UCI Machine
#'   Learning Repository (1998), \doi{10.24432/C50P49}, licence CC BY 4.0. The grey levels are
#'   unchanged; the order of the pixels, row by row in the source, was changed to column by column.
#' @concept handwritten digits
#' @examples
#' matrix(digits8$x[1, ], 8)
#' table(digits8$label)
"digits8"

#' A photograph
#'
#' A stairwell of steel in grey levels, 256 x 256 pixels: edges and stripes of all orientations,
#' smooth sky and fine detail, to learn components from and to remove noise from.
#'
#' @format Integer matrix 256 x 256, grey levels from 0 (black) to 255 (white), the top row of the
#'   picture first.
#' @source "Accent to the top", a photograph in the public domain (public-domain-image.com), reduced
#'   to 256 x 256 grey pixels.
#' @seealso [extract_patches()], [gps_denoise()]
#' @examples
#' dim(ascent)
#' plot(grDevices::as.raster(ascent / 255))
"ascent"
