# What a paper says of a fit, as a paragraph.

#' A methods paragraph for a fit
#'
#' Sentences to paste into a manuscript: the data, the model, how latents were selected and states
#' inferred, settings that are not the defaults, how the fit ended, and what is needed to make it
#' again.
#'
#' @details The versions of R and of the BLAS library are those of the session in which the report
#' is made; that of gpselect is the one that made the fit. A fit knows the seed of its own streams
#' of random numbers, not the `set.seed()` before it: name that yourself.
#' @param fit a fit, as made by [gps_fit()].
#' @param digits number of significant digits of the bound and of criteria.
#' @param ... nothing; an unknown argument is an error.
#' @return a list of class `gps_report` with `text`, the paragraph as one string, and `parts`, its
#'   sentences by name. `print()` shows the paragraph in lines of the console's width.
#' @seealso [summary.gps_fit()], `citation("gpselect")`
#' @concept reproducibility
#' @examples
#' set.seed(1)
#' fit <- gps_fit(faithful, model_gaussian_mixture(2), selector_full())
#' gps_report(fit)
#' @export
gps_report <- function(fit, digits = 6, ...) {
  refuse_unknown(further(...), "digits")
  need_given()
  fit <- check_fit(fit)
  digits <- check_count(digits, "digits", 1, 15)
  about <- describe_fit(fit)
  bound <- fit_bound(fit)
  parts <- c(
    model = sprintf("We fitted a latent variable model (%s) to %s%s.", about[["Model"]],
                    describe_size(fit), report_missing(about, fit)),
    algorithm = report_algorithm(fit, about),
    settings = report_settings(fit),
    end = sprintf("The fit %s, with a %s of %s (df = %d, BIC = %s).", report_status(about),
                  name_bound(bound), plain_number(fit$bound, digits), as.integer(attr(bound, "df")),
                  plain_number(stats::BIC(bound), digits)),
    flaws = report_flaws(fit),
    software = report_software(fit)
  )
  structure(list(text = paste(parts, collapse = " "), parts = parts), class = "gps_report")
}

report_missing <- function(about, fit) {
  n_omitted <- length(fit$omitted)
  paste(c(if ("Missing" %in% names(about)) {
    sprintf("; %s, were missing and integrated out", about[["Missing"]])
  }, if (n_omitted > 0) {
    sprintf("; %s %s left out", about[["Left out"]], if (n_omitted == 1) "was" else "were")
  }), collapse = "")
}

# Status words that have no verb of their own get one.
report_status <- function(about) {
  sub("^interrupted", "was interrupted", sub("^out of time", "ran out of time", about[["Status"]]))
}

report_algorithm <- function(fit, about) {
  rank <- if (selects_all(fit)) {
    "all latents"
  } else {
    sprintf("%d of %s for each data point (selection: %s; Shelton et al., 2017)",
            fit$n_selected, describe_latents(fit$model), about[["Selector"]])
  }
  if ("Chosen" %in% names(about)) {
    rank <- sprintf("%s, a number chosen automatically (%s)", rank, about[["Chosen"]])
  }
  sprintf(paste("Parameters were estimated by expectation maximisation over %s, with at most %d on",
                "at once and %s; starting points: %s."),
          rank, as.integer(fit$max_active), about[["Inference"]], about[["Starts"]])
}

# What of the control is not as gps_control() makes it.
report_settings <- function(fit) {
  standard <- unclass(gps_control())
  given <- unclass(fit$control)
  names <- setdiff(names(given), c("progress", "n_threads", "trace", "keep_data", "keep_slots",
                                   "checkpoint", "checkpoint_every", "keep_starts"))
  is_other <- !vapply(names, function(name) identical(given[[name]], standard[[name]]), NA)
  shown <- names[is_other & vapply(given[names], function(x) is.atomic(x) && length(x) > 0, NA)]
  if (length(shown) == 0) return("All settings were the package's defaults.")
  values <- vapply(given[shown], function(x) paste(format(x), collapse = ", "), "")
  sprintf("Settings other than the defaults: %s.", paste(shown, "=", values, collapse = "; "))
}

report_flaws <- function(fit) {
  reasons <- fit$standing$degenerate
  if (length(reasons) == 0) return(NULL)
  sprintf("The likelihood has no maximum (%s), so that its value and BIC are set by floors.",
          paste(reasons, collapse = "; "))
}

report_software <- function(fit) {
  blas <- extSoftVersion()[["BLAS"]]
  if (!nzchar(blas)) blas <- La_library()
  sprintf(paste("Computed with gpselect %s in %s on %s, BLAS %s, LAPACK %s; seeds of the random",
                "streams %s."),
          paste(unlist(fit$version), collapse = "."), R.version.string, R.version$platform,
          if (nzchar(blas)) basename(blas) else "unknown", La_version(),
          paste(fit$seed, collapse = " and "))
}

#' @rdname gps_report
#' @param x a report from `gps_report()`.
#' @export
print.gps_report <- function(x, ...) {
  refuse_shown(further(...))
  need_made(is.list(x) && is.character(x$text) && length(x$text) == 1, "x", "gps_report()")
  cat(paste0(wrap_text(x$text), "\n"), sep = "")
  invisible(x)
}
