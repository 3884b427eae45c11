# Builds the vignettes of an unpacked source package with the installed package:
# Rscript tools/build-vignettes.R PART FOLDER. One that fails does not keep the others from it.

part <- commandArgs(TRUE)[1]
folder <- commandArgs(TRUE)[2]

names <- tools::pkgVignettes(dir = folder)$names
message <- tryCatch({
  tools::buildVignettes(dir = folder, quiet = TRUE)
  NULL
}, error = conditionMessage)
missing <- names[!file.exists(file.path(folder, "vignettes", paste0(names, ".html")))]
for (line in strsplit(c(message, "")[1], "\n")[[1]]) cat(sprintf("FAIL %s: %s\n", part, line))
n_failed <- max(length(missing), !is.null(message), length(names) == 0)
cat(sprintf("%s: %d passed, %d failed\n", part, length(names) - length(missing), n_failed))
quit(status = if (n_failed > 0) 1 else 0)
