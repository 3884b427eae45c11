# Makes data/digits8.rda from the CSV of the digits (columns: label, then 64 pixels row by row).
# Run from the top of the package: Rscript data-raw/digits8.R <path to the CSV>
path <- commandArgs(trailingOnly = TRUE)
stopifnot(length(path) == 1)

table <- as.matrix(utils::read.csv(path))
stopifnot(identical(dim(table), c(1797L, 65L)), colnames(table)[1] == "label", is.integer(table))

by_row <- matrix(seq_len(64), 8, byrow = TRUE)
x <- table[, 1 + as.vector(by_row)]
dimnames(x) <- list(NULL, sprintf("r%dc%d", row(by_row), col(by_row)))
# Rows are pictures, as extract_patches() says it.
attr(x, "size") <- c(8L, 8L)
digits8 <- list(x = x, label = unname(table[, "label"]))
save(digits8, file = "data/digits8.rda", compress = "xz", version = 2)
