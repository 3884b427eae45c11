/* Independent slabs: a support's posterior from that of the support without its last latent h
 * (bordering of the factor of its covariance). With t = W_h'(y - W kappa) / sigma2, kappa the
 * posterior means of the smaller support, s = W_h' C^-1 W_h, C = sigma2 I + W Psi W' of it, and d =
 * 1 + psi s, the log joint grows by logit(pi) + (mu t - mu^2 s / 2 + psi t^2 / 2) / d - log(d) / 2.
 * No term divides by psi, which may be tiny. Called by model_spike_slab.c. */
#include "model_slab.h"

#include <math.h>
#include <string.h>

#include "vector_math.h"

/* Posteriors of nested supports, a record each. Given the value of its last latent, those of the
 * earlier ones move linearly, by -row; variance is that of the last. So the covariance is the sum
 * over the support's record and its ancestors of variance x x', x = (-row, 1). */
typedef struct {
  double *record;    /* variance, row [max_active], means [max_active] */
  size_t max_active; /* at least 1 */
  const int *parent; /* of each record; NULL: the one before it */
} slab_tree;

static size_t stride_of(size_t max_active) { return 2 * max_active + 1; }

static double *record_at(const slab_tree *tree, int at) {
  return tree->record + (size_t)at * stride_of(tree->max_active);
}

static const double *means_at(const slab_tree *tree, int at) {
  return record_at(tree, at) + 1 + tree->max_active;
}

static int parent_of(const slab_tree *tree, int at) {
  return tree->parent ? tree->parent[at] : at - 1;
}

/* s, and x's coefficients on the n latents of `parent`: row [n] = Cov W'W_h / sigma2. */
GPS_INLINE double project(const slab_tree *tree, int parent, size_t n, double gram,
                          const double *coupling, double *row) {
  double precision = gram;
  for (size_t i = 0; i < n; i++) row[i] = 0;
  for (size_t i = n; i-- > 0; parent = parent_of(tree, parent)) {
    const double *ancestor = record_at(tree, parent), *its_row = ancestor + 1;
    double dot = coupling[i];
    for (size_t j = 0; j < i; j++) dot -= its_row[j] * coupling[j];
    const double share = ancestor[0] * dot;
    precision -= share * dot;
    for (size_t j = 0; j < i; j++) row[j] -= share * its_row[j];
    row[i] += share;
  }
  return precision > 0 ? precision : 0; /* rounding may take it below */
}

/* Writes record `at`: the support of `parent`, of n latents, plus one, whose couplings with them
 * are W'W_h / sigma2. Value: gain in log joint. */
GPS_INLINE double border(const slab_tree *tree, int at, int parent, size_t n, const slab_latent *it,
                         const double *coupling) {
  double *record = record_at(tree, at), *row = record + 1, *means = row + tree->max_active;
  const double precision = project(tree, parent, n, it->gram, coupling, row);
  const double *known = n > 0 ? means_at(tree, parent) : NULL;
  double pull = it->proj;
  for (size_t j = 0; j < n; j++) pull -= coupling[j] * known[j];
  const double ratio = 1 + it->psi * precision;
  record[0] = it->psi / ratio;
  means[n] = (it->mean + it->psi * pull) / ratio;
  for (size_t j = 0; j < n; j++) means[j] = known[j] - row[j] * means[n];
  return it->prior + it->mean * (pull - 0.5 * it->mean * precision) / ratio +
         0.5 * pull * pull * record[0] - 0.5 * log(ratio);
}

GPS_INLINE slab_latent latent_in(const slab_slots *slots, size_t k) {
  const slab_latent latent = {slots->prior[k], slots->proj[k], slots->mean[k],
                              slots->gram[k * (slots->n_slots + 1)], slots->psi[k]};
  return latent;
}

/* Record `at` from `parent`, the last of n + 1 active slots being new. */
GPS_INLINE double border_slot(const slab_slots *slots, const slab_tree *tree, int at, int parent,
                              size_t n, const int *active, double *coupling) {
  const slab_latent latent = latent_in(slots, (size_t)active[n]);
  const double *gram = slots->gram + (size_t)active[n] * slots->n_slots;
  for (size_t j = 0; j < n; j++) coupling[j] = gram[active[j]];
  return border(tree, at, parent, n, &latent, coupling);
}

/* Scratch: a record for each state; weights of states; a chain of records for states whose
 * ancestors are not in the template, and couplings. */
static size_t chain_length(size_t n_slots) { return (n_slots + 1) * stride_of(n_slots + 1); }

size_t slab_independent_scratch(size_t n_slots, const gps_states *states) {
  const size_t n_states = (size_t)states->n_states, max_active = (size_t)states->max_active;
  return n_states * (stride_of(max_active) + 1) + chain_length(n_slots) + n_slots;
}

typedef struct {
  slab_tree tree, chain;
  double *weight, *coupling;
} slab_store;

static slab_store store_in(const slab_slots *slots, const gps_states *states, double *scratch) {
  const size_t n_states = (size_t)states->n_states, max_active = (size_t)states->max_active;
  slab_store store = {{scratch, max_active, states->parent}, {NULL, max_active, NULL}, NULL, NULL};
  store.weight = scratch + n_states * stride_of(max_active);
  store.chain.record = store.weight + n_states;
  store.coupling = store.chain.record + chain_length(slots->n_slots);
  return store;
}

/* Whether all ancestors of a state are in the template, down to a single latent. */
GPS_INLINE int is_rooted(const gps_states *states, int m) {
  if (states->all_subsets) return 1;
  while (states->n_active[m] > 1) {
    if (states->parent[m] < 0) return 0;
    m = states->parent[m];
  }
  return 1;
}

/* Support of n slots from nothing, as a chain of records of which the last is its own. */
static double build_chain(const slab_slots *slots, const slab_tree *chain, size_t n,
                          const int *active, double *coupling) {
  double value = 0;
  for (size_t k = 0; k < n; k++) {
    value += border_slot(slots, chain, (int)k, (int)k - 1, k, active, coupling);
  }
  return value;
}

GPS_CLONES void slab_independent_log_joint(const slab_slots *slots, const gps_states *states,
                                           double *log_joint, double *scratch) {
  const slab_store store = store_in(slots, states, scratch);
  for (int m = 0; m < states->n_states; m++) {
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    const int parent = states->parent[m];
    const size_t n_active = (size_t)states->n_active[m];
    if (n_active == 0) {
      log_joint[m] = 0;
    } else if (is_rooted(states, m)) {
      log_joint[m] =
          (n_active > 1 ? log_joint[parent] : 0) +
          border_slot(slots, &store.tree, m, parent, n_active - 1, active, store.coupling);
    } else {
      log_joint[m] = build_chain(slots, &store.chain, n_active, active, store.coupling);
    }
  }
}

/* weight * variance x x' of a record goes to the pairs of its slots. */
GPS_INLINE void add_covariance(const slab_slots *slots, const slab_tree *tree, int at, size_t n,
                               const int *active, double weight, double *pair) {
  const double *record = record_at(tree, at), *row = record + 1;
  const double share = weight * record[0];
  double *last = pair + (size_t)active[n] * slots->n_slots;
  for (size_t k = 0; k < n; k++) {
    double *column = pair + (size_t)active[k] * slots->n_slots;
    const double scaled = share * row[k];
    for (size_t j = 0; j <= k; j++) column[active[j]] += scaled * row[j];
    last[active[k]] -= scaled;
  }
  last[active[n]] += share;
}

GPS_INLINE void add_means(const slab_slots *slots, const double *means, size_t n_active,
                          const int *active, double prob, const slab_moments *moments) {
  for (size_t k = 0; k < n_active; k++) {
    double *column = moments->value_value + (size_t)active[k] * slots->n_slots;
    const double scaled = prob * means[k];
    moments->on[active[k]] += prob;
    moments->value[active[k]] += scaled;
    for (size_t j = 0; j <= k; j++) column[active[j]] += scaled * means[j];
  }
}

/* A state whose ancestors are not in the template: its chain is built again. */
static void add_alone(const slab_slots *slots, const slab_store *store, size_t n_active,
                      const int *active, double prob, const slab_moments *moments) {
  build_chain(slots, &store->chain, n_active, active, store->coupling);
  for (size_t k = 0; k < n_active; k++) {
    add_covariance(slots, &store->chain, (int)k, k, active, prob, moments->value_value);
  }
  add_means(slots, means_at(&store->chain, (int)n_active - 1), n_active, active, prob, moments);
}

/* A record takes part in the covariances of its state and of all that descend from it: it is
 * weighted by the sum of their probabilities, so that no state's covariance is ever formed. */
GPS_CLONES void slab_independent_moments(const slab_slots *slots, const gps_states *states,
                                         const double *prob, const slab_moments *moments,
                                         double *scratch) {
  const slab_store store = store_in(slots, states, scratch);
  const double negligible = slab_negligible(states);
  memset(store.weight, 0, (size_t)states->n_states * sizeof *store.weight);
  for (int m = states->n_states; m-- > 0;) {
    const size_t n_active = (size_t)states->n_active[m];
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    const int is_kept = prob[m] > negligible;
    if (n_active == 0 || (!is_kept && store.weight[m] == 0)) continue;
    if (!is_rooted(states, m)) {
      add_alone(slots, &store, n_active, active, prob[m], moments);
      continue;
    }
    if (is_kept) {
      store.weight[m] += prob[m];
      add_means(slots, means_at(&store.tree, m), n_active, active, prob[m], moments);
    }
    if (n_active > 1) store.weight[states->parent[m]] += store.weight[m];
    add_covariance(slots, &store.tree, m, n_active - 1, active, store.weight[m],
                   moments->value_value);
  }
}

/* The slots 0, 1, ... and one more latent. */
static slab_tree chain_of_all(const slab_slots *slots, double *scratch) {
  const slab_tree chain = {scratch, slots->n_slots + 1, NULL};
  return chain;
}

void slab_independent_given(const slab_slots *slots, double *scratch) {
  const slab_tree chain = chain_of_all(slots, scratch);
  for (size_t k = 0; k < slots->n_slots; k++) {
    const slab_latent latent = latent_in(slots, k);
    border(&chain, (int)k, (int)k - 1, k, &latent, slots->gram + k * slots->n_slots);
  }
}

double slab_independent_gain(const slab_slots *slots, const slab_latent *latent,
                             const double *gram_with, double *scratch) {
  const slab_tree chain = chain_of_all(slots, scratch);
  const int n = (int)slots->n_slots;
  return border(&chain, n, n - 1, slots->n_slots, latent, gram_with);
}
