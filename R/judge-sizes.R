# Audits of several sizes of the selection, side by side.

# Distinct numbers of latents that may be selected, in ascending order.
check_selected_sizes <- function(n_selected, fit) {
  if (inherits(fit$selector, "gps_selector_full")) {
    gps_abort("`n_selected` is not for a fit by selector_full(), which ranks nothing.")
  }
  n_choices <- count_choices(fit$model)
  sizes <- plain_numbers(n_selected)
  is_sound <- is.numeric(sizes) && length(sizes) > 0 && all(is.finite(sizes)) &&
    all(sizes == round(sizes)) && all(sizes >= 1 & sizes <= n_choices) && anyDuplicated(sizes) == 0
  if (!is_sound) {
    abort_value(n_selected, "n_selected", sprintf("distinct whole numbers in 1..%d", n_choices))
  }
  sort(as.integer(sizes))
}

audit_sizes <- function(fit, case, sizes, probable) {
  state <- prediction_state(fit)
  max_active <- if (fit$max_active < fit$n_selected) fit$max_active
  rows <- lapply(sizes, function(size) {
    task <- resize_task(case$task, size, max_active)
    with_memory(judge_size(task, state, case$affinity, probable),
                "An audit of %d selected latents", size)
  })
  new_sizes(do.call(rbind, rows), ncol(case$task$y), fit$model$n_latents)
}

is_sizes_sound <- function(x) {
  columns <- c("n_selected", "states", "mass", "mass_error", "gap", "bound", "recall")
  is.list(x) && is.data.frame(x$table) && all(columns %in% names(x$table)) &&
    all(vapply(x$table[columns], is.numeric, NA)) && is_count(x$n_points) &&
    is_count(x$n_latents) && (is.null(x$chosen) || is_count(x$chosen)) &&
    (is.null(x$target) || is_number(x$target))
}

#' @rdname gps_audit
#' @export
print.gps_sizes <- function(x, digits = 3, ...) {
  digits <- shown_digits(digits, further(...))
  need_made(is_sizes_sound(x), "x", "gps_audit() or a fit")
  say(sprintf("What selections of several sizes capture, of %s latents (%s)",
              format_number(x$n_latents), plural(x$n_points, "point")))
  shown <- x$table[c("n_selected", "states", "mass", "mass_error", "gap", "bound", "recall")]
  # Rounding of a mass of 1 is no gap.
  shown[c("mass_error", "gap")] <- lapply(shown[c("mass_error", "gap")], round, 10)
  shown$bound <- plain_number(shown$bound, digits + 3)
  shown$" " <- ifelse(shown$n_selected %in% x$chosen, "chosen", "")
  if (is.null(x$chosen)) shown$" " <- NULL
  print(shown, digits = digits, row.names = FALSE)
  invisible(x)
}
