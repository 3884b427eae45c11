/* Every routine that R can call, one line each: ENTRY(name, number of arguments). R calls it C_<name>, the C
 * function is r_<name>(). */

ENTRY(gp_evaluate, 7)
ENTRY(gp_features_evaluate, 6)
ENTRY(gp_features_leverage, 3)
ENTRY(gp_features_loo_means, 3)
ENTRY(gp_features_prepare, 4)
ENTRY(gp_features_weights, 5)
ENTRY(gp_kernel_matrix, 4)
ENTRY(gp_loo, 6)
ENTRY(gp_loo_means, 2)
ENTRY(gp_predict, 7)
ENTRY(gp_predict_means, 6)
ENTRY(gp_prepare, 4)
ENTRY(gp_refit, 8)
ENTRY(gp_root, 1)
ENTRY(gp_weights, 6)
