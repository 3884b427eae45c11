# gps_audit(): its numbers by their definition over all states, its verdict, and what it refuses.

# All states of H latents and their probabilities, states x points: `joint(y, state)` of each.
states_by_hand <- function(y, n_latents, joint, one_hot = FALSE) {
  states <- if (one_hot) diag(n_latents) else t(as.matrix(expand.grid(rep(list(0:1), n_latents))))
  prob <- vapply(seq_len(nrow(y)), function(n) {
    value <- apply(states, 2, function(state) joint(y[n, ], state))
    exp(value - max(value)) / sum(exp(value - max(value)))
  }, numeric(ncol(states)))
  list(states = states, prob = prob)
}

# Recall, mass and gap of selections by the definition.
audit_by_hand <- function(selected, max_active, all, probable = 0.1) {
  states <- all$states
  n_latents <- nrow(states)
  rows <- lapply(seq_len(ncol(all$prob)), function(n) {
    prob <- all$prob[, n]
    held <- seq_len(n_latents) %in% selected[n, ]
    inside <- colSums(states[!held, , drop = FALSE]) == 0 & colSums(states) <= max_active
    on <- drop(states %*% prob)
    list(mass = sum(prob[inside]), on = on, found = sum(on >= probable & held),
         n = sum(on >= probable))
  })
  part <- function(name) vapply(rows, `[[`, 1, name)
  list(mass = part("mass"), gap = -log(part("mass")), recall = sum(part("found")) / sum(part("n")),
       n_probable = part("n"), on = vapply(rows, `[[`, numeric(n_latents), "on"))
}

audit_fit <- function(y, model, n_selected, selector = selector_handcrafted(screen = FALSE), ...) {
  quiet_degenerate(gps_fit(y, model, selector, n_selected, control = short_control(max_iter = 3),
                           ...))
}

expect_audit <- function(audit, fit, by_hand) {
  expect_near(audit$points$mass, by_hand$mass, 1e-8)
  # Gaps of next to nothing are differences of large numbers.
  expect_near(audit$points$gap, by_hand$gap, 1e-8)
  expect_near(audit$mass, mean(by_hand$mass), 1e-8)
  expect_near(audit$gap, mean(by_hand$gap), 1e-8)
  expect_identical(audit$recall, by_hand$recall)
  expect_equal(audit$points$n_probable, by_hand$n_probable)
  expect_true(audit$is_exact)
}

test_that("mass, gap and recall are those of all states, models A, B and D", {
  for (row in MODELS) {
    case <- draw_case(row, 15)
    fit <- audit_fit(case$y, row$model(), 2L)
    audit <- gps_audit(fit)
    joint <- function(y, state) row$joint(fit$params, y, state)
    all <- states_by_hand(case$y, row$n_latents, joint, row$is_one_hot)
    by_hand <- audit_by_hand(t(fit$selected), fit$max_active, all)
    expect_audit(audit, fit, by_hand)
    affinity <- gps_affinity(fit$selector, fit, case$y)
    wanted <- vapply(1:15, function(n) cor(affinity[n, ], by_hand$on[, n], method = "spearman"), 1)
    expect_near(audit$points$correlation, wanted, 1e-6)
  }
})

test_that("they are for twelve latents, and where fewer may be on", {
  set.seed(2)
  y <- simulate_bars(3, size = 6, prob = 0.15)$y
  fit <- suppressWarnings(audit_fit(y, model_binary_sparse(12), 4L, max_active = 2),
                          classes = "gps_warning")
  joint <- function(y, state) joint_binary_sparse(fit$params, y, state)
  expect_audit(gps_audit(fit), fit, audit_by_hand(t(fit$selected), 2, states_by_hand(y, 12, joint)))
})

test_that("they are for components with places, and for models of R functions", {
  case <- occlusive_case(7, image = c(1, 4), size = c(1, 2), n_components = 2, n = 3)
  fit <- audit_fit(case$y, model_occlusive(2, c(1, 2), c(1, 4)), 1L)
  joint <- function(y, state) joint_occlusive(fit$model, fit$params, y, which(state == 1))
  expect_audit(gps_audit(fit), fit, audit_by_hand(t(fit$selected), 1,
                                              states_by_hand(case$y, 8, joint)))
  y <- simulate_bars(20, size = 3)$y
  model <- custom_sparse(5, TRUE)
  fit <- audit_fit(y, model, 2L, selector_random())
  joint <- function(y, state) joint_binary_sparse(fit$params, y, state)
  audit <- gps_audit(fit)
  expect_audit(audit, fit, audit_by_hand(t(fit$selected), 2, states_by_hand(y, 5, joint)))
  expect_true(is.na(audit$rank_correlation))
  expect_null(audit$curve)
})

test_that("a full selection is green, and one of a latent where many are on is red", {
  set.seed(1)
  bars <- simulate_bars(80, size = 4, prob = 0.4)
  full <- gps_audit(audit_fit(bars$y, model_binary_sparse(8), 8L))
  expect_identical(full$verdict, "green")
  expect_identical(full$mass, 1)
  expect_identical(full$recall, 1)
  few <- audit_fit(bars$y, model_binary_sparse(8), 1L, start = list(W = bars$W, pi = 0.4,
                                                                      sigma2 = 2))
  audit <- gps_audit(few, n = 50)
  expect_identical(audit$verdict, "red")
  expect_identical(nrow(audit$points), 50L)
  expect_identical(gps_audit(few, n = 50), audit)
  verdicts <- mapply(audit_verdict, c(0.95, 0.949, 0.95, 0.799, 1, 1),
                     c(0.98, 1, 0.979, 1, 0.899, NA))
  expect_identical(verdicts, c("green", "amber", "amber", "red", "red", "green"))
})

test_that("a wider E-step finds what all states tell, and a sampled one about", {
  set.seed(3)
  bars <- simulate_bars(60, size = 5, prob = 0.25)
  fit <- audit_fit(bars$y, model_binary_sparse(10), 3L, start = list(W = bars$W, pi = 0.25))
  exact <- gps_audit(fit)
  task <- new_prediction_task(fit, fit$y, "prob", 1L, is_new = FALSE)
  refer <- function(plan) refer_points(task, fit$params, plan, fit$selected)
  wide <- refer(list(kind = "wide", n_more = 5L,
                     states = enumerate_states(fit$model$rule, 8L, 8L)))
  expect_lte(max(abs(wide$mass - exact$points$mass)), 0.02)
  expect_true(all(wide$mass >= exact$points$mass - 1e-12))
  sampled <- refer(list(kind = "sampled", n_more = 7L, states = new_states(10L, 10L, list())))
  expect_lte(abs(mean(sampled$mass) - exact$mass), 0.02)
  # Which latents are added is the model's word alone.
  expect_identical(sort(unique(c(wide$slots[, 1]))), sort(wide$slots[, 1]))
  many <- audit_fit(bars$y[1:40, ], model_binary_sparse(40), 3L)
  audit <- gps_audit(many)
  expect_match(audit$reference, "wider, 13 of 40 latents")
  expect_false(audit$is_exact)
  set.seed(4)
  maxima <- audit_fit(simulate_bars(20, "max_spike_slab", size = 3)$y, model_max_spike_slab(6), 4L)
  audit <- gps_audit(maxima)
  expect_match(audit$reference, "sampled, 6 of 6")
  expect_true(audit$mass > 0 && audit$mass <= 1)
})

test_that("models of R functions have wider E-steps, whatever they rank by", {
  set.seed(5)
  y <- simulate_bars(6, size = 4)$y
  fit <- suppressWarnings(audit_fit(y, custom_sparse(16, TRUE, TRUE), 3L, selector_random()))
  audit <- gps_audit(fit, n = 4)
  expect_match(audit$reference, "wider, 13 of 16")
  # The model in C has the same gains.
  native <- gps_bind(model_binary_sparse(16), y)
  gains_of <- function(model) {
    gains_beside(list(model = model, y = t(y)), fit$params, matrix(c(3L, 0L), 2, 6))
  }
  own <- gains_of(fit$model)
  gains <- gains_of(native)
  # Where the latent itself is given, there is none to gain.
  relative <- function(gain) apply(gain[-3, ], 2, function(x) x - x[1])
  expect_near(relative(own), relative(gains), 1e-9)
})

test_that("functions in R rank latents whose log joints are far apart, or impossible", {
  set.seed(7)
  y <- simulate_bars(6, size = 4)$y
  fit <- suppressWarnings(audit_fit(y, custom_sparse(16), 3L, selector_random()))
  # Probabilities of most latents beside the best one are below 1e-308.
  params <- replace(fit$params, "sigma2", list(1e-3))
  gains <- function(model) {
    gain <- gains_beside(list(model = model, y = t(y)), params, matrix(0L, 0, 6))
    gain - rep(gain[1, ], each = 16)
  }
  native <- gains(gps_bind(model_binary_sparse(16), y))
  expect_gt(diff(range(native)), 1e4)
  expect_near(gains(fit$model), native, 1e-8)
  strict <- model_custom(
    14, init = function(y) list(p = 0.5),
    log_joint = function(params, y, states) ifelse(colSums(states) >= sum(y), 0, -Inf),
    mstep = function(params, y, posterior) params
  )
  audit <- gps_audit(suppressWarnings(audit_fit(matrix(1, 5, 2), strict, 2L, selector_random())))
  expect_near(audit$mass, 1 / (2^13 - 14), 1e-12)
})

test_that("a learned selection has its regression judged, and new points are selected for", {
  set.seed(6)
  clusters <- simulate_clusters(150)
  fit <- gps_fit(clusters$y[1:100, ], model_gaussian_mixture(3), selector_gp(), n_selected = 2,
                 control = gps_control(max_iter = 10, n_starts = 1, progress = FALSE))
  audit <- gps_audit(fit)
  targets <- predict(fit)
  affinity <- gps_affinity(fit$selector, fit, clusters$y[1:100, ])
  centred <- sweep(targets, 2, colMeans(targets))
  expect_near(audit$loo_r2, 1 - sum((targets - affinity)^2) / sum(centred^2), 1e-10)
  new <- gps_audit(fit, clusters$y[101:150, ])
  expect_true(new$is_new)
  expect_identical(nrow(new$points), 50L)
  expect_true(is.na(new$loo_r2))
  selected <- predict(fit, clusters$y[101:150, ], type = "selected")
  joint <- function(y, state) joint_mixture(fit$params, y, state)
  by_hand <- audit_by_hand(selected, 1, states_by_hand(clusters$y[101:150, ], 3, joint, TRUE))
  expect_near(new$points$mass, by_hand$mass, 1e-8)
  expect_identical(audit$curve$recall[3], 1)
  expect_false(is.unsorted(audit$curve$recall))
  expect_identical(audit$never, integer())
})

test_that("latents that are selected nowhere are named", {
  set.seed(7)
  y <- simulate_bars(40, size = 3)$y
  fit <- audit_fit(y, model_binary_sparse(6), 2L)
  fit$selected[] <- 1:2
  expect_identical(gps_audit(fit)$never, 3:6)
})

test_that("an audit is printed, drawn and stands in a summary", {
  set.seed(8)
  y <- simulate_bars(60, size = 3)$y
  fit <- audit_fit(y, model_binary_sparse(6), 3L)
  audit <- gps_audit(fit, n = 40)
  expect_printed(audit, "Verdict +(green|amber|red)\n +Points +40 data points of 60")
  expect_printed(gps_audit(fit), "all 60 data points\n +Reference +exact, all 64 states")
  pdf(NULL)
  old <- par(no.readonly = TRUE)[c("mfrow", "mar")]
  expect_invisible(plot(audit))
  expect_identical(par(no.readonly = TRUE)[c("mfrow", "mar")], old)
  plot(gps_audit(audit_fit(y, model_binary_sparse(6), 3L, selector_random())))
  dev.off()
  expect_printed(summary(fit, audit = audit), "Audit +(green|amber|red): .*40 points; exact")
  expect_printed(summary(fit), "Criteria")
  expect_gps_error(summary(fit, audit = 1), "`audit` must be NULL or an audit from gps_audit()")
  other <- audit_fit(y, model_binary_sparse(6), 2L)
  expect_gps_error(summary(other, audit = audit), "`audit` is not of this fit")
  expect_gps_error(print(structure(list(), class = "gps_audit")), "`x` is not as gps_audit()")
})

test_that("arguments of gps_audit() are checked", {
  set.seed(9)
  y <- simulate_bars(30, size = 3)$y
  fit <- audit_fit(y, model_binary_sparse(6), 3L)
  expect_identical(gps_audit(fit, n = "all"), gps_audit(fit, n = 30))
  expect_gps_error(gps_audit(fit, n = "some"), "`n` must be")
  expect_gps_error(gps_audit(1), "`fit` must be a fit")
  expect_gps_error(gps_audit(fit, n = 0), "`n` must be")
  expect_gps_error(gps_audit(fit, probable = 2), "`probable` must be")
  expect_gps_error(gps_audit(fit, y[, 1:3]), "`y` must have 9 columns, not 3")
  expect_gps_error(gps_audit(fit, what = 1), "Unknown argument `what`")
  lean <- audit_fit(y, model_binary_sparse(6), 3L)
  lean["y"] <- list(NULL)
  lean["selected"] <- lean["prob_on"] <- list(NULL)
  lean$control$keep_slots <- FALSE
  expect_error(gps_audit(lean), class = "gps_error_argument")
})

test_that("several numbers of selected latents have the mass that all states tell", {
  set.seed(10)
  bars <- simulate_bars(24, size = 4, prob = 0.3)
  fit <- audit_fit(bars$y, model_binary_sparse(8), 3L, start = list(W = bars$W, pi = 0.3))
  sizes <- gps_audit(fit, n_selected = c(5, 1, 8))
  expect_identical(sizes$table$n_selected, c(1L, 5L, 8L))
  expect_identical(sizes$table$states, c(2, 32, 256))
  joint <- function(y, state) joint_binary_sparse(fit$params, y, state)
  affinity <- gps_affinity(fit$selector, fit, bars$y)
  all <- states_by_hand(bars$y, 8, joint)
  for (i in 1:3) {
    size <- sizes$table$n_selected[i]
    selected <- t(apply(affinity, 1, function(a) sort(order(-a)[seq_len(size)])))
    by_hand <- audit_by_hand(matrix(selected, 24), size, all)
    expect_near(sizes$table$mass[i], mean(by_hand$mass), 1e-8)
    expect_near(sizes$table$gap[i], mean(by_hand$gap), 1e-8)
    expect_near(sizes$table$recall[i], by_hand$recall, 1e-12)
  }
  whole <- gps_estep(fit$model, fit$params, bars$y, matrix(1:8, 24, 8, byrow = TRUE))$log_evidence
  expect_near(sizes$table$bound[3], mean(whole), 1e-9)
  expect_identical(gps_audit(fit, n_selected = c(5, 1, 8)), sizes)
  new <- gps_audit(fit, bars$y[1:20, ], n_selected = 8)
  expect_near(new$table$mass, 1, 1e-12)
  expect_printed(sizes, "24 points.*n_selected +states +mass")
  pdf(NULL)
  expect_invisible(plot(sizes))
  dev.off()
  expect_gps_error(gps_audit(fit, n_selected = 9), "`n_selected` must be distinct whole numbers")
  expect_gps_error(gps_audit(fit, n_selected = c(2, 2)), "`n_selected` must be distinct")
  full <- audit_fit(bars$y, model_binary_sparse(8), NULL, selector_full())
  expect_gps_error(gps_audit(full, n_selected = 3), "selector_full(), which ranks nothing")
  expect_gps_error(print(structure(list(), class = "gps_sizes")), "`x` is not as gps_audit()")
})

# Mixtures whose first iterations are from `start`; the audit's words and lights.
lights <- function(y, model, selector, n_selected = NULL, start = NULL, max_iter = 15) {
  set.seed(2)
  control <- gps_control(n_starts = 2, max_iter = max_iter, n_threads = 1, progress = FALSE)
  fit <- suppressWarnings(gps_fit(y, model, selector, n_selected, control = control,
                                  start = start), classes = "gps_warning")
  audit <- gps_audit(fit, n = 100)
  list(fit = fit, audit = audit, verdict = audit$verdict, ranking = audit$ranking$verdict)
}

test_that("the ranking alone is red for a linear kernel on a line, and green for others", {
  for (n_clusters in if (is_full()) c(3, 6, 9) else c(3, 6)) {
    set.seed(1)
    y <- simulate_clusters(60 * n_clusters, n_clusters, layout = "line")$y
    model <- model_gaussian_mixture(n_clusters)
    linear <- lights(y, model, selector_gp(kernel_linear()))
    expect_identical(c(linear$verdict, linear$ranking), c("green", "red"))
    expect_printed(linear$audit, "Ranking +red by itself: mass 0[.]")
    expect_match(linear$audit$line, "^green \\(ranking alone red\\): mass")
    expect_true(linear$audit$loo_r2 < 0.1 || linear$audit$ranking$recall < 0.9)
    rbf <- lights(y, model, selector_gp(kernel_rbf()))
    expect_identical(c(rbf$verdict, rbf$ranking), c("green", "green"))
  }
  set.seed(1)
  y <- simulate_clusters(400, 20, 6)$y
  near <- lights(y, model_gaussian_mixture(20, "spherical"),
                 selector_gp(kernel_rbf(), method = "neighbours"))
  expect_identical(c(near$verdict, near$ranking), c("green", "green"))
})

test_that("low rank is red from random starts, and neighbours on a random dictionary", {
  set.seed(3)
  centre <- matrix(stats::rnorm(1600, sd = 3), 100)
  y <- centre[sample(100, 2000, TRUE), ] + matrix(stats::rnorm(32000), 2000)
  low <- lights(y, model_gaussian_mixture(100, "spherical"),
                selector_gp(method = "ichol", rank = 10, screen = FALSE), 3L,
                list(mu = t(y[sample(2000, 100), ])), max_iter = 8)
  expect_identical(c(low$verdict, low$ranking), c("red", "red"))
  set.seed(4)
  W <- matrix(stats::rnorm(32 * 64), 32)
  on <- matrix(stats::runif(300 * 64) < 4 / 64, 300)
  y <- tcrossprod(on * 1, W) + matrix(stats::rnorm(9600, sd = 0.5), 300)
  truth <- list(W = W, pi = 4 / 64, sigma2 = 0.25)
  near <- lights(y, model_binary_sparse(64),
                 selector_gp(kernel_rbf(), method = "neighbours", rank = 20, screen = FALSE), 8L,
                 truth, max_iter = 2)
  expect_identical(c(near$verdict, near$ranking), c("red", "red"))
  # Of candidates alone: all other latents have the affinity 0.
  fit <- near$fit
  points <- near$audit$points$point[1:20]
  affinity <- gps_affinity(fit$selector, fit, y, points)
  task <- new_prediction_task(fit, t(y[points, ]), "prob", 1L, is_new = FALSE)
  found <- refer_points(task, fit$params, plan_reference(task), fit$selected[, points])
  wanted <- vapply(1:20, function(n) {
    slots <- found$slots[, n][found$slots[, n] > 0]
    among <- affinity[n, slots] != 0
    on <- found$prob_on[found$slots[, n] > 0, n]
    if (length(unique(on[among])) < 2) return(NA_real_)
    cor(affinity[n, slots][among], on[among], method = "spearman")
  }, 1)
  expect_near(near$audit$points$correlation[1:20], wanted, 1e-6)
  # What ranks by candidates selects no others.
  chosen <- best_ranked(task, prediction_state(fit), t(affinity))
  held <- chosen > 0
  expect_true(all(affinity[cbind(col(chosen)[held], chosen[held])] > 0))
})

test_that("the ranking is judged by the definition", {
  set.seed(11)
  bars <- simulate_bars(24, size = 4, prob = 0.3)
  fit <- audit_fit(bars$y, model_binary_sparse(8), 3L, selector_handcrafted(gps_screen()),
                   start = list(W = bars$W, pi = 0.3))
  audit <- gps_audit(fit)
  affinity <- gps_affinity(fit$selector, fit, bars$y)
  best <- t(apply(affinity, 1, function(a) sort(order(-a)[1:3])))
  joint <- function(y, state) joint_binary_sparse(fit$params, y, state)
  by_hand <- audit_by_hand(best, 3, states_by_hand(bars$y, 8, joint))
  expect_near(audit$ranking$mass, mean(by_hand$mass), 1e-8)
  expect_near(audit$ranking$recall, by_hand$recall, 1e-12)
  expect_null(gps_audit(audit_fit(bars$y, model_binary_sparse(8), 8L))$ranking)
  # A regression that explains nothing is red, whatever comes first by chance.
  case <- own_points(fit, 24, 1L)
  expect_identical(judge_ranking(fit, case, 0.1, NA)$verdict, audit$ranking$verdict)
  expect_identical(judge_ranking(fit, case, 0.1, 0.099)$verdict, "red")
})

test_that("an audit of all latents is made where a sampled reference is all there is", {
  set.seed(1)
  y <- simulate_bars(60, size = 3, value = 5)$y
  fit <- gps_fit(y, model_max_spike_slab(6), selector_full(),
                 control = gps_control(n_starts = 1, max_iter = 3, progress = FALSE))
  audit <- gps_audit(fit, n = 20)
  expect_identical(audit$recall, 1)
})
