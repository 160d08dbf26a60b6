"""What `POST /select` and `POST /mdad` take."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from service.schemas.base import Fraction, RequestModel, auto_or_list, named_or, one_of

Missing = Literal["error", "drop_examples", "drop_models", "zero"]
Name = Annotated[str, Field(min_length=1, max_length=500)]
# As far as every JSON reader is exact.
Seed = Annotated[
    int,
    Field(ge=0, lt=2**53, description="Seed of all random draws; the same request gives the same result."),
]
Count = Annotated[int, Field(ge=1, lt=2**31)]
Options = Annotated[dict[str, Any], Field(description="The method's own options, by name.")]

MISSING = Field(
    description="What to do with cells that have no score. `error` refuses the request and says what each "
    "of the others would drop: `drop_examples`, `drop_models`, or `zero`, which counts them as wrong."
)


Score = Annotated[
    str | None,
    Field(
        pattern=r"^(mean|first|(pass@|pass\^|majority@)[1-9][0-9]{0,3})$",
        description="The score of an example from its attempts: `mean`, the default; `first`; `pass@k`, the "
        "probability that one of k attempts passes; `pass^k`, that all do; `majority@k`, that most do; "
        "k is a number, like `pass@5`.",
    ),
]
Errors = Annotated[
    Literal["zero", "missing", "refuse"] | None,
    Field(
        description="What an attempt that ended without a score (an error of the harness, a timeout) counts "
        "as: `zero`, `missing` (not at all), or `refuse`, which refuses the request with their numbers by "
        "model. By default `refuse`; with the score `mean`, `missing`."
    ),
]


class AttemptsBudget(RequestModel):
    """Runs that can be paid for, to be spent on examples and on attempts at each."""

    runs: Annotated[Count, Field(ge=2, le=100_000_000, description="Of each model: examples times attempts.")]
    between_variance: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="Between examples, of the difference of two models' chances to pass; from the "
            "matrix's attempts when left out.",
        ),
    ] = None
    within_variance: Annotated[
        float | None,
        Field(
            ge=0,
            le=2,
            description="Of the difference of one attempt of each model on one example, around its "
            "expectation: 2 p (1 − p) on average; from the matrix's attempts when left out.",
        ),
    ] = None


class _OfMatrix(RequestModel):
    matrix_id: Annotated[str, Field(min_length=1, max_length=100, description="From `POST /matrices`.")]
    revision: Annotated[Count | None, Field(description="Of the matrix; the newest when left out.")] = None


EXPECT_REASON = Field(
    max_length=500, description="Why: in the settings of a job, which can be sent again as they are."
)
EXPECT = Field(
    description="What new models are: `like` the source models, or `better` than they are. When left out, "
    "`better` where release dates or the order of arrival show that newcomers are better than all before "
    "them, or where source models are few; else `like`. The answer says which, and why."
)


class SelectRequest(_OfMatrix):
    """Choose a micro-benchmark of `size` examples, or of what a budget pays for."""

    method: Annotated[
        Name, Field(description="`random`, `stratified`, …; an unknown one is refused with the list.")
    ]
    size: Annotated[
        Count | None, Field(description="How many examples to choose; left out with `options.budget`.")
    ] = None
    seed: Seed = 0
    source_models: Annotated[
        list[Name] | None, Field(description="The models to learn from; all when left out.")
    ] = None
    estimator: Annotated[
        Name | None, Field(description="How answers become a full score; the method's own when left out.")
    ] = None
    options: Annotated[
        dict[str, Any],
        Field(
            description="The method's own options, by name. `optimal_design` takes `include` and `exclude` "
            "(lists of example ids), `per_subtask` (least number from each), `costs` (an object that gives "
            "every example id a number above 0, say tokens) and `budget` (what may be spent of them)."
        ),
    ] = Field(default_factory=dict)
    scored_by: Annotated[
        Literal["scores", "confidences"] | None,
        Field(description="What answers on the examples will be; as suits the method when left out."),
    ] = None
    missing: Annotated[Missing, MISSING] = "error"
    score: Score = None
    errors: Errors = None
    expect: Annotated[Literal["like", "better"] | None, EXPECT] = None
    expect_reason: Annotated[str | None, EXPECT_REASON] = None
    guarantee: Annotated[
        bool,
        Field(
            description="Draw the examples at random, the informative ones with higher probability, and "
            "score by a model-assisted estimate: its interval holds whatever the model under test is."
        ),
    ] = False


class MethodSpec(RequestModel):
    """A method with its estimator and options."""

    method: Annotated[Name, Field(description="`random`, `stratified`, …, as in `POST /select`.")]
    estimator: Annotated[
        Name | None, Field(description="How answers become a full score; the method's own when left out.")
    ] = None
    options: Options = Field(default_factory=dict)
    scored_by: Annotated[
        Literal["scores", "confidences"] | None, Field(description="What the targets' answers are.")
    ] = None
    label: Annotated[str | None, Field(max_length=100, description="Names the line of the result.")] = None


NameOrSpec = Annotated[
    Annotated[Name, Tag("name")] | Annotated[MethodSpec, Tag("spec")],
    named_or(MethodSpec, "the name of a method, or an object with method, estimator, options"),
]


Sizes = Annotated[
    Annotated[Literal["auto"], Tag("auto")] | Annotated[list[Count], Field(min_length=1), Tag("list")],
    auto_or_list('"auto" or a list of numbers of examples'),
]


class MdadRequest(_OfMatrix):
    """Measure how far apart two models must be for a micro-benchmark to tell them apart."""

    methods: Annotated[
        list[NameOrSpec] | None,
        Field(min_length=1, max_length=50, description="All that suit the data when left out."),
    ] = None
    sizes: Annotated[
        Sizes | None,
        Field(
            description="`auto`, the default, finds the smallest size that meets the target, to the example: "
            "a fifth of the trials on sizes far apart, the others near the one that matters. A list is "
            "measured as it stands."
        ),
    ] = None
    purpose: Annotated[
        Literal["reproduce_benchmark", "new_questions", "pull_request_check"] | None,
        Field(
            description="What the micro-benchmark is for. `reproduce_benchmark`, the default: models in the "
            "order that the whole benchmark gives them. `new_questions`: in the order that questions nobody "
            "has asked yet would give them. `pull_request_check`: the default gate of `/compare` finds a "
            "drop of `drop` in 80 % of cases. With `truth`, `holdout` or `paper_compat` instead, the paper's "
            "protocol."
        ),
    ] = None
    drop: Annotated[
        float | None,
        Field(gt=0, lt=1, description="The drop that a pull-request check is to find, a fraction."),
    ] = None
    trials: Annotated[
        Count | None,
        Field(
            description="Random splits to measure on. By default 50, and fewer with more than 50 target "
            "models, which make the numbers surer at less cost."
        ),
    ] = None
    probability: Annotated[
        Fraction,
        Field(
            ge=0.51,
            le=0.999,
            description="With which a pair must be ordered as it truly is; guessing reaches 0.5.",
        ),
    ] = 0.8
    target_mdad: Annotated[
        Fraction | None,
        Field(
            description="The smallest difference you need to tell apart. By default 1.5 times the resolution "
            "of the full benchmark: what all its examples can tell apart on new questions."
        ),
    ] = None
    source_models: Annotated[
        int | list[str] | list[int] | None,
        one_of("a number of models, a list of their ids, or a list of numbers for a learning curve"),
        Field(description="Models the methods learn from: how many, which, or several numbers."),
    ] = None
    target_models: Annotated[
        int | list[str] | Literal["all"] | None,
        one_of('a number of models, a list of their ids, or "all"'),
        Field(description="Models the choice is judged on: how many, which, or `all`."),
    ] = None
    holdout: Annotated[
        Fraction | None,
        Field(
            le=0.9,
            description="The paper's protocol: share of examples kept from selection, to judge on new items. "
            "Use `purpose` instead.",
        ),
    ] = None
    truth: Annotated[
        Literal["same_items", "new_items"] | None,
        Field(
            description="The paper's protocol: what the recommendation goes by; `new_items` when any are "
            "held out. Use `purpose` instead."
        ),
    ] = None
    seed: Seed = 0
    missing: Annotated[Missing, MISSING] = "error"
    score: Score = None
    errors: Errors = None
    budget: Annotated[
        AttemptsBudget | None,
        Field(
            description="Runs of each model that can be paid for: the answer's `budget` says how many "
            "examples and how many attempts at each they are best spent on, by simple random sampling."
        ),
    ] = None
    paper_compat: Annotated[
        bool, Field(description="Count ties as wrong and take the first crossing, as the paper's tables do.")
    ] = False
    group: Annotated[
        list[Name] | None, Field(description="Report agreement among these models only, too.")
    ] = None
    by_subtask: Annotated[
        bool, Field(description="Report each subtask on its own, too; needs a matrix with subtasks.")
    ] = False
    max_size: Annotated[Count | None, Field(description="The largest size you would run.")] = None
    expect: Annotated[Literal["like", "better"] | None, EXPECT] = None
    expect_reason: Annotated[str | None, EXPECT_REASON] = None
    target_settings: Annotated[
        list[Literal["like", "better", "worse", "family", "later"]] | None,
        Field(
            description="Kinds of new models to measure each method for, beside each other: `like` the "
            "sources, `better` or `worse` than all of them, of another `family`, released `later`. By "
            "default `like`, and `better` from 40 models on."
        ),
    ] = None
