/* Every built-in model, one line each: MODEL(name) for `const gps_model model_<name>` in
 * model_<name>.c. */
MODEL(binary_sparse)
MODEL(gaussian_mixture)
MODEL(spike_slab)
MODEL(max_spike_slab)
MODEL(occlusive)
MODEL(noisy_or)
MODEL(poisson_mixture)
