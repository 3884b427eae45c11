# Which files of R/ a fit enters: Rscript tools/trace-files.R [names]. Counted are those before the
# first iteration of a fit by the default selector, and those in an iteration of its main run: in
# the median one, and in the one that enters most. The installed package is traced, by functions
# that say their names; which file has them is read from R/. "names" lists the functions.

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "source-text.R"))
library(gpselect)

# The function that is one iteration.
iteration_function <- "try_step"

files <- list.files(file.path(here, "..", "R"), "\\.R$", full.names = TRUE)
file_of <- unlist(lapply(files, function(file) {
  names <- r_assigned(read_text(file))$name
  stats::setNames(rep(basename(file), length(names)), names)
}))

entered <- new.env()
entered$names <- character()
entered$parts <- list()

enter <- function(name) {
  if (name == iteration_function) begin_part()
  if (!name %in% entered$names) entered$names <- c(entered$names, name)
}

begin_part <- function() {
  entered$parts <- c(entered$parts, list(entered$names))
  entered$names <- character()
}

# Puts the call that says its name before the body of a function, wherever R keeps it.
trace_function <- function(name, where) {
  f <- get(name, envir = where)
  body(f) <- bquote({
    .(enter)(.(name))
    .(body(f))
  })
  locked <- bindingIsLocked(name, where)
  if (locked) unlockBinding(name, where)
  assign(name, f, envir = where)
}

inside <- asNamespace("gpselect")
methods <- get(".__S3MethodsTable__.", envir = inside)
for (name in names(file_of)) {
  for (where in list(inside, methods)) {
    is_there <- exists(name, envir = where, inherits = FALSE)
    if (is_there && is.function(get(name, envir = where))) trace_function(name, where)
  }
}

set.seed(1)
y <- simulate_bars(500)$y
entered$names <- character()
fit <- inside$gps_fit(y, model_binary_sparse(10), control = gps_control(n_threads = 1))
begin_part()

n_main <- sum(fit$trace$start == 0)
before <- entered$parts[[1]]
parts <- utils::head(entered$parts[-1], -1)
iterations <- utils::tail(parts, n_main)
n_files <- vapply(iterations, function(names) length(unique(file_of[names])), 1L)
typical <- iterations[[which(n_files == sort(n_files)[ceiling(length(n_files) / 2)])[1]]]

show_part <- function(what, names) {
  cat(sprintf("%s: %d files, %d functions\n", what, length(unique(file_of[names])), length(names)))
  if ("names" %in% commandArgs(TRUE)) {
    by_file <- split(names, file_of[names])
    cat(sprintf("  %s: %s\n", names(by_file), vapply(by_file, paste, "", collapse = " ")), sep = "")
  }
}

show_part("before the first iteration", before)
show_part("in an iteration", typical)
cat(sprintf("in the iteration that enters most: %d files\n", max(n_files)))
