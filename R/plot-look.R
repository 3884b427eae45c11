# What all figures of the package let their caller choose: title, colours, what is shown, key.

# list(main, over, col, n, select, key), checked. `n_titles` is the number of panels with a title;
# where there are several a single one stands over them, `over`, and "" leaves out all.
new_look <- function(main = NULL, col = NULL, key = TRUE, n = NULL, select = NULL, n_titles = 1) {
  over <- NULL
  if (!is.null(main)) {
    main <- check_titles(main, n_titles)
    if (length(main) < n_titles && !nzchar(main)) {
      main <- rep("", n_titles)
    } else if (length(main) < n_titles) {
      over <- main
      main <- NULL
    }
  }
  if (!is.null(n)) n <- check_count(n, "n")
  if (!is.null(n) && !is.null(select)) {
    gps_abort("`n` and `select` are two ways to say what is shown: give one.")
  }
  list(main = main, over = over, col = check_colours(col), key = check_flag(key, "key"), n = n,
       select = select)
}

# One title, or one for each panel that has one; "" is none.
check_titles <- function(main, n_titles) {
  if (!is.character(main) || !length(main) %in% c(1, n_titles) || !all(is_text(main))) {
    abort_value(main, "main", if (n_titles == 1) "one title (text)" else
      sprintf("one title, or %d, one for each panel%s", n_titles,
              if (is.character(main)) "" else ", as text"))
  }
  main
}

check_colours <- function(col) {
  if (is.null(col)) return(NULL)
  is_sound <- (is.character(col) || is.numeric(col)) && length(col) > 0 && !anyNA(col) &&
    !is.null(tryCatch(grDevices::col2rgb(col), error = function(e) NULL))
  if (!is_sound) {
    gps_abort(sprintf(paste("`col` must be colours, such as \"red\", \"#0072B2\" or",
                            "hcl.colors(8), not %s."), describe_value(col)))
  }
  col
}

# What was given, or else the default.
given_or <- function(given, default) if (is.null(given)) default else given

title_of <- function(look, default) given_or(look$main, default)

# Colours of `default`'s series, with those that were given in their place.
series_ink <- function(look, default) {
  if (is.null(look$col)) default else rep_len(look$col, length(default))
}

# Numbers of the latents to draw, of those in `order`: those that were asked for, or the first `n`,
# or `most`.
chosen_latents <- function(look, order, most, names = NULL, what = "latent") {
  if (!is.null(look$select)) return(check_select(look$select, order, names, what))
  utils::head(order, if (is.null(look$n)) most else look$n)
}

check_select <- function(select, order, names, what = "latent") {
  if (is.factor(select)) select <- as.character(select)
  select <- plain_numbers(select)
  allowed <- sprintf("numbers of %ss between 1 and %d%s, none twice", what, max(order),
                     if (is.null(names)) "" else ", or their names")
  if (is.character(select) && !is.null(names)) {
    place <- match(select, names)
    if (anyNA(place)) {
      gps_abort(sprintf("`select`: there is no %s %s.%s", what, quoted(select[is.na(place)][1]),
                        hint_name(select[is.na(place)][1], names, what)))
    }
    select <- place
  }
  is_sound <- is.numeric(select) && length(select) > 0 && !anyNA(select) &&
    all(select %in% order) && !anyDuplicated(select)
  if (!is_sound) abort_value(select, "select", allowed)
  as.integer(select)
}

hint_name <- function(name, names, what) {
  near <- nearest_name(name, names)
  if (is.null(near)) sprintf(" There are %s.", listed(quoted(names), what)) else
    sprintf(" Did you mean %s?", quoted(near))
}

# "Components", "Components (the 9 most used of 30)", "Components (3 of 30)".
counted_title <- function(title, look, n_shown, n_all) {
  if (n_shown == n_all) return(title)
  words <- if (is.null(look$select)) "%s (the %d most used of %d)" else "%s (%d of %d)"
  sprintf(words, title, n_shown, n_all)
}
