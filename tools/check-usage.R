# What R CMD check asks package `codetools` of the package's functions: what they use and nobody
# defines, and calls of .Internal(), of defunct functions and of `return` as a variable.
# R_DEFAULT_PACKAGES=NULL Rscript tools/check-usage.R PART runs these checks of R's, with two
# changes of no consequence: of every use of a local variable `codetools` binds a row to a data
# frame, to read but the first; and three of the checks find the global names of every function,
# each anew.

part <- commandArgs(TRUE)[1]
codetools <- asNamespace("codetools")

replace_in <- function(namespace, name, value) {
  unlockBinding(name, namespace)
  assign(name, value, envir = namespace)
  lockBinding(name, namespace)
}

keep_first_row <- function() {
  add_row <- codetools$incLocalSrcInfo
  if (is.null(add_row)) return(invisible())
  replace_in(codetools, "incLocalSrcInfo", function(vn, w) {
    entry <- codetools$getLocalUsageEntry(vn, w)
    if (is.null(get("srcinfo", entry, inherits = FALSE))) add_row(vn, w)
  })
}

# What was found once, by the function. The same function under two names is found twice.
keep_globals <- function() {
  find <- codetools$findGlobals
  objects <- as.list(asNamespace("gpselect"), all.names = TRUE, sorted = TRUE)
  functions <- Filter(is.function, objects)
  globals <- lapply(functions, find, merge = FALSE)
  at <- 0
  replace_in(codetools, "findGlobals", function(fun, merge = TRUE) {
    # The checks ask of all functions in this order.
    at <<- at %% length(functions) + 1
    if (!identical(functions[[at]], fun)) return(find(fun, merge))
    if (merge) sort(unique(unlist(globals[[at]], use.names = FALSE))) else globals[[at]]
  })
}

# The lines that a check prints, none if all is well.
lines_of <- function(check) {
  tools <- asNamespace("tools")
  tryCatch(utils::capture.output(print(tools[[check]](package = "gpselect"))),
           error = function(e) conditionMessage(e))
}

keep_first_row()
said <- list(.check_code_usage_in_package = lines_of(".check_code_usage_in_package"))
keep_globals()
for (check in c(".check_dotInternal", ".check_depdef", ".check_bogus_return")) {
  said[[check]] <- lines_of(check)
}
is_bad <- lengths(said) > 0
for (check in names(said)[is_bad]) cat(sprintf("FAIL %s: %s\n", part, said[[check]]), sep = "")
cat(sprintf("%s: %d passed, %d failed\n", part, sum(!is_bad), sum(is_bad)))
quit(status = if (any(is_bad)) 1 else 0)
