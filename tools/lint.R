# Style faults of the R sources, by the settings in .lintr: Rscript tools/lint.R.

found <- do.call(c, lapply(c("R", "tests", "tools", "bench"), function(folder) {
  if (dir.exists(folder)) lintr::lint_dir(folder)
}))
for (lint in found) {
  cat(sprintf("%s:%d: %s [%s]\n", lint$filename, lint$line_number, lint$message, lint$linter))
}
cat(length(found), "style faults\n")
quit(status = if (length(found) > 0) 1 else 0)
