# Holds STANDARDS.md against the tags in the sources, `@srrstats {G2.0, G2.1}` in comments, and
# against itself: Rscript tools/check-standards.R [PART]. A standard that is complied with has a
# tag, one that is not applicable has one of `@srrstatsNA`, all others none; files that the table
# names are there; and the numbers in its text are those of its rows.

part <- c(commandArgs(TRUE), "standards")[1]
text <- readLines("STANDARDS.md", encoding = "UTF-8")

row <- "^\\| ([A-Z]+[0-9][0-9.]*[a-z]?) \\| (.*?) \\| (.*) \\|$"
rows <- grep(row, text, value = TRUE, perl = TRUE)
table <- data.frame(id = sub(row, "\\1", rows, perl = TRUE),
                    where = sub(row, "\\3", rows, perl = TRUE))
table$state <- ifelse(startsWith(table$where, "**no**"), "no",
                      ifelse(startsWith(table$where, "*not applicable*"), "na", "yes"))

sources <- list.files(c("R", "src", "inst/include", "tests"), "[.][RrCch]$", recursive = TRUE,
                      full.names = TRUE)

# The standards of all tags with this name.
tagged <- function(name) {
  pattern <- sprintf("@%s \\{([^}]*)\\}", name)
  lines <- unlist(lapply(sources, function(file) grep(pattern, readLines(file), value = TRUE)))
  unlist(strsplit(sub(sprintf("^.*%s.*$", pattern), "\\1", lines), ", *"))
}

# Files of R and of tests that a row names by their ending.
named_files <- function(where) {
  found <- regmatches(where, gregexpr("[[:alnum:]_./-]+[.](R|c|md)\\b", where))[[1]]
  is_bare <- grepl("^(test|helper)-", found)
  found[is_bare] <- file.path("tests/testthat", found[is_bare])
  found[!is_bare & !grepl("/", found) & grepl("[.]R$", found)] <- NA
  found[!is.na(found)]
}

faults <- character()
expect <- function(is_sound, ...) {
  bad <- which(!is_sound)
  if (length(bad) > 0) faults <<- c(faults, sprintf(...)[bad])
  length(is_sound)
}

own <- tagged("srrstats")
foreign <- tagged("srrstatsNA")
files <- lapply(table$where, named_files)
named <- data.frame(id = rep(table$id, lengths(files)), file = as.character(unlist(files)))
count <- function(state) sum(table$state == state)
said <- sprintf("%d comply, %d do not, %d are not applicable.", count("yes"), count("no"),
                count("na"))

n_checked <- sum(
  expect(!duplicated(table$id), "%s stands twice in STANDARDS.md", table$id),
  expect((table$id %in% own) == (table$state == "yes"),
         "%s: its row and the tags @srrstats do not agree", table$id),
  expect((table$id %in% foreign) == (table$state == "na"),
         "%s: its row and the tags @srrstatsNA do not agree", table$id),
  expect(c(own, foreign) %in% table$id, "%s is tagged but no standard", c(own, foreign)),
  expect(file.exists(named$file), "%s: there is no %s", named$id, named$file),
  expect(said %in% text, "STANDARDS.md must say: %s", said)
)
for (fault in faults) cat(sprintf("FAIL %s: %s\n", part, fault))
cat(sprintf("%s: %d passed, %d failed\n", part, n_checked - length(faults), length(faults)))
quit(status = if (length(faults) > 0) 1 else 0)
