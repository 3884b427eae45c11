# Counts the results in a log of R CMD check: Rscript tools/count-check.R PART LOG.
# Errors, warnings and notes are failures; notes on a new submission or a missing network are not,
# nor, in the part `check`, the one that its package has no built vignettes.

results <- c("OK", "NOTE", "WARNING", "ERROR", "FAIL", "INFO", "NONE", "SKIPPED",
             "Note_to_CRAN_maintainers")

is_unbuilt <- identical(commandArgs(TRUE)[1], "check")

# Every check is a block of lines: its first begins with a star, its result ends a line.
split_blocks <- function(lines) {
  starts <- grepl("^\\*+ ", lines)
  split(lines[cumsum(starts) > 0], cumsum(starts)[cumsum(starts) > 0])
}

# The results of a block. A line of output that happens to end in a word like OK is none: only the
# first line counts, and lines that hold nothing else.
find_results <- function(block) {
  pattern <- sprintf("(%s)$", paste(results, collapse = "|"))
  alone <- sprintf("^ *(\\[[0-9ms/]+\\] *)?%s", pattern)
  at_end <- sprintf("\\.\\.\\. ?(\\[[0-9ms/]+\\] *)?%s", pattern)
  hits <- c(grep(at_end, block[1], value = TRUE), grep(alone, block[-1], value = TRUE))
  sub(sprintf("^.*?%s", pattern), "\\1", hits, perl = TRUE)
}

# TRUE where all that a note says is allowed.
is_allowed <- function(block) {
  said <- trimws(block[-1])
  said <- said[nzchar(said) & !said %in% results]
  if (grepl("future file timestamps", block[1])) {
    return(identical(said, "unable to verify current time"))
  }
  if (!grepl("CRAN incoming feasibility", block[1])) return(FALSE)
  paragraphs <- split(block[-1], cumsum(!nzchar(block[-1])))
  all(vapply(paragraphs, is_allowed_paragraph, NA))
}

is_allowed_paragraph <- function(paragraph) {
  said <- trimws(paragraph)
  said <- said[nzchar(said) & !said %in% results]
  if (length(said) == 0) return(TRUE)
  links <- "^Found the following \\(possibly\\) invalid (URLs|DOIs|file URIs):"
  if (grepl(links, said[1]) && !grepl("file URIs", said[1])) return(TRUE)
  offline <- c("^NB: need Internet access", "^Maintainer: ", "^New submission$",
               "^Warning: unable to access index", "^ *cannot open URL", "^Warning in url\\(",
               "^URL '.*': status was",
               if (is_unbuilt) "^Package has a VignetteBuilder field but no prebuilt")
  all(grepl(paste(offline, collapse = "|"), said))
}

count_blocks <- function(blocks, part) {
  counts <- c(passed = 0, failed = 0)
  seen <- character()
  for (block in blocks) {
    if (!grepl("^\\*+ checking ", block[1])) next
    found <- find_results(block)
    seen <- c(seen, found)
    bad <- setdiff(found, c("OK", "INFO", "NONE", "SKIPPED", "Note_to_CRAN_maintainers"))
    if (length(found) == 0) bad <- "no result"
    if (identical(bad, "NOTE") && is_allowed(block)) bad <- character()
    if (length(bad) > 0) {
      counts["failed"] <- counts["failed"] + 1
      name <- sub("^\\*+ (.*?) *\\.\\.\\..*$", "\\1", block[1], perl = TRUE)
      cat(sprintf("FAIL %s: %s: %s\n", part, bad[1], name))
      details <- utils::tail(block[-1][nzchar(block[-1])], 15)
      cat(sprintf("FAIL %s:     %s\n", part, details), sep = "")
    } else if (!all(found %in% c("NONE", "SKIPPED"))) {
      counts["passed"] <- counts["passed"] + 1
    }
  }
  attr(counts, "seen") <- seen
  counts
}

# R's own count, from its last line; a failure where ours differs or there is none.
check_status <- function(lines, seen, part) {
  status <- grep("^Status: ", lines, value = TRUE)
  if (length(status) != 1 || !any(lines == "* DONE")) {
    cat(sprintf("FAIL %s: R CMD check did not come to its end\n", part))
    return(FALSE)
  }
  said <- function(word) {
    hit <- regmatches(status, regexpr(sprintf("[0-9]+(?= %s)", word), status, perl = TRUE))
    if (length(hit) == 0) 0 else as.numeric(hit)
  }
  words <- c("ERROR", "WARNING", "NOTE")
  same <- vapply(words, function(word) said(word) == sum(seen == word), NA)
  if (!all(same)) cat(sprintf("FAIL %s: not all was understood of: %s\n", part, status))
  all(same)
}

main <- function(part, log) {
  lines <- if (file.exists(log)) readLines(log, warn = FALSE, encoding = "UTF-8") else character()
  counts <- count_blocks(split_blocks(lines), part)
  if (!check_status(lines, attr(counts, "seen"), part)) counts["failed"] <- counts["failed"] + 1
  cat(sprintf("%s: %d passed, %d failed\n", part, counts["passed"], counts["failed"]))
  quit(status = if (counts["failed"] > 0) 1 else 0)
}

if (sys.nframe() == 0) do.call(main, as.list(commandArgs(TRUE)))
