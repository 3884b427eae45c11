# What R CMD check asks package codetools of the installed package, in a fraction of the time:
# Rscript tools/check-usage.R [PART]. These are R's own checks, of names that nothing defines, calls
# that fit no function, .Internal(), functions that R gave up, and `return` without parentheses.
# They are run in one process in which codetools remembers what it has found: R CMD check looks for
# the names in every function three times, and keeps, of every use of a local variable, a row of a
# table of which only the first is read. Run it with R_DEFAULT_PACKAGES=NULL: what packages other
# than base define must be imported.

part <- c(commandArgs(TRUE), "usage")[1]
name <- "gpselect"
space <- asNamespace("codetools")

# Another function in place of one of codetools', which must be there.
replace_own <- function(name, value) {
  if (!is.function(space[[name]])) stop(sprintf("codetools has no %s().", name))
  base::unlockBinding(name, space)
  assign(name, value, envir = space)
}

replace_own("incLocalSrcInfo", function(vn, w) {
  entry <- codetools:::getLocalUsageEntry(vn, w)
  if (!is.null(get("srcinfo", entry, inherits = FALSE))) return(invisible())
  one <- function(value, none) if (is.null(value)) none else value
  assign("srcinfo", data.frame(srcfile = one(w$srcfile, NA_character_),
                               frow = one(w$frow, NA_integer_), lrow = one(w$lrow, NA_integer_)),
         envir = entry)
})

check_all <- function() {
  usage <- tools:::.check_code_usage_in_package(package = name)
  closures <- Filter(function(object) typeof(object) == "closure",
                     as.list(asNamespace(name), all.names = TRUE, sorted = TRUE))
  globals <- lapply(closures, codetools::findGlobals, merge = FALSE)
  # The next checks go through all functions in this order.
  at <- 0
  replace_own("findGlobals", function(fun, merge = TRUE) {
    at <<- at %% length(closures) + 1
    if (!identical(fun, closures[[at]])) stop("functions are looked at in another order.")
    found <- globals[[at]]
    if (merge) sort(unique(unlist(found, use.names = FALSE))) else found
  })
  list(usage, tools:::.check_dotInternal(package = name), tools:::.check_depdef(package = name),
       tools:::.check_bogus_return(package = name))
}

n_failed <- 0
results <- check_all()
for (result in results) {
  said <- utils::capture.output(print(result))
  said <- said[nzchar(said)]
  n_failed <- n_failed + (length(said) > 0)
  for (line in said) cat(sprintf("FAIL %s: %s\n", part, line))
}
cat(sprintf("%s: %d passed, %d failed\n", part, length(results) - n_failed, n_failed))
quit(status = if (n_failed > 0) 1 else 0)
