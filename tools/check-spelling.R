# Words that no dictionary knows and words that stand twice, in what users and contributors read:
# help pages, vignettes, *.md files, DESCRIPTION and the comments of the sources: Rscript
# tools/check-spelling.R [PART]. Code is left out. Words of the trade stand in inst/WORDLIST, one a
# line, as package spelling has it; one that nothing uses is a fault, too. The dictionary is that of
# hunspell for British English.

part <- c(commandArgs(TRUE), "spelling")[1]

# Lines of a Markdown file, without code, addresses and formulas; lines keep their numbers.
prose_of_markdown <- function(path) {
  text <- readLines(path, encoding = "UTF-8")
  fences <- grepl("^ *```", text)
  is_code <- cumsum(fences) %% 2 == 1 | fences
  # The head of a vignette.
  marks <- which(text == "---")
  if (length(marks) > 1 && marks[1] == 1) is_code[seq_len(marks[2])] <- TRUE
  text[is_code] <- ""
  strip_markup(text)
}

# Code and names that stand in a line of prose.
strip_markup <- function(text) {
  for (pattern in c("`[^`]*`", "\\$[^$]*\\$", "\\]\\([^)]*\\)", "<[^>]*>", "https?://[^ )]*",
                    "[[:alnum:]_./-]+\\.(R|c|h|md|Rmd|Rd|yml|sh|csv|png|rds)\\b", "@[[:alnum:]-]+",
                    "\\\\[a-zA-Z]+")) {
    text <- gsub(pattern, " ", text, perl = TRUE)
  }
  text
}

prose_of_help <- function(path) {
  text <- tools::RdTextFilter(path, drop = c("\\references", "\\author"), keepSpacing = TRUE)
  strip_markup(text)
}

prose_of_description <- function(path) {
  text <- readLines(path)
  field <- cumsum(!grepl("^ ", text))
  names <- sub(":.*$", "", text[!duplicated(field)])
  text[!names[field] %in% c("Title", "Description")] <- ""
  strip_markup(sub("^(Title|Description):", "", text))
}

# Plain comments of R; those of roxygen are read as help pages.
prose_of_r <- function(path) {
  text <- readLines(path, encoding = "UTF-8")
  data <- getParseData(parse(text = text, keep.source = TRUE))
  data <- data[data$token == "COMMENT" & !startsWith(data$text, "#'"), ]
  lines <- character(length(text))
  lines[data$line1] <- sub("^#+", "", data$text)
  strip_code_words(strip_markup(lines))
}

prose_of_c <- function(path) {
  text <- paste(readLines(path, encoding = "UTF-8"), collapse = "\n")
  found <- gregexpr("/\\*(?s:.*?)\\*/", text, perl = TRUE)[[1]]
  keep <- rep(FALSE, nchar(text))
  for (k in seq_along(found)) {
    if (found[k] > 0) keep[found[k] + seq_len(attr(found, "match.length")[k]) - 1] <- TRUE
  }
  letters <- strsplit(text, "")[[1]]
  letters[!keep & letters != "\n"] <- " "
  lines <- strsplit(paste(letters, collapse = ""), "\n", fixed = TRUE)[[1]]
  strip_code_words(strip_markup(lines))
}

# Names of variables and calls in comments, which are not always marked as such.
strip_code_words <- function(text) {
  for (pattern in c("\"[^\"]*\"", "[[:alnum:]_.]+\\(", "[[:alnum:]]*_[[:alnum:]_]*",
                    "[[:alnum:]_]*[a-z][A-Z][[:alnum:]_]*", "[[:alnum:]]+(\\.|\\$)[[:alnum:]]+",
                    "\\b[[:alnum:]]*[0-9][[:alnum:]]*\\b")) {
    text <- gsub(pattern, " ", text, perl = TRUE)
  }
  text
}

files_like <- function(folders, pattern) {
  found <- list.files(folders, pattern, recursive = TRUE, full.names = TRUE)
  # Snapshots are what messages say of words that were misspelt on purpose.
  found[!grepl("(^|/)(build|_snaps)/", found)]
}

readers <- list(
  list(read = prose_of_markdown,
       files = c(list.files(".", "[.]md$"), files_like(c("tests/testthat", "inst"), "[.]md$"),
                 files_like("vignettes", "[.]Rmd$"))),
  list(read = prose_of_help, files = files_like("man", "[.]Rd$")),
  list(read = prose_of_description, files = "DESCRIPTION"),
  list(read = prose_of_r, files = files_like(c("R", "tools", "bench", "tests/testthat"), "[.]R$")),
  list(read = prose_of_c, files = files_like(c("src", "inst/include"), "[.][ch]$"))
)

# Words of a line as the dictionary is asked for them.
words_of <- function(line) {
  words <- regmatches(line, gregexpr("[[:alpha:]]+('[[:alpha:]]+)*", line))[[1]]
  words <- sub("'s$", "", words)
  # W'W is a product of matrices.
  is_formula <- grepl("'", words) & !grepl("n't$", words)
  words[nchar(words) > 2 & !is_formula]
}

# Lines on which a word follows itself, unless that is a product of matrices.
doubled_words <- function(path, lines) {
  hits <- grep("\\b([[:alpha:]]{2,}) \\1\\b(?!')", lines, perl = TRUE)
  hits <- hits[!grepl("that that|had had", lines[hits])]
  data.frame(file = rep(path, length(hits)), line = hits,
             word = sub("^.*\\b([[:alpha:]]{2,}) \\1\\b.*$", "\\1 \\1", lines[hits], perl = TRUE))
}

# Which of these words hunspell does not know.
unknown_words <- function(words) {
  if (length(words) == 0) return(character())
  system2("hunspell", c("-l", "-d", "en_GB", "-i", "utf-8"), input = words, stdout = TRUE)
}

# One row for each word of each line of a text.
list_words <- function(path, lines) {
  words <- lapply(lines, words_of)
  n <- lengths(words)
  data.frame(file = rep(path, sum(n)), line = rep(seq_along(lines), n),
             word = as.character(unlist(words)))
}

texts <- unlist(lapply(readers, function(kind) {
  sapply(kind$files, kind$read, simplify = FALSE)
}), recursive = FALSE)
found <- do.call(rbind, Map(list_words, names(texts), texts))
twice <- do.call(rbind, Map(doubled_words, names(texts), texts))
known <- readLines("inst/WORDLIST")
is_unknown <- found$word %in% unknown_words(unique(found$word))
bad <- found[is_unknown & !tolower(found$word) %in% tolower(known), ]
bad <- rbind(bad[!duplicated(bad$word), ], twice)
idle <- known[!tolower(known) %in% tolower(found$word[is_unknown])]

for (k in seq_len(nrow(bad))) {
  cat(sprintf("FAIL %s: %s:%d: %s\n", part, bad$file[k], bad$line[k], bad$word[k]))
}
for (word in idle) cat(sprintf("FAIL %s: inst/WORDLIST: %s is used nowhere\n", part, word))
n_failed <- nrow(bad) + length(idle)
n_words <- length(unique(found$word))
cat(sprintf("%s: %d passed, %d failed\n", part, n_words - nrow(bad), n_failed))
quit(status = if (n_failed > 0) 1 else 0)
