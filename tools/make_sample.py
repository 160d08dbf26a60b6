"""Make digits.npz: `python -m tools.make_sample` (a few seconds; the same bytes every time).

Every model is a scikit-learn classifier trained on the first so many of a
shuffled pool of digits, and asked the digits that no model was trained on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

OUTPUT = Path(__file__).parents[1] / "service" / "sample" / "digits.npz"
POOL = 597
SEED = 20240


class Classifier(Protocol):
    """What is used of a scikit-learn classifier."""

    classes_: NDArray[np.int64]

    def fit(self, pixels: NDArray[np.float64], labels: NDArray[np.int64]) -> object:
        """Train."""

    def predict(self, pixels: NDArray[np.float64]) -> NDArray[np.int64]:
        """Name a digit for each row."""

    def predict_proba(self, pixels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give every class a probability for each row."""


@dataclass(frozen=True)
class Digits:
    """The pool to train on and the held-out digits to answer; pixels are 0 … 16."""

    pool: NDArray[np.float64]
    pool_labels: NDArray[np.int64]
    asked: NDArray[np.float64]
    labels: NDArray[np.int64]

    @classmethod
    def load(cls) -> Digits:
        """Shuffle the 1,797 digits that ship inside scikit-learn, and split them."""
        pixels, labels = load_digits(return_X_y=True)
        order = np.random.default_rng(SEED).permutation(len(labels))
        pool, asked = order[:POOL], order[POOL:]
        return cls(pixels[pool], labels[pool], pixels[asked], labels[asked])


def kinds() -> Iterator[tuple[str, Classifier, tuple[int, ...]]]:
    """Kind and hyperparameters, an untrained classifier, and the training-set sizes."""
    for k in (1, 3, 9):
        yield f"knn-k{k}", KNeighborsClassifier(k, algorithm="brute"), (50, 100, 200, 400, 597)
    for c in (0.001, 0.01, 1.0):
        yield f"logistic-c{c:g}", LogisticRegression(C=c, max_iter=500, tol=1e-2), (50, 100, 200, 400, 597)
    for depth in (3, 10):
        yield f"tree-depth{depth}", DecisionTreeClassifier(max_depth=depth, random_state=0), (100, 300, 597)
    for trees in (5, 20, 100):
        yield f"forest-{trees}", RandomForestClassifier(trees, random_state=0), (100, 200, 597)
    for trees in (20, 100):
        yield f"extratrees-{trees}", ExtraTreesClassifier(trees, random_state=0), (100, 597)
    for c in (1.0, 10.0):
        machine = CalibratedClassifierCV(SVC(C=c), ensemble=False, cv=3)
        yield f"svm-rbf-c{c:g}", machine, (100, 200, 400, 597)
    machine = CalibratedClassifierCV(SVC(kernel="linear"), ensemble=False, cv=3)
    yield "svm-linear", machine, (100, 200, 597)
    for width in (16, 64):
        network = MLPClassifier((width,), tol=1e-3, n_iter_no_change=5, max_iter=1000, random_state=0)
        yield f"mlp-{width}", network, (200, 400, 597)
    yield "naive-gaussian", GaussianNB(var_smoothing=1e-2), (50, 200, 597)
    yield "naive-multinomial", MultinomialNB(), (50, 200, 597)
    yield "naive-bernoulli", BernoulliNB(binarize=8.0), (50, 597)
    yield "stumps-20", RandomForestClassifier(20, max_depth=2, random_state=0), (50, 200)
    yield "lda", LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"), (50, 100, 200, 597)
    machine = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.3)
    yield "qda", machine, (100, 200, 597)
    yield "adaboost-50", AdaBoostClassifier(n_estimators=50, random_state=0), (200, 597)
    for axes in (4, 8):
        reduced = make_pipeline(PCA(axes, svd_solver="full"), KNeighborsClassifier(5, algorithm="brute"))
        yield f"pca{axes}-knn-k5", reduced, (100, 200, 597)


def models() -> dict[str, tuple[Classifier, int]]:
    """Model id → (untrained classifier, training-set size)."""
    return {f"{kind}-train{size}": (model, size) for kind, model, sizes in kinds() for size in sizes}


def answer(
    classifier: Classifier, size: int, digits: Digits
) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
    """Train on the first `size` of the pool; correctness and probability of the right digit, each (N,)."""
    classifier.fit(digits.pool[:size], digits.pool_labels[:size])
    chances = np.zeros((len(digits.labels), 10))
    chances[:, classifier.classes_] = classifier.predict_proba(digits.asked)
    correct = classifier.predict(digits.asked) == digits.labels
    return correct.astype(np.uint8), chances[np.arange(len(correct)), digits.labels].astype(np.float16)


def sample() -> dict[str, NDArray[Any]]:
    """The arrays of digits.npz."""
    digits, chosen = Digits.load(), models()
    with threadpool_limits(1):
        rows = [answer(model, size, digits) for model, size in chosen.values()]
    return {
        "models": np.array(list(chosen)),
        "examples": np.array([f"digits-{i + 1:04}" for i in range(len(digits.labels))]),
        "scores": np.stack([correct for correct, _ in rows]),
        "subtasks": np.array([f"digit-{label}" for label in digits.labels]),
        "confidences": np.stack([confidence for _, confidence in rows]),
        "embeddings": digits.asked.astype(np.uint8),
    }


if __name__ == "__main__":
    np.savez_compressed(OUTPUT, allow_pickle=False, **sample())
