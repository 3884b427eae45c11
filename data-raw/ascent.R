# Makes data/ascent.rda from the PNG of the photograph (grey, 256 x 256). Needs the package png.
# Run from the top of the package: Rscript data-raw/ascent.R <path to the PNG>
path <- commandArgs(trailingOnly = TRUE)
stopifnot(length(path) == 1)

grey <- png::readPNG(path)
stopifnot(identical(dim(grey), c(256L, 256L)))
ascent <- matrix(as.integer(round(255 * grey)), 256)
stopifnot(max(abs(255 * grey - ascent)) < 1e-6)
save(ascent, file = "data/ascent.rda", compress = "bzip2", version = 2)
