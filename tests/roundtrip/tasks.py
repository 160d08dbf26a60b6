"""Tasks of Inspect AI, with ids of every kind it takes."""

import tiktoken
from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import match

MOCK = "Default output from mockllm/model"
# The mock model counts tokens by a vocabulary that would be downloaded; bytes do as well.
tiktoken.registry.ENCODINGS["o200k_base"] = tiktoken.Encoding(
    "bytes", pat_str="(?s).", mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={}
)
WORDS = ["a,b", "x*y", "[z]", "q?", "colon:1", "words:2", "ü/3", "007x", "a-b!", "xzy", "z", "qq"]


def dataset(ids: list[int | str]) -> MemoryDataset:
    samples = [
        Sample(id=name, input=f"{name}?", target=MOCK if i % 3 else "no") for i, name in enumerate(ids)
    ]
    return MemoryDataset(samples)


@task
def words() -> Task:
    return Task(dataset=dataset(WORDS), scorer=match(location="exact"), epochs=Epochs(2))


@task
def numbers() -> Task:
    return Task(dataset=dataset(list(range(1, 21))), scorer=match(location="exact"), epochs=Epochs(2))
