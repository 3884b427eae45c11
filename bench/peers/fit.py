"""Fits one mixture or k-means of scikit-learn or faiss.

python3 bench/peers/fit.py METHOD FOLDER N D C SEED: reads FOLDER/y.bin (float64, row by row), writes
FOLDER/centres.bin, and prints CPU seconds of the fit, peak MB and the log likelihood a point.
"""
import resource
import sys

import numpy as np

method, folder = sys.argv[1:3]
n, d, c, seed = map(int, sys.argv[3:])
y = np.fromfile(folder + "/y.bin").reshape(n, d)


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


loglik = float("nan")
if method == "faiss k-means":
    import faiss

    faiss.omp_set_num_threads(1)
    data = np.ascontiguousarray(y, dtype=np.float32)
    began = cpu()
    model = faiss.Kmeans(d, c, niter=30, seed=seed, max_points_per_centroid=10**9)
    model.train(data)
    seconds = cpu() - began
    centres = model.centroids.astype(float)
else:
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.mixture import GaussianMixture

    models = {
        "scikit-learn k-means": lambda: KMeans(c, n_init=1, random_state=seed),
        "scikit-learn mini-batch k-means": lambda: MiniBatchKMeans(
            c, n_init=1, batch_size=4096, random_state=seed),
        "scikit-learn mixture": lambda: GaussianMixture(
            c, covariance_type="spherical", random_state=seed, init_params="k-means++"),
        "scikit-learn mixture, from k-means": lambda: GaussianMixture(
            c, covariance_type="spherical", random_state=seed),
    }
    began = cpu()
    model = models[method]().fit(y)
    seconds = cpu() - began
    if "mixture" in method:
        centres = model.means_
        loglik = model.score(y)
    else:
        centres = model.cluster_centers_

np.ascontiguousarray(centres, dtype=float).tofile(folder + "/centres.bin")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print("result", seconds, peak, loglik)
