# How the rules of check-layers.R read source text: C without comments and strings, functions with
# their lines.

read_text <- function(path) {
  lines <- readLines(path, warn = FALSE, encoding = "UTF-8")
  paste0(lines, "\n", collapse = "")
}

split_lines <- function(text) strsplit(text, "\n", fixed = TRUE)[[1]]

# Line numbers of character positions.
line_of <- function(text, positions) {
  breaks <- gregexpr("\n", text, fixed = TRUE)[[1]]
  findInterval(positions - 0.5, breaks[breaks > 0]) + 1L
}

# Blanks what a pattern matches and `keep` does not spare; lines stay where they are.
blank <- function(text, pattern, keep = function(match) rep(FALSE, length(match))) {
  found <- gregexpr(pattern, text, perl = TRUE)
  if (found[[1]][1] < 0) return(text)
  regmatches(text, found) <- lapply(regmatches(text, found), function(match) {
    ifelse(keep(match), match, gsub("[^\n]", " ", match))
  })
  text
}

c_comment <- "/\\*(?s:.*?)\\*/|//[^\n]*"
c_string <- "\"(?:\\\\.|[^\"\\\\\n])*\"|'(?:\\\\.|[^'\\\\\n])*'"

# C text without comments; strings stay.
without_comments <- function(text) {
  blank(text, paste(c_comment, c_string, sep = "|"), function(match) !startsWith(match, "/"))
}

# C text without comments and strings.
code_only <- function(text) blank(text, paste(c_comment, c_string, sep = "|"))

# Without preprocessor lines too: what is left balances its braces.
without_directives <- function(code) {
  blank(code, "(?m)^[ \t]*#(?:[^\n]*\\\\\n)*[^\n]*")
}

# What stands at file level of C code: pieces that end in ; or in a block. Data frame of text, first
# and last line, and whether a block follows.
top_level_pieces <- function(code) {
  code <- without_directives(code)
  at <- gregexpr("[{};]", code)[[1]]
  empty <- data.frame(text = character(), from = integer(), to = integer(), block = logical())
  if (at[1] < 0) return(empty)
  marks <- substring(code, at, at)
  depth <- cumsum((marks == "{") - (marks == "}"))
  opens <- which(marks == "{" & depth == 1)
  closes <- which(marks == "}" & depth == 0)
  semicolons <- which(marks == ";" & depth == 0)
  if (length(opens) != length(closes)) return(empty)
  ends <- sort(c(at[closes], at[semicolons]))
  starts <- c(opens, semicolons)
  is_block <- marks[starts] == "{"
  last <- at[ifelse(is_block, closes[match(starts, opens)], starts)]
  # Where the piece before ends.
  before <- c(0, ends)[findInterval(at[starts], ends, left.open = TRUE) + 1]
  text <- substring(rep(code, length(starts)), before + 1, at[starts] - 1)
  first <- before + regexpr("[^ \n\t]", paste0(text, "x"))
  data.frame(text = trimws(text), from = line_of(code, first), to = line_of(code, last),
             block = is_block)
}

# Functions of a C file: name, first and last line.
c_functions <- function(code) {
  pieces <- top_level_pieces(code)
  pieces <- pieces[pieces$block & grepl("\\)$", pieces$text), ]
  plain <- gsub("__attribute__ *\\(\\([^)]*\\)+", "", pieces$text)
  pieces$name <- sub("^.*?([A-Za-z_][A-Za-z0-9_]*) *\\((?s:.*)$", "\\1", plain, perl = TRUE)
  pieces[c("name", "from", "to")]
}

# Tokens of R text, or NULL where R cannot read it.
r_tokens <- function(text) {
  parsed <- tryCatch(parse(text = text, keep.source = TRUE), error = function(e) NULL)
  if (is.null(parsed)) return(NULL)
  tokens <- utils::getParseData(parsed)
  if (is.null(tokens)) data.frame() else tokens
}

# Names that R text assigns outside functions, with the lines of the pieces that do: by arrows of
# either direction, several at once, by assign(), and where a condition or braces stand about it.
r_assigned <- function(text) {
  parsed <- parse(text = text, keep.source = TRUE)
  from <- vapply(utils::getSrcref(parsed), `[`, 0L, 1)
  names <- lapply(as.list(parsed), names_assigned)
  data.frame(name = as.character(unlist(names)), from = rep(from, lengths(names)))
}

names_assigned <- function(call) {
  if (!is.call(call) || !is.name(call[[1]])) return(NULL)
  is_text <- function(x) is.name(x) || is.character(x)
  switch(as.character(call[[1]]),
    "<-" = , "=" = , "<<-" = c(if (is_text(call[[2]])) as.character(call[[2]]),
                               names_assigned(call[[3]])),
    "if" = , "{" = , "(" = , "local" = unlist(lapply(as.list(call)[-1], names_assigned)),
    "assign" = , "delayedAssign" = if (is.character(call[[2]])) call[[2]]
  )
}

# Functions of an R file, inner ones too: name (where it is assigned), first and last line.
r_functions <- function(tokens) {
  if (length(tokens) == 0) return(data.frame(name = character(), from = integer(), to = integer()))
  heads <- tokens[tokens$token %in% c("FUNCTION", "'\\\\'"), ]
  bodies <- tokens[match(heads$parent, tokens$id), ]
  tokens <- tokens[order(tokens$line1, tokens$col1), ]
  siblings <- split(seq_len(nrow(tokens)), tokens$parent)
  is_assignment <- tokens$token %in% c("LEFT_ASSIGN", "EQ_ASSIGN")
  name <- vapply(as.character(bodies$parent), function(parent) {
    own <- siblings[[parent]]
    if (!any(is_assignment[own])) return("(unnamed)")
    # A plain name is one token; the text of anything else is looked up, which takes long.
    inside <- siblings[[as.character(tokens$id[own[1]])]]
    if (length(inside) == 1) return(tokens$text[inside])
    paste(utils::getParseText(tokens, tokens$id[own[1]]), collapse = "")
  }, "", USE.NAMES = FALSE)
  data.frame(name = name, from = bodies$line1, to = bodies$line2)
}
