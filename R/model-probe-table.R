# Members of a model in C called one by one in watched memory (src/r_probe.c), and what its marks
# say.

# Members as r_probe.c counts them.
probed_members <- c("prepare", "log_joint", "accumulate", "describe", "gain_begin", "gain",
                    "propose", "conditional", "log_joint_draw", "accumulate_latent")

native_case <- function(model, params, y) {
  y <- y[rep_len(seq_len(nrow(y)), max(5L, nrow(y))), , drop = FALSE]
  n_slots <- as.integer(min(3, model$n_latents / count_places(model)))
  most <- as.integer(min(n_slots, model$rule$max_active, model$exact_active))
  list(model = model, params = params, y = y, has = model_table(model$native)$has,
       states = enumerate_states(model$rule, n_slots, most),
       selected = probe_slots(model, n_slots, nrow(y)))
}

# What all routines of r_probe.c get of some points: list(problem, y, block).
problem_of <- function(case, points = seq_len(nrow(case$y)), params = case$params) {
  model <- case$model
  y <- t(case$y[points, , drop = FALSE])
  block <- new_block(0, ncol(y))
  list(problem = native_problem(model, block_inputs(model, params, y, block)), y = y, block = block)
}

# Log joints and all else of some points, in states of these slots.
ask_states <- function(case, selected = case$selected, states = case$states, fill = 0, ...) {
  it <- problem_of(case, ...)
  .Call(C_probe_states, case$model$native, it$problem, case$model$stats_dims, it$y, it$block,
        selected, states, fill)
}

report_marks <- function(report, said) {
  for (member in probed_members[said$touched > 0]) {
    add_finding(report, "overrun", member, "It writes outside of its scratch.", paste(
      "Count what it uses, and return at least as many doubles from `scratch_size`, which knows",
      "the sizes of the template alone. In a fit it would overwrite another thread's numbers."
    ))
  }
  for (member in probed_members[said$over > 0]) {
    add_finding(report, "overrun", member, "It writes outside of the arrays of its results.",
                "Hold its loops against the shapes that the table declares.")
  }
}

report_unwritten <- function(report, member, what) {
  add_finding(report, "unwritten", member, sprintf("It never writes %s.", what), paste(
    "Whoever reads it gets what was there before. Write all of it, or leave it out of the table",
    "and of what R declares."
  ))
}
