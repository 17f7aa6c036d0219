"""A study in the workers of a Dask cluster: pip install 'addtree[dask]'."""

import optuna
from dask.distributed import Client, LocalCluster, wait
from optuna_integration.dask import DaskStorage

from addtree.optuna import AddTreeSampler


def objective(trial: optuna.Trial) -> float:
    if trial.suggest_categorical("model", ["line", "curve"]) == "line":
        return 1 + trial.suggest_float("slope", -1, 1) ** 2
    return (trial.suggest_float("bend", -1, 1) - 0.3) ** 2


def main() -> None:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        study = optuna.create_study(storage=DaskStorage(), sampler=AddTreeSampler(seed=0))
        wait([client.submit(study.optimize, objective, n_trials=10, pure=False) for _ in range(2)])
        print(len(study.trials), study.best_params)


if __name__ == "__main__":
    main()
